"""What the compiler predicts for cases of `scripts/bench ops`, without PyTorch: many of them as ONNX models, by name.

    counts("reduce/sum/4096x1024/1", tcc)   ->   {"launch": 1, "far_byte": 16793600, "simple": 262144}

The compiler says with `--logs +tuning` what each scheduled kernel does, and how long a core should take for it.
scripts/fit-costs fits the prices to measured times; test_predicted_times.py holds the predictions against them.
"""
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

TYPES = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
         "i64": TensorProto.INT64, "i32": TensorProto.INT32, "i8": TensorProto.INT8}
ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_WEIGHTS = 1 << 23  # elements: larger ones take long to write, and say nothing that these do not


def price_names():
    """What a price is for, in the order of the compiler's table: its enum FarByte is "far_byte"."""
    header = (ROOT / "include/tcc/Target/CpuCosts.h").read_text()
    enum = re.search(r"enum class CpuCost\b[^{]*{(.*?)\bCount\b", header, re.DOTALL)[1]
    return [re.sub(r"\B(?=[A-Z])", "_", name).lower() for name in re.findall(r"^ *(\w+),", enum, re.MULTILINE)]


COSTS = price_names()


class Graph:
    def __init__(self):
        self.nodes, self.inputs, self.constants = [], [], []

    def input(self, *shape, dtype="f32"):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def number(self, value):
        return self.constant(np.float32(value))

    def weights(self, *shape):
        """Numbers that no simplification sees through."""
        if np.prod(shape) > MOST_WEIGHTS:
            raise KeyError(shape)
        return self.constant(np.resize(np.random.default_rng(0).standard_normal(997).astype(np.float32), shape))

    def add(self, op, *operands, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(operands), names, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, results, path):
        results = [results] if isinstance(results, str) else results
        outputs = [helper.make_empty_tensor_value_info(r) for r in results]
        graph = helper.make_graph(self.nodes, "case", self.inputs, outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def sizes(text):
    return [int(n) for n in text.split("x")]


def functions(g, x):
    """Of the family math, by name."""
    def absolute():
        return g.add("Abs", x)
    return {
        "gelu": lambda: g.add("Gelu", x), "gelu_tanh": lambda: g.add("Gelu", x, approximate="tanh"),
        "silu": lambda: g.add("Mul", x, g.add("Sigmoid", x)), "log": lambda: g.add("Log", g.add("Add", absolute(), g.number(1))),
        "pow": lambda: g.add("Pow", g.add("Add", absolute(), g.number(0.1)), g.number(1.7)),
        "sqrt": lambda: g.add("Sqrt", absolute()), "div": lambda: g.add("Div", x, g.add("Add", absolute(), g.number(1))),
        "where": lambda: g.add("Where", g.add("Greater", x, g.number(0)), x, g.add("Mul", x, g.number(0.1))),
        **{name: lambda op=op: g.add(op, x) for name, op in (
            ("tanh", "Tanh"), ("sigmoid", "Sigmoid"), ("exp", "Exp"), ("sin", "Sin"), ("erf", "Erf"), ("relu", "Relu"),
            ("mish", "Mish"), ("softplus", "Softplus"))}}


def math(g, what, n, dtype="f32"):
    return functions(g, g.input(int(n), dtype=dtype))[what]()


def cast(g, types, n):
    source, target = types.split("-")
    return g.add("Cast", g.input(int(n), dtype=source), to=TYPES[target])


def linear(g, shape):
    m, k, n = sizes(shape)
    return g.add("MatMul", g.input(m, k), g.weights(k, n))


def matmul(g, shape, dtype="f32"):
    m, k, n = sizes(shape)
    return g.add("MatMul", g.input(m, k, dtype=dtype), g.input(k, n, dtype=dtype))


def matmul_transposed(g, shape):
    m, k, n = sizes(shape)
    return g.add("MatMul", g.input(m, k), g.add("Transpose", g.input(n, k), perm=[1, 0]))


def bmm(g, shape):
    b, m, k, n = sizes(shape)
    return g.add("MatMul", g.input(b, m, k), g.input(b, k, n))


def attention(g, *rest):
    masked, (b, h, s, d) = rest[0] == "masked", sizes(rest[-1])
    if len(rest) > 1 and not masked:
        raise KeyError(rest)
    q, k, v = (g.input(b, h, s, d) for _ in range(3))
    scores = g.add("Mul", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2])), g.number(d**-0.5))
    scores = g.add("Add", scores, g.input(s, s)) if masked else scores
    return g.add("MatMul", g.add("Softmax", scores, axis=-1), v)


def reduce(g, what, shape, axes, dtype="f32"):
    x = g.input(*sizes(shape), dtype=dtype)
    if what == "argmax" and axes != "all":
        return g.add("ArgMax", x, axis=int(axes), keepdims=0)
    op = {"sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "prod": "ReduceProd", "logsumexp": "ReduceLogSumExp"}[what]
    along = [] if axes == "all" else [g.constant(np.array([int(a) for a in re.findall(r"\d+", axes)]))]
    return g.add(op, x, *along, keepdims=0)


def softmax(g, shape, axis):
    return g.add("Softmax", g.input(*sizes(shape)), axis=int(axis))


def norm(g, what, shape):
    x, n = g.input(*sizes(shape)), sizes(shape)
    if what == "layer":
        return g.add("LayerNormalization", x, g.weights(n[1]), g.weights(n[1]))
    return g.add("InstanceNormalization", x, g.weights(n[1]), g.weights(n[1])) if what == "instance" else {}[what]


def order(g, what, shape):
    k = int(re.fullmatch(r"topk(\d+)", what)[1])
    return g.add("TopK", g.input(*sizes(shape)), g.constant(np.array([k])), outputs=2)


def index(g, what, shape):
    n = sizes(shape)
    if what == "embedding":
        return g.add("Gather", g.input(n[0], n[2]), g.input(n[1], dtype="i64"))
    if what == "gather":
        return g.add("GatherElements", g.input(*n), g.input(*n, dtype="i64"), axis=1)
    if what == "scatter_add":
        return g.add("ScatterElements", g.input(n[0], n[2]), g.input(*n[1:], dtype="i64"), g.input(*n[1:]), axis=0, reduction="add")
    return {}[what]


def convolution(g, *rest):
    shape, *filters = rest[-1].split("-")
    n, transposed = sizes(shape), rest[0] == "transposed"
    width, stride = (filters[-1].split("s") + ["1"])[:2]
    width, stride = sizes(width), int(stride)
    if rest[0] in ("1d", "3d"):
        raise KeyError(rest)
    n = n if len(n) == 4 else [1, *n]
    pads = [1] * 4 if transposed else [w // 2 for w in width] * 2
    groups = n[1] if rest[0] == "depthwise" else 1
    outputs = n[1] if rest[0] == "depthwise" else int(filters[0])
    shape = (n[1], outputs) if transposed else (outputs, n[1] // groups)
    return g.add("ConvTranspose" if transposed else "Conv", g.input(*n), g.weights(*shape, *width), pads=pads,
                 strides=[stride] * 2, group=groups)


def shapes(g, what, shape, dtype="f32"):
    n = sizes(shape)
    x = g.input(*n, dtype=dtype)
    if what == "transpose":
        order = {2: [1, 0], 4: [0, 2, 3, 1] if n[1] == 64 else [0, 2, 1, 3], 5: [4, 2, 0, 3, 1]}[len(n)]
        return g.add("Transpose", x, perm=order)
    if what == "cat":
        return g.add("Concat", x, g.input(*n), axis=1)
    if what == "tril":
        return g.add("Trilu", x, upper=0)
    mode = {"pad_constant": "constant", "pad_reflect": "reflect", "pad_replicate": "edge", "pad_circular": "wrap"}[what]
    return g.add("Pad", x, g.constant(np.array([0, 0, 3, 3] * 2)), mode=mode)


def image(g, what, shape):
    *n, factor = shape.split("x") if "pool" not in what else [*shape.split("x"), "1"]
    x = g.input(*map(int, n))
    if pool := re.fullmatch(r"(max|avg)_pool(\d)s(\d)", what):
        window, stride = int(pool[2]), int(pool[3])
        return g.add("MaxPool" if pool[1] == "max" else "AveragePool", x, kernel_shape=[window] * 2, strides=[stride] * 2,
                     pads=[window // 2 if pool[1] == "max" else 0] * 4)
    mode = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}[what]
    return g.add("Resize", x, "", g.constant(np.array([1, 1, float(factor), float(factor)], np.float32)), mode=mode)


FAMILIES = {"math": math, "cast": cast, "linear": linear, "matmul": matmul, "matmul_transposed": matmul_transposed, "bmm": bmm,
            "attention": attention, "reduce": reduce, "softmax": softmax, "norm": norm, "order": order, "index": index,
            "conv": convolution, "shape": shapes, "image": image}


def save(name, path):
    """Whether the case can be told by its name; its model then."""
    family, *rest = name.split("/")
    graph = Graph()
    try:
        graph.save(FAMILIES[family](graph, *rest), path)
    except (KeyError, ValueError, TypeError, IndexError):
        return False
    return True


def parsed(text):
    """Counts, and nanoseconds of a core, of all kernels."""
    counts, nanoseconds = {}, 0
    for line in re.findall(r"kernel .* takes a core [\d.]+ us, (.*)", text):
        for part in line.split(", "):
            what, count, time = part.split()
            if what not in COSTS:
                raise ValueError(f"the compiler counts {what}, of which include/tcc/Target/CpuCosts.h has no price")
            counts[what] = counts.get(what, 0) + float(count)
            nanoseconds += float(time)
    return counts, nanoseconds


def predicted(name, tcc, cpu):
    """The same of a case; None where it has no model here."""
    with tempfile.TemporaryDirectory(prefix="tcc-predicted-") as folder:
        path = pathlib.Path(folder) / "case.onnx"
        if not save(name, path):
            return None
        result = subprocess.run([tcc, path, "--cpu", cpu, "--stop-after", "schedule", "--logs", "+tuning", "-o", path.with_suffix(".mlir")],
                                capture_output=True, text=True, errors="replace")
        return parsed(result.stderr) if result.returncode == 0 else None


def ranks(values):
    order = np.argsort(values, kind="stable")
    result = np.empty(len(values))
    result[order] = np.arange(len(values))
    return result


def rank_correlation(x, y):
    """Spearman's, of numbers that differ."""
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def stored_times(machine, threads):
    """Rows of the sweep that docs/performance-operators.json keeps of a kind of machine (the title of its table there,
    but for the threads), by name."""
    from ops import section_title
    return json.loads((ROOT / "docs/performance-operators.json").read_text())[section_title(machine, threads)]["rows"]


def measured_cases(rows, tcc, cpu):
    """Of the cases that have a model here: names, counts by COSTS, and measured nanoseconds."""
    names, counts, times = [], [], []
    for name, row in rows.items():
        if "tcc" in row["us"] and (found := predicted(name, tcc, cpu)):
            names.append(name)
            counts.append([found[0].get(what, 0) for what in COSTS])
            times.append(row["us"]["tcc"] * 1e3)
    return names, np.array(counts), np.array(times)


def fitted(counts, times, rounds=200):
    """Prices > 0 with the least sum of squares of log(counts @ prices / times), by Levenberg and Marquardt's way. What the
    cases hardly tell is drawn, weakly, to a quarter of what a case that does it takes in all."""
    used = np.flatnonzero(counts.any(0))
    a = counts[:, used]
    start = np.array([np.log(np.median(times[a[:, i] > 0] / a[a[:, i] > 0, i]) / 4) for i in range(len(used))])
    pull = 0.1

    def errors(logs):
        return np.concatenate([np.log(a @ np.exp(logs) / times), pull * (logs - start)])
    logs, damping, now = start, 1.0, errors(start)
    for _ in range(rounds):
        slopes = np.vstack([a * np.exp(logs) / (a @ np.exp(logs))[:, None], pull * np.eye(len(used))])
        step = np.linalg.solve(slopes.T @ slopes + damping * np.eye(len(used)), -slopes.T @ now)
        tried = errors(logs + step)
        better = (tried**2).sum() < (now**2).sum()
        damping *= 0.5 if better else 4
        if better:
            logs, now = logs + step, tried
    prices = np.zeros(counts.shape[1])
    prices[used] = np.exp(logs)
    return prices


def held_out(counts, times):
    """Predictions of every second case by prices that were fitted to the others."""
    guesses = np.empty(len(times))
    for part in range(2):
        here = np.arange(len(times)) % 2 == part
        guesses[here] = counts[here] @ fitted(counts[~here], times[~here])
    return guesses
