"""Operators whose extents only a run knows, beside the same with all of them known:

    scripts/bench ops --only wide/open --peers static

The last column but one is then the time with known extents by that with open ones. Each class comes with an open first axis
(rows, a batch) and, where models have that, with open lengths or images.
"""
import torch
import torch.nn.functional as F
from torch import nn

from opcases import BF16, F16, F32, size_name
from widecases import NAMES, wide

ROWS, BATCH = {0: "rows"}, {0: "batch"}


def opened(name, function, *arguments, axes, state=None):
    """`axes`: for each argument, its open axes with their names."""
    wide(f"open/{name}", function, *arguments, dynamic=dict(enumerate(axes)), state=state)


def products():
    for m, k, n in ((1, 768, 3072), (8, 1024, 1024), (64, 64, 64), (100, 768, 768), (512, 768, 3072), (1024, 256, 100)):
        linear = lambda k=k, n=n: nn.Linear(k, n)  # noqa: E731
        if m > 1:
            opened(f"linear/{size_name(m, k, n)}", None, (m, k), axes=[ROWS], state=linear)
        opened(f"linear/2x{size_name(m, k, n)}", None, (2, m, k), axes=[BATCH], state=linear)
    for m, k, n in ((64, 64, 64), (128, 512, 128), (512, 512, 512), (7, 1000, 300)):
        opened(f"matmul/{size_name(m, k, n)}", torch.matmul, (m, k), (k, n), axes=[ROWS, {}])
        opened(f"matmul_all/{size_name(m, k, n)}", torch.matmul, (m, k), (k, n), axes=[{0: "m", 1: "k"}, {0: "k", 1: "n"}])
        opened(f"bmm/8x{size_name(m, k, n)}", torch.bmm, (8, m, k), (8, k, n), axes=[BATCH, BATCH])
    for m, k in ((100, 768), (1000, 64)):
        opened(f"linear/{size_name(m, k, 1)}", None, (m, k), axes=[ROWS], state=lambda k=k: nn.Linear(k, 1))
    opened("matmul/1000x1000x1/turned", lambda x, y: x @ y.T, (1000, 1000), (1, 1000), axes=[ROWS, {}])
    opened("matmul/1x3000x768/length", torch.matmul, (1, 3000), (3000, 768), axes=[{1: "length"}, {0: "length"}])
    opened("matmul/64x3000x768/length/turned", lambda x, y: x.T @ y, (3000, 64), (3000, 768), axes=[{0: "length"}, {0: "length"}])
    opened("matmul/64x3000x768/length/columns", lambda x, y: x @ y.T, (64, 3000), (768, 3000), axes=[{1: "length"}, {1: "length"}])
    opened("bmm/32x2x8192x1", torch.bmm, (32, 2, 8192), (32, 8192, 1), axes=[{1: "rows"}, {}])
    for m, k, n in ((64, 896, 1152), (128, 896, 4864)):
        opened(f"linear/{size_name(m, k, n)}/bf16", None, (m, k, BF16), axes=[ROWS], state=lambda k=k, n=n: nn.Linear(k, n).to(BF16))
    opened("matmul/3000x300x500/bf16", torch.matmul, (3000, 300, BF16), (300, 500, BF16), axes=[ROWS, {}])
    opened("matmul/1000x300/itself/bf16", lambda x: x @ x.T, (1000, 300, BF16), axes=[ROWS])
    opened("mlp/128x256x1024", None, (128, 256), axes=[ROWS],
           state=lambda: nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)))


def convolutions():
    image = {2: "height", 3: "width"}
    for c, f, size, kernel, stride, groups in ((3, 32, 224, 3, 2, 1), (64, 64, 56, 3, 1, 1), (64, 256, 28, 1, 1, 1), (40, 12, 112, 1, 1, 1),
                                               (128, 3, 56, 1, 1, 1), (128, 128, 14, 3, 1, 1), (96, 96, 56, 3, 1, 96), (96, 96, 28, 5, 1, 96),
                                               (64, 64, 28, 3, 1, 4)):
        conv = lambda c=c, f=f, k=kernel, s=stride, g=groups: nn.Conv2d(c, f, k, s, k // 2, groups=g)  # noqa: E731
        name = f"{c}x{size}x{size}-{f}/k{kernel}s{stride}g{groups}"
        opened(f"conv/batch/{name}", None, (2, c, size, size), axes=[BATCH], state=conv)
        if stride == 1:  # of others the exporter wants to know the remainder
            opened(f"conv/image/{name}", None, (2, c, size, size), axes=[image], state=conv)
    opened("conv/image/64x80x96-128/k1/bf16", None, (4, 64, 80, 96, BF16), axes=[image], state=lambda: nn.Conv2d(64, 128, 1).to(BF16))
    opened("conv/image/96x56x145-48/k3g8", None, (2, 96, 56, 145), axes=[image], state=lambda: nn.Conv2d(96, 48, 3, padding=1, groups=8))
    opened("conv/image/24x64x64-4/k5", None, (2, 24, 64, 64), axes=[image], state=lambda: nn.Conv2d(24, 4, 5, padding=2))
    opened("conv/length/80x500-12/k5", None, (2, 80, 500), axes=[{2: "length"}], state=lambda: nn.Conv1d(80, 12, 5, padding=2))
    opened("conv/length/80x1000-256/k3", None, (2, 80, 1000), axes=[{2: "length"}], state=lambda: nn.Conv1d(80, 256, 3, padding=1))
    opened("conv/transposed/64x28x28-32/k2s2", None, (2, 64, 28, 28), axes=[BATCH], state=lambda: nn.ConvTranspose2d(64, 32, 2, 2))
    for what, f in (("max", lambda x: F.max_pool2d(x, 3, 2, 1)), ("avg", lambda x: F.avg_pool2d(x, 2)), ("global", lambda x: x.mean((2, 3)))):
        opened(f"pool/{what}/batch", f, (4, 64, 56, 56), axes=[BATCH])
    opened("pool/global/image", lambda x: x.mean((2, 3)), (4, 64, 56, 56), axes=[image])


def open_filters():
    """Convolutions by filters of each image, and by a template, whose number or extents are open."""
    def own(x, w):
        images, of_image = x.reshape(1, -1, *x.shape[2:]), w.reshape(-1, *w.shape[2:])
        y = F.conv2d(images, of_image, padding=w.shape[-1] // 2, groups=x.shape[0])
        return y.reshape(x.shape[0], -1, *y.shape[2:])

    def each(x, w):
        y = F.conv2d(x.reshape(1, -1, *x.shape[2:]), w.reshape(-1, 1, *w.shape[2:]), groups=x.shape[0] * x.shape[1])
        return y.reshape(x.shape[0], x.shape[1], *y.shape[2:])
    opened("conv/own/8x64x28x28-64/k3", own, (8, 64, 28, 28), (8, 64, 64, 3, 3), axes=[BATCH, BATCH])
    opened("conv/own/4x64x32x32-64/k1", own, (4, 64, 32, 32), (4, 64, 64, 1, 1), axes=[BATCH, BATCH])
    opened("conv/own/8x256x31x31/depthwise/k5", each, (8, 256, 31, 31), (8, 256, 5, 5), axes=[BATCH, BATCH])
    opened("conv/template/2x64x40x40-3/k9", F.conv2d, (2, 64, 40, 40), (3, 64, 9, 9),
           axes=[{2: "height", 3: "width"}, {2: "rows", 3: "columns"}])


def attention():
    sdpa = F.scaled_dot_product_attention
    causal = lambda q, k, v: sdpa(q, k, v, is_causal=True)  # noqa: E731
    for b, h, s, d in ((1, 12, 128, 64), (1, 8, 512, 64), (8, 4, 64, 32)):
        shape, length = (b, h, s, d), {2: "length"}
        for what, f in (("plain", sdpa), ("causal", causal)):
            opened(f"attention/{what}/{size_name(*shape)}", f, shape, shape, shape, axes=[length] * 3)
            if b > 1:
                opened(f"attention/{what}/batch/{size_name(*shape)}", f, shape, shape, shape, axes=[BATCH] * 3)
    for length in (300, 2048):
        shape = (2, 8, length, 128)
        opened(f"attention/causal/both/{size_name(*shape)}", causal, shape, shape, shape, axes=[{0: "batch", 2: "length"}] * 3)
    opened("attention/decode/1x12x1x64", sdpa, (1, 12, 1, 64), (1, 12, 512, 64), (1, 12, 512, 64), axes=[{}, {2: "past"}, {2: "past"}])


def rows():
    kinds = {"softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
             "rms_norm": lambda x: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt(), "sum": lambda x: x.sum(-1), "amax": lambda x: x.amax(-1),
             "argmax": lambda x: x.argmax(-1), "cumsum": lambda x: x.cumsum(-1)}
    for what, f in kinds.items():
        for m, n in ((1000, 64), (128, 768), (512, 1024), (8, 4000)):
            opened(f"{what}/rows/{size_name(m, n)}", f, (m, n), axes=[ROWS])
            if what != "layer_norm":
                opened(f"{what}/length/{size_name(m, n)}", f, (m, n), axes=[{1: "length"}])
    for what, f in (("sum", lambda x: x.sum(0)), ("mean", lambda x: x.mean(1)), ("all", lambda x: x.sum())):
        opened(f"reduce/{what}/256x64x128", f, (256, 64, 128), axes=[BATCH])
        opened(f"reduce/{what}/length/256x64x128", f, (256, 64, 128), axes=[{1: "length"}])
    for n, columns in ((100000, 3), (100000, 4), (20000, 31)):
        opened(f"reduce/sum/rows/{size_name(n, columns)}", lambda x: x.sum(0), (n, columns), axes=[ROWS])
    for axes in (ROWS, {1: "columns"}):
        opened(f"reduce/sum/far/{'columns' if 1 in axes else 'rows'}/4096x1024", lambda x: x.sum(0), (4096, 1024), axes=[axes])
    opened("reduce/std/rows/100000x3", lambda x: x.std(0), (100000, 3), axes=[ROWS])
    opened("reduce/var/8x16x100x128", lambda x: x.var((1, 2, 3)), (8, 16, 100, 128), axes=[{2: "height", 3: "width"}])
    opened("reduce/var/2x512x4096", lambda x: x.var(1), (2, 512, 4096), axes=[{0: "batch", 1: "length"}])
    opened("reduce/var/2x4000x4096", lambda x: x.var(1), (2, 4000, 4096), axes=[{0: "batch", 1: "length"}])
    opened("softmax/middle/64x19x1024", lambda x: x.softmax(1), (64, 19, 1024), axes=[{0: "batch", 1: "length"}])
    opened("reduce/norm/16x1000x50", lambda x: x / x.norm(dim=1, keepdim=True), (16, 1000, 50), axes=[{0: "batch", 2: "columns"}])
    opened("argmax/length/64x4000", lambda x: x.argmax(-1), (64, 4000), axes=[{1: "length"}])
    image = {0: "batch", 2: "height", 3: "width"}
    for what, f in (("softmax", lambda x: x.softmax(1)), ("log_softmax", lambda x: x.log_softmax(1)), ("normalize", F.normalize),
                    ("center", lambda x: x - x.mean(1, True)), ("layer_norm", lambda x: (x - x.mean(1, True)) * (x.var(1, keepdim=True) + 1e-6).rsqrt())):
        for shape in ((8, 21, 60, 60), (4, 96, 56, 56), (4, 64, 33, 35)):
            opened(f"{what}/channels/{size_name(*shape)}", f, shape, axes=[image])
    opened("batch_norm/8x64x56x56", None, (8, 64, 56, 56), axes=[BATCH], state=lambda: nn.BatchNorm2d(64).eval())
    opened("group_norm/2x320x64x64", None, (2, 320, 64, 64), axes=[{2: "height", 3: "width"}], state=lambda: nn.GroupNorm(32, 320))
    opened("group_norm/2x16x200x320", None, (2, 16, 200, 320), axes=[{2: "height", 3: "width"}], state=lambda: nn.GroupNorm(4, 16))
    opened("group_norm/4x64x28x28", None, (4, 64, 28, 28), axes=[BATCH], state=lambda: nn.GroupNorm(8, 64))


def moves():
    points = {"gelu": F.gelu, "relu": torch.relu, "add": lambda x: x + 1, "silu": F.silu}
    for what, f in points.items():
        for m, n in ((100, 64), (512, 768), (1024, 1024), (2000, 33)):
            opened(f"point/{what}/rows/{size_name(m, n)}", f, (m, n), axes=[ROWS])
            opened(f"point/{what}/all/{size_name(m, n)}", f, (m, n), axes=[{0: "rows", 1: "columns"}])
    opened("point/bias/512x768", lambda x, y: x + y, (512, 768), (768,), axes=[ROWS, {}])
    for dtype in (F32, F16):
        opened(f"point/one/77x768x2x8/{NAMES[dtype]}", lambda x, y: x + y, (77, 768, 2, 8, dtype), (1, dtype), axes=[{3: "columns"}, {}])
    opened("point/scale/512x768", lambda x, y: x * y, (512, 768), (512, 1), axes=[ROWS, ROWS])
    for what, f in (("0", lambda x, y: torch.cat([x, y])), ("1", lambda x, y: torch.cat([x, y], 1)), ("2", lambda x, y: torch.cat([x, y], 2))):
        opened(f"cat/{what}/32x64x96", f, (32, 64, 96), (32, 64, 96), axes=[BATCH, BATCH] if what != "0" else [{1: "rows"}] * 2)
    for what, permutation in (("heads", (0, 2, 1, 3)), ("last", (0, 1, 3, 2)), ("channels", (0, 3, 1, 2))):
        opened(f"transpose/{what}/8x128x12x64", lambda x, p=permutation: x.permute(p).contiguous(), (8, 128, 12, 64), axes=[BATCH])
        opened(f"transpose/{what}/length", lambda x, p=permutation: x.permute(p).contiguous(), (8, 128, 12, 64), axes=[{1: "length"}])
    opened("transpose/matrix/1024x1000", lambda x: x.T.contiguous(), (1024, 1000), axes=[ROWS])
    places = lambda: torch.randint(0, 1000, (512,))  # noqa: E731
    opened("gather/rows/1000x256", lambda x, i: x[i], (1000, 256), places, axes=[{}, {0: "count"}])
    opened("gather/embedding/1000x256", None, places, axes=[{0: "count"}], state=lambda: nn.Embedding(1000, 256))
    opened("gather/along/512x1000", lambda x, i: x.gather(1, i), (512, 1000), lambda: torch.randint(0, 1000, (512, 64)), axes=[ROWS, ROWS])
    for axis, shape in ((0, (12, 768, 9)), (1, (12, 768, 9)), (2, (8, 64, 7, 7))):
        axes = [{0: "batch", 1: "length"}] * 2
        opened(f"stack/{axis}/{size_name(*shape)}", lambda x, y, a=axis: torch.stack([x, y], a), shape, shape, axes=axes)
    opened("glu/9x128x7x7", lambda x: F.glu(x, 1), (9, 128, 7, 7), axes=[BATCH])
    opened("flip/8x116x7x7", lambda x: x.flip(1), (8, 116, 7, 7), axes=[BATCH])
    for shape, axis in (((49, 33, 1024), 0), ((1000, 1000), 0), ((8, 300, 100), 1)):
        opened(f"cumsum/{axis}/{size_name(*shape)}", lambda x, a=axis: x.cumsum(a), shape, axes=[{len(shape) - 1: "columns"}])
    opened("tile/349x500", lambda x: x.tile(2, 2), (349, 500), axes=[{0: "rows", 1: "columns"}])
    for shape in ((319, 256, 5), (8, 100, 3, 4), (4, 56, 56, 96)):
        opened(f"roll/1/{size_name(*shape)}", lambda x: x.roll(33, 1), shape, axes=[{0: "batch", 1: "length"}])
    opened("slice/512x1024", lambda x: x[:, 100:900] * 2, (512, 1024), axes=[ROWS])
    opened("pad/64x100x100", lambda x: F.pad(x, (1, 1, 1, 1)), (64, 100, 100), axes=[BATCH])
    opened("resize/3/4x128x50x52", lambda x: F.interpolate(x, scale_factor=3), (4, 128, 50, 52), axes=[{0: "batch", 2: "height", 3: "width"}])
    opened("resize/2x64x28x28", lambda x: F.interpolate(x, scale_factor=2), (2, 64, 28, 28), axes=[BATCH])


for family in (products, convolutions, open_filters, attention, rows, moves):
    family()
