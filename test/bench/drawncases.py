"""Operators with a shape and a type drawn for each, for `scripts/bench ops --only wide/drawn`.

Every operator of a family meets several of the family's shapes (next to nothing to beyond the last cache, odd ones, inner
and outer axes) and of the types that it has. The draw is the same in every run: a case is named by what was drawn.
"""
import random as draw

import torch
import torch.nn.functional as F

from opcases import BF16, BOOL, F16, F32, F64, I8, I32, I64, integers, size_name
from widecases import I16, NAMES, U8, wide

FLOATS, WHOLE = (F32, F32, F64, F16, BF16), (I64, I32, I8, U8, I16)
# From what a call costs to what no cache holds.
POINTS = ((5,), (31, 3), (1009,), (63, 65), (20, 1, 333), (257, 513), (64, 7, 301), (1021, 1023))
LARGE = (3001, 2003)
PICK = draw.Random(20261127)


def numbers(*shape, dtype=F32, low=-3.0, high=3.0):
    if dtype == BOOL:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(int(max(low, 0 if dtype == U8 else low)), int(high), shape, dtype=dtype)
    return (torch.rand(shape, dtype=F64 if dtype == F64 else F32) * (high - low) + low).to(dtype)


def drawn(family, what, function, *arguments, label="", **rest):
    wide(f"drawn/{family}/{what}{label and '/'}{label}", function, *arguments, **rest)


def pairs(shapes, types, count):
    """So many different pairs of a shape and a type, each shape and each type as evenly as may be."""
    made = []
    while len(made) < min(count, len(set(shapes)) * len(set(types))):
        pair = PICK.choice(shapes), PICK.choice(types)
        if pair not in made:
            made.append(pair)
    return made


def label_of(shape, dtype, axis=None):
    return f"{size_name(*shape)}/{NAMES[dtype]}" + (f"/{axis}" if axis is not None else "")


def math():
    inside, above, anywhere = (-0.95, 0.95), (0.1, 5.0), (-3.0, 3.0)
    special = torch.special
    unary = {"erfc": anywhere, "erfinv": inside, "lgamma": above, "digamma": above, "expm1": anywhere, "log1p": above,
             "exp2": anywhere, "log2": above, "log10": above, "sinh": anywhere, "cosh": anywhere, "asinh": anywhere,
             "acosh": (1.1, 5.0), "atanh": inside, "tan": inside, "asin": inside, "acos": inside, "atan": anywhere,
             "sin": (-300.0, 300.0), "cos": anywhere, "i0": anywhere, "rsqrt": above, "frac": anywhere, "logit": (0.05, 0.95),
             "sinc": anywhere, "deg2rad": anywhere, "sgn": anywhere, "nan_to_num": anywhere,
             "sigmoid": anywhere, "tanh": anywhere, "erf": anywhere, "exp": anywhere, "log": above, "sqrt": above,
             "round": anywhere, "trunc": anywhere, "square": anywhere, "reciprocal": above}
    for what, (low, high) in unary.items():
        for shape, dtype in pairs(POINTS, FLOATS, 2):
            drawn("math", what, getattr(torch, what), lambda s=shape, d=dtype, lo=low, hi=high: numbers(*s, dtype=d, low=lo, high=hi),
                  label=label_of(shape, dtype))
    for what, (low, high) in {"i0e": anywhere, "i1": anywhere, "i1e": anywhere, "ndtri": (0.05, 0.95), "log_ndtr": anywhere, "erfcx": anywhere,
                              "entr": above, "bessel_j0": anywhere, "bessel_j1": anywhere, "psi": above,
                              "gammaln": above, "spherical_bessel_j0": above, "modified_bessel_i0": anywhere}.items():
        for shape, dtype in pairs(POINTS[3:], (F32, F32, F64), 2):
            drawn("math", what, getattr(special, what), lambda s=shape, d=dtype, lo=low, hi=high: numbers(*s, dtype=d, low=lo, high=hi),
                  label=label_of(shape, dtype))
    for what in ("polygamma", "mvlgamma"):
        f = (lambda x: torch.polygamma(1, x)) if what == "polygamma" else lambda x: torch.mvlgamma(x + 2, 3)
        drawn("math", what, f, lambda: numbers(257, 513, low=0.5))
    binary = ("pow", "fmod", "remainder", "atan2", "hypot", "float_power", "floor_divide", "true_divide", "copysign", "logaddexp",
              "fmin", "maximum", "ldexp", "xlogy", "nextafter", "logaddexp2")
    for what in binary:
        for shape, dtype in pairs(POINTS, FLOATS, 2):
            if what in ("nextafter",) and dtype == F16:
                dtype = F32
            drawn("math", what, getattr(torch, what), lambda s=shape, d=dtype: numbers(*s, dtype=d, low=0.3),
                  lambda s=shape, d=dtype: numbers(*s[-1:], dtype=d, low=0.3), label=label_of(shape, dtype))
    whole = ("fmod", "remainder", "floor_divide", "true_divide", "pow", "bitwise_and", "bitwise_xor", "bitwise_left_shift",
             "bitwise_right_shift", "gcd", "lcm", "maximum", "mul", "ge", "ne", "logical_and", "logical_xor", "hypot", "atan2",
             "float_power")
    for what in whole:
        for shape, dtype in pairs(POINTS, WHOLE, 2):
            if what == "hypot":
                dtype = F64
            high = 7 if "shift" in what or "pow" in what else 100
            drawn("whole", what, getattr(torch, what), lambda s=shape, d=dtype, h=high: numbers(*s, dtype=d, low=1, high=h),
                  lambda s=shape, d=dtype, h=high: numbers(*s[-1:], dtype=d, low=1, high=h), label=label_of(shape, dtype))
    scalars = {"rem_3": lambda x: x % 3, "div_floor": lambda x: x // 7, "div_trunc": lambda x: torch.div(x, 5, rounding_mode="trunc"),
               "fmod": lambda x: torch.fmod(x, 13), "not": torch.bitwise_not, "shift": lambda x: x << 2, "abs": torch.abs,
               "sqrt": torch.sqrt, "sin": torch.sin, "pow3": lambda x: x**3, "clamp": lambda x: x.clamp(3, 20), "sign": torch.sign,
               "exp": torch.exp, "mean": lambda x: x.float().mean(-1), "half": lambda x: x * 0.5, "any": lambda x: x.any(-1)}
    for what, f in scalars.items():
        for shape, dtype in pairs(POINTS, WHOLE, 2):
            drawn("whole", f"one_{what}", f, lambda s=shape, d=dtype: numbers(*s, dtype=d, low=-100 if d != I8 else -50, high=100),
                  label=label_of(shape, dtype))
    for what in ("add", "erfc", "atan2", "gelu", "sqrt"):
        f = {"gelu": F.gelu}.get(what) or getattr(torch, what)
        arguments = [lambda: numbers(*LARGE, low=0.1)] * (2 if what in ("add", "atan2") else 1)
        drawn("math", what, f, *arguments, label=label_of(LARGE, F32))


def activations():
    for what in ("gelu", "silu", "mish", "softplus", "elu", "selu", "celu", "hardswish", "hardsigmoid", "logsigmoid", "softsign",
                 "tanhshrink", "softshrink", "leaky_relu", "relu6", "hardtanh"):
        for shape, dtype in pairs(POINTS, FLOATS, 2):
            drawn("act", what, getattr(F, what), lambda s=shape, d=dtype: numbers(*s, dtype=d), label=label_of(shape, dtype))
    for shape, axis in (((63, 66), 1), ((64, 8, 301), 1), ((20, 334), -1), ((514, 257), 0)):
        drawn("act", "glu", lambda x, a=axis: F.glu(x, a), shape, label=label_of(shape, F32, axis))
    drawn("act", "threshold", lambda x: F.threshold(x, 0.1, 20.0), (257, 513))
    drawn("act", "rrelu", lambda x: F.rrelu(x), (257, 513))
    drawn("act", "prelu", F.prelu, (4, 33, 19, 21), (33,))


LINES = (((7,), 0), ((33, 5), 0), ((33, 5), 1), ((300, 17), 1), ((17, 300), 0), ((64, 129, 3), 1), ((5, 2000), 1), ((2000, 5), 0),
         ((101, 513), 1), ((3, 70001), 1), ((9, 30, 31), 0))


def order():
    per_line = {"sort": lambda x, a: torch.sort(x, dim=a, stable=True), "descending": lambda x, a: torch.sort(x, dim=a, descending=True, stable=True),
                "argsort": lambda x, a: torch.argsort(x, dim=a, stable=True), "topk3": lambda x, a: torch.topk(x, 3, dim=a)[0],
                "smallest4": lambda x, a: torch.topk(x, 4, dim=a, largest=False)[0], "median": lambda x, a: x.median(a)[0],
                "kth": lambda x, a: x.kthvalue(x.shape[a] // 3 + 1, a)[0], "argmax": lambda x, a: x.argmax(a),
                "min": lambda x, a: x.min(a), "aminmax": lambda x, a: torch.aminmax(x, dim=a), "cummin": lambda x, a: x.cummin(a)[0],
                "msort": lambda x, a: torch.msort(x)}
    for what, f in per_line.items():
        for (shape, axis), dtype in pairs(LINES, (*FLOATS, *WHOLE), 4):
            if shape[axis] < 5:
                continue
            # argmax of equals may be any of them: few are equal.
            drawn("order", what, lambda x, f=f, a=axis: f(x, a), lambda s=shape, d=dtype: numbers(*s, dtype=d, low=-100, high=100),
                  label=label_of(shape, dtype, axis), places=axis)
    for what, f in {"quantile": lambda x, a: x.quantile(0.7, a), "nanmedian": lambda x, a: x.nanmedian(a)[0],
                    "mode": lambda x, a: x.mode(a)[0], "quantiles": lambda x, a: x.quantile(torch.tensor([0.1, 0.5, 0.9]), a)}.items():
        for shape, axis in PICK.sample(LINES, 2):
            drawn("order", what, lambda x, f=f, a=axis: f(x, a), lambda s=shape: numbers(*s).mul(20).round() if what == "mode" else numbers(*s),
                  label=label_of(shape, F32, axis))
    for dtype in (F32, I64, I32, I8, F64):
        for n, high in ((50, 20), (5003, 100), (200003, 100000)):
            if PICK.random() < 0.55:
                make = lambda n=n, h=high, d=dtype: numbers(n, dtype=d, low=0, high=min(h, 127 if d == I8 else h)).round()  # noqa: E731
                drawn("order", "unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), make,
                      label=label_of((n,), dtype))
                drawn("order", "unique_neighbours", lambda x: torch.unique_consecutive(x, return_counts=True), lambda m=make: m().sort()[0],
                      label=label_of((n,), dtype))
            if PICK.random() < 0.7:
                make = lambda n=n, d=dtype: numbers(n, dtype=d, low=0, high=100)  # noqa: E731
                drawn("order", "searchsorted", lambda s, x: torch.searchsorted(s, x, right=True), lambda m=make: m().sort()[0],
                      lambda d=dtype: numbers(3001, dtype=d, low=0, high=100), label=label_of((n,), dtype))
                drawn("order", "bucketize", lambda x, b: torch.bucketize(x, b), make,
                      lambda d=dtype: numbers(33, dtype=d, low=0, high=100).sort()[0], label=label_of((n,), dtype))
    drawn("order", "searchsorted/rows", lambda s, x: torch.searchsorted(s, x), lambda: numbers(300, 65).sort()[0], lambda: numbers(300, 40))
    drawn("order", "isin/few", torch.isin, lambda: integers(1000, 257, 513), lambda: integers(1000, 9))
    drawn("order", "isin/many", torch.isin, lambda: integers(9000, 20003), lambda: integers(9000, 501))
    for bins, n in ((7, 501), (100, 65537), (1000, 300007)):
        drawn("order", "histc", lambda x, b=bins: torch.histc(x, b, -3, 3), lambda n=n: numbers(n), label=f"{n}/{bins}")
        drawn("order", "bincount", lambda x, b=bins: torch.bincount(x, minlength=b), lambda n=n, b=bins: integers(b, n), label=f"{n}/{bins}")


def index():
    types = (F32, F32, F64, F16, BF16, I64, I32, I8, BOOL)
    lines = (((33, 5), 0), ((33, 5), 1), ((300, 17), 1), ((1000, 64), 0), ((64, 129, 3), 1), ((20, 30, 31), 0), ((101, 513), 1), ((5000, 130), 0),
             ((9, 30, 31), 2))

    def places(shape, axis, count):
        return lambda: integers(shape[axis], *shape[:axis], count, *shape[axis + 1:])

    for what in ("gather", "index_select", "take_along", "scatter", "scatter_add", "amax", "prod", "mean", "index_add", "index_copy",
                 "index_fill", "index_put", "accumulate", "embedding", "repeat_interleave", "flip", "roll", "masked_fill", "where",
                 "masked_scatter", "index_reduce", "scatter_value", "select_scatter", "mask_rows", "tile", "put"):
        for (shape, axis), dtype in pairs(lines, types, 3):
            n, floats = shape[axis], dtype.is_floating_point
            count = max(3, n // 2)
            updates = (*shape[:axis], count, *shape[axis + 1:])
            x, u, line = (lambda s=s, d=dtype: numbers(*s, dtype=d, low=0.5 if d.is_floating_point else -3, high=3)
                          for s in (shape, updates, (count,)))
            some = lambda n=n, c=count: integers(n, c)  # noqa: E731
            distinct = lambda n=n, c=count: torch.randperm(n)[:c]  # noqa: E731
            mask = lambda s=shape: torch.rand(s) > 0.4  # noqa: E731
            where = places(shape, axis, count)
            once = lambda s=shape, a=axis, c=count: torch.rand(s).argsort(a).narrow(a, 0, c).contiguous()  # noqa: E731
            if dtype in (BOOL,) and what in ("scatter_add", "amax", "prod", "mean", "index_add", "accumulate", "index_reduce"):
                dtype = I32
                x, u = (lambda s=s: numbers(*s, dtype=I32) for s in (shape, updates))
                floats = False
            if what in ("mean", "index_reduce") and not floats:
                continue
            a = axis
            case = {
                "gather": (lambda x, i, a=a: x.gather(a, i), x, where), "index_select": (lambda x, i, a=a: x.index_select(a, i), x, some),
                "take_along": (lambda x, i, a=a: torch.take_along_dim(x, i, a), x, where),
                "scatter": (lambda x, i, u, a=a: x.scatter(a, i, u), x, once, u),
                "scatter_add": (lambda x, i, u, a=a: x.scatter_add(a, i, u), x, where, u),
                **{m: (lambda x, i, u, a=a, m=m: x.scatter_reduce(a, i, u, m), x, where, u) for m in ("amax", "prod", "mean")},
                "index_add": (lambda x, i, u, a=a: x.index_add(a, i, u), x, some, u),
                "index_copy": (lambda x, i, u, a=a: x.index_copy(a, i, u), x, distinct, u),
                "index_fill": (lambda x, i, a=a: x.index_fill(a, i, 1), x, some),
                "index_put": (lambda x, i, u: x.index_put((i,), u), x, lambda n=shape[0]: torch.randperm(n)[:n // 2 + 1],
                              lambda s=shape, d=dtype: numbers(s[0] // 2 + 1, *s[1:], dtype=d)),
                "accumulate": (lambda x, i, j, u: x.index_put((i, j), u, accumulate=True), x, lambda s=shape: integers(s[0], 700),
                               lambda s=shape: integers(s[1], 700), lambda s=shape, d=dtype: numbers(700, *s[2:], dtype=d)),
                "embedding": (lambda i, t: F.embedding(i, t.flatten(1)), lambda n=shape[0]: integers(n, 13, 21), x),
                "repeat_interleave": (lambda x, a=a: x.repeat_interleave(3, a), x), "flip": (lambda x, a=a: x.flip(a), x),
                "roll": (lambda x, a=a: x.roll(2, a), x), "masked_fill": (lambda x, m: x.masked_fill(m, 1), x, mask),
                "where": (torch.where, mask, x, lambda s=shape, d=dtype: numbers(*s[-1:], dtype=d)),
                "masked_scatter": (lambda x, m, u: x.masked_scatter(m, u), x, mask, x),
                "index_reduce": (lambda x, i, u, a=a: x.index_reduce(a, i, u, "amax"), x, some, u),
                "scatter_value": (lambda x, i, a=a: x.scatter(a, i, 2), x, where),
                "select_scatter": (lambda x, u, a=a: x.select_scatter(u, a, 1), x,
                                   lambda s=shape, a=a, d=dtype: numbers(*s[:a], *s[a + 1:], dtype=d)),
                "mask_rows": (lambda x, m: x[m], x, lambda n=shape[0]: torch.rand(n) > 0.5),
                "tile": (lambda x: x.repeat(2, *[1] * (x.dim() - 2), 3), x),
                "put": (lambda x, i, u: x.put(i, u), x, lambda s=shape: torch.randperm(torch.Size(s).numel())[:100],
                        lambda d=dtype: numbers(100, dtype=d))}[what]
            label = label_of(shape, dtype, axis)
            if f"wide/drawn/index/{what}/{label}" not in names():
                drawn("index", what, *case, label=label)
    for dtype, shape in ((F32, (257, 513)), (BOOL, (100003,)), (I64, (20, 30, 31)), (F16, (63, 65))):
        drawn("index", "nonzero", torch.nonzero, lambda s=shape, d=dtype: numbers(*s, dtype=d, low=-1, high=2).round() if d.is_floating_point
              else numbers(*s, dtype=d, low=0, high=2), label=label_of(shape, dtype))
        drawn("index", "masked_select", lambda x, m: x[m], lambda s=shape, d=dtype: numbers(*s, dtype=d), lambda s=shape: torch.rand(s) > 0.7,
              label=label_of(shape, dtype))
    for n, classes in ((5, 3), (1000, 10), (300, 2001)):
        drawn("index", "one_hot", lambda i, c=classes: F.one_hot(i, c), lambda n=n, c=classes: integers(c, n), label=f"{n}/{classes}")
    for mode in ("sum", "mean", "max"):
        for width, dtype in ((17, F32), (64, F32), (130, F16), (300, BF16)):
            if mode == "max" and dtype != F32:
                continue
            drawn("index", f"bags_{mode}", lambda i, t, m=mode: F.embedding_bag(i, t, mode=m), lambda: integers(999, 64, 11),
                  lambda w=width, d=dtype: numbers(999, w, dtype=d), label=f"{width}/{NAMES[dtype]}")
            drawn("index", f"bags_{mode}_offsets", lambda i, t, o, m=mode: F.embedding_bag(i, t, o, mode=m), lambda: integers(999, 801),
                  lambda w=width, d=dtype: numbers(999, w, dtype=d), lambda: torch.arange(0, 801, 9), label=f"{width}/{NAMES[dtype]}")


def names():
    from opcases import CASES
    return CASES


def matrices():
    def positive(b, n, dtype=F32):
        x = numbers(b, n, n, dtype=dtype)
        return x @ x.mT + n * torch.eye(n, dtype=dtype)

    linalg = torch.linalg
    sizes = ((1, 2), (3000, 3), (500, 5), (7, 12), (100, 17), (20, 31), (3, 100), (1, 300))
    for what in ("inv", "det", "slogdet", "cholesky", "cholesky_solve", "solve", "solve_vector", "qr", "lu", "triangular", "triangular_right",
                 "matrix_exp", "matrix_power", "inv_ex", "lu_solve", "cholesky_inverse"):
        for (b, n), dtype in pairs(sizes, (F32, F32, F64), 3):
            a = lambda b=b, n=n, d=dtype: positive(b, n, d) / n  # noqa: E731
            y = lambda b=b, n=n, d=dtype: numbers(b, n, 4, dtype=d)  # noqa: E731
            case = {"inv": (linalg.inv, a), "det": (linalg.det, a), "slogdet": (lambda x: linalg.slogdet(x)[1], a),
                    "cholesky": (linalg.cholesky, a), "cholesky_solve": (lambda x, y: torch.cholesky_solve(y, x), a, y),
                    "solve": (linalg.solve, a, y), "solve_vector": (lambda x, y: linalg.solve(x, y[..., 0]), a, y),
                    "qr": (lambda x: linalg.qr(x)[1].abs(), a), "lu": (lambda x: linalg.lu_factor(x)[0], a),
                    "triangular": (lambda x, y: linalg.solve_triangular(x, y, upper=True), a, y),
                    "triangular_right": (lambda x, y: linalg.solve_triangular(x, y.mT, upper=False, left=False), a, y),
                    "matrix_exp": (lambda x: torch.matrix_exp(x / 30), a), "matrix_power": (lambda x: torch.matrix_power(x / 10, 3), a),
                    "inv_ex": (lambda x: linalg.inv_ex(x)[0], a),
                    "lu_solve": (lambda x, y: linalg.lu_solve(*linalg.lu_factor(x), y), a, y),
                    "cholesky_inverse": (lambda x: torch.cholesky_inverse(linalg.cholesky(x)), a)}[what]
            drawn("matrix", what, *case, label=f"{b}x{n}/{NAMES[dtype]}")
    for what, f in {"svdvals": linalg.svdvals, "eigvalsh": linalg.eigvalsh, "eigh": lambda x: linalg.eigh(x)[0], "pinv": linalg.pinv,
                    "svd": lambda x: linalg.svd(x, full_matrices=False)[1], "matrix_norm": lambda x: linalg.matrix_norm(x, 2),
                    "rank": linalg.matrix_rank, "cond": linalg.cond}.items():
        for b, n in PICK.sample(((1, 3), (200, 4), (16, 9), (2, 32), (1, 64)), 2):
            drawn("matrix", what, f, lambda b=b, n=n: positive(b, n) / n, label=f"{b}x{n}")
    for p in (1.0, 2.0, 3.0):
        for a, b, d in ((5, 7, 3), (65, 300, 17), (1000, 33, 128)):
            drawn("matrix", "cdist", lambda x, y, p=p: torch.cdist(x, y, p), (a, d), (b, d), label=f"{a}x{b}x{d}/{p}")
    drawn("matrix", "pdist", F.pdist, (99, 17))
    for shape, axis in (((5, 3), 1), ((3000, 3), 1), ((20, 3, 301), 1), ((3, 70001), 0)):
        drawn("matrix", "cross", lambda x, y, a=axis: linalg.cross(x, y, dim=a), shape, shape, label=label_of(shape, F32))
    for a, b in (((2, 3), (3, 5)), ((33, 31), (17, 3)), ((5, 7), (40, 60))):
        drawn("matrix", "kron", torch.kron, a, b, label=size_name(*a, *b))
    patterns = {"ij,jk,kl->il": ((31, 33), (33, 17), (17, 40)), "bij,bkj->bik": ((7, 33, 17), (7, 21, 17)), "ijk,jil->kl": ((20, 30, 17), (30, 20, 5)),
                "bi,bj,bk->ijk": ((50, 9), (50, 11), (50, 13)), "ijkl,lk->ij": ((20, 21, 9, 8), (8, 9)), "ii->i": ((301, 301),),
                "bhqd,bkhd->bhqk": ((2, 4, 33, 16), (2, 40, 4, 16)), "i,j->ij": ((301,), (503,)), "abc->cab": ((40, 50, 60),),
                "bn,anm,bm->ba": ((20, 33), (7, 33, 31), (20, 31)), "ij->": ((301, 503),), "ijk->j": ((40, 50, 60),),
                "abcd,abcd->ac": ((9, 10, 11, 12), (9, 10, 11, 12)), "nchw,nchw->nhw": ((4, 33, 19, 21), (4, 33, 19, 21)),
                "bcd,bcd,d->bc": ((30, 40, 50), (30, 40, 50), (50,)), "ab,cb->abc": ((33, 40), (50, 40))}
    for pattern, shapes in patterns.items():
        drawn("matrix", f"einsum/{pattern}", lambda *x, p=pattern: torch.einsum(p, *x).contiguous(), *shapes)
    drawn("matrix", "block_diag", torch.block_diag, (33, 40), (17, 5), (60, 60))
    drawn("matrix", "vander", lambda x: torch.vander(x, 6), (1003,))
    drawn("matrix", "chain", lambda a, b, c: torch.chain_matmul(a, b, c), (40, 7), (7, 50), (50, 3))
    drawn("matrix", "householder", torch.linalg.householder_product, (5, 20, 7), (5, 7))
    drawn("matrix", "tensorinv", lambda x: linalg.tensorinv(x, ind=2), lambda: positive(1, 24).reshape(4, 6, 8, 3) / 24)


def spectra():
    apart, join = torch.view_as_real, torch.view_as_complex
    for n in (2, 3, 5, 12, 17, 64, 100, 243, 251, 512, 777, 1009, 4096, 5000, 30030):
        rows = PICK.choice((1, 3, 40)) if n > 2000 else PICK.choice((1, 9, 200))
        for what in PICK.sample(("fft", "ifft", "rfft", "irfft", "hfft"), 2):
            f = getattr(torch.fft, what)
            if what == "rfft":
                drawn("fft", what, lambda x, f=f: apart(f(x)), (rows, n), label=f"{rows}x{n}")
            elif what in ("irfft", "hfft"):
                drawn("fft", what, lambda x, f=f, n=n: f(join(x), n), (rows, n // 2 + 1, 2), label=f"{rows}x{n}")
            else:
                drawn("fft", what, lambda x, f=f: apart(f(join(x))), (rows, n, 2), label=f"{rows}x{n}")
    for shape, axis in (((64, 33), 0), ((20, 100, 17), 1), ((1000, 7), 0), ((9, 12, 11, 13), 2)):
        drawn("fft", "fft_axis", lambda x, a=axis: apart(torch.fft.fft(join(x), dim=a)), (*shape, 2), label=label_of(shape, F32, axis))
        drawn("fft", "rfft_axis", lambda x, a=axis: apart(torch.fft.rfft(x, dim=a)), shape, label=label_of(shape, F32, axis))
    for shape in ((3, 30, 31), (1, 128, 130), (10, 17, 64)):
        drawn("fft", "fft2", lambda x: apart(torch.fft.fft2(x)), shape, label=size_name(*shape))
        drawn("fft", "rfft2", lambda x: apart(torch.fft.rfft2(x)), shape, label=size_name(*shape))
        drawn("fft", "shift", lambda x: torch.fft.fftshift(x, (1, 2)), shape, label=size_name(*shape))
    drawn("fft", "rfftn", lambda x: apart(torch.fft.rfftn(x)), (12, 18, 20))
    drawn("fft", "f64", lambda x: apart(torch.fft.rfft(x)), (40, 300, F64))
    drawn("fft", "ortho", lambda x: apart(torch.fft.fft(join(x), norm="ortho")), (40, 300, 2))
    drawn("fft", "padded", lambda x: apart(torch.fft.rfft(x, 512)), (40, 300))
    drawn("fft", "convolution", lambda x, y: torch.fft.irfft(torch.fft.rfft(x, 1024) * torch.fft.rfft(y, 1024), 1024), (30, 600), (1, 400))
    drawn("fft", "stft", lambda x: apart(torch.stft(x, 200, 50, window=torch.hann_window(200), return_complex=True)), (3, 5001))


def losses():
    rows = ((5, 3), (64, 10), (999, 101), (300, 5003), (4, 21, 33, 35))
    for shape in rows:
        target = lambda s=shape: integers(s[1], s[0], *s[2:])  # noqa: E731
        label = size_name(*shape)
        drawn("loss", "cross_entropy", F.cross_entropy, shape, target, label=label)
        drawn("loss", "nll", lambda x, t: F.nll_loss(x, t, reduction="none"), shape, target, label=label)
        if PICK.random() < 0.6:
            drawn("loss", "smoothed", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), shape, target, label=label)
            drawn("loss", "weighted", lambda x, t, w: F.cross_entropy(x, t, w.abs(), ignore_index=1), shape, target, (shape[1],), label=label)
    for what in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "kl_div", "soft_margin_loss",
                 "poisson_nll_loss", "hinge_embedding_loss"):
        for shape, dtype in pairs(POINTS, (F32, F32, F64), 2):
            reduction = PICK.choice(("mean", "sum", "none"))
            drawn("loss", what, lambda x, y, f=getattr(F, what), r=reduction: f(x, y, reduction=r), lambda s=shape, d=dtype: numbers(*s, dtype=d),
                  lambda s=shape, d=dtype: numbers(*s, dtype=d, low=0.01, high=0.99), label=f"{label_of(shape, dtype)}/{reduction}")
    drawn("loss", "bce", F.binary_cross_entropy, lambda: numbers(257, 513, low=0.01, high=0.99), lambda: torch.rand(257, 513))
    drawn("loss", "triplet", F.triplet_margin_loss, (301, 65), (301, 65), (301, 65))
    drawn("loss", "cosine", lambda x, y: F.cosine_embedding_loss(x, y, torch.ones(301)), (301, 65), (301, 65))
    drawn("loss", "multi_margin", F.multi_margin_loss, (64, 10), lambda: integers(10, 64))
    drawn("loss", "multilabel", F.multilabel_soft_margin_loss, (64, 100), lambda: torch.rand(64, 100).round())


def chance():
    """Numbers that no two engines draw alike: whether they lie where they must is compared."""
    for shape, dtype in pairs(POINTS, (F32, F32, F64, BF16), 4):
        make = lambda s=shape, d=dtype: numbers(*s, dtype=d, low=0.2, high=0.8)  # noqa: E731
        label = label_of(shape, dtype)
        drawn("chance", "uniform", lambda x: torch.rand_like(x) < 2, make, label=label)
        drawn("chance", "normal", lambda x: torch.randn_like(x) < 100, make, label=label)
        drawn("chance", "dropout", lambda x: F.dropout(x, 0.3, True) < 2, make, label=label)
        drawn("chance", "bernoulli", lambda x: torch.bernoulli(x) < 2, make, label=label)
        drawn("chance", "integers", lambda x: torch.randint_like(x, 10) < 20, make, label=label)
    drawn("chance", "permutation", lambda x: torch.randperm(5003) >= 0 * x.long()[0], (5,))
    drawn("chance", "multinomial", lambda x: torch.multinomial(x.abs(), 5) >= 0, (64, 101))
    drawn("chance", "exponential", lambda x: torch.empty_like(x).exponential_() >= 0, (257, 513))


for family in (math, activations, order, index, matrices, spectra, losses, chance):
    family()
