"""The operators and blocks that `scripts/bench ops` measures.

A case is a function of PyTorch tensors with its arguments, a name ("class/what/size") and how much it has to do:
bytes that must come from or go to memory at least once, and multiply-adds counted as two operations. Families give
each operator over sizes from tiny to beyond all caches, odd ones too, over types and batches. `quick` marks the subset
that is run before a change of code generation lands.
"""
import dataclasses
import math
from typing import Any, Callable

import torch
import torch.nn.functional as F

F32, F64, F16, BF16, I64, I32, I8, BOOL = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64,
                                           torch.int32, torch.int8, torch.bool)
SHORT = {F32: "f32", F64: "f64", F16: "f16", BF16: "bf16", I64: "i64", I32: "i32", I8: "i8", BOOL: "bool"}


@dataclasses.dataclass
class Case:
    name: str
    function: Callable
    arguments: Callable[[], list]
    flops: float = 0
    dynamic: dict = dataclasses.field(default_factory=dict)  # argument -> {axis: name}
    quick: bool = False
    state: Any = None  # a module that holds weights, instead of `function`
    places: Any = None  # the axis along which an output has places of the first argument, any of equals


CASES = {}


def case(name, function, arguments, flops=0, quick=False, dynamic=None, state=None, places=None):
    assert name not in CASES, name
    CASES[name] = Case(name, function, arguments, flops, dynamic or {}, quick, state, places)


def random(*shape, dtype=F32):
    if dtype == BOOL:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(-100, 100, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def integers(high, *shape):
    return torch.randint(0, high, shape)


def size_name(*shape):
    return "x".join(map(str, shape))


# Tiny, in L1, in L2, in the shared cache, beyond; an odd one.
LENGTHS = (100, 4096, 65536, 1 << 20, 1 << 24, 99991)


def pointwise():
    functions = {"add": lambda x: x + x.flip(0), "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
                 "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "exp": torch.exp,
                 "log": lambda x: torch.log(x.abs() + 1), "sin": torch.sin, "erf": torch.erf, "relu": torch.relu,
                 "pow": lambda x: (x.abs() + 0.1) ** 1.7, "sqrt": lambda x: x.abs().sqrt(),
                 "div": lambda x: x / (x.abs() + 1), "where": lambda x: torch.where(x > 0, x, x * 0.1),
                 "mish": F.mish, "softplus": F.softplus, "erfinv": lambda x: torch.erfinv(x * 0.2)}
    for what, f in functions.items():
        for n in (4096, 1 << 20, 1 << 24) if what in ("gelu", "tanh", "exp", "add") else (1 << 20,):
            case(f"math/{what}/{n}", f, lambda n=n: [random(n)], quick=n == 1 << 20 and what in ("gelu", "tanh", "exp"))
    for what in ("gelu", "exp", "add"):
        for dtype in (F64, F16, BF16):
            case(f"math/{what}/{1 << 20}/{SHORT[dtype]}", functions[what], lambda d=dtype: [random(1 << 20, dtype=d)])
    for n in (100, 99991):
        case(f"math/gelu/{n}", F.gelu, lambda n=n: [random(n)])
    for dtype in (I64, I32, I8):
        case(f"math/mul_add/{1 << 20}/{SHORT[dtype]}", lambda x, y: x * y + x,
             lambda d=dtype: [random(1 << 20, dtype=d), random(1 << 20, dtype=d)])
    case("math/and/1048576/bool", torch.logical_and, lambda: [random(1 << 20, dtype=BOOL), random(1 << 20, dtype=BOOL)])
    case("math/gelu/dynamic", F.gelu, lambda: [random(512, 2048)], dynamic={0: {0: "rows"}})
    case("math/bias_gelu/512x3072", lambda x, b: F.gelu(x + b), lambda: [random(512, 3072), random(3072)])
    for a, b in ((F32, BF16), (BF16, F32), (F32, F16), (F16, F32), (F32, I8), (I8, F32), (F64, F32), (I64, F32)):
        case(f"cast/{SHORT[a]}-{SHORT[b]}/{1 << 22}", lambda x, b=b: x.to(b), lambda a=a: [random(1 << 22, dtype=a)],
             quick=(a, b) == (F32, BF16))
    case("cast/f32-bf16-f32/4194304", lambda x: x.to(BF16).to(F32), lambda: [random(1 << 22)], quick=True)


def products():
    for m in (1, 4, 16, 64, 128, 512, 2048):
        for k, n in ((64, 64), (768, 768), (768, 3072), (1024, 32000), (768, 50257), (4096, 4096)):
            if m * k * n > 2e10:
                continue
            linear = lambda k=k, n=n: torch.nn.Linear(k, n, bias=False)  # noqa: E731
            case(f"linear/{size_name(m, k, n)}", None, lambda m=m, k=k: [random(m, k)], 2 * m * k * n, state=linear,
                 quick=(m, n) in ((1, 4096), (16, 32000), (128, 3072)))
    for m, k, n in ((64, 64, 64), (127, 129, 131), (512, 512, 512), (1024, 1024, 1024), (1, 4096, 4096), (2048, 64, 2048),
                    (4, 2048, 2048), (1000, 100, 1000), (33, 768, 768), (128, 768, 768), (256, 3000, 196)):
        case(f"matmul/{size_name(m, k, n)}", torch.matmul, lambda m=m, k=k, n=n: [random(m, k), random(k, n)],
             2 * m * k * n, quick=m in (512, 1024))
        case(f"matmul_transposed/{size_name(m, k, n)}", lambda x, y: x @ y.T,
             lambda m=m, k=k, n=n: [random(m, k), random(n, k)], 2 * m * k * n, quick=m == 1)
    for n in (256, 1024, 4096):
        case(f"matvec/{n}", torch.mv, lambda n=n: [random(n, n), random(n)], 2 * n * n, quick=n == 4096)
        case(f"vecmat/{n}", lambda x, y: y @ x, lambda n=n: [random(n, n), random(n)], 2 * n * n)
    case("dot/1048576", torch.dot, lambda: [random(1 << 20), random(1 << 20)], 2 << 20)
    for b, m, k, n in ((12, 128, 64, 128), (96, 64, 64, 64), (8, 512, 64, 512), (256, 16, 16, 16), (2, 1000, 77, 501),
                       (16, 66, 129, 667)):
        case(f"bmm/{size_name(b, m, k, n)}", torch.bmm, lambda b=b, m=m, k=k, n=n: [random(b, m, k), random(b, k, n)],
             2 * b * m * k * n, quick=b == 12)
    case("matmul/512x512x512/f64", torch.matmul, lambda: [random(512, 512, dtype=F64), random(512, 512, dtype=F64)], 2**28)
    case("matmul/512x512x512/bf16", torch.matmul, lambda: [random(512, 512, dtype=BF16), random(512, 512, dtype=BF16)],
         2**28)
    case("linear/dynamicx768x768", None, lambda: [random(100, 768)], 2 * 100 * 768 * 768,
         state=lambda: torch.nn.Linear(768, 768), dynamic={0: {0: "rows"}})
    case("mlp/128x768x3072", None, lambda: [random(128, 768)], 4 * 128 * 768 * 3072, quick=True,
         state=lambda: torch.nn.Sequential(torch.nn.Linear(768, 3072), torch.nn.GELU(), torch.nn.Linear(3072, 768)))
    case("einsum/bhqd,bkd", lambda q, k: torch.einsum("bhqd,bkd->bhqk", q, k),
         lambda: [random(4, 8, 128, 64), random(4, 128, 64)], 2 * 4 * 8 * 128 * 128 * 64)


def attention():
    sdpa = F.scaled_dot_product_attention
    for b, h, s, d in ((1, 8, 1024, 64), (1, 12, 512, 64), (8, 12, 128, 64), (1, 16, 2048, 128), (64, 4, 49, 32),
                       (1, 12, 197, 64), (1, 8, 77, 64), (2, 8, 333, 40), (1, 1, 4096, 64)):
        work = 4 * b * h * s * s * d
        make = lambda b=b, h=h, s=s, d=d: [random(b, h, s, d) for _ in range(3)]  # noqa: E731
        case(f"attention/{size_name(b, h, s, d)}", sdpa, make, work, quick=s == 512)
        case(f"attention/causal/{size_name(b, h, s, d)}", lambda q, k, v: sdpa(q, k, v, is_causal=True), make, work / 2,
             quick=s == 1024)
        case(f"attention/masked/{size_name(b, h, s, d)}", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
             lambda make=make, s=s: make() + [random(s, s)], work)
    for h, kv, s, t, d in ((32, 8, 1, 2048, 128), (32, 8, 1, 512, 128), (12, 12, 1, 1024, 64), (32, 32, 1, 4096, 128),
                           (32, 8, 512, 512, 64), (16, 2, 128, 128, 128), (32, 4, 8, 4096, 64)):
        case(f"attention/grouped/{size_name(h, kv, s, t, d)}", lambda q, k, v: sdpa(q, k, v, enable_gqa=True),
             lambda h=h, kv=kv, s=s, t=t, d=d: [random(1, h, s, d), random(1, kv, t, d), random(1, kv, t, d)],
             4 * h * s * t * d, quick=s == 1 and t == 2048 or s == 512)
    case("attention/dynamic/1x8x300x64", lambda q, k, v: sdpa(q, k, v, is_causal=True),
         lambda: [random(1, 8, 300, 64) for _ in range(3)], 2 * 8 * 300 * 300 * 64,
         dynamic={i: {2: "tokens"} for i in range(3)})
    case("attention/dynamic/4x8x2048x64", lambda q, k, v: sdpa(q, k, v, is_causal=True),
         lambda: [random(4, 8, 2048, 64) for _ in range(3)], 4 * 4 * 8 * 2048 * 2048 * 64 / 2,
         dynamic={i: {0: "texts", 2: "tokens"} for i in range(3)})
    case("attention/bf16/1x8x512x64", sdpa, lambda: [random(1, 8, 512, 64, dtype=BF16) for _ in range(3)],
         4 * 8 * 512 * 512 * 64)
    case("attention/hidden/1x8x300x64", lambda q, k, v, m: sdpa(q, k, v, m),
         lambda: [random(1, 8, 300, 64) for _ in range(3)] + [random(1, 1, 300, 300) > 0], 4 * 8 * 300 * 300 * 64)


def convolutions():
    shapes = {(1, 1, 16, 3, 1, 224): True, (1, 3, 64, 7, 2, 224): True, (1, 3, 32, 3, 2, 224): False,
              (1, 64, 64, 3, 1, 56): True, (1, 64, 256, 1, 1, 56): False, (1, 256, 256, 3, 1, 14): False,
              (1, 512, 512, 3, 1, 7): False, (1, 64, 64, 5, 1, 56): False, (1, 16, 16, 13, 1, 56): False,
              (8, 3, 64, 7, 2, 224): False, (8, 64, 64, 3, 1, 56): False, (1, 4, 8, 3, 1, 512): False,
              (1, 33, 47, 3, 1, 37): False, (1, 3, 768, 16, 16, 224): False}
    for (b, c, o, w, stride, s), quick in shapes.items():
        out = (s + 2 * (w // 2) - w) // stride + 1
        case(f"conv/{size_name(b, c, s, s)}-{o}-{w}x{w}s{stride}", None, lambda b=b, c=c, s=s: [random(b, c, s, s)],
             2 * b * c * o * w * w * out * out, quick=quick,
             state=lambda c=c, o=o, w=w, t=stride: torch.nn.Conv2d(c, o, w, t, w // 2))
    for c, s, w in ((64, 112, 3), (384, 14, 5), (96, 56, 7)):
        case(f"conv/depthwise/{size_name(c, s, s)}-{w}x{w}", None, lambda c=c, s=s: [random(1, c, s, s)],
             2 * c * s * s * w * w, quick=w == 3, state=lambda c=c, w=w: torch.nn.Conv2d(c, c, w, 1, w // 2, groups=c))
    for c, o, w, t, s in ((64, 32, 4, 2, 56), (128, 64, 2, 2, 28), (16, 3, 3, 2, 112)):
        case(f"conv/transposed/{size_name(c, s, s)}-{o}-{w}x{w}s{t}", None, lambda c=c, s=s: [random(1, c, s, s)],
             2 * c * o * w * w * s * s, state=lambda c=c, o=o, w=w, t=t: torch.nn.ConvTranspose2d(c, o, w, t, 1))
    for c, o, w, s in ((1, 64, 10, 16000), (512, 512, 3, 400), (80, 512, 3, 3000)):
        case(f"conv/1d/{size_name(c, s)}-{o}-{w}", None, lambda c=c, s=s: [random(1, c, s)], 2 * c * o * w * s,
             state=lambda c=c, o=o, w=w: torch.nn.Conv1d(c, o, w, 5 if w == 10 else 1, w // 2))
    case("conv/3d/3x8x112x112-64-3x7x7", None, lambda: [random(1, 3, 8, 112, 112)], 2 * 3 * 64 * 147 * 8 * 56 * 56,
         state=lambda: torch.nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3)))


def reductions():
    for shape, axis in (((1 << 22,), None), ((4096, 1024), None), ((4096, 1024), 0), ((4096, 1024), 1), ((64, 64, 1024), 1),
                        ((1024, 33), 1), ((33, 65536), 0), ((100,), None), ((8, 3, 224, 224), (2, 3))):
        label = f"{size_name(*shape)}/{'all' if axis is None else axis}".replace(" ", "")
        big = shape == (4096, 1024)
        for what in ("sum", "mean", "amax", "std", "logsumexp"):
            if axis is None and what == "logsumexp" or what in ("std", "mean") and not big:
                continue
            f = getattr(torch, what)
            case(f"reduce/{what}/{label}", lambda x, f=f, a=axis: f(x) if a is None else f(x, dim=a),
                 lambda s=shape: [random(*s)], quick=what == "sum" and big)
    for what in ("argmax", "max", "min", "prod", "any"):
        for axis in (0, 1):
            case(f"reduce/{what}/4096x1024/{axis}", lambda x, f=getattr(torch, what), a=axis: f(x, dim=a),
                 lambda w=what: [random(4096, 1024) > 0 if w == "any" else random(4096, 1024)],
                 quick=axis == 1 and what in ("argmax", "max"))
    case("reduce/argmax/4194304/all", torch.argmax, lambda: [random(1 << 22)], quick=True)
    for dtype in (F64, F16, BF16, I64, I8):
        case(f"reduce/sum/4096x1024/1/{SHORT[dtype]}", lambda x: x.sum(1), lambda d=dtype: [random(4096, 1024, dtype=d)])
    for rows, n, axis in ((4096, 1024, 1), (1024, 4096, 0), (128, 50257, 1), (12288, 77, 1), (8, 1 << 18, 1)):
        case(f"softmax/{size_name(rows, n)}/{axis}", lambda x, a=axis: F.softmax(x, a), lambda r=rows, n=n: [random(r, n)],
             quick=n == 1024)
    case("softmax/hidden/1024x1000", lambda x, m: x.masked_fill(m, -math.inf).softmax(1),
         lambda: [random(1024, 1000), random(1024, 1000) > 0])
    for rows, n in ((512, 768), (4096, 1024), (1, 4096), (128, 5120)):
        case(f"norm/layer/{size_name(rows, n)}", None, lambda r=rows, n=n: [random(r, n)],
             state=lambda n=n: torch.nn.LayerNorm(n), quick=n == 768)
        case(f"norm/rms/{size_name(rows, n)}", None, lambda r=rows, n=n: [random(r, n)],
             state=lambda n=n: torch.nn.RMSNorm(n))
    case("norm/group/8x64x56x56", None, lambda: [random(8, 64, 56, 56)], state=lambda: torch.nn.GroupNorm(8, 64))
    case("norm/instance/8x64x56x56", None, lambda: [random(8, 64, 56, 56)], state=lambda: torch.nn.InstanceNorm2d(64))
    for n in (1 << 20, 1024):
        case(f"scan/cumsum/{(1 << 20) // n}x{n}", lambda x: x.cumsum(1), lambda n=n: [random((1 << 20) // n, n)])
    case("scan/cumsum/1024x1024/0", lambda x: x.cumsum(0), lambda: [random(1024, 1024)])
    case("scan/logcumsumexp/64x1024", lambda x: x.logcumsumexp(1), lambda: [random(64, 1024)])


def order():
    for rows, n in ((1, 1 << 20), (1, 1 << 16), (1024, 1024), (4096, 64), (16, 50257)):
        case(f"order/sort/{size_name(rows, n)}", lambda x: torch.sort(x, dim=1, stable=True), lambda r=rows, n=n: [random(r, n)],
             quick=rows == 1024)
        for k in (1, 10, 50):
            case(f"order/topk{k}/{size_name(rows, n)}", lambda x, k=k: torch.topk(x, k), lambda r=rows, n=n: [random(r, n)],
                 quick=(k, n) == (50, 50257), places=1)
        case(f"order/median/{size_name(rows, n)}", lambda x: x.median(1), lambda r=rows, n=n: [random(r, n)],
             quick=rows == 1024, places=1)
    case("order/kthvalue/1024x1024", lambda x: x.kthvalue(100, 1), lambda: [random(1024, 1024)], places=1)
    case("order/argsort/1024x1024/i64", lambda x: torch.argsort(x, dim=1, stable=True), lambda: [integers(1 << 30, 1024, 1024)])
    case("order/searchsorted/65536", torch.searchsorted, lambda: [random(65536).sort().values, random(65536)])


def indexing():
    for rows, n, width in ((50257, 128, 768), (100000, 4096, 64), (1000, 100000, 1), (30522, 512, 768)):
        case(f"index/embedding/{size_name(rows, n, width)}", F.embedding,
             lambda r=rows, n=n, w=width: [integers(r, n), random(r, w)])
        case(f"index/index_add/{size_name(rows, n, width)}", lambda x, i, u: x.index_add(0, i, u),
             lambda r=rows, n=n, w=width: [random(r, w), integers(r, n), random(n, w)], quick=n == 4096)
        case(f"index/scatter_add/{size_name(rows, n, width)}", lambda x, i, u: x.scatter_add(0, i, u),
             lambda r=rows, n=n, w=width: [random(r, w), integers(r, n, w), random(n, w)], quick=n == 4096)
    for mode in ("sum", "amax"):  # what a graph's edges bring to its nodes
        for dtype in (F32, BF16):
            case(f"index/scatter_reduce_{mode}/10x20000x64/{SHORT[dtype]}",
                 lambda x, i, u, m=mode: x.scatter_reduce(0, i[:, None].expand(-1, 64), u, m),
                 lambda t=dtype: [random(10, 64, dtype=t), integers(10, 20000), random(20000, 64, dtype=t)])
    for mode in ("sum", "mean", "max"):
        case(f"index/embedding_bag_{mode}/100000x4096x64", lambda i, t, o, m=mode: F.embedding_bag(i, t, o, mode=m),
             lambda: [integers(100000, 4096), random(100000, 64), torch.arange(0, 4096, 16)], quick=mode == "sum")
    case("index/gather/1024x1024", lambda x, i: x.gather(1, i), lambda: [random(1024, 1024), integers(1024, 1024, 1024)])
    case("index/index_put/100000x64", lambda x, i, u: x.index_put((i,), u),
         lambda: [random(100000, 64), torch.randperm(100000)[:4096], random(4096, 64)])
    case("index/masked_fill/1048576", lambda x, m: x.masked_fill(m, 0), lambda: [random(1 << 20), random(1 << 20, dtype=BOOL)])
    case("index/roll/1024x1024", lambda x: x.roll(100, 1), lambda: [random(1024, 1024)])
    case("index/one_hot/4096x1000", lambda i: F.one_hot(i, 1000), lambda: [integers(1000, 4096)])
    case("index/kv_cache/1x8x2048x128", lambda c, x: torch.cat([c, x], 2), lambda: [random(1, 8, 2047, 128), random(1, 8, 1, 128)])


def shapes():
    for shape, perm in (((1024, 1024), (1, 0)), ((4096, 4097), (1, 0)), ((8, 64, 56, 56), (0, 2, 3, 1)),
                        ((8, 128, 12, 64), (0, 2, 1, 3)), ((64, 3, 5, 7, 11), (4, 2, 0, 3, 1))):
        case(f"shape/transpose/{size_name(*shape)}", lambda x, p=perm: x.permute(p).contiguous(), lambda s=shape: [random(*s)],
             quick=shape == (1024, 1024))
    case("shape/transpose/1024x1024/i8", lambda x: x.T.contiguous(), lambda: [random(1024, 1024, dtype=I8)])
    case("shape/cat/4x64x56x56", lambda x, y: torch.cat([x, y], 1), lambda: [random(4, 64, 56, 56), random(4, 64, 56, 56)])
    for mode in ("constant", "reflect", "replicate", "circular"):
        case(f"shape/pad_{mode}/8x64x56x56", lambda x, m=mode: F.pad(x, (3, 3, 3, 3), mode=m), lambda: [random(8, 64, 56, 56)],
             quick=mode == "reflect")
    case("shape/flip/1024x1024", lambda x: x.flip(1), lambda: [random(1024, 1024)])
    case("shape/tril/1024x1024", torch.tril, lambda: [random(1024, 1024)])
    case("shape/repeat/64x64", lambda x: x.repeat(16, 16), lambda: [random(64, 64)])
    case("shape/repeat_interleave/1024x256", lambda x: x.repeat_interleave(4, 0), lambda: [random(1024, 256)])
    case("shape/unfold/1x64x56x56", lambda x: F.unfold(x, 3, padding=1), lambda: [random(1, 64, 56, 56)])


def images():
    for mode, factor in (("nearest", 2), ("bilinear", 2), ("bicubic", 2), ("bilinear", 0.5), ("area", 0.5), ("bilinear", 1.7)):
        case(f"image/{mode}/8x16x128x128x{factor}",
             lambda x, m=mode, f=factor: F.interpolate(x, scale_factor=f, mode=m), lambda: [random(8, 16, 128, 128)],
             quick=factor == 2)
    case("image/bilinear/1x3x640x640-224", lambda x: F.interpolate(x, (224, 224), mode="bilinear"), lambda: [random(1, 3, 640, 640)])
    for w, stride in ((2, 2), (3, 2), (5, 1)):
        case(f"image/max_pool{w}s{stride}/8x64x112x112", lambda x, w=w, s=stride: F.max_pool2d(x, w, s, w // 2),
             lambda: [random(8, 64, 112, 112)], quick=w == 3)
        case(f"image/avg_pool{w}s{stride}/8x64x112x112", lambda x, w=w, s=stride: F.avg_pool2d(x, w, s),
             lambda: [random(8, 64, 112, 112)])
    case("image/adaptive_pool/8x64x57x57", lambda x: F.adaptive_avg_pool2d(x, 7), lambda: [random(8, 64, 57, 57)])
    case("image/grid_sample/1x64x56x56", lambda x, g: F.grid_sample(x, g, align_corners=False),
         lambda: [random(1, 64, 56, 56), torch.rand(1, 56, 56, 2) * 2 - 1])
    case("image/pixel_shuffle/1x64x112x112", lambda x: F.pixel_shuffle(x, 2), lambda: [random(1, 64, 112, 112)])
    case("image/batch_norm_relu/8x64x56x56", None, lambda: [random(8, 64, 56, 56)],
         state=lambda: torch.nn.Sequential(torch.nn.BatchNorm2d(64), torch.nn.ReLU()))


def spectra():
    for n in (64, 400, 1000, 1024, 4096, 509):
        rows = max(1, (1 << 18) // n)
        work = 2.5 * rows * n * math.log2(n)
        case(f"fft/rfft/{rows}x{n}", lambda x: torch.view_as_real(torch.fft.rfft(x)), lambda r=rows, n=n: [random(r, n)], work,
             quick=n == 1024)
        case(f"fft/irfft/{rows}x{n}", lambda x: torch.fft.irfft(torch.view_as_complex(x)),
             lambda r=rows, n=n: [random(r, n // 2 + 1, 2)], work)
    case("fft/fft2/16x128x128", lambda x: torch.view_as_real(torch.fft.fft2(x)), lambda: [random(16, 128, 128)],
         5 * 16 * 128 * 128 * 14)
    case("fft/stft/1x16000", lambda x: torch.view_as_real(
        torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)), lambda: [random(1, 16000)], quick=True)


def matrices():
    def positive(b, n):
        x = random(b, n, n)
        return x @ x.mT + n * torch.eye(n)
    for b, n in ((64, 16), (1, 64), (1, 256), (8, 100)):
        work = b * n**3 * 2 / 3
        make = lambda b=b, n=n: [positive(b, n)]  # noqa: E731
        case(f"linalg/solve/{size_name(b, n)}", torch.linalg.solve, lambda b=b, n=n: [positive(b, n), random(b, n, 8)], work,
             quick=n in (16, 256))
        case(f"linalg/inv/{size_name(b, n)}", torch.linalg.inv, make, 3 * work, quick=n == 16)
        case(f"linalg/cholesky/{size_name(b, n)}", torch.linalg.cholesky, make, work / 2, quick=n == 64)
        case(f"linalg/det/{size_name(b, n)}", torch.linalg.det, lambda b=b, n=n: [positive(b, n) / n], work)
        case(f"linalg/qr/{size_name(b, n)}", lambda x: torch.linalg.qr(x)[1].abs(), make, 2 * work)
    case("linalg/triangular/256x64", lambda a, x: torch.linalg.solve_triangular(a, x, upper=False),
         lambda: [torch.linalg.cholesky(positive(1, 256)[0]), random(256, 64)], 256 * 256 * 64)
    case("linalg/cdist/512x512x64", torch.cdist, lambda: [random(512, 64), random(512, 64)], 2 * 512 * 512 * 64, quick=True)
    case("linalg/cross/100000x3", torch.linalg.cross, lambda: [random(100000, 3), random(100000, 3)])
    case("linalg/norm/4096x1024", lambda x: torch.linalg.norm(x, dim=1), lambda: [random(4096, 1024)])


class Block(torch.nn.Module):
    """A layer of a language model: grouped queries, RMS norm, gated units."""

    def __init__(self, width=512, heads=8, shared=2, hidden=1376):
        super().__init__()
        self.heads, self.shared, self.head = heads, shared, width // heads
        self.before, self.after = torch.nn.RMSNorm(width), torch.nn.RMSNorm(width)
        self.q = torch.nn.Linear(width, width, bias=False)
        self.kv = torch.nn.Linear(width, 2 * shared * self.head, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, 2 * hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        b, s, _ = x.shape
        y = self.before(x)
        q = self.q(y).view(b, s, self.heads, self.head).transpose(1, 2)
        k, v = self.kv(y).view(b, s, 2, self.shared, self.head).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, -1))
        gate, up = self.up(self.after(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def blocks():
    for s in (1, 16, 128, 512):
        case(f"block/llama/{s}", None, lambda s=s: [random(1, s, 512)], state=Block, quick=s == 128)
    for b, s in ((1, 128), (8, 128), (1, 512)):
        case(f"block/encoder/{size_name(b, s)}", None, lambda b=b, s=s: [random(b, s, 256)],
             state=lambda: torch.nn.TransformerEncoderLayer(256, 4, 1024, 0, batch_first=True).eval(), quick=b == 8)
    case("block/lstm/1x64x128", None, lambda: [random(1, 64, 128)], state=lambda: torch.nn.LSTM(128, 128, batch_first=True))
    case("block/gru/8x32x64", None, lambda: [random(8, 32, 64)], state=lambda: torch.nn.GRU(64, 64, batch_first=True))
    case("block/cross_entropy/512x32000", F.cross_entropy, lambda: [random(512, 32000), integers(32000, 512)])
    case("block/rope/1x8x512x64", lambda x, c, s: torch.cat(
        [x[..., :32] * c - x[..., 32:] * s, x[..., :32] * s + x[..., 32:] * c], -1),
        lambda: [random(1, 8, 512, 64), random(512, 32), random(512, 32)])


for family in (pointwise, products, attention, convolutions, reductions, order, indexing, shapes, images, spectra, matrices,
               blocks):
    family()

import drawncases  # noqa: E402,F401  whose cases are of this kind
import gridcases  # noqa: E402,F401
import imagecases  # noqa: E402,F401
import manycases  # noqa: E402,F401
import modelcases  # noqa: E402,F401
import oddcases  # noqa: E402,F401
import opencases  # noqa: E402,F401
import quantizedcases  # noqa: E402,F401
import shapecases  # noqa: E402,F401
