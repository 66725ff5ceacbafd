"""Many operators at one or two sizes each, for `scripts/bench ops --only wide`: what no list of important cases names.

Every elementary function and comparison, the types that models store, reductions along every axis, scans, writes by
index, casts between all types, views, windows, losses and extents that only a run knows.
"""
import itertools

import torch
import torch.nn.functional as F

from opcases import BF16, BOOL, F16, F32, F64, I8, I32, I64, SHORT, case, integers, random

U8, I16 = torch.uint8, torch.int16
NAMES = {**SHORT, U8: "u8", I16: "i16"}
N = 1 << 20


def values(*shape, dtype=F32):
    """Numbers of any type, of which none is zero but for truth values."""
    if dtype == BOOL:
        return random(*shape, dtype=BOOL)
    if dtype == U8:
        return torch.randint(1, 200, shape, dtype=U8)
    if not dtype.is_floating_point:
        return torch.randint(1, 100, shape, dtype=dtype)
    return random(*shape, dtype=dtype)


def wide(name, function, *arguments, dynamic=None, state=None, places=None):
    """Arguments are tuples of extents and, last, a type that is not f32, or functions that make one."""
    def make():
        made = []
        for a in arguments:
            if callable(a):
                made.append(a())
            elif isinstance(a[-1], torch.dtype):
                made.append(values(*a[:-1], dtype=a[-1]))
            else:
                made.append(random(*a))
        return made
    case(f"wide/{name}", function, make, dynamic=dynamic, state=state, places=places)


def functions():
    positive = "log2 log10 log1p rsqrt reciprocal lgamma digamma".split()
    anywhere = """exp2 expm1 cos tan sinh cosh atan asinh erfc floor ceil round trunc frac sign square neg abs isnan isinf isfinite
                  signbit sinc sigmoid""".split()
    inside = "asin acos atanh".split()
    for what in positive:
        wide(f"{what}", lambda x, f=getattr(torch, what): f(x.abs() + 0.1), (N,))
    for what in anywhere:
        wide(f"{what}", getattr(torch, what), (N,))
    for what in inside:
        wide(f"{what}", lambda x, f=getattr(torch, what): f(x * 0.1), (N,))
    for what in "hardswish hardsigmoid hardtanh elu selu celu leaky_relu logsigmoid softsign tanhshrink hardshrink softshrink relu6".split():
        wide(f"{what}", getattr(F, what), (N,))
    for what in "i0 ndtr log_ndtr erfcx i1 entr".split():
        wide(f"special_{what}", lambda x, f=getattr(torch.special, what): f(x), (N,))
    wide("glu", F.glu, (1024, 2048))
    wide("prelu", F.prelu, (8, 64, 56, 56), (64,))
    for what in "atan2 fmod remainder hypot copysign maximum minimum fmax logaddexp nextafter xlogy heaviside logaddexp2".split():
        f = torch.xlogy if what == "xlogy" else getattr(torch, what)
        wide(f"{what}", (lambda x, y, f=f: f(x, y.abs() + 0.1)) if what == "xlogy" else f, (N,), (N,))
    wide("pow_2", lambda x: x**2, (N,))
    wide("pow_3", lambda x: x**3, (N,))
    wide("pow_-1", lambda x: (x.abs() + 1)**-1.0, (N,))
    wide("pow_half", lambda x: x.abs()**0.5, (N,))
    wide("floor_divide", torch.floor_divide, (N,), (N,))
    wide("clamp", lambda x: x.clamp(-0.5, 0.5), (N,))
    wide("lerp", torch.lerp, (N,), (N,), (N,))
    wide("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), (N,), (N,), (N,))
    wide("nan_to_num", torch.nan_to_num, (N,))
    wide("logit", lambda x: torch.logit(torch.sigmoid(x), 1e-6), (N,))
    for dtype in (F64, F16, BF16):
        for what in ("tanh", "sigmoid", "log", "sin", "erf", "silu", "rsqrt", "relu"):
            f = F.silu if what == "silu" else getattr(torch, what)
            f = (lambda x, f=f: f(x.abs() + 0.1)) if what in ("log", "rsqrt") else f
            wide(f"{what}/{NAMES[dtype]}", f, (N, dtype))
    for dtype in (F64, F16, BF16, I64, I32, I16, I8, U8):
        kinds = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "max": torch.maximum,
                 "lt": torch.lt, "eq": torch.eq, "scalar": lambda x, y: x + 3, "abs": lambda x, y: x.abs(),
                 "clamp": lambda x, y: x.clamp(3, 50), "where": lambda x, y: torch.where(x > 50, x, y)}
        for what, f in kinds.items():
            wide(f"{what}/{NAMES[dtype]}", f, (N, dtype), (N, dtype))
    for dtype in (I64, I32, I8, U8):
        for what, f in {"div": torch.div, "floordiv": lambda x, y: x // y, "rem": lambda x, y: x % y,
                        "rem_7": lambda x, y: x % 7, "floordiv_7": lambda x, y: x // 7,
                        "and": torch.bitwise_and, "shift": lambda x, y: x >> 2, "pow_2": lambda x, y: x**2}.items():
            wide(f"{what}/{NAMES[dtype]}", f, (N, dtype), (N, dtype))
    for what in ("logical_or", "logical_xor", "bitwise_and", "eq"):
        wide(f"{what}/bool", getattr(torch, what), (N, BOOL), (N, BOOL))
    wide("not/bool", torch.logical_not, (N, BOOL))
    for dtype in (BOOL, I8, F16, F64, I64):
        wide(f"where_mask/{NAMES[dtype]}", torch.where, (N, BOOL), (N, dtype), (N, dtype))
    for n in (1000, 30000, 99991):
        for dtype in (F32, I8, BF16):
            wide(f"add/{n}/{NAMES[dtype]}", lambda x, y: x + y, (n, dtype), (n, dtype))
    wide("add/rows", lambda x, y: x + y, (1024, 1024), (1024,))
    wide("add/columns", lambda x, y: x + y, (1024, 1024), (1024, 1))
    wide("add/channels", lambda x, y: x + y, (8, 64, 56, 56), (64, 1, 1))
    wide("add/odd_rows", lambda x, y: x + y, (4099, 257), (257,))
    wide("add/narrow_rows", lambda x, y: x + y, (100000, 3), (3,))
    wide("mul/outer", lambda x, y: x[:, None] * y, (1024,), (1000,))
    wide("add/transposed", lambda x, y: x + y.T, (1000, 1000), (1000, 1000))
    wide("polynomial", lambda x: ((x * 0.3 + 0.2) * x + 0.1) * x + 1, (N,))


def casts():
    for a, b in itertools.permutations((F64, F32, F16, BF16, I64, I32, I8, U8, BOOL), 2):
        # What is below 0 has no 8 unsigned bits.
        wide(f"cast/{NAMES[a]}-{NAMES[b]}", (lambda x: x.abs().to(U8)) if b == U8 and a.is_floating_point else
             lambda x, b=b: x.to(b), (N, a))


def reductions():
    for shape, axis in (((64, 1000, 7), 1), ((1000, 7, 64), 1), ((512, 4, 1024), 1), ((1024, 33, 3), 1), ((300000, 3), 1),
                        ((3, 300000), 0), ((300000, 3), 0), ((16, 64, 56, 56), (0, 2, 3)), ((16, 56, 56, 64), (0, 1, 2)),
                        ((64, 197, 99), (0, 2)), ((1000, 1000), 0), ((1000, 1000), 1), ((1, 1000000), 1), ((7, 150001), 1),
                        ((50, 20000), 0), ((20000, 50), 0), ((20000, 50), 1), ((32, 16, 2048), (0, 1)), ((1000003,), 0)):
        label = "x".join(map(str, shape)) + "/" + "".join(str(axis).split())
        for what in ("sum", "amax", "std", "mean"):
            wide(f"{what}/{label}", lambda x, f=getattr(torch, what), a=axis: f(x, dim=a), shape)
        if isinstance(axis, int):
            wide(f"argmax/{label}", lambda x, a=axis: x.argmax(a), shape)
            wide(f"softmax/{label}", lambda x, a=axis: F.softmax(x, a), shape)
    for dtype in (F64, F16, BF16, I64, I32, I8, U8, BOOL):
        for what in ("sum", "amax", "argmin", "prod", "any", "all", "mean"):
            if dtype == BOOL and what == "argmin" or what == "mean" and not dtype.is_floating_point:
                continue
            for axis in (0, 1, None):
                f = getattr(torch, what)
                wide(f"{what}/{NAMES[dtype]}/{axis}", (lambda x, f=f, a=axis: f(x, dim=a)) if axis is not None else
                     lambda x, f=f: f(x), (1024, 1024, dtype))
    for axis in (0, 1):
        wide(f"var_mean/{axis}", lambda x, a=axis: torch.var_mean(x, a), (1024, 1024))
        wide(f"norm_1/{axis}", lambda x, a=axis: torch.linalg.vector_norm(x, 1, a), (1024, 1024))
        wide(f"norm_inf/{axis}", lambda x, a=axis: torch.linalg.vector_norm(x, float("inf"), a), (1024, 1024))
        wide(f"norm_3/{axis}", lambda x, a=axis: torch.linalg.vector_norm(x, 3, a), (1024, 1024))
        wide(f"count_nonzero/{axis}", lambda x, a=axis: torch.count_nonzero(x, a), (1024, 1024))
        wide(f"nansum/{axis}", lambda x, a=axis: torch.nansum(x, a), (1024, 1024))
        wide(f"aminmax/{axis}", lambda x, a=axis: torch.aminmax(x, dim=a), (1024, 1024))
        wide(f"log_softmax/{axis}", lambda x, a=axis: F.log_softmax(x, a), (1024, 1024))
        wide(f"normalize/{axis}", lambda x, a=axis: F.normalize(x, dim=a), (1024, 1024))
        wide(f"median/{axis}", lambda x, a=axis: x.median(a), (1024, 1024), places=axis)
        wide(f"quantile/{axis}", lambda x, a=axis: x.quantile(0.3, a), (1024, 1024))
    for dtype in (F64, F16, BF16):
        wide(f"softmax/{NAMES[dtype]}", lambda x: F.softmax(x, 1), (1024, 1024, dtype))
        wide(f"layer_norm/{NAMES[dtype]}", lambda x: F.layer_norm(x, (1024,)), (1024, 1024, dtype))
        wide(f"logsumexp/{NAMES[dtype]}", lambda x: x.logsumexp(1), (1024, 1024, dtype))
    wide("logsumexp_all", lambda x: x.logsumexp((0, 1)), (1024, 1024))
    wide("softmax/2x1000000", lambda x: F.softmax(x, 1), (2, 1000000))
    wide("softmax/16x65536", lambda x: F.softmax(x, 1), (16, 65536))
    wide("softmax/4x32000", lambda x: F.softmax(x, 1), (4, 32000))
    wide("layer_norm/4x200000", lambda x: F.layer_norm(x, (200000,)), (4, 200000))
    wide("batch_norm_train", lambda x: F.batch_norm(x, None, None, training=True), (16, 64, 28, 28))
    wide("local_response_norm", lambda x: F.local_response_norm(x, 5), (4, 64, 28, 28))
    wide("cosine_similarity", F.cosine_similarity, (4096, 256), (4096, 256))
    wide("trace", torch.trace, (1024, 1024))


def scans():
    for shape, axis in (((1024, 1024), 1), ((1024, 1024), 0), ((64, 256, 64), 1), ((16, 65536), 1), ((4096, 100), 1)):
        label = "x".join(map(str, shape)) + f"/{axis}"
        for what in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"):
            wide(f"{what}/{label}", lambda x, f=getattr(torch, what), a=axis: f(x, a), shape)
    for dtype in (F64, F16, I64, I32, BOOL):
        wide(f"cumsum/{NAMES[dtype]}", lambda x: x.cumsum(1), (1024, 1024, dtype))
    wide("diff", lambda x: x.diff(dim=1), (1024, 1024))
    wide("trapezoid", lambda x: torch.trapezoid(x, dim=1), (1024, 1024))


def order():
    for dtype in (F64, F16, BF16, I64, I32, I8, U8):
        wide(f"sort/{NAMES[dtype]}", lambda x: torch.sort(x, dim=1, stable=True), (256, 1024, dtype))
        wide(f"topk/{NAMES[dtype]}", lambda x: torch.topk(x, 10, dim=1)[0], (256, 1024, dtype))
    for axis, shape in ((0, (1024, 256)), (1, (64, 128, 32)), (1, (4096, 16)), (1, (65536, 4)), (1, (100, 5000))):
        label = "x".join(map(str, shape)) + f"/{axis}"
        wide(f"sort/{label}", lambda x, a=axis: torch.sort(x, dim=a, stable=True), shape)
        wide(f"sort_descending/{label}", lambda x, a=axis: torch.sort(x, dim=a, descending=True, stable=True), shape)
        wide(f"argsort/{label}", lambda x, a=axis: torch.argsort(x, dim=a, stable=True), shape)
        wide(f"topk_smallest/{label}", lambda x, a=axis: torch.topk(x, 3, dim=a, largest=False), shape, places=axis)
    wide("bucketize", lambda x: torch.bucketize(x, torch.linspace(-3, 3, 100)), (N,))
    wide("searchsorted/rows", torch.searchsorted, lambda: random(64, 1024).sort(1).values, (64, 1024))


def indices():
    table = lambda *s, high=1000: (lambda: integers(high, *s))  # noqa: E731
    for dtype in (F64, F16, I64, I8):
        wide(f"embedding/{NAMES[dtype]}", F.embedding, table(4096), (1000, 128, dtype))
        wide(f"gather/{NAMES[dtype]}", lambda x, i: x.gather(1, i), (1000, 1000, dtype), table(1000, 1000))
        wide(f"index_select_1/{NAMES[dtype]}", lambda x, i: x.index_select(1, i), (1000, 1000, dtype), table(500))
    wide("gather/axis0", lambda x, i: x.gather(0, i), (1000, 1000), table(1000, 1000))
    wide("gather/3d", lambda x, i: x.gather(1, i), (16, 1000, 64), table(16, 500, 64))
    wide("gather/i32", lambda x, i: torch.take_along_dim(x, i.long(), 1), (1000, 1000), lambda: integers(1000, 1000, 1000).int())
    wide("index_pairs", lambda x, i, j: x[i, j], (1000, 1000), table(100000), table(100000))
    wide("index_rows", lambda x, i: x[i], (1000, 1000), table(2000))
    wide("index_mask", lambda x, m: x * m[:, None], (1000, 1000), (1000, BOOL))
    wide("take", lambda x, i: torch.take(x, i), (1000, 1000), table(200000, high=1000000))
    for mode in ("sum", "amax", "prod", "mean"):
        wide(f"scatter_reduce/{mode}", lambda x, i, u, m=mode: x.scatter_reduce(1, i, u, m), (500, 1000), table(500, 1000),
             (500, 1000))
        wide(f"scatter_reduce_0/{mode}", lambda x, i, u, m=mode: x.scatter_reduce(0, i, u, m), (1000, 500), table(1000, 500),
             (1000, 500))
    wide("scatter/1", lambda x, i, u: x.scatter(1, i, u), (500, 1000), table(500, 1000), (500, 1000))
    wide("scatter/0", lambda x, i, u: x.scatter(0, i, u), (1000, 500), table(1000, 500), (1000, 500))
    wide("scatter/value", lambda x, i: x.scatter(1, i, 1.0), (4096, 1000), table(4096, 1))
    wide("scatter_add/i64", lambda x, i, u: x.scatter_add(0, i, u), (1000, 64, I64), table(4096, 64), (4096, 64, I64))
    wide("scatter_add/graph", lambda x, i, u: x.index_add(0, i, u), (2708, 64), table(10556, high=2708), (10556, 64))
    wide("scatter_add/graph16", lambda x, i, u: x.index_add(0, i, u), (2708, 16), table(10556, high=2708), (10556, 16))
    wide("index_copy", lambda x, i, u: x.index_copy(0, i, u), (1000, 1000), lambda: torch.randperm(1000)[:500], (500, 1000))
    wide("index_fill", lambda x, i: x.index_fill(1, i, 2.0), (1000, 1000), table(100))
    wide("index_put_pairs", lambda x, i, j, u: x.index_put((i, j), u, accumulate=True), (1000, 1000), table(100000), table(100000),
         (100000,))
    wide("bincount", lambda i: torch.zeros(1000).scatter_add(0, i, torch.ones(100000)), table(100000))
    wide("masked_fill/rows", lambda x, m: x.masked_fill(m[:, None], 0.0), (1000, 1000), (1000, BOOL))
    wide("masked_fill/f16", lambda x, m: x.masked_fill(m, 0.0), (1000, 1000, F16), (1000, 1000, BOOL))
    wide("embedding_bag/fixed", lambda i, t: F.embedding_bag(i, t, mode="sum"), table(512, 20, high=50000), (50000, 64))
    wide("embedding_bag/fixed_128", lambda i, t: F.embedding_bag(i, t, mode="mean"), table(256, 50, high=50000), (50000, 128))
    wide("embedding_bag/offsets_128", lambda i, t, o: F.embedding_bag(i, t, o, mode="sum"), table(8192, high=10000), (10000, 128),
         lambda: torch.arange(0, 8192, 32))
    wide("kv_write", lambda c, x: c.slice_scatter(x, 2, 100, 101), (1, 8, 2048, 128), (1, 8, 1, 128))
    wide("nonzero_count", lambda x: (x > 0.5).nonzero().shape[0] * torch.ones(1), (100000,))
    wide("triu_indices", lambda x: torch.triu(x, 1), (16, 512, 512))
    wide("masked_causal", lambda x: x.masked_fill(torch.ones(512, 512).triu(1).bool(), float("-inf")), (16, 512, 512))


def views():
    for dtype in (F64, F16, I64, I8):
        wide(f"transpose/{NAMES[dtype]}", lambda x: x.T.contiguous(), (1000, 1000, dtype))
        wide(f"channels_last/{NAMES[dtype]}", lambda x: x.permute(0, 2, 3, 1).contiguous(), (8, 64, 56, 56, dtype))
        wide(f"cat_0/{NAMES[dtype]}", lambda x, y: torch.cat([x, y]), (500, 1000, dtype), (500, 1000, dtype))
        wide(f"cat_1/{NAMES[dtype]}", lambda x, y: torch.cat([x, y], 1), (1000, 500, dtype), (1000, 500, dtype))
        wide(f"flip/{NAMES[dtype]}", lambda x: x.flip(1), (1000, 1000, dtype))
        wide(f"repeat/{NAMES[dtype]}", lambda x: x.repeat(4, 4), (250, 250, dtype))
        wide(f"pad/{NAMES[dtype]}", lambda x: F.pad(x, (1, 1, 1, 1)), (64, 125, 125, dtype))
    for shape, perm in (((16, 128, 8, 64), (0, 2, 1, 3)), ((8, 56, 56, 64), (0, 3, 1, 2)), ((100, 100, 100), (2, 1, 0)),
                        ((100, 100, 100), (1, 0, 2)), ((1000000, 3), (1, 0)), ((3, 1000000), (1, 0)), ((64, 7, 7, 8, 8), (0, 1, 3, 2, 4)),
                        ((20, 30, 40, 50), (3, 0, 2, 1)), ((1000, 8, 8, 16), (0, 2, 1, 3)), ((4, 4, 250, 250), (1, 0, 3, 2)),
                        ((2,) * 20, tuple(range(19, -1, -1)))):
        wide(f"permute/{'x'.join(map(str, shape))[:30]}/{''.join(map(str, perm))[:6]}", lambda x, p=perm: x.permute(p).contiguous(), shape)
    for k, axis, shape in ((8, 1, (1000, 125)), (8, 0, (125, 1000)), (3, 1, (100000, 3)), (2, 2, (64, 64, 100)), (4, 1, (8, 16, 56, 56))):
        label = f"{k}x{'x'.join(map(str, shape))}/{axis}"
        wide(f"cat/{label}", lambda *x, a=axis: torch.cat(x, a), *[shape] * k)
        wide(f"stack/{label}", lambda *x, a=axis: torch.stack(x, a), *[shape] * k)
    wide("stack/last", lambda x, y: torch.stack([x, y], -1), (1000, 500), (1000, 500))
    wide("stack/last3", lambda x, y, z: torch.stack([x, y, z], -1), (1000, 300), (1000, 300), (1000, 300))
    wide("split", lambda x: [p.contiguous() for p in x.split(250, 1)], (1000, 1000))
    wide("unbind_last", lambda x: [p.contiguous() for p in x.unbind(-1)], (500000, 2))
    wide("slice_step", lambda x: x[:, ::2].contiguous(), (1000, 2000))
    wide("slice_step3", lambda x: x[:, ::3].contiguous(), (1000, 3000))
    wide("slice_rows", lambda x: x[::2].contiguous(), (2000, 1000))
    wide("slice_middle", lambda x: x[:, 3:-4].contiguous(), (1000, 1007))
    wide("flip/0", lambda x: x.flip(0), (1000, 1000))
    wide("flip/both", lambda x: x.flip(0, 1), (1000, 1000))
    wide("rot90", lambda x: torch.rot90(x).contiguous(), (1000, 1000))
    wide("roll/0", lambda x: x.roll(100, 0), (1000, 1000))
    wide("roll/both", lambda x: x.roll((3, 5), (1, 2)), (64, 125, 125))
    wide("repeat_interleave/1", lambda x: x.repeat_interleave(3, 1), (1000, 300))
    wide("expand", lambda x: x.expand(100, 100, 100).contiguous(), (100, 1, 100))
    wide("expand/last", lambda x: x[:, None].expand(1000, 1000).contiguous(), (1000,))
    wide("diag_embed", torch.diag_embed, (64, 128))
    wide("diagonal", lambda x: x.diagonal(0, 1, 2).contiguous(), (256, 128, 128))
    wide("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (1, 64, 112, 112))
    wide("channel_shuffle", lambda x: F.channel_shuffle(x, 4), (4, 64, 56, 56))
    for shape, groups in (((8, 64, 28, 28), 4), ((8, 116, 7, 7), 2)):
        wide(f"channel_shuffle/{shape[2]}", lambda x, g=groups: F.channel_shuffle(x, g), shape)
    wide("unfold/4", lambda x: x.unfold(1, 16, 4).contiguous(), (64, 4096))
    wide("fold", lambda x: F.fold(x, (56, 56), 3, padding=1), (1, 576, 3136))
    wide("window_partition", lambda x: x.view(8, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5).contiguous(), (8, 56, 56, 96))
    wide("pad/last", lambda x: F.pad(x, (0, 24)), (1000, 1000))
    wide("pad_reflect/1d", lambda x: F.pad(x, (100, 100), mode="reflect"), (16, 64000))
    wide("pad_replicate/3d", lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate"), (4, 8, 30, 30, 30))
    wide("pad_reflect/i1", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (8, 64, 56, 56))
    wide("meshgrid", lambda x, y: torch.stack(torch.meshgrid(x, y, indexing="ij"), -1), (1000,), (1000,))
    wide("patches", lambda x: x.unfold(2, 16, 16).unfold(3, 16, 16).permute(0, 2, 3, 1, 4, 5).reshape(1, 196, 768), (1, 3, 224, 224))
    wide("rotate_half", lambda x: torch.cat([-x[..., 32:], x[..., :32]], -1), (16, 512, 64))
    wide("rotate_pairs", lambda x: torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2), (16, 512, 64))
    wide("tril/batch", torch.tril, (16, 256, 256))


def windows():
    wide("max_pool1d", lambda x: F.max_pool1d(x, 3, 2), (16, 64, 1024))
    wide("avg_pool1d", lambda x: F.avg_pool1d(x, 4, 4), (16, 64, 1024))
    wide("max_pool3d", lambda x: F.max_pool3d(x, 2, 2), (2, 16, 32, 56, 56))
    wide("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 2), (2, 16, 32, 56, 56))
    wide("max_pool_indices", lambda x: F.max_pool2d(x, 2, 2, return_indices=True), (4, 64, 56, 56))
    wide("max_pool3s1", lambda x: F.max_pool2d(x, 3, 1, 1), (4, 64, 56, 56))
    wide("max_pool_dilated", lambda x: F.max_pool2d(x, 3, 1, dilation=2), (4, 32, 56, 56))
    wide("lp_pool", lambda x: F.lp_pool2d(x.abs(), 2, 3, 2), (4, 64, 56, 56))
    wide("adaptive_avg/1", lambda x: F.adaptive_avg_pool2d(x, 1), (16, 256, 14, 14))
    wide("adaptive_avg/5", lambda x: F.adaptive_avg_pool2d(x, 5), (8, 64, 56, 56))
    wide("adaptive_max/7", lambda x: F.adaptive_max_pool2d(x, 7), (8, 64, 56, 56))
    for mode, size in (("nearest", 1.5), ("bilinear", 4), ("trilinear", 2), ("linear", 2), ("bicubic", 0.5), ("area", 0.3)):
        shape = {"trilinear": (1, 8, 16, 32, 32), "linear": (8, 64, 1024)}.get(mode, (4, 8, 128, 128))
        wide(f"interpolate/{mode}{size}", lambda x, m=mode, s=size: F.interpolate(x, scale_factor=s, mode=m), shape)
    wide("interpolate/aligned", lambda x: F.interpolate(x, (200, 200), mode="bilinear", align_corners=True), (4, 8, 128, 128))
    wide("interpolate/last_channels", lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2).permute(0, 2, 3, 1), (4, 64, 64, 32))
    conv = torch.nn.Conv2d
    for name, make, shape in (
            ("dilated", lambda: conv(64, 64, 3, 1, 2, dilation=2), (1, 64, 56, 56)),
            ("groups4", lambda: conv(64, 64, 3, 1, 1, groups=4), (1, 64, 56, 56)),
            ("groups32", lambda: conv(256, 256, 3, 1, 1, groups=32), (1, 256, 28, 28)),
            ("1x7", lambda: conv(64, 64, (1, 7), 1, (0, 3)), (1, 64, 56, 56)),
            ("7x1", lambda: conv(64, 64, (7, 1), 1, (3, 0)), (1, 64, 56, 56)),
            ("1x1s2", lambda: conv(256, 512, 1, 2), (1, 256, 56, 56)),
            ("11x11s4", lambda: conv(3, 64, 11, 4, 2), (1, 3, 224, 224)),
            ("4x4s4", lambda: conv(3, 96, 4, 4), (1, 3, 224, 224)),
            ("5x5-16", lambda: conv(16, 32, 5), (8, 16, 32, 32)),
            ("1d-7", lambda: torch.nn.Conv1d(64, 128, 7, 2, 3), (8, 64, 1024)),
            ("1d-dilated", lambda: torch.nn.Conv1d(128, 128, 3, 1, 8, dilation=8), (1, 128, 4096)),
            ("1d-depthwise", lambda: torch.nn.Conv1d(256, 256, 31, 1, 15, groups=256), (1, 256, 1024)),
            ("1d-causal4", lambda: torch.nn.Conv1d(1536, 1536, 4, 1, 3, groups=1536), (1, 1536, 512)),
            ("3d-3x3x3", lambda: torch.nn.Conv3d(16, 32, 3, 1, 1), (1, 16, 16, 28, 28)),
            ("transposed3d", lambda: torch.nn.ConvTranspose3d(16, 16, 2, 2), (1, 16, 8, 28, 28)),
            ("transposed1d", lambda: torch.nn.ConvTranspose1d(128, 64, 16, 8, 4), (1, 128, 512)),
            ("transposed3s2", lambda: torch.nn.ConvTranspose2d(64, 64, 3, 2, 1, 1), (1, 64, 28, 28))):
        wide(f"conv/{name}", None, shape, state=make)


def losses():
    wide("mse", F.mse_loss, (1000, 1000), (1000, 1000))
    wide("l1", F.l1_loss, (1000, 1000), (1000, 1000))
    wide("smooth_l1", F.smooth_l1_loss, (1000, 1000), (1000, 1000))
    wide("bce_logits", F.binary_cross_entropy_with_logits, (1000, 1000), lambda: torch.rand(1000, 1000))
    wide("kl_div", lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), (1000, 1000), (1000, 1000))
    wide("cross_entropy", F.cross_entropy, (4096, 1000), lambda: integers(1000, 4096))
    wide("cross_entropy/pixels", F.cross_entropy, (4, 21, 128, 128), lambda: integers(21, 4, 128, 128))
    wide("cdist/1", lambda x, y: torch.cdist(x, y, 1.0), (256, 64), (256, 64))
    wide("pairwise_distance", F.pairwise_distance, (4096, 256), (4096, 256))


def products():
    for dtype in (F64, F16, BF16):
        wide(f"matmul/300/{NAMES[dtype]}", torch.matmul, (300, 300, dtype), (300, 300, dtype))
        wide(f"matvec/2000/{NAMES[dtype]}", torch.mv, (2000, 2000, dtype), (2000, dtype))
        wide(f"vecmat/2000/{NAMES[dtype]}", lambda x, y: y @ x, (2000, 2000, dtype), (2000, dtype))
    wide("matmul/i64", torch.matmul, (128, 128, I64), (128, 128, I64))
    for m, k, n in ((1, 1000, 1000), (2, 4096, 1024), (8, 4096, 4096), (32, 2048, 2048), (3, 1000, 7), (1000, 3, 1000), (1000, 1000, 3),
                    (10000, 64, 10), (64, 10000, 64), (17, 333, 91), (4096, 16, 16), (2, 100000, 2)):
        wide(f"matmul/{m}x{k}x{n}", torch.matmul, (m, k), (k, n))
        wide(f"matmul_transposed/{m}x{k}x{n}", lambda x, y: x @ y.T, (m, k), (n, k))
    wide("matmul/tn", lambda x, y: x.T @ y, (500, 300), (500, 400))
    for b, m, k, n in ((64, 1, 128, 128), (1000, 3, 3, 3), (512, 4, 64, 4), (16, 100, 100, 100), (32, 8, 512, 8), (64, 33, 65, 17)):
        wide(f"bmm/{b}x{m}x{k}x{n}", torch.bmm, (b, m, k), (b, k, n))
        wide(f"bmm_transposed/{b}x{m}x{k}x{n}", lambda x, y: x @ y.mT, (b, m, k), (b, n, k))
    wide("einsum/outer", lambda x, y: torch.einsum("bi,bj->bij", x, y), (64, 128), (64, 128))
    wide("einsum/bilinear", lambda x, w, y: torch.einsum("bi,oij,bj->bo", x, w, y), (64, 64), (32, 64, 64), (64, 64))
    wide("einsum/heads", lambda x, w: torch.einsum("bsd,dhk->bhsk", x, w), (2, 128, 256), (256, 8, 32))
    wide("kron", torch.kron, (32, 32), (32, 32))
    wide("outer", torch.outer, (1000,), (1000,))
    wide("dot/f64", torch.dot, (N, F64), (N, F64))
    wide("addmm", lambda c, x, y: torch.addmm(c, x, y, beta=0.5), (300, 300), (300, 300), (300, 300))
    wide("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y), (16, 64, 64), (16, 64, 64), (16, 64, 64))
    wide("bilinear", None, (64, 64), (64, 64), state=lambda: torch.nn.Bilinear(64, 64, 32))
    wide("tensordot", lambda x, y: torch.tensordot(x, y, ([1, 2], [0, 1])), (64, 30, 40), (30, 40, 64))
    wide("matrix_power", lambda x: torch.matrix_power(x, 5), lambda: random(200, 200) / 20)


def dynamic():
    rows, columns, both = {0: {0: "n"}}, {0: {1: "m"}}, {0: {0: "n", 1: "m"}}
    for name, dims in (("rows", rows), ("columns", columns), ("both", both)):
        for what, f in {"sum_1": lambda x: x.sum(1), "sum_0": lambda x: x.sum(0), "softmax": lambda x: F.softmax(x, 1),
                        "softmax_0": lambda x: F.softmax(x, 0), "transpose": lambda x: x.T.contiguous(), "tanh": torch.tanh,
                        "argmax": lambda x: x.argmax(1), "amax_0": lambda x: x.amax(0), "cumsum": lambda x: x.cumsum(1),
                        "cat": lambda x: torch.cat([x, x * 2], 1), "cat_0": lambda x: torch.cat([x, x * 2], 0),
                        "flip": lambda x: x.flip(1), "normalize": F.normalize, "mean": lambda x: x.mean(), "sort": lambda x: x.sort(1)[0],
                        "i8": lambda x: (x * 3).to(I8), "std": lambda x: x.std(1), "pad": lambda x: F.pad(x, (3, 3)),
                        "tril": torch.tril}.items():
            wide(f"dynamic/{what}/{name}", f, (1000, 1000), dynamic=dims)
    wide("dynamic/matmul", torch.matmul, (300, 300), (300, 300), dynamic={0: {0: "n"}})
    wide("dynamic/matmul_columns", torch.matmul, (300, 300), (300, 300), dynamic={1: {1: "n"}})
    wide("dynamic/matmul_inner", torch.matmul, (300, 500), (500, 300), dynamic={0: {1: "k"}, 1: {0: "k"}})
    wide("dynamic/embedding", F.embedding, lambda: integers(1000, 1000), (1000, 256), dynamic={0: {0: "n"}})
    wide("dynamic/layer_norm", None, (1000, 768), state=lambda: torch.nn.LayerNorm(768), dynamic={0: {0: "n"}})
    wide("dynamic/conv", None, (2, 32, 56, 56), state=lambda: torch.nn.Conv2d(32, 64, 3, 1, 1), dynamic={0: {0: "n"}})
    wide("dynamic/conv_size", None, (1, 32, 56, 56), state=lambda: torch.nn.Conv2d(32, 64, 3, 1, 1), dynamic={0: {2: "h", 3: "w"}})
    wide("dynamic/bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 8, 64, 64), dynamic={0: {0: "n"}})
    wide("dynamic/permute", lambda x: x.permute(0, 2, 1, 3).contiguous(), (4, 300, 8, 64), dynamic={0: {1: "n"}})
    wide("dynamic/group_norm", lambda x: F.group_norm(x, 8), (4, 64, 28, 28), dynamic={0: {0: "n"}})


for family in (functions, casts, reductions, scans, order, indices, views, windows, losses, products, dynamic):
    family()
