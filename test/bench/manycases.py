"""Operators and sizes that neither widecases.py nor shapecases.py reach, for `scripts/bench ops --only wide/more`.

Pools of one and three dimensions, resizing by every mode, losses, norms of odd extents, scatters, searches, masks,
bit operators, small matrices, spectra, complex numbers, arguments that are not contiguous, and single calls of next to
nothing.
"""
import torch
import torch.nn.functional as F

from opcases import BF16, BOOL, F16, F32, F64, I8, I32, I64, integers, random
from widecases import I16, NAMES, U8, values, wide

ALL = (F32, F64, F16, BF16, I8, U8, I32, I64, BOOL)
FLOATS = (F32, F64, F16, BF16)


def more(name, function, *arguments, **rest):
    wide(f"more/{name}", function, *arguments, **rest)


def pools():
    for dtype in (F32, F64, F16, BF16):
        label = NAMES[dtype]
        more(f"max_pool1d/{label}", lambda x: F.max_pool1d(x, 5, 3), (8, 48, 1501, dtype))
        more(f"avg_pool1d/{label}", lambda x: F.avg_pool1d(x, 3, 2, 1), (8, 48, 1501, dtype))
        more(f"max_pool2d/{label}", lambda x: F.max_pool2d(x, 3, 2, 1), (4, 32, 57, 59, dtype))
        more(f"avg_pool2d/{label}", lambda x: F.avg_pool2d(x, 3, 1, 1), (4, 32, 57, 59, dtype))
        more(f"avg_pool2d_inside/{label}", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (4, 32, 57,
             59, dtype))
        more(f"adaptive_avg2d/{label}", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), (8, 64, 31, 33, dtype))
        more(f"global_avg/{label}", lambda x: x.mean((2, 3)), (16, 96, 13, 13, dtype))
        more(f"global_max/{label}", lambda x: F.adaptive_max_pool2d(x, 1), (16, 96, 13, 13, dtype))
    more("max_pool1d/indices", lambda x: F.max_pool1d(x, 4, 4, return_indices=True), (8, 48, 1500))
    more("max_pool2d/indices3", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (4, 32, 57, 59))
    more("max_pool3d/3", lambda x: F.max_pool3d(x, 3, 2, 1), (2, 16, 17, 29, 31))
    more("max_pool3d/indices", lambda x: F.max_pool3d(x, 2, 2, return_indices=True), (2, 16, 16, 28, 30))
    more("avg_pool3d/3", lambda x: F.avg_pool3d(x, 3, 2, 1), (2, 16, 17, 29, 31))
    more("max_pool2d/ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), (4, 32, 56, 56))
    more("max_pool2d/wide", lambda x: F.max_pool2d(x, (1, 9), (1, 4)), (4, 32, 57, 120))
    more("max_pool2d/7s1", lambda x: F.max_pool2d(x, 7, 1, 3), (2, 32, 40, 40))
    more("avg_pool2d/7", lambda x: F.avg_pool2d(x, 7), (16, 512, 7, 7))
    more("avg_pool2d/4s4", lambda x: F.avg_pool2d(x, 4, 4), (4, 32, 112, 112))
    more("adaptive_avg1d/7", lambda x: F.adaptive_avg_pool1d(x, 7), (32, 64, 100))
    more("adaptive_max1d/10", lambda x: F.adaptive_max_pool1d(x, 10), (32, 64, 100))
    more("adaptive_avg3d", lambda x: F.adaptive_avg_pool3d(x, (1, 7, 7)), (2, 64, 8, 14, 14))
    more("adaptive_max2d/5", lambda x: F.adaptive_max_pool2d(x, 5, return_indices=True), (4, 32, 33, 31))
    more("max_unpool", lambda x, i: F.max_unpool2d(x, i, 2), (4, 32, 28, 28),
         lambda: F.max_pool2d(torch.rand(4, 32, 56, 56), 2, return_indices=True)[1])
    more("lp_pool1d", lambda x: F.lp_pool1d(x.abs(), 2, 4), (8, 48, 1500))
    more("min_pool", lambda x: -F.max_pool2d(-x, 3, 1, 1), (4, 16, 60, 60))


def resizing():
    image = (2, 12, 45, 53)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        for size in ((90, 106), (31, 37), (64, 53), (45, 128)):
            more(f"resize/{mode}/{'x'.join(map(str, size))}", lambda x, m=mode, s=size: F.interpolate(x, s, mode=m),
                 image)
    for mode in ("bilinear", "bicubic"):
        more(f"resize/{mode}/aligned", lambda x, m=mode: F.interpolate(x, (77, 91), mode=m, align_corners=True), image)
        more(f"resize/{mode}/antialias", lambda x, m=mode: F.interpolate(x, (22, 25), mode=m, antialias=True), image)
        more(f"resize/{mode}/antialias/growing",
             lambda x, m=mode: F.interpolate(x, (90, 25), mode=m, antialias=True), image)
    for dtype in (F64, F16, BF16):
        more(f"resize/bilinear/{NAMES[dtype]}", lambda x: F.interpolate(x, (90, 106), mode="bilinear"), (*image, dtype))
        more(f"resize/nearest/{NAMES[dtype]}", lambda x: F.interpolate(x, (90, 106)), (*image, dtype))
    more("resize/nearest/u8", lambda x: F.interpolate(x, (90, 106)), (*image, U8))
    more("resize/linear1d", lambda x: F.interpolate(x, 1777, mode="linear"), (4, 32, 1001))
    more("resize/nearest1d", lambda x: F.interpolate(x, 1777), (4, 32, 1001))
    more("resize/trilinear", lambda x: F.interpolate(x, (12, 33, 41), mode="trilinear"), (1, 8, 9, 20, 22))
    more("resize/nearest3d", lambda x: F.interpolate(x, (18, 40, 44)), (1, 8, 9, 20, 22))
    for mode in ("nearest", "bicubic"):
        more(f"grid_sample/{mode}", lambda x, g, m=mode: F.grid_sample(x, g, mode=m, align_corners=False), (2, 8, 40,
             44),
             lambda: torch.rand(2, 30, 33, 2) * 2 - 1)
    more("grid_sample/border", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True), (2, 8, 40,
         44),
         lambda: torch.rand(2, 30, 33, 2) * 2 - 1)
    more("grid_sample/3d", lambda x, g: F.grid_sample(x, g, align_corners=False), (1, 4, 10, 20, 22),
         lambda: torch.rand(1, 9, 15, 16, 3) * 2 - 1)
    more("affine_grid", lambda t: F.affine_grid(t, (4, 3, 64, 64), align_corners=False), (4, 2, 3))


def losses():
    pair = ((777, 333), (777, 333))
    for reduction in ("none", "mean", "sum"):
        for what in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"):
            more(f"{what}/{reduction}", lambda x, y, f=getattr(F, what), r=reduction: f(x, y, reduction=r), *pair)
        more(f"poisson_nll/{reduction}", lambda x, y, r=reduction: F.poisson_nll_loss(x, y, reduction=r), *pair)
        more(f"kl_div/{reduction}", lambda x, y, r=reduction: F.kl_div(x, y.abs() + 0.1, reduction=r), *pair)
        more(f"bce/{reduction}", lambda x, y, r=reduction: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y),
             reduction=r), *pair)
        more(f"nll/{reduction}", lambda x, t, r=reduction: F.nll_loss(x, t, reduction=r), (777, 333),
             lambda: integers(333, 777))
        more(f"cross_entropy/{reduction}", lambda x, t, r=reduction: F.cross_entropy(x, t, reduction=r), (777, 333),
             lambda: integers(333, 777))
    more("cross_entropy/smooth", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), (777, 333),
         lambda: integers(333, 777))
    more("cross_entropy/weights", lambda x, t, w: F.cross_entropy(x, t, w.abs()), (777, 333), lambda: integers(333,
         777), (333,))
    more("cross_entropy/probabilities", lambda x, y: F.cross_entropy(x, y.softmax(1)), *pair)
    more("cross_entropy/ignored", lambda x, t: F.cross_entropy(x, t, ignore_index=7), (777, 333),
         lambda: integers(333, 777))
    more("cross_entropy/bf16", F.cross_entropy, (777, 333, BF16), lambda: integers(333, 777))
    more("hinge_embedding", lambda x, y: F.hinge_embedding_loss(x, y.sign()), *pair)
    more("triplet", F.triplet_margin_loss, (777, 333), (777, 333), (777, 333))
    more("cosine_embedding", lambda x, y, t: F.cosine_embedding_loss(x, y, t.sign()), (777, 333), (777, 333), (777,))
    more("margin_ranking", lambda x, y, t: F.margin_ranking_loss(x, y, t.sign()), (9999,), (9999,), (9999,))
    more("multi_margin", F.multi_margin_loss, (777, 33), lambda: integers(33, 777))
    more("gaussian_nll", lambda x, y, v: F.gaussian_nll_loss(x, y, v.abs() + 0.1), (777, 333), (777, 333), (777, 333))
    more("pdist", F.pdist, (100, 33))
    more("cosine_similarity/1", lambda x, y: F.cosine_similarity(x[:, None], y[None], -1), (60, 65), (70, 65))


def norms():
    for dtype in FLOATS:
        label = NAMES[dtype]
        for n in (1, 2, 3, 17, 63, 255, 1000, 4100):
            more(f"layer_norm/{n}/{label}", lambda x, n=n: F.layer_norm(x, (n,)), (max(16, 200000 // n), n, dtype))
        more(f"rms_norm/17/{label}", lambda x: F.rms_norm(x, (17,)), (9999, 17, dtype))
        more(f"group_norm/odd/{label}", lambda x: F.group_norm(x, 3), (5, 33, 19, 21, dtype))
        more(f"group_norm/affine/{label}", lambda x, w, b: F.group_norm(x, 4, w, b), (4, 32, 28, 28, dtype), (32,
             dtype), (32, dtype))
        more(f"group_norm/1d/{label}", lambda x: F.group_norm(x, 4), (16, 32, 301, dtype))
        more(f"instance_norm/odd/{label}", F.instance_norm, (5, 33, 19, 21, dtype))
        more(f"batch_norm/{label}", lambda x, m, v, w, b: F.batch_norm(x, m, v.abs() + 1, w, b), (5, 33, 19, 21, dtype),
             *[(33, dtype)] * 4)
        more(f"softmax/57/{label}", lambda x: x.softmax(-1), (5000, 57, dtype))
        more(f"softmax/28/{label}", lambda x: x.softmax(-1), (9000, 28, dtype))
        more(f"log_softmax/5/{label}", lambda x: x.log_softmax(-1), (40000, 5, dtype))
        more(f"softmax/middle/{label}", lambda x: x.softmax(1), (20, 57, 130, dtype))
        more(f"norm/2/{label}", lambda x: torch.linalg.vector_norm(x, 2, -1), (3000, 67, dtype))
        more(f"var/57/{label}", lambda x: x.var(-1), (5000, 57, dtype))
        more(f"normalize/57/{label}", lambda x: F.normalize(x, dim=-1), (5000, 57, dtype))
    for n in (28, 36, 44, 57):
        for what in ("sum", "amax", "mean", "prod", "argmax", "logsumexp"):
            more(f"{what}/{n}", lambda x, f=getattr(torch, what): f(x, dim=-1), (200000 // n, n))
    for n in (2, 3, 5, 9, 15):
        for what in ("sum", "amax", "mean", "argmax", "softmax"):
            more(f"{what}/{n}", lambda x, f=getattr(torch, what): f(x, dim=-1), (200000 // n, n))
    for axes in ((1, 2), (0, 3), (1, 3), (0, 1, 3), (0, 2)):
        for what in ("mean", "amax", "var", "logsumexp"):
            more(f"{what}/9x21x33x57/{''.join(map(str, axes))}", lambda x, f=getattr(torch, what), a=axes: f(x,
                 dim=a), (9, 21, 33, 57))
    for n, c, side in ((8, 64, 56), (64, 2048, 7)):
        more(f"batch_norm_backward/{n}x{c}x{side}", lambda g, x, w, m, r: torch.ops.aten.native_batch_norm_backward(
             g, x, w, None, None, m, r.abs() + 1, True, 1e-5, [True, True, True]), *[(n, c, side, side)] * 2, *[(c,)] * 3)
    more("weight_norm", lambda v, g: torch._weight_norm(v, g, 0), (256, 64, 3, 3), (256, 1, 1, 1))
    more("standardize", lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5), (3000, 67))
    more("nanmean", lambda x: x.nanmean(1), (999, 301))
    more("median/all", torch.median, (50001,))
    more("mode", lambda x: x.mode(1).values, lambda: integers(10, 300, 101))
    more("std_mean", lambda x: torch.std_mean(x, 1), (999, 301))
    more("all_close", lambda x, y: torch.isclose(x, y).all(), (999, 301), (999, 301))
    more("dist", torch.dist, (99999,), (99999,))
    more("renorm", lambda x: x.renorm(2, 0, 1.0), (999, 301))


def writes():
    table = lambda high, *s: (lambda: integers(high, *s))  # noqa: E731
    for dtype in ALL:
        label = NAMES[dtype]
        more(f"index_put/{label}", lambda x, i, u: x.index_put((i,), u), (3001, 65, dtype),
             lambda: torch.randperm(3001)[:999], (999, 65, dtype))
        more(f"scatter/{label}", lambda x, i, u: x.scatter(1, i, u), (801, 257, dtype), lambda: torch.rand(801,
             257).argsort(1)[:, :99], (801, 99, dtype))
        more(f"index_select/{label}", lambda x, i: x.index_select(0, i), (3001, 65, dtype), table(3001, 5000))
        more(f"take_along/{label}", lambda x, i: x.take_along_dim(i, 1), (801, 257, dtype), table(257, 801, 99))
        more(f"cat_0/{label}", lambda x, y: torch.cat([x, y]), (999, 65, dtype), (333, 65, dtype))
        more(f"stack_0/{label}", lambda x, y: torch.stack([x, y]), (999, 65, dtype), (999, 65, dtype))
        more(f"fill/{label}", lambda x: torch.full_like(x, 3), (999, 1001, dtype))
        more(f"copy/{label}", torch.clone, (999, 1001, dtype))
        more(f"masked_fill/{label}", lambda x, m: x.masked_fill(m, 1), (999, 1001, dtype), (999, 1001, BOOL))
        more(f"nonzero_like/{label}", lambda x: x != 0, (999, 1001, dtype))
        if dtype != BOOL:
            more(f"index_add/{label}", lambda x, i, u: x.index_add(0, i, u), (3001, 65, dtype), table(3001, 999),
                 (999, 65, dtype))
            more(f"cumsum0/{label}", lambda x: x.cumsum(0), (301, 999, dtype))
            more(f"cumsum1/{label}", lambda x: x.cumsum(1), (301, 999, dtype))
            more(f"cummax/{label}", lambda x: x.cummax(1), (301, 999, dtype))
            more(f"sort/{label}", lambda x: x.sort(dim=-1, stable=True), (99, 1501, dtype))
            more(f"argsort_short/{label}", lambda x: x.argsort(dim=-1, stable=True), (9999, 13, dtype))
            more(f"topk/{label}", lambda x: x.topk(5, -1).values, (999, 301, dtype))
            more(f"argmax/{label}", lambda x: x.argmax(-1), (999, 301, dtype))
            more(f"amin_all/{label}", lambda x: x.amin(), (999, 301, dtype))
            more(f"clamp_min/{label}", lambda x: x.clamp_min(2), (999, 1001, dtype))
            more(f"chain/{label}", lambda x, y: (x > 3) & (y < 50) | (x == y), (999, 1001, dtype), (999, 1001, dtype))
    for mode in ("sum", "amax", "amin", "prod", "mean"):
        for inside in (True, False):
            more(f"scatter_reduce/{mode}/{inside}", lambda x, i, u, m=mode, s=inside: x.scatter_reduce(0, i, u, m,
                 include_self=s),
                 (5000,), table(5000, 30000), (30000,))
    more("scatter_reduce/rows", lambda x, i, u: x.scatter_reduce(1, i, u, "amax"), (200, 65), table(65, 200, 300),
         (200, 300))
    more("index_reduce/mean", lambda x, i, u: x.index_reduce(0, i, u, "mean"), (500, 65), table(500, 2000), (2000, 65))
    more("masked_scatter", lambda x, m, u: x.masked_scatter(m, u), (999, 301), (999, 301, BOOL), (999 * 301,))
    more("put", lambda x, i, u: x.put(i, u), (999, 301), lambda: torch.randperm(999 * 301)[:5000], (5000,))
    more("index_put/pairs", lambda x, i, j, u: x.index_put((i, j), u), (999, 301), table(999, 5000), table(301, 5000),
         (5000,))
    more("index/mixed", lambda x, i, j: x[i, :, j], (60, 50, 70), table(60, 999), table(70, 999))
    more("index/3d", lambda x, i: x[:, i], (60, 50, 70), table(50, 20, 30))
    more("bincount", lambda i: torch.bincount(i, minlength=100), table(100, 30000))
    more("isin/100", torch.isin, table(5000, 30000), table(5000, 100))
    more("isin/1000f", torch.isin, (30000,), (1000,))
    more("bucketize/5", lambda x: torch.bucketize(x, torch.linspace(-1, 1, 5)), (99999,))
    more("searchsorted/rows", torch.searchsorted, lambda: random(100, 65).sort(1).values, (100, 300))
    more("searchsorted/i64", torch.searchsorted, lambda: integers(99999, 3000).sort().values, table(99999, 30000))
    more("unique/rows", lambda x: x.unique(dim=0), table(3, 999, 3))
    more("unique/counts", lambda x: x.unique(return_counts=True), table(500, 20000))
    more("kthvalue", lambda x: x.kthvalue(20, 1), (999, 301), places=1)
    more("kthvalue/7", lambda x: x.kthvalue(7, 1), (999, 1001), places=1)
    more("kthvalue/axis0", lambda x: x.kthvalue(3, 0), (301, 199), places=0)
    for columns in (4, 8, 12):
        more(f"sum/100000x{columns}", lambda x: x.sum(0), (100000, columns))
    for length in (9, 30, 64):
        more(f"median/20000x{length}", lambda x: x.median(1), (20000, length), places=1)
        more(f"sort/20000x{length}", lambda x: torch.sort(x, dim=1, stable=True), (20000, length), places=1)
    more("sort/200000x9", lambda x: torch.sort(x, dim=1, stable=True), (200000, 9), places=1)
    more("msort", torch.msort, (301, 999))
    more("topk/65536x4", lambda x: x.topk(2, 1), (65536, 4), places=1)
    more("topk/20000x10", lambda x: x.topk(3, 1), (20000, 10), places=1)
    more("topk/axis0", lambda x: x.topk(3, 0), (301, 999), places=0)
    more("topk/all", lambda x: x.topk(100), (99999,), places=0)
    more("max/pairs", lambda x: x.max(0), (301, 999))


def bits():
    for dtype in (I8, U8, I16, I32, I64):
        label = NAMES[dtype]
        for what in ("bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "eq", "ge"):
            more(f"{what}/{label}", getattr(torch, what), (999, 301, dtype), (999, 301, dtype))
        more(f"bitwise_not/{label}", torch.bitwise_not, (999, 301, dtype))
        more(f"shift_left/{label}", lambda x: x << 3, (999, 301, dtype))
        more(f"shift_by/{label}", lambda x, y: x >> (y & 7), (999, 301, dtype), (999, 301, dtype))
        more(f"neg/{label}", torch.neg, (999, 301, dtype))
        more(f"sign/{label}", torch.sign, (999, 301, dtype))
        more(f"remainder/{label}", torch.remainder, (999, 301, dtype), (999, 301, dtype))
        more(f"sum_float/{label}", lambda x: x.float().sum(1), (999, 301, dtype))
        more(f"mul_float/{label}", lambda x: x * 0.5, (999, 301, dtype))
        more(f"mean/{label}", lambda x: x.to(F32).mean(), (999, 301, dtype))
    more("gcd", torch.gcd, (99, 301, I64), (99, 301, I64))
    more("logical_not/f32", torch.logical_not, (999, 301))
    more("any_all", lambda x: (x > 0).any(1) & (x < 3).all(1), (999, 301))
    more("where/outer", lambda m, x, y: torch.where(m[:, None], x[None], y), (999, BOOL), (301,), (999, 301))
    more("where/3d", lambda m, x, y: torch.where(m, x, y), (20, 1, 301, BOOL), (1, 50, 301), (20, 50, 1))
    more("where/scalars", lambda m: torch.where(m, 1.0, 0.0), (999, 1001, BOOL))
    more("clamp/tensors", torch.clamp, (999, 301), (301,), (999, 1))
    more("add/4d_middle", lambda x, y: x + y, (9, 21, 33, 57), (21, 1, 57))
    more("add/4d_outer", lambda x, y: x + y, (9, 1, 33, 1), (21, 1, 57))
    more("mul/columns_f16", lambda x, y: x * y, (999, 301, F16), (999, 1, F16))
    more("add/types", lambda x, y: x + y, (999, 301, I8), (999, 301))
    more("add/f16_f32", lambda x, y: x + y, (999, 301, F16), (999, 301))
    more("quantize", lambda x: (x * 20).round().clamp(-128, 127).to(I8), (999, 1001))
    more("dequantize", lambda x, s: x.float() * s, (999, 1001, I8), (1001,))
    more("normalize_u8", lambda x: (x.float() / 255 - 0.5) / 0.2, (4, 224, 224, 3, U8))
    more("image_u8", lambda x: (x.float() / 255 - 0.5).permute(0, 3, 1, 2).contiguous(), (4, 224, 224, 3, U8))


def moves():
    for dtype in (F32, F64, F16, I8, I64, BOOL):
        label = NAMES[dtype]
        more(f"flip0/{label}", lambda x: x.flip(0), (301, 999, dtype))
        more(f"flip2/{label}", lambda x: x.flip(1), (60, 50, 70, dtype))
        more(f"roll2/{label}", lambda x: x.roll((3, -5), (0, 2)), (60, 50, 70, dtype))
        more(f"tile/{label}", lambda x: x.tile(3, 5), (301, 99, dtype))
        more(f"repeat_interleave/{label}", lambda x: x.repeat_interleave(5, 1), (301, 99, dtype))
        more(f"triu/{label}", lambda x: x.triu(1), (9, 101, 99, dtype))
        more(f"permute021/{label}", lambda x: x.permute(0, 2, 1).contiguous(), (30, 77, 99, dtype))
        more(f"permute4/{label}", lambda x: x.permute(3, 1, 0, 2).contiguous(), (9, 21, 33, 57, dtype))
        more(f"expand/{label}", lambda x: x[:, :, None].expand(301, 33, 30).contiguous(), (301, 33, dtype))
        more(f"pad2/{label}", lambda x: F.pad(x, (1, 2, 3, 4)), (9, 21, 33, 57, dtype))
        more(f"slice/{label}", lambda x: x[:, 1:, ::2].contiguous(), (60, 50, 70, dtype))
        more(f"split/{label}", lambda x: [p.contiguous() for p in x.split([100, 1, 200], 1)], (999, 301, dtype))
        more(f"narrow/{label}", lambda x: x.narrow(1, 7, 31).contiguous(), (9999, 65, dtype))
        more(f"column/{label}", lambda x: x[:, 7].contiguous(), (9999, 65, dtype))
        more(f"strided_add/{label}", lambda x: x[::2] | x[1::2] if x.dtype == BOOL else x[::2] + x[1::2], (998, 301,
             dtype))
        more(f"even_odd/{label}", lambda x: x[:, ::2] | x[:, 1::2] if x.dtype == BOOL else x[:, ::2] + x[:, 1::2],
             (999, 300, dtype))
    more("one_hot/7", lambda i: F.one_hot(i, 7), lambda: integers(7, 99, 101))
    more("meshgrid/3", lambda x, y, z: torch.meshgrid(x, y, z, indexing="ij"), (30,), (40,), (50,))
    more("cartesian", torch.cartesian_prod, (99,), (101,))
    more("tril_indices", lambda x: x[torch.tril_indices(99, 99)[0], torch.tril_indices(99, 99)[1]], (99, 99))
    more("pixel_shuffle1d", lambda x: x.view(9, 21, 3, 301).permute(0, 1, 3, 2).reshape(9, 21, 903), (9, 63, 301))
    more("unfold/2x2s2", lambda x: F.unfold(x, 2, stride=2), (4, 16, 56, 56))
    more("unfold/7", lambda x: F.unfold(x, 7, padding=3), (1, 8, 40, 44))
    more("unfold/dilated", lambda x: F.unfold(x, 3, dilation=2), (2, 16, 40, 44))
    more("fold/2x2", lambda x: F.fold(x, (56, 56), 2, stride=2), (4, 64, 784))
    more("fold/4s2", lambda x: F.fold(x, (58, 58), 4, stride=2), (4, 64, 784))
    more("as_windows", lambda x: x.unfold(1, 400, 160) * 2.0, (4, 16000))
    more("shift", lambda x: F.pad(x, (0, 0, 1, -1)), (30, 77, 99))
    more("diagonal/-3", lambda x: x.diagonal(-3).contiguous(), (999, 1001))
    more("diag", torch.diag, (501,))
    more("vander", lambda x: torch.vander(x, 8), (9999,))
    more("outer_sub", lambda x, y: (x[:, None] - y[None]).abs(), (501,), (503,))
    more("outer_eq", lambda x: x[:, None] == x[None], lambda: integers(10, 501))
    more("channels_mean", lambda x: x.mean(-1, keepdim=True).expand(-1, -1, -1, 3).contiguous(), (4, 100, 101, 3))


def matrices():
    def positive(b, n, dtype=F32):
        x = random(b, n, n, dtype=dtype)
        return x @ x.mT + n * torch.eye(n, dtype=dtype)
    for b, n in ((1000, 2), (1000, 3), (500, 4), (200, 8), (32, 33), (4, 65), (1, 200)):
        for dtype in (F32, F64):
            label, make = f"{b}x{n}/{NAMES[dtype]}", lambda b=b, n=n, d=dtype: positive(b, n, d)
            more(f"det/{label}", lambda x: torch.linalg.det(x / x.shape[-1]), make)
            more(f"inv/{label}", torch.linalg.inv, make)
            more(f"cholesky/{label}", torch.linalg.cholesky, make)
            more(f"solve/{label}", torch.linalg.solve, make, (b, n, 3, dtype))
            if dtype == F32:
                more(f"qr/{label}", lambda x: torch.linalg.qr(x)[1].abs(), make)
                more(f"slogdet/{label}", lambda x: torch.linalg.slogdet(x)[1], make)
                more(f"triangular/{label}", lambda a, x: torch.linalg.solve_triangular(a.tril(), x, upper=False),
                     make, (b, n, 5))
                more(f"power3/{label}", lambda x: torch.matrix_power(x / 100, 3), make)
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        more(f"cdist/{p}", lambda x, y, p=p: torch.cdist(x, y, p), (99, 33), (101, 33))
        more(f"cdist/batch/{p}", lambda x, y, p=p: torch.cdist(x, y, p), (8, 60, 3), (8, 70, 3))
    more("einsum/pointwise", lambda x, y: torch.einsum("bij,bij->bij", x, y), (30, 77, 99), (30, 77, 99))
    more("einsum/rows", lambda x, y: torch.einsum("bij,bij->bi", x, y), (30, 77, 99), (30, 77, 99))
    more("einsum/columns", lambda x, y: torch.einsum("bij,bij->bj", x, y), (30, 77, 99), (30, 77, 99))
    more("einsum/scale", lambda x, y: torch.einsum("bij,j->bij", x, y), (30, 77, 99), (99,))
    more("einsum/terms-turned", lambda x, y: torch.einsum("abc,cb->a", x, y), (99, 77, 300), (300, 77))
    more("einsum/trace", lambda x: torch.einsum("bii->b", x), (30, 99, 99))
    more("einsum/transpose", lambda x: torch.einsum("bij->bji", x).contiguous(), (30, 77, 99))
    more("cross/middle", lambda x, y: torch.linalg.cross(x, y, dim=1), (999, 3, 33), (999, 3, 33))
    more("multi_dot", lambda x, y, z: torch.linalg.multi_dot([x, y, z]), (99, 10), (10, 101), (101, 5))
    for b, n, m in ((64, 16, 12), (1, 64, 64), (500, 3, 3)):
        more(f"svdvals/{b}x{n}x{m}", torch.linalg.svdvals, (b, n, m))
    for b, n in ((100, 12), (8, 32), (2000, 3)):
        more(f"eigvalsh/{b}x{n}", torch.linalg.eigvalsh, lambda b=b, n=n: positive(b, n))
    more("matrix_exp", torch.matrix_exp, lambda: random(8, 16, 16) / 8)
    more("vecdot", torch.linalg.vecdot, (999, 65), (999, 65))


def spectra():
    for n in (7, 30, 97, 128, 360, 1023, 2048, 10007):
        rows = max(1, 60000 // n)
        more(f"fft/{n}", lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x))), (rows, n, 2))
        more(f"rfft/{n}", lambda x: torch.view_as_real(torch.fft.rfft(x)), (rows, n))
        more(f"irfft/{n}", lambda x, n=n: torch.fft.irfft(torch.view_as_complex(x), n), (rows, n // 2 + 1, 2))
    more("fft2/60x60", lambda x: torch.view_as_real(torch.fft.fft2(x)), (8, 60, 60))
    more("fft/axis0", lambda x: torch.view_as_real(torch.fft.rfft(x, dim=0)), (128, 301))
    more("fft/axis0/1024", lambda x: torch.view_as_real(torch.fft.fft(x, dim=0)), (1024, 300))
    more("ifftshift", lambda x: torch.fft.ifftshift(x), (301, 302))
    for n, hop in ((512, 128), (400, 100), (1024, 512)):
        more(f"stft/{n}", lambda x, n=n, h=hop: torch.view_as_real(torch.stft(x, n, h, window=torch.hann_window(n),
             return_complex=True)), (2, 8000))
    more("istft", lambda x: torch.istft(torch.view_as_complex(x), 512, 128, window=torch.hann_window(512)), (2, 257,
         50, 2))
    numbers = lambda *s: (lambda: random(*s, 2))  # noqa: E731
    join, apart = torch.view_as_complex, torch.view_as_real
    for what, f in {"mul": lambda x, y: x * y, "add": lambda x, y: x + y, "div": lambda x, y: x / y}.items():
        more(f"complex/{what}", lambda x, y, f=f: apart(f(join(x), join(y))), numbers(999, 101), numbers(999, 101))
    for what, f in {"exp": torch.exp, "conj": torch.conj_physical, "sqrt": torch.sqrt}.items():
        more(f"complex/{what}", lambda x, f=f: apart(f(join(x))), numbers(999, 101))
    more("complex/abs", lambda x: join(x).abs(), numbers(999, 101))
    more("complex/angle", lambda x: join(x).angle(), numbers(999, 101))
    more("complex/sum", lambda x: apart(join(x).sum(1)), numbers(999, 101))
    more("complex/matmul", lambda x, y: apart(join(x) @ join(y)), numbers(99, 101), numbers(101, 97))
    more("complex/polar", lambda r, a: apart(torch.polar(r.abs(), a)), (999, 101), (999, 101))


def planes():
    """What is computed point by point over planes that are no whole vectors, with numbers of channels or images."""
    for shape in ((16, 256, 7, 7), (16, 128, 14, 14), (4, 64, 28, 28), (8, 32, 19, 21), (64, 10, 3, 3)):
        size, c = "x".join(map(str, shape)), shape[1]
        for dtype in (F32, BF16, F64):
            more(f"planes/bias/{size}/{NAMES[dtype]}", lambda x, b: x + b[:, None, None], (*shape, dtype), (c, dtype))
            more(f"planes/silu/{size}/{NAMES[dtype]}", F.silu, (*shape, dtype))
        more(f"planes/batch_norm/{size}", None, shape, state=lambda c=c: torch.nn.BatchNorm2d(c))
        more(f"planes/batch_norm_of/{size}", lambda x, m, v, w, b: F.batch_norm(x, m, v.abs() + 1, w, b), shape,
             *[(c,)] * 4)
        more(f"planes/gate/{size}", lambda x, g: x * torch.sigmoid(g)[:, :, None, None], shape, shape[:2])
        more(f"planes/mask/{size}", lambda x, m: x * m, shape, (shape[0], 1, *shape[2:]))
        more(f"planes/standardize/{size}", lambda x: (x.float() - x.float().mean((2, 3), keepdim=True)) / 3, shape)


def strided():
    """Arguments that a model makes views of: turned, every second, repeated."""
    for dtype in (F32, F16, F64, I8):
        label = NAMES[dtype]
        more(f"turned_add/{label}", lambda x, y: x.mT + y, (30, 77, 99, dtype), (30, 99, 77, dtype))
        more(f"turned_sum/{label}", lambda x: x.mT.sum(-1), (30, 77, 99, dtype))
        more(f"turned_amax/{label}", lambda x: x.mT.amax(1), (30, 77, 99, dtype))
        more(f"turned_reshape/{label}", lambda x: x.transpose(0, 2).reshape(99 * 77, 30) * 2, (30, 77, 99, dtype))
        more(f"half_sum/{label}", lambda x: x[:, ::2].sum(1), (999, 602, dtype))
        more(f"half_mul/{label}", lambda x: x[..., :33] * x[..., 33:], (3000, 66, dtype))
        more(f"channels_last_mul/{label}", lambda x, s: x.permute(0, 3, 1, 2) * s[:, None, None], (4, 33, 57, 21,
             dtype), (21, dtype))
    more("turned_softmax", lambda x: x.mT.softmax(-1), (30, 77, 99))
    more("turned_layer_norm", lambda x: F.layer_norm(x.mT, (77,)), (30, 77, 99))
    more("turned_cumsum", lambda x: x.mT.cumsum(-1), (30, 77, 99))
    more("turned_sort", lambda x: x.mT.sort(-1).values, (30, 77, 99))
    more("turned_argmax", lambda x: x.mT.argmax(-1), (30, 77, 99))
    more("turned_exp", lambda x: x.T.exp(), (301, 999))
    more("turned_pool", lambda x: F.max_pool2d(x.permute(0, 3, 1, 2), 2), (4, 56, 58, 33))
    more("turned_resize", lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear"), (2, 40, 44,
         12))


def tiny():
    """Next to nothing to compute: what a call costs."""
    for shape in ((1,), (10,), (3, 7), (2, 3, 4, 5)):
        label = "x".join(map(str, shape))
        for what, f in {"add": lambda x: x + 1, "exp": torch.exp, "sum": lambda x: x.sum(-1),
                    "softmax": lambda x: x.softmax(-1),
                        "transpose": lambda x: x.movedim(0, -1).contiguous(), "argmax": lambda x: x.argmax(-1),
                        "sort": lambda x: x.sort(-1).values,
                        "cumsum": lambda x: x.cumsum(-1), "cat": lambda x: torch.cat([x, x]),
                        "flip": lambda x: x.flip(-1),
                        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]), "bf16": lambda x: x.to(BF16)}.items():
            more(f"tiny/{what}/{label}", f, shape)
    more("tiny/matmul", torch.matmul, (3, 4), (4, 5))
    more("tiny/bmm", torch.bmm, (2, 3, 4), (2, 4, 5))
    more("tiny/conv", None, (1, 2, 8, 8), state=lambda: torch.nn.Conv2d(2, 3, 3))
    more("tiny/linear", None, (1, 10), state=lambda: torch.nn.Linear(10, 4))
    more("tiny/embedding", F.embedding, lambda: integers(10, 3), (10, 4))
    more("tiny/inv", torch.linalg.inv, (1, 3, 3))
    more("tiny/fft", lambda x: torch.view_as_real(torch.fft.rfft(x)), (1, 16))


for family in (pools, resizing, losses, norms, writes, bits, moves, matrices, spectra, planes, strided, tiny):
    family()
