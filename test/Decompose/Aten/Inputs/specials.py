"""Those programs of cases.py with special functions, counts, signals, and losses, pools and bags that few models have."""
import torch
import torch.nn.functional as F
import torchvision  # noqa: F401  defines its operators

POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"] + [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


def specials(normal, uniform):
    special, aten = torch.special, torch.ops.aten

    # On both sides of where one formula takes over from another.
    def bessel(x, p):
        return [special.bessel_j0(x), special.bessel_j1(x), special.airy_ai(x / 2), *(getattr(special, name)(p) for name in (
            "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1"))]

    points = torch.cat([torch.linspace(-50, 50, 101), torch.tensor([0.0, 1e-3, -1e-3, 14.0, -14.0, 1e4])]).double()
    positive = torch.cat([torch.linspace(0.01, 60, 100), torch.tensor([0.0, 2.0, 14.0, 18.0, 1e-4, -1.0])]).double()
    yield "bessel", bessel, (points, positive)
    yield "polynomials", lambda x, n: [
        result for name in POLYNOMIALS
        for result in (getattr(special, name)(x, n), getattr(special, name)(x, 3), getattr(special, name)(0.3, n))], (
            torch.linspace(-1.25, 1.25, 6).double(), torch.tensor([[0], [1], [2], [5], [9], [-1]]))
    rows = torch.tensor([0.0, 0.1, 1.0, 2.5, 30.0, 150.0, float("inf"), float("nan"), -1.0]).double()
    yield "incomplete_gamma", lambda s, x: [torch.igamma(s, x), torch.igammac(s, x)], (
        rows[:, None], torch.tensor([0.0, 0.05, 0.9, 3.0, 29.0, 160.0, float("inf"), -1.0, float("nan")]).double())
    yield "mantissas", lambda x, h: [*torch.frexp(x), *torch.frexp(h)], (
        torch.tensor([1.0, -3.5, 0.0, 1e-42, 6e37, 0.49999997, float("inf"), float("nan")]), normal(4).half())
    yield "histograms", lambda x, e, w, y: [
        *torch.histogram(x, 4), *torch.histogram(x, 3, range=(-1.0, 1.0), weight=w, density=True), *torch.histogram(x, e),
        *torch.histogram(x[:0], 2), aten._histogramdd_from_bin_cts(y, [2, 3], density=True),
        aten._histogramdd_from_bin_tensors(y, [e, e], weight=w[:10]), *aten._histogramdd_bin_edges(y, [2, 3])], (
            normal(20), torch.tensor([-1.0, -0.25, 0.0, 1.5]), uniform(20), normal(10, 2))
    yield "short_time", lambda x, w, z: [
        torch.istft(torch.stft(x, 16, 4, window=w, return_complex=True), 16, 4, window=w, length=60),
        torch.istft(torch.stft(x, 16, 5, 10, w[:10], normalized=True, return_complex=True), 16, 5, 10, w[:10], normalized=True),
        torch.istft(torch.stft(x[0], 16, window=w, return_complex=True, onesided=False), 16, window=w, onesided=False, length=80),
        torch.istft(z, 6, 3, window=w[:6], center=False, return_complex=True, onesided=False), torch.istft(z, 6, 2),
        torch.bartlett_window(7), torch.bartlett_window(6, periodic=False), torch.kaiser_window(9),
        torch.kaiser_window(8, False, 5.5), torch.kaiser_window(1)], (
            normal(2, 64), torch.hann_window(16) + 0.1, torch.complex(normal(6, 4), normal(6, 4)))
    yield "margins_of_labels", lambda x, t: [
        F.multilabel_margin_loss(x, t), F.multilabel_margin_loss(x, t, reduction="none"),
        F.multilabel_margin_loss(x[0], t[0]), *aten.multilabel_margin_loss_forward(x, t, 2)], (
            normal(3, 4), torch.tensor([[3, 0, -1, 1], [-1, 0, 0, 0], [1, 2, 3, 0]]))
    yield "fractional_pools", lambda x, u, v, w: [
        *F.fractional_max_pool2d(x, 3, output_size=(4, 3), _random_samples=u, return_indices=True),
        *F.fractional_max_pool2d(x[0], 2, output_size=(1, 6), _random_samples=u[:1], return_indices=True),
        *F.fractional_max_pool3d(v, (2, 3, 1), output_size=(2, 3, 4), _random_samples=w, return_indices=True)], (
            normal(2, 3, 9, 8), uniform(2, 3, 2), normal(1, 2, 5, 6, 7), uniform(1, 2, 3))
    yield "segments", lambda x, n, o, r: [
        result for how in ("sum", "mean", "max", "min", "prod") for result in (
            torch.segment_reduce(x, how, lengths=n, unsafe=True, initial=1), torch.segment_reduce(x, how, offsets=o, initial=2.0),
            torch.segment_reduce(x, how, lengths=r, axis=1))], (
                normal(5, 6), torch.tensor([2, 0, 3]), torch.tensor([0, 4, 4, 5]), torch.tensor([[1, 0, 5]] * 5))
    yield "resized", lambda x, y: [
        x.clone().resize_(2, 3), torch.ops.aten.resize(x, [2, 3]), torch.ops.aten.resize_as(x, y), aten._chunk_cat([x, y], 1, 3),
        aten._chunk_cat([x, y[0]], 0, 2), aten._trilinear(x, y, x, [1], [0], [1], [2])], (normal(3, 4), normal(3, 4))
    # Bags that are rows of a matrix; of some all indices are padding.
    bags = torch.tensor([[1, 0, 2], [1, 1, 1], [3, 2, 1], [4, 4, 0]])
    yield "bags_of_one_length", lambda w, i, s: [
        *(F.embedding_bag(i, w, mode=mode, padding_idx=padding) for mode in ("sum", "mean", "max") for padding in (None, 1, -1)),
        F.embedding_bag(i, w, mode="sum", per_sample_weights=s)], (
            torch.linspace(-1, 1, 30).reshape(5, 6).sin(), bags, torch.linspace(0.5, 1.5, 12).reshape(4, 3))
    # Bags that begin anywhere, some of them empty, of rows that a few vectors hold and of longer ones.
    runs, starts = torch.arange(57) * 7 % 11, torch.tensor([0, 0, 3, 3, 20, 21, 57, 57])
    yield "bags_of_runs", lambda w, v, d, i, o, s: [
        *(F.embedding_bag(i, x, o, mode=mode) for x in (w, v, d) for mode in ("sum", "mean", "max")),
        F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s)], (
            torch.arange(1100.0).reshape(11, 100).sin(), torch.arange(6600.0).reshape(11, 600).cos(),
            torch.arange(363.0).reshape(11, 33).double().sin(), runs, starts, torch.linspace(0.5, 1.5, 57))
    nan, inf = float("nan"), float("inf")
    holes = torch.tensor([[1.0, nan, inf, nan], [nan, 2.0, -inf, -2.5], [3.0, 1.0, 0.0, nan], [4.0, -0.0, -1.0, 5.0]])
    yield "medians_of_nan", lambda x, h: [
        *x.median(0), *x.median(1, keepdim=True), *h.median(1), x.median(), *x.median(-1), *x.nanmedian(0)[:1], *x.t()[:1].median(1)], (
            holes, holes.half())
    labels = torch.tensor([[0, -1, 0], [2, 0, -1]])
    yield "beside_nan", lambda x, e, t: [
        torch.bucketize(x, e), torch.bucketize(x, e, right=True), torch.searchsorted(e, x), torch.searchsorted(e, x[1], right=True),
        torch.bucketize(x, torch.arange(100.0)), *torch.gradient(x.reshape(-1)), *torch.gradient(x, spacing=0.5, dim=1),
        F.multi_margin_loss(x, t[:, 0], reduction="none"), F.multilabel_margin_loss(x, t, reduction="none")], (
            torch.tensor([[1.0, nan, 0.25], [inf, 0.5, -inf]]), torch.tensor([-1.0, 0.0, 1.0]), labels)
    # Regions of every kind: within the picture, across its border, turned around, and of no extent.
    corners = torch.tensor([[0.0, 1, 6, 7], [2.5, 0.5, 9, 3], [-3, -3, 30, 40], [5, 5, 5, 5], [8, 8, 2, 3]])
    regions = torch.cat([torch.tensor([[0.0], [1], [1], [0], [1]]), corners], 1)
    vision = torch.ops.torchvision
    yield "parts_of_regions", lambda x, r: [
        result for pool, *samples in ((vision.ps_roi_align, 2), (vision.ps_roi_align, 0), (vision.ps_roi_pool,))
        for size in ((0.5, 3, 2), (1.0, 1, 6)) for result in pool(x, r, *size, *samples)], (normal(2, 12, 9, 11), regions)
    yield "sequences_padded", lambda a, b, c: [
        aten.pad_sequence([a, b, c]), aten.pad_sequence([a, b, c], True, 2.5), aten.pad_sequence([a, b, c], True, -1.0, "left")], (
            normal(3, 2), normal(5, 2), normal(1, 2))
    yield "lanczos", lambda x, y: [
        F.interpolate(v, mode="lanczos", antialias=True, **size) for v in (x, y)
        for size in (dict(size=(5, 7)), dict(size=(12, 20)), dict(scale_factor=0.4))], (
            normal(1, 2, 8, 9), (uniform(1, 1, 8, 9) * 255).to(torch.uint8))
    yield "copied_views", lambda x, z: [
        aten.view_copy.dtype(x, torch.int32), aten.view_as_real_copy(z), aten.view_as_complex_copy(x), aten._conj_copy(z),
        aten._neg_view(x) * 2, aten._neg_view_copy(x), *aten.split_copy.Tensor(x, 2)], (
            normal(3, 2), torch.complex(normal(2, 3), normal(2, 3)))
    # More than are compared one by one: sorted, and found by halving.
    many, few = torch.arange(300.0).sin().mul(40).round(), torch.arange(65.0).cos().mul(40).round()
    few[[3, 9]], few[60], many[[5, 17]], many[40], many[41] = nan, -0.0, nan, inf, 0.0
    yield "members_of_many", lambda x, s: [
        torch.isin(x.reshape(3, 100), s), torch.isin(x, s, invert=True), torch.isin(x.nan_to_num(7).long(), s.nan_to_num(3).int()),
        torch.isin(x.half(), s.half()), torch.isin(x.double(), s.double()[:64]), torch.isin(x[:2], s)], (
            many, few)
    # Windows of every kind: of positions in the last axis and before it, which overlap, leave gaps, and end to end.
    yield "windows_of_many", lambda x, y: [
        v.unfold(axis, size, step) for v, axis in ((x, 0), (x, 1), (y, 0), (y, 2))
        for size, step in ((5, 1), (6, 2), (9, 3), (3, 5), (4, 4), (17, 1), (2, 1))], (
            torch.arange(18 * 19.0).reshape(18, 19).sin(), torch.arange(17 * 2 * 18).reshape(17, 2, 18).to(torch.int16))
    # Where formulas end: powers of infinity, sums that begin far below 0, phases of many turns, twice what is the largest.
    far = torch.tensor([inf, inf, inf, inf, 2.0, 3.0, 2.0, 4.0, 2.5, 3.0], dtype=torch.float64)
    low = torch.tensor([1.0, 0.5, -0.5, -2.5, -0.25, -20.25, -100.5, -1e3, -0.5, -1.75], dtype=torch.float64)
    yield "far_arguments", lambda s, q, x: [
        special.zeta(s, q), special.zeta(s[4:], 1.0), special.zeta(s[4:], -2.5), special.bessel_j0(x) * 1e5, special.bessel_j1(x) * 1e5,
        special.bessel_y0(x) * 1e5, special.bessel_y1(x) * 1e5, special.bessel_y1(x[:1] * 1e-318) * 1e-308], (
            far, low, torch.tensor([1e10, 1e8, 3e6], dtype=torch.float64))
    yield "numbers_of_bytes", lambda u, i, t: [
        result for v in (u, i, t, u.reshape(-1)[:0], i[0, 0]) for result in (v.unique(), *torch.unique(v, return_inverse=True, return_counts=True))], (
            torch.arange(900).mul(37).remainder(211).to(torch.uint8).reshape(30, 30),
            torch.arange(300).mul(91).remainder(256).sub(128).to(torch.int8).reshape(3, 100), torch.ones(70, dtype=torch.bool))
    yield "named_padding", lambda x, w: [
        F.conv2d(x, w, None, 1, padding, dilation, groups) for padding in ("valid", "same") for dilation in (1, 2) for groups in (1,)] + [
            F.conv1d(x[:, :, 0], w[:2, :, 0], None, 2, "valid"), F.conv2d(x, w[:, :1], padding="valid", groups=3)], (
                normal(2, 3, 9, 8), normal(6, 3, 3, 3))
    yield "closed_ranges", lambda x, i: [
        aten.range.step(0, 4, 1) * x, aten.range(1, 5) * x, aten.range.step(1.0, 0.0, -0.3), aten.range.step(0, 7, 2, dtype=torch.int64),
        i.to(torch.result_type(i, x)), i.to(torch.result_type(i, 1.5)) * 2], (normal(5), torch.arange(5))
