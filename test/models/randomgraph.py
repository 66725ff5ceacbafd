"""Random ONNX graphs: operators put together as no exporter would, which finds faults of fusion, layout
and memory planning that whole models hide.

    python test/models/randomgraph.py --seeds 0:200      compiles each, compares with ONNX Runtime

A graph's inputs have named dims N and S; it is compiled once and run with several sizes of them.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from agreement import disagreement
from compiled import CompileError, Compiled

SIZES = ({"N": 3, "S": 7}, {"N": 1, "S": 32}, {"N": 5, "S": 1})
UNARY = ("Relu", "Tanh", "Sigmoid", "Erf", "Neg", "Abs", "Softplus", "HardSwish", "Gelu", "LeakyRelu", "Elu",
         "Sin", "Atan", "Mish", "Softsign")
EXACT_UNARY = ("Relu", "Neg", "Abs", "Identity")


class Value:
    """A tensor of the graph: its name, dims (ints and names), and whether it is bit-exact on every
    implementation, so that operators that jump (Floor, ArgMax) may read it."""

    def __init__(self, name, dims, exact):
        self.name, self.dims, self.exact = name, list(dims), exact

    def static(self):
        return [axis for axis, dim in enumerate(self.dims) if isinstance(dim, int)]


class RandomGraph:
    def __init__(self, seed, operators=14):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.values, self.count = [], [], [], [], 0
        for dims in (["N", 4, 6], ["N", "S", 8], ["N", 3, 8, 8], [4, 6])[:2 + self.random.integers(3)]:
            self.inputs.append(Value(f"in{len(self.inputs)}", dims, True))
        self.values = list(self.inputs)
        steps = [getattr(self, name) for name in dir(self) if name.startswith("op_")]
        made = 0
        while made < operators:
            # Later values more often than earlier ones: chains rather than stars.
            at = min(self.random.geometric(0.3), len(self.values))
            made += bool(self.choice(steps)(self.values[-at]))

    def choice(self, list_):
        return list_[self.random.integers(len(list_))]

    def integers(self, low, high):
        return int(self.random.integers(low, high))

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def floats(self, *shape):
        return self.weight((self.random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32))

    def ints(self, list_):
        return self.weight(np.array(list_, np.int64))

    def emit(self, op, inputs, dims, exact=False, outputs=1, keep=True, **attributes):
        names = [f"v{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{self.count}", **attributes))
        result = Value(names[0], dims, exact)
        if keep:
            self.values.append(result)
        return result

    # Elementwise.
    def op_unary(self, x):
        return self.emit(self.choice(UNARY), [x.name], x.dims)

    def op_exact_unary(self, x):
        return self.emit(self.choice(EXACT_UNARY), [x.name], x.dims, x.exact)

    def op_clip(self, x):
        return self.emit("Clip", [x.name, self.weight(np.float32(-0.5)), self.weight(np.float32(0.75))], x.dims, x.exact)

    def op_floor(self, x):
        return x.exact and self.emit(self.choice(("Floor", "Ceil", "Round", "Sign")), [x.name], x.dims, True)

    def op_binary(self, x):
        """With another value that broadcasts against it."""
        fits = [y for y in self.values if len(y.dims) <= len(x.dims) and
                all(a in (1, b) for a, b in zip(reversed(y.dims), reversed(x.dims)))]
        op = self.choice(("Add", "Sub", "Mul", "Max", "Min"))
        pair = [x.name, self.choice(fits).name]
        return self.emit(op, pair if self.integers(0, 2) else pair[::-1], x.dims)

    def op_scale(self, x):
        dims = [d if isinstance(d, int) and self.integers(0, 2) else 1 for d in x.dims]
        return self.emit(self.choice(("Add", "Mul", "Sub")), [x.name, self.floats(*dims[self.integers(0, len(dims)):])], x.dims)

    def op_div(self, x):
        size = self.emit("Abs", [x.name], x.dims, keep=False)
        positive = self.emit("Add", [size.name, self.weight(np.float32(1))], x.dims, keep=False)
        return self.emit("Div", [x.name, positive.name], x.dims)

    def op_where(self, x):
        if not x.exact:
            return None
        mask = self.emit("Greater", [x.name, self.weight(np.float32(0.1))], x.dims, keep=False)
        return self.emit("Where", [mask.name, x.name, self.weight(np.float32(-2))], x.dims, True)

    def op_half(self, x):
        half = self.emit("Cast", [x.name], x.dims, keep=False, to=TensorProto.FLOAT16) if x.exact else None
        return half and self.emit("Cast", [half.name], x.dims, True, to=TensorProto.FLOAT)

    # Reductions and what contains them.
    def op_reduce(self, x):
        axes = sorted({self.integers(0, len(x.dims)) for _ in range(self.integers(1, 3))})
        keep = self.integers(0, 2)
        dims = [1 if a in axes else d for a, d in enumerate(x.dims) if keep or a not in axes]
        op = self.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1"))
        if not dims:
            return None
        return self.emit(op, [x.name, self.ints(axes)], dims, keepdims=keep)

    def op_center(self, x):
        axis = self.integers(0, len(x.dims))
        mean = self.emit("ReduceMean", [x.name, self.ints([axis])], x.dims, keep=False, keepdims=1)
        return self.emit("Sub", [x.name, mean.name], x.dims)

    def op_softmax(self, x):
        return self.emit(self.choice(("Softmax", "LogSoftmax")), [x.name], x.dims, axis=self.integers(0, len(x.dims)))

    def op_layer_norm(self, x):
        if not isinstance(x.dims[-1], int):
            return None
        n = x.dims[-1]
        return self.emit("LayerNormalization", [x.name, self.floats(n), self.floats(n)], x.dims, axis=-1, epsilon=1e-2)

    def op_cumsum(self, x):
        return self.emit("CumSum", [x.name, self.weight(np.int64(self.integers(0, len(x.dims))))], x.dims,
                         reverse=self.integers(0, 2), exclusive=self.integers(0, 2))

    def op_arg_max(self, x):
        if not x.exact:
            return None
        axis = self.integers(0, len(x.dims))
        dims = [1 if a == axis else d for a, d in enumerate(x.dims)]
        index = self.emit(self.choice(("ArgMax", "ArgMin")), [x.name], dims, keep=False, axis=axis, keepdims=1)
        return self.emit("Cast", [index.name], dims, True, to=TensorProto.FLOAT)

    def op_top_k(self, x):
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not x.exact or not axes:
            return None
        axis = self.choice(axes)
        k = self.integers(1, x.dims[axis])
        dims = [k if a == axis else d for a, d in enumerate(x.dims)]
        return self.emit("TopK", [x.name, self.ints([k])], dims, True, outputs=2, axis=axis)

    # Views and movement.
    def op_transpose(self, x):
        p = [int(a) for a in self.random.permutation(len(x.dims))]
        return self.emit("Transpose", [x.name], [x.dims[a] for a in p], x.exact, perm=p)

    def op_split_axis(self, x):
        axes = [a for a in x.static() if x.dims[a] % 2 == 0 and x.dims[a]]
        if not axes or len(x.dims) > 4:
            return None
        axis = self.choice(axes)
        return self.reshaped(x, x.dims[:axis] + [2, x.dims[axis] // 2] + x.dims[axis + 1:])

    def op_merge_axes(self, x):
        pairs = [a for a in x.static() if a + 1 in x.static()]
        if not pairs:
            return None
        axis = self.choice(pairs)
        return self.reshaped(x, x.dims[:axis] + [x.dims[axis] * x.dims[axis + 1]] + x.dims[axis + 2:])

    def reshaped(self, x, dims):
        shape = self.emit("Shape", [x.name], [len(x.dims)], keep=False)
        parts = [self.ints([d]) if isinstance(d, int) else
                 self.emit("Gather", [shape.name, self.ints([x.dims.index(d)])], [1], keep=False).name for d in dims]
        target = self.emit("Concat", parts, [len(dims)], keep=False, axis=0)
        return self.emit("Reshape", [x.name, target.name], dims, x.exact)

    def op_slice(self, x):
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not axes:
            return None
        axis = self.choice(axes)
        n, step = x.dims[axis], self.choice((1, 1, 2, -1))
        start = self.integers(0, n - 1) if step > 0 else n - 1
        end = n if step > 0 else -n - 1
        dims = [len(range(n)[slice(start, end if step > 0 else None, step)]) if a == axis else d for a, d in enumerate(x.dims)]
        return self.emit("Slice", [x.name, self.ints([start]), self.ints([end]), self.ints([axis]), self.ints([step])],
                         dims, x.exact)

    def op_concat(self, x):
        axis = self.integers(0, len(x.dims))
        if not isinstance(x.dims[axis], int):
            return None
        fits = [y for y in self.values if len(y.dims) == len(x.dims) and isinstance(y.dims[axis], int) and
                all(a == axis or d == e for a, (d, e) in enumerate(zip(x.dims, y.dims)))]
        y = self.choice(fits)
        dims = [d + y.dims[axis] if a == axis else d for a, d in enumerate(x.dims)]
        return self.emit("Concat", [x.name, y.name], dims, x.exact and y.exact, axis=axis)

    def op_gather(self, x):
        axes = x.static()
        if not axes:
            return None
        axis = self.choice(axes)
        if x.dims[axis] == 0:
            return None
        index = [self.integers(-x.dims[axis], x.dims[axis]) for _ in range(3)]
        return self.emit("Gather", [x.name, self.ints(index)], x.dims[:axis] + [3] + x.dims[axis + 1:], x.exact, axis=axis)

    def op_pad(self, x):
        axes = x.static()
        if not axes:
            return None
        axis = self.choice(axes)
        low, high = self.integers(0, 3), self.integers(0, 3)
        pads = [0] * (2 * len(x.dims))
        pads[axis], pads[axis + len(x.dims)] = low, high
        dims = [d + low + high if a == axis else d for a, d in enumerate(x.dims)]
        return self.emit("Pad", [x.name, self.ints(pads), self.weight(np.float32(0.5))], dims, x.exact)

    def op_split(self, x):
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not axes:
            return None
        axis = self.choice(axes)
        first = self.integers(1, x.dims[axis])
        dims = [first if a == axis else d for a, d in enumerate(x.dims)]
        a = self.emit("Split", [x.name, self.ints([first, x.dims[axis] - first])], dims, x.exact, outputs=2, axis=axis)
        other = [x.dims[axis] - first if i == axis else d for i, d in enumerate(x.dims)]
        self.values.append(Value(f"v{self.count - 1}", other, x.exact))
        return a

    def op_tile(self, x):
        axes = x.static()
        if not axes:
            return None
        repeats = [1] * len(x.dims)
        repeats[self.choice(axes)] = 2
        return self.emit("Tile", [x.name, self.ints(repeats)],
                         [d * r if isinstance(d, int) else d for d, r in zip(x.dims, repeats)], x.exact)

    def op_unsqueeze(self, x):
        axis = self.integers(0, len(x.dims) + 1)
        if len(x.dims) > 4:
            return None
        return self.emit("Unsqueeze", [x.name, self.ints([axis])], x.dims[:axis] + [1] + x.dims[axis:], x.exact)

    def op_scatter(self, x):
        if not isinstance(x.dims[-1], int) or x.dims[-1] < 2:
            return None
        index = self.emit("Expand", [self.ints([[0]]) if len(x.dims) == 2 else self.ints(np.zeros([1] * len(x.dims), int)),
                                     self.shape_with(x, -1, 1)], x.dims[:-1] + [1], keep=False)
        update = self.emit("Slice", [x.name, self.ints([1]), self.ints([2]), self.ints([-1])], x.dims[:-1] + [1], keep=False)
        return self.emit("ScatterElements", [x.name, index.name, update.name], x.dims, x.exact, axis=-1)

    def shape_with(self, x, axis, extent):
        shape = self.emit("Shape", [x.name], [len(x.dims)], keep=False)
        at = axis % len(x.dims)
        return self.emit("ScatterElements", [shape.name, self.ints([at]), self.ints([extent])], [len(x.dims)], keep=False).name

    # Contractions.
    def op_linear(self, x):
        if not isinstance(x.dims[-1], int) or x.dims[-1] == 0:
            return None
        n = self.choice((1, 5, 8, 24))
        y = self.emit("MatMul", [x.name, self.floats(x.dims[-1], n)], x.dims[:-1] + [n], keep=False)
        return self.emit("Add", [y.name, self.floats(n)], y.dims)

    def op_gram(self, x):
        if len(x.dims) < 2:
            return None
        p = list(range(len(x.dims)))
        p[-1], p[-2] = p[-2], p[-1]
        t = self.emit("Transpose", [x.name], [x.dims[a] for a in p], keep=False, perm=p)
        y = self.emit("MatMul", [x.name, t.name], x.dims[:-1] + [x.dims[-2]], keep=False)
        return self.emit("Softmax", [y.name], y.dims, axis=-1)

    def op_conv(self, x):
        if len(x.dims) not in (3, 4) or not isinstance(x.dims[1], int) or x.dims[1] == 0:
            return None
        c, spatial = x.dims[1], len(x.dims) - 2
        groups = self.choice([g for g in (1, 1, 2, c) if c % g == 0])
        filters = groups * self.choice((1, 2, 4))
        kernel = self.choice((1, 3))
        y = self.emit("Conv", [x.name, self.floats(filters, c // groups, *[kernel] * spatial), self.floats(filters)],
                      [x.dims[0], filters] + x.dims[2:], kernel_shape=[kernel] * spatial, group=groups,
                      pads=[kernel // 2] * (2 * spatial))
        return self.emit("Relu", [y.name], y.dims) if self.integers(0, 2) else y

    def op_batch_norm(self, x):
        if len(x.dims) < 3 or not isinstance(x.dims[1], int):
            return None
        c = x.dims[1]
        variance = self.weight(self.random.uniform(0.5, 2, c).astype(np.float32))
        return self.emit("BatchNormalization", [x.name, self.floats(c), self.floats(c), self.floats(c), variance], x.dims)

    def op_pool(self, x):
        if len(x.dims) not in (3, 4):
            return None
        spatial = len(x.dims) - 2
        return self.emit(self.choice(("MaxPool", "AveragePool")), [x.name], x.dims, kernel_shape=[3] * spatial,
                         pads=[1] * (2 * spatial), strides=[1] * spatial)

    def op_global_pool(self, x):
        if len(x.dims) not in (3, 4):
            return None
        return self.emit(self.choice(("GlobalAveragePool", "GlobalMaxPool")), [x.name], x.dims[:2] + [1] * (len(x.dims) - 2))

    def results(self):
        """The values that the graph returns, with their types."""
        used = {name for node in self.nodes for name in node.input}
        results = [v for v in self.values if v.name not in used and v not in self.inputs]
        # Some values are read inside and are results too.
        inner = [v for v in self.values if v.name in used and v not in self.inputs]
        return [(v, TensorProto.FLOAT) for v in results + inner[::5]]

    def model(self):
        info = [helper.make_tensor_value_info(v.name, TensorProto.FLOAT, v.dims) for v in self.inputs]
        outs = [helper.make_tensor_value_info(v.name, type_, [None] * len(v.dims)) for v, type_ in self.results()]
        graph = helper.make_graph(self.nodes, "random", info, outs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    def feeds(self, sizes):
        shape = lambda v: [sizes.get(d, d) for d in v.dims]
        return [self.random.standard_normal(shape(v)).astype(np.float32) for v in self.inputs]


def check(seed, *flags, kind=RandomGraph):
    """None, or what is wrong with the graph of this seed, in words."""
    graph = kind(seed)
    model = graph.model()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [v.name for v in model.graph.output]
    with tempfile.TemporaryDirectory(prefix="tcc-random-") as folder:
        path = pathlib.Path(folder) / f"random-{seed}.onnx"
        onnx.save(model, path)
        try:
            compiled = Compiled.build(path, *flags)
        except CompileError as error:
            return str(error)
    with compiled:
        for sizes in SIZES:
            feeds = graph.feeds(sizes)
            expected = session.run(names, {v.name: x for v, x in zip(graph.inputs, feeds)})
            for name, stored, actual in zip(names, expected, compiled(*feeds)):
                if wrong := disagreement(actual, stored):
                    return f"{sizes}: {name}: {wrong}"
    return None


def run_seeds(kind, about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100", help="FROM:TO")
    parser.add_argument("--flags", default="", help="options for tcc, such as --arch=sim")
    parser.add_argument("--save", help="writes the model of the first seed here and ends")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(":"))
    if args.save:
        onnx.save(kind(first).model(), args.save)
        return
    failures = 0
    for seed in range(first, last):
        if wrong := check(seed, *args.flags.split(), kind=kind):
            failures += 1
            print(f"seed {seed}: {wrong}", flush=True)
    print(f"{last - first} graphs, {failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    run_seeds(RandomGraph, __doc__)
