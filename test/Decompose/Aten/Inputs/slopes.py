"""Those programs of cases.py with gradients of what copies, samples, selects and measures, and other parts of training graphs."""
import torch


def slopes(normal, uniform):
    aten, prims = torch.ops.aten, torch.ops.prims

    def borders(g, x):
        """Of every kind and rank; ends that are cut off, and a border as wide as may be."""
        results = []
        for kind, most in (("reflection", 1), ("replication", 0)):
            for rank, padding in ((1, [2, 1]), (1, [0, -1]), (1, [-2, 4 - most]), (2, [1, 2, 0, 3]), (2, [-1, 1, 2, -1]),
                                  (3, [1, 0, 2, 1, 1, 1]), *([(1, [-5, 7]), (2, [6, -4, -5, 6])] if most == 0 else [])):
                pad, backward = (getattr(aten, f"{kind}_pad{rank}d{end}") for end in ("", "_backward"))
                given = x if rank == 3 else x[0, 0] if rank == 1 else x[0]
                results.append(backward(pad(given, padding) * g, given, padding))
        return results

    yield "gradients_of_borders", borders, (normal(1).abs() + 1, normal(2, 2, 3, 4, 5))

    def samples(g, x, grid, h, v, space):
        """Grids that reach beyond the borders, and one whose points lie on them."""
        edges = torch.linspace(-1, 1, 4)[None, :, None, None].expand(2, 4, 3, 2).contiguous()
        return [result for padding in range(3) for corners in (False, True) for results in (
            *(aten.grid_sampler_2d_backward(g, x, at, mode, padding, corners, [True, True])
              for at in (grid, edges) for mode in range(3)),
            *(aten.grid_sampler_3d_backward(h, v, space, mode, padding, corners, [True, True]) for mode in range(2)),
        ) for result in results]

    yield "gradients_of_samples", samples, (normal(2, 3, 4, 3), normal(2, 3, 5, 6), normal(2, 4, 3, 2) * 0.9, normal(1, 2, 2, 3, 2),
                                            normal(1, 2, 3, 4, 5), normal(1, 2, 3, 2, 3) * 0.9)

    def distances(x, y, g, h):
        results = []
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
            results.append(aten._cdist_backward(g, x, y, p, aten._cdist_forward(x, y, p, None)))
            results.append(aten._pdist_backward(h, x, p, aten._pdist_forward(x, p)))
        return results

    x = normal(4, 3)
    yield "gradients_of_distances", distances, (x, torch.cat([x[1:2], normal(4, 3)]), normal(4, 5), normal(6))

    def margins(x, t, many, w, v, m):
        results = []
        for reduction, g in ((0, w[:3]), (1, w[0]), (2, w[0])):
            results.extend([aten.multi_margin_loss_backward(g, x, t, 1, 1.0, None, reduction),
                            aten.multi_margin_loss_backward(g, x, t, 2, 0.5, w, reduction)])
            *_, isTarget = aten.multilabel_margin_loss_forward(x, many, reduction)
            results.append(aten.multilabel_margin_loss_backward(g, x, many, reduction, isTarget))
        weight, norms = aten._weight_norm_interface(v, m, 2)
        return results + [aten.multi_margin_loss_backward(w[0], x[0], t[:1], 1, 1.0, None, 1), weight,
                          *aten._weight_norm_interface_backward(v.cos(), v, m, norms, 2)]

    yield "gradients_of_margins", margins, (normal(3, 5), torch.tensor([4, 0, 2]), torch.tensor(
        [[3, 0, -1, 1, 1], [-1, 0, 0, 0, 0], [1, 2, 3, 4, 0]]), uniform(5), normal(3, 4, 2), uniform(1, 1, 2))

    def selections(g, x, n):
        mask = x > 0
        largest, at = aten.adaptive_max_pool2d(n, [2, 3])
        solid, within = aten.adaptive_max_pool3d(n[None], [2, 2, 2])
        parts, places = aten.fractional_max_pool2d(n[None], [2, 2], [3, 3], torch.full((1, 2, 2), 0.4))
        return [aten.unfold_backward(g[:, :3], [4, 4], 1, 6, 1) if step == 9 else
                aten.unfold_backward(x.unfold(axis, size, step).cos(), x.shape, axis, size, step)
                for axis, size, step in ((0, 2, 1), (1, 3, 2), (1, 2, 3))] + [
                    aten.diagonal_backward(torch.diagonal(v, offset, i, j).cos(), v.shape, offset, i, j)
                    for v, offset, i, j in ((x, 0, 0, 1), (x, 2, 0, 1), (x, -1, 0, 1), (n, 1, 2, 0), (n, -2, 1, 2), (x, -1, 1, 0))] + [
                        aten.masked_scatter_backward(g, mask, [4, 6]), aten.masked_scatter_backward(g, mask[:1], [5, 5]),
                        aten.adaptive_max_pool2d_backward(largest.cos(), n, at),
                        aten.adaptive_max_pool3d_backward(solid.cos(), n[None], within),
                        aten.fractional_max_pool2d_backward(parts.cos(), n[None], [2, 2], [3, 3], places),
                        torch.scatter_add(x, 0, torch.zeros(0, 6, dtype=torch.uint8), x[:0]),
                        aten.logit_backward(g, x.sigmoid(), 0.3), aten.logit_backward(g, x.sigmoid() * 1.2),
                        aten.rrelu_with_noise_backward(g, x, x.abs(), 0.1, 0.3, True, False),
                        aten.rrelu_with_noise_backward(g, x, x.abs(), 0.1, 0.3, False, False)]

    yield "gradients_of_selections", selections, (normal(4, 6), normal(4, 6), normal(2, 5, 6))
    yield "gradients_of_antialiased", lambda g, h, v: [
        aten._upsample_bilinear2d_aa_backward(g, [4, 3], [2, 2, 7, 5], False), aten._upsample_bicubic2d_aa_backward(g, [4, 3], [2, 2, 3, 8], True),
        aten._upsample_bilinear2d_aa_backward(g, [4, 3], [2, 2, 9, 2], False, 0.45, 1.5),
        aten._upsample_nearest_exact1d_backward(h, [7], [2, 2, 3]), aten._upsample_nearest_exact3d_backward(v, [2, 3, 4], [1, 1, 3, 2, 3])], (
            normal(2, 2, 4, 3), normal(2, 2, 7), normal(1, 1, 2, 3, 4))
    yield "gradients_of_complex", lambda z, g: [aten.sigmoid_backward(g, z), aten.tanh_backward(g, z)], (
        torch.complex(normal(4), normal(4)), torch.complex(normal(4), normal(4)))

    def shared(q, k, v, g):
        """Heads of queries that share those of keys and values."""
        out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
        return [out, sums, *aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, out, sums, 0.0, True)]

    yield "gradients_of_shared_heads", shared, (normal(2, 6, 5, 8), normal(2, 2, 5, 8), normal(2, 2, 5, 8), normal(2, 6, 5, 8))

    def bags(w, indices, offsets, even, g, s):
        """Of any length, one of them empty, and of one length."""
        results = []
        for mode in range(3):
            for at in (offsets, even):
                weights = s if mode == 0 else None
                out, bag, size, largest = aten._embedding_bag(w, indices, at, False, mode, False, weights, False, 2)
                results.extend([out, largest] if mode == 2 else [out])
                results.append(aten._embedding_bag_backward(g, indices, at, bag, size, largest, 6, mode == 1, mode, False, weights, 2))
                if mode == 0:
                    results.append(aten._embedding_bag_per_sample_weights_backward(g, w, indices, at, bag, mode, 2))
        return results

    yield "gradients_of_bags", bags, (normal(6, 3), torch.tensor([5, 1, 2, 0, 2, 1, 4, 5]), torch.tensor([0, 3, 3, 4]),
                                      torch.tensor([0, 2, 4, 6]), normal(4, 3), normal(8))
    large = torch.tensor([199.0, 200.0, 1e3, 1e5, 1e8, 1e10, 1e12], dtype=torch.float64)
    yield "incomplete_gamma_of_large", lambda s, f, t, x: [
        function(*given) for function in (torch.igamma, torch.igammac) for given in ((s[:, None], s[:, None] * f), (s, s + s.sqrt()))] + [
            torch.igammac(t[:, None], x) / t[:, None], torch.igamma(t[:, None], x)], (
                large, torch.tensor([0.5, 0.69, 0.71, 0.99, 1.0, 1.01, 1.29, 1.31, 2.0], dtype=torch.float64),
                torch.tensor([1e-8, 1e-3, 0.1, 0.5, 0.51], dtype=torch.float64),
                torch.tensor([1e-8, 0.3, 1.0, 1.4, 1.49, 1.6, 20.0], dtype=torch.float64))
    yield "primitives", lambda x, y, i: [
        prims.where(x > y, x, y), prims.add(x, y), prims.div(x, y), prims.pow(x.abs(), y), prims.erf_inv(x.tanh()), prims.bessel_i1e(x),
        prims.shift_left(i, i), prims.atan2(x, y), prims.rsqrt(x.abs()), prims.eq(i, i), prims.view_of(x),
        x[:3] + aten._efficientzerotensor([3], dtype=torch.float32)], (normal(5), normal(5), torch.arange(5))
    def determinants(x):
        """The factors of a determinant are those of the transposed matrix where its rows lie one behind another."""
        results = []
        for m in (x, x.mT):
            det, lu, pivots = aten._linalg_det(m)
            results.extend([det, lu, pivots, torch.linalg.lu_solve(lu, pivots, x), *aten._linalg_slogdet(m)])
        return results

    yield "gradients_of_determinants", determinants, (normal(2, 4, 4),)

    def segments(x, lengths):
        x = torch.cat([x, x[1:2], x[:1] * 0])  # what is largest twice, and a 0
        results = []
        for how in ("sum", "mean", "max", "min", "prod"):
            out = torch.segment_reduce(x, how, lengths=lengths, axis=0)
            offsets = torch.cat([lengths[:1] * 0, lengths.cumsum(0)])
            results.extend([aten._segment_reduce_backward(out.cos(), out, x, how, lengths=lengths, axis=0),
                            aten._segment_reduce_backward(out.sin(), out, x, how, offsets=offsets, axis=0)])
        return results

    yield "gradients_of_segments", segments, (normal(6, 2), torch.tensor([2, 3, 1, 2]))

    def tokens(x):
        import torch.ao.quantization.fx._decomposed  # noqa: F401  defines them
        return [result for v in (x, x.abs(), x * 0) for result in
                torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(v, torch.int8)]

    yield "ranges_of_tokens", tokens, (normal(3, 2, 8),)
    yield "powers_of_2", lambda x, d, n: [torch.ldexp(v, n) for v in (x, d, x.half(), x.bfloat16())], (
        torch.tensor([1e-30, 0.0, 1e-40, 3.0, 1e30, 1.0, -0.0, float("inf")]),
        torch.tensor([1e-300, 0.0, 1.123456789 * 2.0**-1000, 3.0, 1e300, 1.0, -0.0, float("nan")], dtype=torch.float64),
        torch.tensor([150, 2000, -70, -149, -1990, 128, 3000, 4], dtype=torch.int32))
    yield "floats_beyond_the_largest", lambda x: [v.to(kind).float() for v in (x, x.bfloat16()) for kind in (
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)], (
            torch.tensor([0.0, -3.25, 440.0, 448.0, 464.0, 466.0, 57344.0, 61439.0, 61440.0, 7e4, -1e9, float("inf"), float("nan"), 239.0, 248.0, 1e-3]),)

    def nested(x):
        """A loop that goes on with what the loop around it carries."""
        from torch._higher_order_ops.while_loop import while_loop

        def turn(i, y):
            _, z = while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + j * 0.5), (torch.zeros((), dtype=torch.int64), y))
            return i + 1, z.tanh()
        return [*while_loop(lambda i, y: i < 4, turn, (torch.zeros((), dtype=torch.int64), x))]

    yield "loop_in_loop", nested, (normal(4),)
