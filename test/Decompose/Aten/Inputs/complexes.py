"""Those programs of cases.py that compute with complex numbers."""
import torch
import torch.nn.functional as F


def complexes(normal):
    """Functions of complex numbers, also on the axes, where branches are cut; norms and convolutions."""
    def complex_normal(*shape):
        return torch.complex(normal(*shape), normal(*shape))

    def complex_functions(z, w, r):
        unary = ("exp exp2 expm1 log log2 log10 log1p sigmoid sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan "
                 "asinh acosh atanh square reciprocal sgn abs angle isnan isfinite isreal")
        return [*(getattr(torch, name)(z) for name in unary.split()), z**w, z**2.5, 2.0**z, torch.prod(z, 1),
                torch.cumprod(z, 0), torch.nonzero(z), z.bool(), z.mH, torch.linalg.vecdot(z, w), torch.ldexp(z, r),
                torch.lerp(z, w, 0.3)]

    on_axes = torch.complex(torch.tensor([0.0, -0.0, 2.0, -2.0, 0.5, 0.0, 0.0, -1.0]),
                            torch.tensor([0.0, 0.0, 0.0, -0.0, 0.0, 3.0, -0.5, 1e-3]))
    yield "complex_functions", complex_functions, (complex_normal(3, 5), complex_normal(3, 5), normal(5))
    yield "complex_axes", lambda z: [torch.sqrt(z), torch.exp(z), torch.cos(z), torch.tanh(z), torch.pow(z, z),
                                     torch.asinh(z), torch.acos(z), torch.abs(z)], (on_axes,)
    yield "complex_norms", lambda z, w: [
        torch.linalg.vector_norm(z), torch.linalg.vector_norm(z, 1, 0), torch.linalg.norm(z, dim=(0, 1)), z.std(),
        z.var(1, correction=0), *torch.var_mean(z), torch.dist(z, w), F.l1_loss(z, w), F.pairwise_distance(z, w),
        torch.renorm(z, 2, 0, 1.0), F.normalize(z)], (complex_normal(3, 5), complex_normal(3, 5))
    yield "complex_convolutions", lambda z, w: [F.conv1d(z, w), F.conv_transpose1d(z, w.transpose(0, 1), stride=2)], (
        complex_normal(1, 3, 9), complex_normal(4, 3, 3))
    yield "complex_sums_of_powers", lambda z, w: [
        torch.logaddexp(z, w), torch.logaddexp(z, w[0]), torch.logsumexp(z, 1), torch.logsumexp(z, (0, 1), keepdim=True), torch.isclose(z, w),
        torch.isclose(z, z + 1e-9), torch.isclose(z / 0, z / 0, equal_nan=True),
        w.view(torch.float32), w.real.contiguous()[:, :4].contiguous().view(torch.complex64)], (complex_normal(3, 5), complex_normal(3, 5))
    yield "complex_systems", lambda m, z, v: [
        torch.linalg.solve(m, z), torch.linalg.solve(m, z.mT, left=False), torch.linalg.solve(m, v), torch.linalg.inv(m),
        torch.inverse(m[0]), *torch.linalg.inv_ex(m), *torch.linalg.solve_ex(m[1], z[0])], (
            complex_normal(2, 4, 4) + 3 * torch.eye(4), complex_normal(2, 4, 3), complex_normal(4))

    def adjoint_products(q, r):
        return [q @ r, q.mH @ q, r]

    def complex_factors(m, h, t, v):
        lu, pivots = torch.linalg.lu_factor(m)
        l = torch.linalg.cholesky(h)
        packed, tau = torch.geqrf(t)
        return [torch.linalg.det(m), *torch.linalg.slogdet(m), torch.logdet(m[0]), *torch.linalg.lu(m), lu, pivots,
                torch.linalg.lu_solve(lu, pivots, v), torch.linalg.lu_solve(lu, pivots, v, adjoint=True),
                torch.linalg.lu_solve(lu, pivots, v.mH, left=False),
                torch.linalg.lu_solve(lu, pivots, v.mH, left=False, adjoint=True),
                l, torch.linalg.cholesky(h, upper=True), torch.cholesky_solve(v, l), torch.cholesky_inverse(l),
                torch.linalg.solve_triangular(m, v, upper=True),
                torch.linalg.solve_triangular(m, v.mT, upper=False, left=False),
                packed, tau, torch.linalg.householder_product(packed, tau), torch.ormqr(packed, tau, m, transpose=True),
                torch.ormqr(packed, tau, m, left=False), *adjoint_products(*torch.linalg.qr(t)),
                *adjoint_products(*torch.linalg.qr(t, mode="complete")), torch.linalg.matrix_power(h, -2)]

    def rebuilt(u, s, vh):
        return [(u * s.unsqueeze(-2)) @ vh, s, vh @ vh.mH]

    def complex_spectra(h, t):
        values, vectors = torch.linalg.eigh(h)
        return [values, (vectors * values.unsqueeze(-2)) @ vectors.mH, vectors.mH @ vectors, torch.linalg.eigvalsh(h),
                *rebuilt(*torch.linalg.svd(t, full_matrices=False)),
                *rebuilt(*torch.linalg.svd(t.mH, full_matrices=False)),
                torch.linalg.pinv(t), torch.linalg.pinv(h, hermitian=True), torch.linalg.matrix_rank(t), torch.linalg.cond(h),
                torch.linalg.cond(h, 1), torch.linalg.norm(t, "nuc", dim=(1, 2)), torch.linalg.matrix_norm(t, -2),
                torch.linalg.matrix_exp(h / 8), *torch.linalg.polar(t), torch.linalg.matrix_sqrth(h)]

    def hermitian(*shape):
        m = complex_normal(*shape)
        return m @ m.mH + torch.eye(shape[-1])

    yield "complex_factors", complex_factors, (complex_normal(2, 5, 5), hermitian(2, 5, 5), complex_normal(2, 5, 3),
                                               complex_normal(2, 5, 2))
    # The unit matrix has one eigenvalue for all its vectors.
    yield "complex_spectra", complex_spectra, (torch.cat([hermitian(1, 4, 4), torch.eye(4).expand(1, 4, 4).to(torch.complex64)]),
                                               complex_normal(2, 4, 3))

    def turned(z):
        half = torch.cond(z.real.sum() > 0, lambda z: z * 1j, lambda z: (z - 1).conj().resolve_conj(), (z,))
        return half, *torch._higher_order_ops.while_loop(
            lambda i, z: i < 4, lambda i, z: (i + 1, z * z / z.abs()), (torch.tensor(0), half))

    yield "complex_control", turned, (complex_normal(3),)
    # Conversions to real numbers drop the imaginary part; real and complex operands meet as complex ones.
    yield "complex_meets_real", lambda z, w, x, d: [
        torch.nn.functional.l1_loss(d, z), torch.nn.functional.l1_loss(d[0, 0], z[0, 0]), d == x.to(z.dtype),
        z.log_softmax(1, dtype=torch.float64), z.softmax(0, dtype=torch.float32), torch.ldexp(z, w), torch.ldexp(x, w),
        torch.nn.functional.l1_loss(x, z), torch.nn.functional.l1_loss(z, x, reduction="none")], (
            complex_normal(3, 4), complex_normal(3, 4), x := normal(3, 4), x.double() + 1e-9)
