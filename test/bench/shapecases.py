"""Data movement, scans, places and norms at shapes that widecases.py does not reach, for `scripts/bench ops --only wide`.

Odd extents, one to three elements side by side, axes walked backwards, permutations of five axes, axes in the middle,
masks that are broadcast, and the types that models store. What a run alone knows the extent of is cut to a known one.
"""
import torch
import torch.nn.functional as F

from opcases import BF16, BOOL, F16, F32, F64, I8, I32, I64, integers, random
from widecases import NAMES, values, wide

STORED = (F32, F64, F16, BF16, I64, I8, BOOL)


def label(shape, *rest):
    return "/".join(["x".join(NAMES.get(extent, str(extent)) for extent in shape), *map(str, rest)])


def permutations():
    few = [((2, 100000, 2), (2, 1, 0)), ((3, 50000, 3), (2, 1, 0)), ((100000, 2, 2), (2, 1, 0)), ((100000, 2, 3), (0, 2, 1)),
           ((500, 3, 501), (1, 0, 2)), ((33, 4, 4001), (2, 0, 1)), ((1, 999, 501), (0, 2, 1)), ((501, 1003, 1), (1, 0, 2)),
           ((6, 7, 8, 9, 100), (4, 3, 2, 1, 0)), ((12, 31, 7, 17, 13), (2, 4, 0, 3, 1)), ((8, 20, 16, 10, 12), (0, 3, 1, 4, 2)),
           ((2, 3, 4, 14, 14, 64), (0, 3, 1, 4, 2, 5)), ((2, 14, 14, 2, 2, 96), (0, 1, 3, 2, 4, 5)), ((512, 2, 512), (2, 1, 0))]
    for shape, order in few:
        wide(f"permute/{label(shape, ''.join(map(str, order)))}", lambda x, p=order: x.permute(p).contiguous(), shape)
    for dtype in (F64, F16, BF16, I8, BOOL):
        for shape, order in (((4, 100000), (1, 0)), ((777, 1001), (1, 0)), ((2, 50, 64, 3, 32), (2, 0, 3, 1, 4)), ((64, 31, 129), (2, 1, 0))):
            wide(f"permute/{label(shape, ''.join(map(str, order)), NAMES[dtype])}", lambda x, p=order: x.permute(p).contiguous(),
                 (*shape, dtype))


def backwards():
    for dtype in STORED:
        wide(f"rot90/{NAMES[dtype]}", lambda x: torch.rot90(x).contiguous(), (999, 1001, dtype))
        wide(f"flip/999x1001/{NAMES[dtype]}", lambda x: x.flip(1), (999, 1001, dtype))
        wide(f"flip_both/{NAMES[dtype]}", lambda x: x.flip(0, 1), (999, 1001, dtype))
        wide(f"roll/999x1001/{NAMES[dtype]}", lambda x: x.roll(77, 1), (999, 1001, dtype))
    wide("rot90/180", lambda x: torch.rot90(x, 2).contiguous(), (999, 1001))
    wide("rot90/270", lambda x: torch.rot90(x, 3).contiguous(), (999, 1001))
    wide("rot90/images", lambda x: torch.rot90(x, 1, (2, 3)).contiguous(), (8, 16, 127, 129))
    wide("flip/last3", lambda x: x.flip(-1), (300000, 3))
    wide("flip/last2", lambda x: x.flip(-1), (500000, 2))
    wide("flip/channels", lambda x: x.flip(1), (8, 3, 224, 224))
    wide("flip/transposed", lambda x: x.flip(0).mT.contiguous(), (1000, 1000))
    wide("flip/add", lambda x: x + x.flip(1), (1000, 1000))
    wide("flip/sum_1", lambda x: (x.flip(1) * x).sum(1), (1000, 1000))
    wide("fliplr/5d", lambda x: x.flip(2, 4), (2, 3, 16, 100, 101))


def pieces():
    for dtype in STORED:
        wide(f"repeat_interleave/2/{NAMES[dtype]}", lambda x: x.repeat_interleave(2, 1), (1000, 501, dtype))
        wide(f"repeat_interleave/0/{NAMES[dtype]}", lambda x: x.repeat_interleave(3, 0), (333, 1001, dtype))
        wide(f"tril/{NAMES[dtype]}", torch.tril, (999, 1001, dtype))
        wide(f"cat_last/3/{NAMES[dtype]}", lambda x, y, z: torch.cat([x, y, z], 1), (1001, 3, dtype), (1001, 509, dtype), (1001, 1, dtype))
        wide(f"slice_odd/{NAMES[dtype]}", lambda x: x[:, 1:-2].contiguous(), (999, 1001, dtype))
        wide(f"slice_2/{NAMES[dtype]}", lambda x: x[1::2, ::2].contiguous(), (999, 2001, dtype))
        wide(f"pad_odd/{NAMES[dtype]}", lambda x: F.pad(x, (3, 2)), (999, 1001, dtype))
        wide(f"pad_amax/{NAMES[dtype]}", lambda x: F.pad(x, (1, 1)).amax(1), (500, 700, dtype))
        wide(f"cat_sum/{NAMES[dtype]}", lambda x, y: torch.cat([x, y], 1).sum(1), (500, 300, dtype), (500, 400, dtype))
        wide(f"stack_last/{NAMES[dtype]}", lambda x, y: torch.stack([x, y], -1), (999, 501, dtype), (999, 501, dtype))
        wide(f"unbind_last/{NAMES[dtype]}", lambda x: [p.contiguous() for p in x.unbind(-1)], (300001, 3, dtype))
    wide("repeat_interleave/7", lambda x: x.repeat_interleave(7, 1), (1000, 143))
    wide("repeat_interleave/64", lambda x: x.repeat_interleave(64, 1), (1000, 16))
    wide("repeat_interleave/middle", lambda x: x.repeat_interleave(3, 1), (100, 50, 64))
    wide("repeat/3d", lambda x: x.repeat(2, 3, 5), (30, 41, 37))
    wide("tile/last1", lambda x: x.repeat(1, 100), (10000, 1))
    wide("tile/last3", lambda x: x.repeat(1, 100), (3000, 3))
    wide("triu/-3", lambda x: x.triu(-3), (16, 255, 257))
    wide("tril/5", lambda x: x.tril(5), (999, 1001))
    for factor in (2, 3, 4):
        wide(f"pixel_shuffle/{factor}", lambda x, f=factor: F.pixel_shuffle(x, f), (2, 16 * factor**2, 57, 59))
        wide(f"pixel_unshuffle/{factor}", lambda x, f=factor: F.pixel_unshuffle(x, f), (2, 16, 60, 60))
    wide("pixel_shuffle/i8", lambda x: F.pixel_shuffle(x, 2), (2, 64, 57, 59, I8))
    wide("unfold/3x3s2", lambda x: F.unfold(x, 3, stride=2, padding=1), (2, 32, 57, 57))
    wide("unfold/5x5", lambda x: F.unfold(x, 5), (2, 16, 57, 57))
    wide("unfold/last", lambda x: x.unfold(-1, 5, 1).contiguous(), (64, 4099))
    wide("unfold/rows", lambda x: x.unfold(0, 5, 2).contiguous(), (999, 257))
    wide("roll/2d", lambda x: x.roll((5, -7), (0, 1)), (999, 1001))
    wide("roll/1", lambda x: x.roll(1, 1), (999, 1001))
    wide("roll/rows/319x256x5", lambda x: x.roll(233, 1), (319, 256, 5))
    wide("roll/last3", lambda x: x.roll(1, 1), (300000, 3))
    wide("roll/windows", lambda x: x.roll((-3, -3), (1, 2)), (4, 56, 56, 96))
    wide("pad/2d_odd", lambda x: F.pad(x, (1, 2, 3, 0)), (32, 16, 55, 57))
    wide("pad/channels", lambda x: F.pad(x, (0, 0, 0, 0, 3, 2)), (8, 59, 56, 56))
    wide("pad/negative", lambda x: F.pad(x, (-1, 2)), (999, 1001))
    wide("pad_reflect/odd", lambda x: F.pad(x, (3, 2, 1, 4), mode="reflect"), (8, 64, 55, 57))
    wide("pad_circular", lambda x: F.pad(x, (3, 3, 3, 3), mode="circular"), (8, 64, 55, 57))
    wide("pad_reflect/1d_odd", lambda x: F.pad(x, (5, 5), mode="reflect"), (256, 1001))
    wide("cat/middle", lambda x, y: torch.cat([x, y], 1), (64, 31, 129), (64, 33, 129))
    wide("cat/channels_odd", lambda x, y, z: torch.cat([x, y, z], 1), (4, 3, 111, 113), (4, 5, 111, 113), (4, 64, 111, 113))
    wide("cat/many", lambda *x: torch.cat(x, 1), *[(256, 17)] * 24)
    wide("stack/middle", lambda x, y, z: torch.stack([x, y, z], 1), (501, 777), (501, 777), (501, 777))
    wide("chunk/middle", lambda x: [p.contiguous() for p in x.chunk(3, 1)], (64, 99, 129))
    wide("movedim", lambda x: x.movedim(1, -1).contiguous(), (16, 21, 99, 101))
    wide("swap_heads", lambda x: x.view(4, 197, 12, 64).transpose(1, 2).contiguous(), (4, 197, 768))
    wide("qkv", lambda x: x.view(4, 197, 3, 12, 64).permute(2, 0, 3, 1, 4).contiguous(), (4, 197, 2304))
    wide("expand/middle", lambda x: x[:, :, None].expand(64, 31, 5, 129).contiguous(), (64, 31, 129))
    wide("diagonal_scatter", lambda x, y: x.diagonal_scatter(y), (999, 1001), (999,))
    wide("block_diag", torch.block_diag, (200, 300), (301, 211), (99, 101))
    wide("real_imag", lambda x: torch.stack([torch.view_as_complex(x).real, torch.view_as_complex(x).imag]), (500000, 2))


def choices():
    for dtype in STORED:
        wide(f"where_rows/{NAMES[dtype]}", lambda m, x, y: torch.where(m[:, None], x, y), (999, BOOL), (999, 1001, dtype), (999, 1001, dtype))
        wide(f"where_columns/{NAMES[dtype]}", lambda m, x, y: torch.where(m, x, y), (1001, BOOL), (999, 1001, dtype), (999, 1001, dtype))
        wide(f"masked_fill/columns/{NAMES[dtype]}", lambda x, m: x.masked_fill(m, 0), (999, 1001, dtype), (1001, BOOL))
    wide("where/scalar", lambda x: torch.where(x > 0, x, 0.1), (999, 1001))
    wide("where/batch", lambda m, x: torch.where(m, x, -1e9), (8, 1, 1, 197, BOOL), (8, 12, 197, 197))
    wide("where/bool_mask_i64", lambda m, x: torch.where(m != 0, x, -1e9), (8, 1, 197, 197, I64), (8, 12, 197, 197))
    for shape, axis in (((16, 256, 3000), 1), ((64, 27, 1024), 1), ((1000, 5000), 0)):
        wide(f"sum/far/{'x'.join(map(str, shape))}", lambda x, a=axis: x.sum(a), shape)
    wide("masked_sum", lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True), (32, 128, 384), (32, 128))
    wide("masked_mean_bool", lambda x, m: (x * m[..., None].float()).sum(1), (32, 128, 384), (32, 128, BOOL))
    wide("isin/16", lambda x, y: torch.isin(x, y), lambda: integers(1000, 1 << 18), lambda: integers(1000, 16))
    wide("isin/1000", lambda x, y: torch.isin(x, y), lambda: integers(10000, 1 << 17), lambda: integers(10000, 1000))
    for n in (10, 1000):
        wide(f"bucketize/{n}", lambda x, n=n: torch.bucketize(x, torch.linspace(-3, 3, n)), (1 << 18,))
    wide("bucketize/f64", lambda x: torch.bucketize(x, torch.linspace(-3, 3, 64, dtype=F64)), (1 << 18, F64))
    wide("bucketize/i64", lambda x: torch.bucketize(x, torch.arange(0, 1000, 10)), lambda: integers(1000, 1 << 18))
    wide("searchsorted/right", lambda s, x: torch.searchsorted(s, x, right=True), lambda: random(4097).sort().values, (1 << 17,))
    wide("histc/100", lambda x: torch.histc(x, 100, -3, 3), (1 << 18,))
    wide("histc/1000", lambda x: torch.histc(x, 1000, -3, 3), (1 << 18,))
    wide("bincount/16", lambda i: torch.zeros(16).scatter_add(0, i, torch.ones(1 << 18)), lambda: integers(16, 1 << 18))
    wide("bincount/i64", lambda i: torch.zeros(1000, dtype=I64).scatter_add(0, i, torch.ones(1 << 18, dtype=I64)),
         lambda: integers(1000, 1 << 18))
    for classes in (10, 100, 1000):
        wide(f"one_hot/{classes}", lambda i, c=classes: F.one_hot(i, c), lambda c=classes: integers(c, 4096))
        wide(f"one_hot_float/{classes}", lambda i, c=classes: F.one_hot(i, c).float(), lambda c=classes: integers(c, 4096))
    wide("one_hot/middle", lambda i: F.one_hot(i, 21).permute(0, 3, 1, 2).float(), lambda: integers(21, 4, 64, 64))
    wide("nonzero", lambda x: (x > 0.5).nonzero(), (1 << 18,))
    wide("nonzero/2d", lambda x: (x > 0.5).nonzero(), (511, 513))
    wide("masked_select", lambda x: x.masked_select(x > 0.5), (1 << 18,))
    wide("masked_rows", lambda x, m: x[m], (10000, 64), (10000, BOOL))
    wide("unique", lambda x: x.unique(), lambda: integers(1000, 1 << 16))
    wide("unique_inverse", lambda x: torch.unique(x, return_inverse=True), lambda: integers(1000, 1 << 16))


def places():
    table = lambda high, *s: (lambda: integers(high, *s))  # noqa: E731
    for dtype in STORED:
        wide(f"index_middle/{NAMES[dtype]}", lambda x, i: x.index_select(1, i), (32, 501, 129, dtype), table(501, 300))
        wide(f"gather_middle/{NAMES[dtype]}", lambda x, i: x.gather(1, i), (32, 501, 65, dtype), table(501, 32, 300, 65))
        wide(f"embedding_odd/{NAMES[dtype]}", F.embedding, table(1000, 4096), (1000, 37, dtype))
    for width in (1, 2, 3, 8):
        wide(f"index_rows/{width}", lambda x, i: x[i], (10000, width), table(10000, 100000))
    wide("index_middle/last3", lambda x, i: x[:, i], (32, 5000, 3), table(5000, 2000))
    wide("index_last", lambda x, i: x[..., i], (999, 1001), table(1001, 77))
    wide("index_constant", lambda x: x[:, [0, 5, 7, 2, 9]], (999, 10, 65))
    wide("index_batch", lambda x, i: x[torch.arange(64), i], (64, 197, 768), table(197, 64))
    wide("gather/logits", lambda x, i: x.gather(1, i[:, None]), (4096, 1001), table(1001, 4096))
    wide("gather/points", lambda x, i: torch.gather(x[:, None].expand(8, 256, 2048, 3), 2, i[..., None].expand(8, 256, 16, 3)),
         (8, 2048, 3), table(2048, 8, 256, 16))
    wide("take_along_sorted", lambda x: x.gather(1, x.argsort(1)), (256, 1001))
    wide("scatter/middle", lambda x, i, u: x.scatter(1, i, u), (32, 101, 65), table(101, 32, 50, 65), (32, 50, 65))
    wide("scatter_add/1", lambda x, i, u: x.scatter_add(1, i, u), (500, 101), table(101, 500, 999), (500, 999))
    wide("scatter_add/f64", lambda x, i, u: x.index_add(0, i, u), (2708, 65, F64), table(2708, 10556), (10556, 65, F64))
    wide("scatter_add/17x5003", lambda x, i, u: x.index_add(0, i, u), (17, 5003), table(17, 3000), (3000, 5003))
    wide("scatter_add/3", lambda x, i, u: x.index_add(0, i, u), (10000, 3), table(10000, 60000), (60000, 3))
    wide("scatter_add/1d", lambda x, i, u: x.index_add(0, i, u), (10000,), table(10000, 60000), (60000,))
    wide("scatter_amax/rows", lambda x, i, u: x.index_reduce(0, i, u, "amax"), (2708, 64), table(2708, 10556), (10556, 64))
    wide("index_put/rows", lambda x, i, u: x.index_put((i,), u), (1000, 257), table(1000, 300), (300, 257))
    wide("slice_scatter", lambda x, y: x.slice_scatter(y, 1, 3, 500), (999, 1001), (999, 497))
    wide("select_scatter", lambda x, y: x.select_scatter(y, 1, 7), (999, 1001), (999,))


def scans():
    for shape, axis in (((1000, 1001), 0), ((64, 257, 33), 1), ((257, 64, 3), 0), ((8, 63, 28, 28), 1), ((100, 1000, 2), 1), ((4, 250001), 1)):
        for what in ("cumsum", "cumprod", "cummax", "logcumsumexp"):
            wide(f"{what}/{label(shape, axis)}", lambda x, f=getattr(torch, what), a=axis: f(x, a), shape)
    for dtype in (F64, F16, BF16, I64, I8):
        wide(f"cumsum_0/{NAMES[dtype]}", lambda x: x.cumsum(0), (999, 1001, dtype))
        wide(f"cumsum_odd/{NAMES[dtype]}", lambda x: x.cumsum(1), (999, 1001, dtype))
    wide("cumsum/flipped", lambda x: x.flip(1).cumsum(1).flip(1), (999, 1001))
    wide("cumsum/mask", lambda m: m.long().cumsum(1) * m.long(), (64, 1024, BOOL))
    wide("diff/0", lambda x: x.diff(dim=0), (999, 1001))
    for dtype in (F64, F16, I64, I8):
        wide(f"sort_odd/{NAMES[dtype]}", lambda x: torch.sort(x, dim=1, stable=True), (64, 2047, dtype))
        wide(f"argmax_odd/{NAMES[dtype]}", lambda x: x.argmax(1), (999, 1001, dtype))
        wide(f"argmax_0/{NAMES[dtype]}", lambda x: x.argmax(0), (999, 1001, dtype))
        wide(f"max_values_places/{NAMES[dtype]}", lambda x: x.max(1), (999, 1001, dtype))
    for shape, axis in (((64, 31, 129), 1), ((8, 21, 99, 101), 1), ((1000, 3), 1), ((100000, 5), 1), ((999, 101, 2), 1)):
        wide(f"argmax/{label(shape, axis)}", lambda x, a=axis: x.argmax(a), shape)
        wide(f"max/{label(shape, axis)}", lambda x, a=axis: x.max(a), shape)
        wide(f"softmax/{label(shape, axis)}", lambda x, a=axis: F.softmax(x, a), shape)
        wide(f"log_softmax/{label(shape, axis)}", lambda x, a=axis: F.log_softmax(x, a), shape)
        wide(f"logsumexp/{label(shape, axis)}", lambda x, a=axis: x.logsumexp(a), shape)
    for shape, axis in (((8, 21, 256, 256), 1), ((2, 150, 256, 256), 1), ((64, 64, 1024), 1), ((33, 65536), 0), ((32, 100, 333, F64), 1)):
        wide(f"columns/softmax/{label(shape, axis)}", lambda x, a=axis: F.softmax(x, a), shape)
        wide(f"columns/log_softmax/{label(shape, axis)}", lambda x, a=axis: F.log_softmax(x, a), shape)
        wide(f"columns/logsumexp/{label(shape, axis)}", lambda x, a=axis: x.logsumexp(a), shape)
    wide("columns/norm/8x96x56x56", lambda x: (x - x.mean(1, True)) * (x.var(1, keepdim=True) + 1e-5).rsqrt(), (8, 96, 56, 56))
    for n in (1, 7, 77, 197, 999, 5000):
        wide(f"softmax/rows{n}", lambda x: F.softmax(x, 1), (max(8, 400000 // n), n))
        wide(f"layer_norm/rows{n}", lambda x, n=n: F.layer_norm(x, (n,)), (max(8, 400000 // n), n))
        wide(f"sum/rows{n}", lambda x: x.sum(1), (max(8, 1000000 // n), n))
    wide("softmax/2000x4000", lambda x: F.softmax(x, 1), (2000, 4000))
    wide("log_softmax/4096x1024", lambda x: F.log_softmax(x, 1), (4096, 1024))
    wide("softmax/attention_bias", lambda x, b: F.softmax(x * 0.125 + b, -1), (4, 12, 197, 197), (1, 12, 197, 197))


def norms():
    for shape, groups in (((8, 64, 55, 57), 32), ((2, 320, 31, 33), 32), ((16, 96, 7, 7), 8), ((4, 30, 1001), 5), ((32, 256), 16), ((1, 64, 8, 28, 30), 4)):
        wide(f"group_norm/{label(shape, groups)}", None, shape, state=lambda g=groups, c=shape[1]: torch.nn.GroupNorm(g, c))
    for shape in ((8, 64, 28, 28), (16, 256, 7, 7)):
        for what, follows in (("silu", torch.nn.SiLU), ("relu", torch.nn.ReLU)):
            wide(f"group_norm/{label(shape)}/{what}", None, shape,
                 state=lambda c=shape[1], f=follows: torch.nn.Sequential(torch.nn.GroupNorm(4, c), f()))
    for shape in ((8, 64, 55, 57), (16, 96, 7, 7), (1, 3, 511, 513), (4, 30, 1001), (2, 16, 8, 28, 30)):
        wide(f"instance_norm/{label(shape)}", F.instance_norm, shape)
    wide("batch_norm/odd", None, (8, 63, 55, 57), state=lambda: torch.nn.BatchNorm2d(63))
    wide("batch_norm/1d", None, (4096, 129), state=lambda: torch.nn.BatchNorm1d(129))
    wide("layer_norm/last2", lambda x: F.layer_norm(x, (55, 57)), (64, 55, 57))
    wide("layer_norm/channels", lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (96,)).permute(0, 3, 1, 2).contiguous(), (4, 96, 55, 57))
    for dtype in (F64, F16, BF16):
        wide(f"group_norm/{NAMES[dtype]}", lambda x: F.group_norm(x, 8), (8, 64, 28, 28, dtype))
        wide(f"instance_norm/{NAMES[dtype]}", F.instance_norm, (8, 64, 28, 28, dtype))
        wide(f"rms_norm/{NAMES[dtype]}", lambda x: F.rms_norm(x, (769,)), (512, 769, dtype))
    wide("rms_norm/odd", lambda x: F.rms_norm(x, (769,)), (512, 769))
    wide("normalize/channels", lambda x: F.normalize(x, dim=1), (8, 64, 55, 57))
    for dtype in (F64, F16, BF16, I64, I8):
        for axis in (0, 1, 2):
            wide(f"sum/31x129x65/{axis}/{NAMES[dtype]}", lambda x, a=axis: x.sum(a), (31, 129, 65, dtype))
        wide(f"amax/31x129x65/1/{NAMES[dtype]}", lambda x: x.amax(1), (31, 129, 65, dtype))
    for axes in ((0, 2), (1, 3), (0, 2, 3), (0, 1), (2, 3)):
        wide(f"sum/15x33x27x65/{''.join(map(str, axes))}", lambda x, a=axes: x.sum(a), (15, 33, 27, 65))
        wide(f"amax/15x33x27x65/{''.join(map(str, axes))}", lambda x, a=axes: x.amax(a), (15, 33, 27, 65))
        wide(f"var/15x33x27x65/{''.join(map(str, axes))}", lambda x, a=axes: x.var(a), (15, 33, 27, 65))


def short_lines():
    """Last axes that fill no vector, or a part of one more."""
    for n in (5, 6, 7, 9, 15, 31, 33):
        rows = 200000 // n
        kinds = {"sum": lambda x: x.sum(1), "amax": lambda x: x.amax(1), "argmax": lambda x: x.argmax(1), "max": lambda x: x.max(1),
                 "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1), "logsumexp": lambda x: x.logsumexp(1),
                 "std": lambda x: x.std(1), "cumsum": lambda x: x.cumsum(1), "flip": lambda x: x.flip(1), "roll": lambda x: x.roll(1, 1),
                 "add_row": lambda x: x + x[0], "turned": lambda x: x.T.contiguous(), "column": lambda x: x[:, 3].contiguous(),
                 "sum_0": lambda x: x.sum(0), "softmax_0": lambda x: x.softmax(0), "amax_0": lambda x: x.amax(0), "argmax_0": lambda x: x.argmax(0),
                 "unbind": lambda x: [p.contiguous() for p in x.unbind(1)]}
        for what, f in kinds.items():
            wide(f"last{n}/{what}", f, (rows, n))
        for dtype in (F32, F64, F16, I8):
            wide(f"last{n}/turned_back/{NAMES[dtype]}", lambda x: x.T.contiguous(), (n, rows, dtype))
        wide(f"last{n}/stack", lambda *x: torch.stack(x, -1), *[(rows,)] * n)
        wide(f"last{n}/windows", lambda x, n=n: x.unfold(0, n, 2).contiguous(), (999, 129))
        wide(f"last{n}/windows_last", lambda x, n=n: x.unfold(1, n, 1).contiguous(), (64, 2001))


def narrow():
    """Types that models store beside f32, where they are moved, found and written by index."""
    for dtype in (F16, BF16, I32, I64, I8, BOOL):
        name = NAMES[dtype]
        wide(f"narrow/permute0213/{name}", lambda x: x.permute(0, 2, 1, 3).contiguous(), (8, 128, 12, 64, dtype))
        wide(f"narrow/turn/{name}", lambda x: x.mT.contiguous(), (16, 197, 768, dtype))
        wide(f"narrow/nonzero/{name}", lambda x: (x != 0).nonzero(), (100000, dtype))
        wide(f"narrow/equal/{name}", lambda x, y: (x == y).sum(), (1000, 1000, dtype), (1000, 1000, dtype))
        if dtype != BOOL:
            wide(f"narrow/scatter_add/{name}", lambda x, i, y: x.scatter_add(1, i, y), (1000, 100, dtype), lambda: integers(100, 1000, 100),
                 (1000, 100, dtype))
            wide(f"narrow/unique/{name}", lambda x: x.unique(), (30000, dtype))
            wide(f"narrow/searchsorted/{name}", lambda x, y: torch.searchsorted(x.sort().values, y), (1000, dtype), (30000, dtype))
    pair, apart = torch.view_as_complex, torch.view_as_real
    for what, f in {"reciprocal": torch.reciprocal, "log": torch.log, "cumsum": lambda x: x.cumsum(1), "turned": lambda x: x.T.contiguous()}.items():
        wide(f"complex/{what}", lambda x, f=f: apart(f(pair(x))), (300, 301, 2))
    wide("complex/eq", lambda x, y: pair(x) == pair(y), (300, 301, 2), (300, 301, 2))
    wide("unique_consecutive", lambda x: x.unique_consecutive(), lambda: integers(3, 100000))


for family in (permutations, backwards, pieces, choices, places, scans, norms, short_lines, narrow):
    family()
