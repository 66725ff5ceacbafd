"""Convolutions, pools and image operators drawn from wide grids, for `scripts/bench ops --only wide/image`.

Channels, kernels, strides, dilations, groups, extents and batches meet in combinations that no model was asked for: where
one is slow beside its peers, its neighbours say by which of them. The same are drawn in every run.
"""
import itertools

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from opcases import BF16, F32, SHORT, size_name
from oddcases import convolution, drawn
from widecases import wide

CHANNELS = (1, 3, 5, 16, 17, 31, 33, 64, 100, 128, 513)
KERNELS = (1, 2, 3, 3, 4, 5, 6, 7, 9, 11, 13)
BATCHES = (1, 1, 2, 8, 64)
SIZES = {1: (16, 33, 100, 224, 1000, 4000), 2: (1, 7, 14, 15, 28, 31, 56, 57, 112, 224), 3: (3, 7, 8, 16, 17, 28)}
GROUPS = (0, 0, 0, 0, 2, 4, 8, 32)


def regions(images, height, width, count):
    """Of images of twice that size: the image, then the corners."""
    first = torch.rand(count, 2) * torch.tensor([width, height])
    last = first + torch.rand(count, 2) * torch.tensor([width, height])
    return torch.cat([torch.randint(0, images, (count, 1)).float(), first, last], 1)


def convolutions():
    kinds = {"conv": (GROUPS, (1, 1, 1, 2, 2, 3, 4), (1, 1, 1, 2, 3), False, {1: 50, 2: 110, 3: 50}),
             "depthwise": ((-1,), (1, 1, 2, 3), (1, 1, 2, 3), False, {1: 10, 2: 36, 3: 10}),
             "transposed": ((0, 0, 0, 2, 8), (1, 2, 2, 3, 4), (1,), True, {1: 14, 2: 44, 3: 14})}
    for seed, (kind, (groups, strides, dilations, transposed, counts)) in enumerate(kinds.items()):
        for dims, count in counts.items():
            kernels = KERNELS if dims < 3 else KERNELS[:8]
            axes = (CHANNELS, CHANNELS, kernels, strides, dilations, groups, BATCHES, SIZES[dims])
            fits = lambda *a, d=dims, t=transposed: convolution(d, *a, transposed=t) is not None  # noqa: E731
            for at, one in enumerate(drawn(100 + 10 * seed + dims, count, axes, fits)):
                c, f, k, s, d, g, b, n = one
                make, shape = convolution(dims, *one, transposed=transposed)
                name = f"image/{kind}{dims}d/{b}x{shape[1]}x{n}-{f * max(1, g)}/k{k}s{s}d{d}g{g}"
                wide(name, None, shape, state=make)
                if at % 3 == 0:
                    wide(f"{name}/bf16", None, (*shape, BF16), state=lambda m=make: m().to(BF16))


def known():
    """What was slow once, and its neighbours."""
    conv, up = (nn.Conv1d, nn.Conv2d, nn.Conv3d), (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    for name, make, shape in (
            ("3x8x112-64/k377", lambda: conv[2](3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3)), (1, 3, 8, 112, 112)),
            ("3x8x112-64/k377s1", lambda: conv[2](3, 64, (3, 7, 7), 1, (1, 3, 3)), (1, 3, 8, 112, 112)),
            ("31x9-5/k7", lambda: conv[2](31, 5, 7, 1, 3), (1, 31, 9, 9, 9)),
            ("5x31-17/k3s3d2", lambda: conv[1](5, 17, 3, 3, 2, 2), (8, 5, 31, 31)),
            ("100x112-17/k3", lambda: conv[1](100, 17, 3, 1, 1), (1, 100, 112, 112)),
            ("100x112-17/k3b3", lambda: conv[1](100, 17, 3, 1, 1), (3, 100, 112, 112)),
            ("5x57-31/k5s3", lambda: conv[1](5, 31, 5, 3, 2), (3, 5, 57, 57)),
            ("1x57-31/k5s3", lambda: conv[1](1, 31, 5, 3, 2), (16, 1, 57, 57)),
            ("1026x31-34/k3g2", lambda: up[1](1026, 34, 3, 1, 1, groups=2), (1, 1026, 31, 31)),
            ("64x28-64/up3s2", lambda: up[1](64, 64, 3, 2, 1, 1), (1, 64, 28, 28)),
            ("100x31-31/up3s2g2", lambda: up[1](200, 62, 3, 2, 1, groups=2), (1, 200, 31, 31)),
            ("16x112-3/up3s2", lambda: up[1](16, 3, 3, 2, 1, 1), (1, 16, 112, 112)),
            ("32x33-192/up5s3d3g4", lambda: up[1](32, 192, 5, 3, (0, 6), groups=4, dilation=3), (1, 32, 33, 20)),
            ("64x28-32/up3s3", lambda: up[1](64, 32, 3, 3), (1, 64, 28, 28)),
            ("33x4000-65/k5d4", lambda: conv[0](33, 65, 5, 1, 8, 4), (1, 33, 4000)),
            ("31x4000-17/k3d3", lambda: conv[0](31, 17, 3, 1, 3, 3), (3, 31, 4000)),
            ("513x100-513/k3", lambda: conv[0](513, 513, 3, 1, 1), (1, 513, 100)),
            ("17x1000-33/k9", lambda: conv[0](17, 33, 9, 1, 4), (8, 17, 1000)),
            ("1x224-64/k3", lambda: conv[1](1, 64, 3, 1, 1), (1, 1, 224, 224)),
            ("256x56-256/k3s2g32", lambda: conv[1](256, 256, 3, 2, 1, groups=32), (1, 256, 56, 56)),
            ("128x56-128/k3g32", lambda: conv[1](128, 128, 3, 1, 1, groups=32), (1, 128, 56, 56)),
            ("224x28-224/k3g4", lambda: conv[1](224, 224, 3, 1, 1, groups=4), (1, 224, 28, 28)),
            ("448x14-448/k3g8", lambda: conv[1](448, 448, 3, 1, 1, groups=8), (1, 448, 14, 14)),
            ("1024x14-1024/k3g32", lambda: conv[1](1024, 1024, 3, 1, 1, groups=32), (1, 1024, 14, 14)),
            ("4x512x7-512/k3", lambda: conv[1](512, 512, 3, 1, 1), (4, 512, 7, 7)),
            ("16x128-32/k3", lambda: conv[1](16, 32, 3, 1, 1), (1, 16, 128, 128))):
        wide(f"image/known/{name}", None, shape, state=make)
    for name, x, w, options in (("48x28-200/k3g2", (4, 48, 28, 28), (200, 24, 3, 3), dict(groups=2, padding=1)),
                                ("1536x13-96/k2g8s2", (4, 1536, 13, 13), (96, 192, 2, 2), dict(groups=8, stride=2)),
                                ("depthwise/240x28/k5", (4, 240, 28, 28), (240, 1, 5, 5), dict(groups=240, padding=2))):
        wide(f"image/known/late/{name}", lambda x, w, o=options: F.conv2d(x, w, **o), x, w)
    for c, n, k, s in itertools.product((96,), (14, 28, 56), (5, 7), (1, 2)):
        wide(f"image/known/depthwise/{c}x{n}/k{k}s{s}", None, (1, c, n, n), state=lambda c=c, k=k, s=s: conv[1](c, c, k, s, k // 2, groups=c))
    for c, n, k in ((2048, 31, 5), (512, 14, 5)):
        wide(f"image/known/depthwise/{c}x{n}/k{k}", None, (1, c, n, n), state=lambda c=c, k=k: conv[1](c, c, k, 1, k // 2, groups=c))


def pools():
    shapes = {1: ((16, 64, 1000), (3, 17, 4001)), 2: ((4, 64, 56, 56), (2, 17, 57, 59), (16, 128, 14, 14)), 3: ((2, 16, 16, 28, 28), (1, 17, 9, 31, 33))}
    of = lambda name, d: getattr(F, f"{name}{d}d")  # noqa: E731
    for d, k, s, at in drawn(200, 44, ((1, 2, 3), (2, 3, 4, 5, 7), (1, 2, 3, 4), (0, 1, 2)), lambda d, k, s, at: at < len(shapes[d])):
        shape = shapes[d][at]
        if min(shape[2:]) < k:
            continue
        label = f"{size_name(*shape)}/k{k}s{s}"
        wide(f"image/pool/max/{label}", lambda x, d=d, k=k, s=s: of("max_pool", d)(x, k, s, k // 2), shape)
        wide(f"image/pool/avg/{label}", lambda x, d=d, k=k, s=s: of("avg_pool", d)(x, k, s, k // 2), shape)
        if d < 3:
            wide(f"image/pool/lp/{label}", lambda x, d=d, k=k, s=s: of("lp_pool", d)(x, 2, k, s), shape)
        wide(f"image/pool/places/{label}", lambda x, d=d, k=k, s=s: of("max_pool", d)(x, k, s, k // 2, return_indices=True), shape)
    for d, out, at in drawn(201, 16, ((1, 2, 3), (1, 2, 5, 7, 10), (0, 1, 2)), lambda d, out, at: at < len(shapes[d])):
        shape = shapes[d][at]
        wide(f"image/pool/adaptive_avg/{size_name(*shape)}/{out}", lambda x, d=d, o=out: of("adaptive_avg_pool", d)(x, o), shape)
        wide(f"image/pool/adaptive_max/{size_name(*shape)}/{out}", lambda x, d=d, o=out: of("adaptive_max_pool", d)(x, o), shape)
    for dtype in (BF16,):
        wide(f"image/pool/max/{SHORT[dtype]}", lambda x: F.max_pool2d(x, 3, 2, 1), (4, 64, 56, 56, dtype))
        wide(f"image/pool/avg/{SHORT[dtype]}", lambda x: F.avg_pool2d(x, 3, 2, 1), (4, 64, 56, 56, dtype))


def moved():
    image = {2: "height", 3: "width"}
    for mode, (shape, to) in itertools.product(("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
                                               (((2, 16, 57, 59), (101, 77)), ((1, 3, 224, 224), (112, 160)), ((4, 64, 14, 14), (28, 28)))):
        wide(f"image/resize/{mode}/{size_name(*shape)}", lambda x, m=mode, to=to: F.interpolate(x, to, mode=m), shape)
    for mode in ("nearest", "bilinear", "bicubic"):
        wide(f"image/resize/open/{mode}/like", lambda x, y, m=mode: F.interpolate(x, y.shape[2:], mode=m) + y, (2, 16, 28, 28), (2, 16, 56, 56),
             dynamic={0: image, 1: {2: "rows", 3: "columns"}})
    for mode, f in itertools.product(("nearest", "bilinear", "bicubic"), (2, 1.7)):
        wide(f"image/resize/open/{mode}/{f}", lambda x, m=mode, f=f: F.interpolate(x, scale_factor=f, mode=m), (2, 16, 56, 56), dynamic={0: image})
    wide("image/resize/trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), (1, 8, 12, 24, 28))
    wide("image/resize/linear", lambda x: F.interpolate(x, 700, mode="linear"), (4, 33, 401))
    wide("image/resize/corners", lambda x: F.interpolate(x, (100, 120), mode="bilinear", align_corners=True), (2, 16, 56, 56))
    for mode, padding, corners in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
        sample = lambda x, g, m=mode, p=padding, a=corners: F.grid_sample(x, g, m, p, a)  # noqa: E731
        grid = lambda n, h, w: lambda: torch.rand(n, h, w, 2) * 2.2 - 1.1  # noqa: E731
        wide(f"image/grid_sample/{mode}/{padding}/{int(corners)}/16x56", sample, (2, 16, 56, 56), grid(2, 40, 44))
        if padding == "zeros":
            wide(f"image/grid_sample/{mode}/{padding}/{int(corners)}/3x128", sample, (1, 3, 128, 128), grid(1, 128, 128))
    wide("image/grid_sample/3d", lambda x, g: F.grid_sample(x, g), (1, 8, 12, 24, 24), lambda: torch.rand(1, 12, 20, 20, 3) * 2.2 - 1.1)
    for (n, c, h, w), count, size, samples in (((4, 8, 224, 227), 20, 14, 2), ((1, 64, 56, 56), 100, 7, 2), ((2, 16, 33, 40), 12, 7, -1),
                                               ((4, 8, 224, 227), 20, 14, -1), ((1, 64, 56, 56), 100, 7, -1)):
        wide(f"image/roi_align/{n}x{c}x{h}/{count}x{size}/{samples}",
             lambda x, r, size=size, samples=samples: torchvision.ops.roi_align(x, r, size, 0.5, samples, True),
             (n, c, h, w), lambda n=n, h=h, w=w, count=count: regions(n, h, w, count))
    wide("image/roi_pool/1x64x56/100x7", lambda x, r: torchvision.ops.roi_pool(x, r, 7, 0.5), (1, 64, 56, 56), lambda: regions(1, 56, 56, 100))
    wide("image/affine_grid", lambda t: F.affine_grid(t, (4, 3, 100, 120), False), (4, 2, 3))
    for mode, (shape, by) in itertools.product(("constant", "reflect", "replicate", "circular"),
                                               (((4, 64, 56, 56), (1, 1, 1, 1)), ((2, 17, 57, 59), (3, 2, 5, 1)), ((16, 33, 1001), (7, 9)),
                                                ((1, 16, 9, 28, 30), (2, 2, 1, 1, 1, 2)))):
        wide(f"image/pad/{mode}/{size_name(*shape)}", lambda x, m=mode, by=by: F.pad(x, by, mode=m), shape)
    for c, n, f in ((36, 56, 2), (27, 57, 3), (64, 28, 4), (256, 14, 2)):
        wide(f"image/shuffle/{c}x{n}/{f}", lambda x, f=f: F.pixel_shuffle(x, f), (2, c * f * f // (f * f) if c % (f * f) == 0 else f * f * c, n, n))
        wide(f"image/unshuffle/{c}x{n * f}/{f}", lambda x, f=f: F.pixel_unshuffle(x, f), (1, c // 4, n * f, n * f))
    for c, n, k, s, d in ((16, 56, 3, 1, 1), (17, 57, 3, 2, 1), (3, 224, 7, 4, 1), (33, 28, 2, 2, 1), (8, 56, 3, 1, 2), (3, 224, 16, 16, 1)):
        p = d * (k - 1) // 2 if k < 16 else 0
        m = ((n + 2 * p - d * (k - 1) - 1) // s + 1)**2
        wide(f"image/unfold/{c}x{n}/k{k}s{s}d{d}", lambda x, k=k, s=s, d=d, p=p: F.unfold(x, k, d, p, s), (2, c, n, n))
        wide(f"image/fold/{c}x{n}/k{k}s{s}d{d}", lambda x, n=n, k=k, s=s, d=d, p=p: F.fold(x, (n, n), k, d, p, s), (2, c * k * k, m))


for family in (convolutions, known, pools, moved):
    family()
