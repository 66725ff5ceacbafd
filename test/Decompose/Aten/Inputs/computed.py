"""Those programs of cases.py whose extents or numbers only a run knows, and what else came with them."""
import torch
import torch.nn.functional as F

AUTO = torch.export.Dim.AUTO


def computed(normal):
    """Images scaled by fractions, ranges of real numbers, a truth as a number; corners of one point; axes in place."""
    yield "resized_by_fractions", lambda x: [
        F.interpolate(x, scale_factor=1.5, mode="bilinear"), F.interpolate(x, scale_factor=0.7, mode="nearest-exact"),
        F.interpolate(x, scale_factor=(1.3, 0.6), mode="nearest")], (normal(2, 3, 8, 9),), ({0: AUTO, 2: AUTO, 3: AUTO},)
    yield "resized_to_a_point", lambda x: [
        F.interpolate(x, size, mode=mode, align_corners=True, antialias=True) for mode in ("bilinear", "bicubic")
        for size in ((1, 1), (1, 5))], (normal(2, 3, 7, 9),)
    yield "ranges_of_reals", lambda x: [
        torch.arange(0.5, x.shape[0], 0.3), torch.arange(x.shape[0], -1.0, -0.7),
        torch.arange(0.0, x.shape[0], 1.5, dtype=torch.int64)], (normal(5, 2),), ({0: AUTO},)
    yield "truth_as_number", lambda x, t: x * t.item(), (normal(3), torch.tensor(True))

    def turned(x):
        y = x.clone().unsqueeze_(0)
        y.transpose_(1, 2)
        z = y.squeeze_(0).t_()
        return z + 1, torch.native_channel_shuffle(x.reshape(1, 4, 3, 1), 2)

    yield "turned_in_place", turned, (normal(4, 3),)
    yield "complex_frames", lambda z, w: [
        torch.stft(z, 16, 4, window=w.real, return_complex=True), torch.stft(z, 16, 5, 12, center=False, return_complex=True),
        torch.stft(z.real, 16, 4, window=w, onesided=False, return_complex=True),
        F.rms_norm(z, (40,))], (torch.complex(normal(2, 40), normal(2, 40)), torch.complex(normal(16), normal(16)))

    def reflections(t, m):
        packed, tau = torch.geqrf(t)
        return [packed, tau, torch.ormqr(packed, tau, m), torch.ormqr(packed, tau, m, left=False, transpose=True),
                *torch.linalg.polar(t), torch.linalg.matrix_sqrth(m @ m.mT), torch.linalg.cond(m, "fro"),
                torch.linalg.cond(m, 1), torch.linalg.cond(m, float("-inf")), torch.linalg.cond(m, "nuc")]

    yield "householder", reflections, (normal(2, 5, 3), normal(2, 5, 5))

    def matrices(x, y, z):
        """Singular values of high and of broad matrices, and transforms cut to a length that is known."""
        return (torch.linalg.svdvals(x), torch.linalg.svdvals(y), torch.linalg.cond(x), torch.linalg.pinv(y),
                torch.linalg.matrix_norm(y, ord=2), torch.fft.hfftn(z, s=[6, 8]), torch.fft.irfft(z, n=10, dim=0))

    yield "open_matrices", matrices, (normal(5, 3), normal(2, 3, 6), normal(5, 4)), (
        {0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO, 2: AUTO}, {0: AUTO, 1: AUTO})

    def norm_with_update(x, w, d, m, v):
        m, v = m.clone(), v.clone()
        trained = torch.ops.aten._batch_norm_with_update(x, w, d, m, v, 0.1, 1e-5)
        return [*trained[:3], m, v, torch.ops.aten._batch_norm_no_update(x, w, d, m, v, 0.1, 1e-5)[0]]

    yield "batch_norm_with_update", norm_with_update, (normal(3, 4, 5), normal(4), normal(4), normal(4), normal(4) ** 2)
    yield "trigamma", lambda x, i: [torch.polygamma(1, x), torch.polygamma(1, x.double()), torch.polygamma(1, i)], (
        torch.tensor([0.0, -1.0, -7.0, 0.3, -2.5, 1.0, 40.0, float("inf")]), torch.tensor([-3, 2, 0], dtype=torch.int16))
    yield "polygamma_below_zero", lambda x: [torch.polygamma(n, v) for n in (2, 3, 4, 7) for v in (x, x.double())], (
        torch.tensor([0.0, -0.0, -1.0, -2.0, -30.0, -0.3, -2.5, -7.75, -13.25, -20.375, -170.75, -float("inf"), 0.4, 6.0]),)

    def eigenvalues(*all):
        """Of matrices without symmetry; vectors have a sign that none defines, so their products say whether they hold."""
        for x in all:
            values, vectors = torch.linalg.eig(x)
            yield from (values, vectors.abs(), x.to(values.dtype) @ vectors - vectors * values.unsqueeze(-2))
        yield torch.linalg.eigvals(all[0])

    shift = torch.roll(torch.eye(4), 1, 0)  # which steps without other shifts leave as it is
    blocks = torch.block_diag(torch.tensor([[0.0, 2.0], [-1.0, 0.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    yield "general_eigenvalues", lambda *x: list(eigenvalues(*x)), (
        normal(2, 5, 5), shift, blocks, torch.zeros(3, 3), torch.complex(normal(4, 4), normal(4, 4)), normal(1, 1))

    def indefinite(x, y, z, r):
        for m, hermitian in ((x, False), (y, False), (z, False), (z, True)):
            packed, pivots, info = torch.linalg.ldl_factor_ex(m, hermitian=hermitian)
            rhs = r.to(m.dtype)
            yield from (packed, pivots, info, torch.linalg.ldl_solve(packed, pivots, rhs, hermitian=hermitian))
        yield from torch.linalg.ldl_factor(x)

    x, hollow, z = normal(2, 5, 5), normal(5, 5), torch.complex(normal(5, 5), normal(5, 5))
    hollow = hollow + hollow.mT - 2 * torch.diag(hollow.diagonal())  # pivots of two rows
    yield "indefinite", lambda *m: list(indefinite(*m)), (x + x.mT, hollow, z + z.mH, normal(5, 3))
    yield "hashes", lambda x, i, t: [torch.hash_tensor(v, dim, keepdim=keep).view(torch.int64) for v in (x, i, t, x.bfloat16())
                                     for dim, keep in (((), False), ((1,), False), ((0, 2), True))], (
        normal(3, 4, 5), torch.randint(-99, 99, (3, 4, 5), dtype=torch.int16), normal(2, 3, 3) > 0)
    chunks = torch.nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions(batch_chunk_size=2)
    yield "chunked_losses", lambda x, w, d, t, p, c: [
        F.linear_cross_entropy(x, w, target, linear_bias=d, reduction=how, options=chunks, weight=weight)
        for target, weight in ((t, None), (t, c), (p, None)) for how in ("mean", "sum", "none")], (
            normal(5, 3), normal(4, 3), normal(4), torch.tensor([3, 0, -100, 1, 2]), normal(5, 4).softmax(1), normal(4) ** 2)
    yield "vander", lambda x, i, n: [
        torch.vander(x), torch.vander(x, 3), torch.vander(x, increasing=True), torch.vander(i), torch.vander(i, 5, True),
        torch.vander(n)], (normal(4), torch.tensor([2, -3, 0]), normal(5)), (None, None, {0: AUTO})

    def by_rows(m, x, w):
        """torch.vmap as it is saved: of one level and of two, over other axes, of what does not depend on the row."""
        vmap = torch.vmap
        return [vmap(lambda a, v: a @ v + v.sum() + w.sum())(m, x), vmap(torch.dot, in_dims=(0, None))(x, x[0]),
                vmap(vmap(torch.dot, in_dims=(0, None)))(m, x), *vmap(lambda a: (a.sin() * w[0], w + 1, a.sum()))(x),
                vmap(lambda a: a.softmax(0), in_dims=1)(x)]

    yield "by_rows", by_rows, (normal(5, 3, 3), normal(5, 3), normal(2))
    # Products of matrices, of which a turn of the scan has none left.
    yield "generic_scan", lambda m: torch._higher_order_ops.associative_scan(torch.matmul, m, 0, combine_mode="generic"), (
        normal(5, 3, 3),)
    yield "by_open_rows", lambda x, w: torch.vmap(lambda a: a.cumsum(0) * w)(x), (normal(5, 3), normal(3)), ({0: AUTO}, None)
    # What is the same for all rows is repeated as often as a run has rows, and those may be none.
    yield "by_rows_of_open_rows", lambda x, w: [
        *torch.vmap(lambda a: (a.cumsum(0) * w, w + 1, a.sum()))(x), torch.vmap(torch.vmap(lambda a: a.dot(w)))(x)], (
            normal(5, 2, 3), normal(3)), ({0: AUTO, 1: AUTO}, None)
    yield "generic_scan_open", lambda x: torch._higher_order_ops.associative_scan(torch.add, x, 0, combine_mode="generic"), (
        normal(5, 4),), ({0: AUTO},)
    def over_none(x, c):
        """Scans over no rows give what they begin with; over as many as a run has, the last turn's."""
        from torch._higher_order_ops.scan import scan

        def turn(carry, row):
            return carry * 0.5 + row, (carry + row.sin()).sum(0, keepdim=True)
        return [*scan(turn, c, x[:0]), *scan(turn, c, x, reverse=True)]
    yield "scans_over_none", over_none, (normal(4, 3), normal(3)), ({0: AUTO}, None)
    # Filters that reach far and adaptive windows, of extents that only a run knows.
    yield "wide_windows", lambda x: [
        F.interpolate(x, (3, 4), mode="bilinear", antialias=True), F.interpolate(x, (2, 40), mode="bicubic", antialias=True),
        F.interpolate(x, scale_factor=0.15, mode="bilinear", antialias=True), F.adaptive_avg_pool2d(x, (3, 4)),
        *F.adaptive_max_pool2d(x, (3, 4), return_indices=True), F.adaptive_max_pool2d(x, (4, 2))], (
            normal(1, 2, 31, 26),), ({2: AUTO, 3: AUTO},)

    def put(a, m, rows, v):
        """Where the only index is a mask: values that are the same for all that it chooses, and others."""
        aten = torch.ops.aten
        one, seven = torch.tensor(2.5), torch.full((1, 4), 7.0)
        return [aten.index_put(a, [m], one), aten.index_put(a, [m], v[:1, 0]), aten.index_put(a, [m], v[0, :1], True),
                aten.index_put(a, [rows], one), aten.index_put(a, [rows], seven), aten.index_put(a, [rows], v[0], True),
                aten.index_put(a, [None, rows[:4]], one), aten.index_put(a, [None, rows[:4]], v[:, :1].expand(5, 1)),
                aten.index_put(a, [rows], v[:2]), aten.index_put(a, [rows, None], one), aten.index_put(a, [rows[0]], one),
                torch.view_as_real(aten.index_put(torch.complex(a, v), [m], one + 2j))]

    yield "put_where_masked", put, (normal(5, 4), normal(5, 4) > 0, torch.tensor([True, False, False, True, False]), normal(5, 4))
    yield "put_where_masked_open", lambda a, m: [
        torch.ops.aten.index_put(a, [m], torch.tensor(2.5)), torch.ops.aten.index_put(a, [m[:, 0]], a[0])], (
            normal(5, 4), normal(5, 4) > 0), ({0: AUTO}, {0: AUTO})
    # Products in the order that takes the fewest multiplications.
    yield "chains", lambda a, b, c, v: [
        torch.linalg.multi_dot([a, b, c]), torch.linalg.multi_dot([c.mT, b.mT, a.mT]), torch.linalg.multi_dot([v, a, b, c]),
        torch.linalg.multi_dot([v, a, b, b[0]]), torch.linalg.multi_dot([a, b[:, 0]]), torch.linalg.multi_dot([a, b, c, c.mT, b.mT])], (
            normal(3, 7), normal(7, 5), normal(5, 2), normal(3))
