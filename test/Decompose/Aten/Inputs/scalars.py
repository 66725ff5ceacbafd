"""Cases of cases.py: numbers beside tensors of narrow types, casts into those, what torch computes in them."""
import torch
import torch.nn.functional as F


def scalars():
    """(name, function, inputs): bounds that a type lacks, True as a number, factors that bf16 and f16 lack."""
    yield "scalar_bounds", lambda u, i: [
        f(v) for v in (u, i) for f in (
            lambda v: v.clamp(-3, 3), lambda v: v.clamp(min=-300), lambda v: v.clamp(max=70000),
            lambda v: v.clamp(-200, 300), lambda v: v.clamp(3, 2**40), lambda v: torch.clamp_min(v, -129),
            lambda v: torch.clamp_max(v, 256), lambda v: F.hardtanh(v, -2, 300))], (
                torch.tensor([0, 1, 255, 3, 7, 128], dtype=torch.uint8),
                torch.tensor([0, 1, -1, 127, -7, -128], dtype=torch.int8))
    yield "scalar_truths", lambda x: [
        x ** True, x ** False, torch.float_power(x, True), F.leaky_relu(x, True), F.hardtanh(x, -2, True), x * True], (
            torch.tensor([0.0, 1.0, -1.0, 3.0, -5.0, 0.5]),)
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(64, generator=generator)
    yield "scalar_factors", lambda x: [
        f(x.to(t)).float() for t in (torch.bfloat16, torch.float16) for f in (
            lambda v: v * 0.1, lambda v: v / 0.3, lambda v: 70000 * v, lambda v: v * x[0],
            lambda v: v / x[1].double(), lambda v: v * 0.5)], (x,)
    yield "casts_to_narrow_integers", lambda x: [
        f(x, t) for t in (torch.uint8, torch.int8, torch.int16) for f in (
            lambda x, t: x.to(t), lambda x, t: x.double().to(t), lambda x, t: x.bfloat16().to(t),
            lambda x, t: torch.zeros(6, dtype=t).copy_(x))], (torch.tensor([-1.0, -2.5, 300.0, -200.5, 65000.0, 7.0]),)
    yield "casts_to_short_floats", lambda x, i: [
        v.to(t).float() for t in (torch.bfloat16, torch.float16) for v in (x, i, i.int(), i.short())], (
            torch.tensor([1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40, 65519.9999999, 1e300, -0.1], dtype=torch.float64),
            torch.tensor([2**30 + 2**22 + 1, 2**24 + 2**16 + 1, -7, 2**31 - 1, 2051, 257]))
    image = torch.randint(0, 256, (1, 3, 11, 13), dtype=torch.uint8, generator=generator)
    yield "bytes_resized", lambda x: [
        F.interpolate(x, size, mode=mode, align_corners=corners, antialias=smooth) for mode in ("bilinear", "bicubic")
        for size, corners, smooth in (((5, 7), False, True), ((20, 31), False, False), ((9, 4), True, False))], (image,)
    yield "doubles_resized", lambda x: [
        F.interpolate(x, (5, 17), mode=mode, antialias=smooth).float() for mode in ("bilinear", "bicubic")
        for smooth in (False, True)], (image.double() / 7,)
    i, j = torch.randint(0, 120, (2, 4, 5), dtype=torch.uint8, generator=generator)
    yield "integers_that_wrap", lambda i, j: [
        f(v, w) for v, w in ((i, j), (i.to(torch.int8), j.to(torch.int8))) for f in (
            F.pairwise_distance, lambda v, w: F.triplet_margin_loss(v, w, v.flip(0), swap=True, p=1),
            lambda v, w: F.margin_ranking_loss(v, w, v.flip(0), margin=3.5, reduction="none"),
            lambda v, w: torch.trapezoid(v, dx=0.5), lambda v, w: torch.trapezoid(v, w, dim=0),
            lambda v, w: torch.cumulative_trapezoid(v, w))], (i, j)
    yield "views_of_other_widths", lambda x, b, h: [
        x.view(torch.uint8), x.view(torch.int16), x.view(torch.float64), b.view(torch.int32), b.view(torch.int64),
        b.view(torch.float16).view(torch.int16), h.view(torch.int32), h.view(torch.uint8), h.view(torch.int64).view(torch.bool)], (
            torch.randn(3, 4, generator=generator), torch.randint(0, 256, (2, 8), dtype=torch.uint8, generator=generator),
            torch.randn(2, 4, generator=generator).half())
    far = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 3e38, 1e-40, -9.3, -27.0, 0.7, 9.9, 30.0, 1e5])
    yield "scaled_complements", lambda x, y: [torch.special.erfcx(x), torch.special.erfcx(y), torch.special.log_ndtr(x)], (
        far, far.double())
    yield "narrow_tails", lambda p, x: [torch.special.ndtri(p), torch.trapezoid(x, dim=1)], (
        torch.tensor([1e-30, 1e-12, 8.5e-11, 1e-3, 0.0499, 0.05, 0.5, 0.999, 0.0, 1.0]).double(),
        torch.tensor([[1.0, 2.0, 4.0], [float("inf"), 1.0, 2.0], [float("nan"), 0.0, 1.0]]))
    grid = torch.rand(1, 4, 5, 2, generator=generator) * 3 - 1.5
    yield "cubic_samples_at_borders", lambda x, g: [
        F.grid_sample(x, g, "bicubic", mode, corners) for mode in ("border", "reflection") for corners in (False, True)], (
            torch.randn(1, 2, 5, 6, generator=generator), grid)
    yield "norms_of_small_numbers", lambda x: [
        F.rms_norm(x.to(t), (8,)).float() for t in (torch.bfloat16, torch.float16, torch.float32, torch.float64)], (
            torch.randn(4, 8, generator=generator) * 1e-3,)
