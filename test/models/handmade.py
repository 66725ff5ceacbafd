"""Small networks with seeded weights, written node by node: the parts of real ones, each in a few kB.

Each function of NETWORKS gives a model; INPUTS gives arrays that fit it.
"""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper


class Graph:
    """Nodes and weights in the order they are written; `add` names the result."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], []

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 4
        return self.constant((self.random.normal(size=shape) * (scale or fan_in ** -0.5)).astype(np.float32))

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, result, dims, opset=17):
        """inputs: name -> (element type, dims); dims: those of the result, in f32."""
        values = [helper.make_tensor_value_info(name, *what) for name, what in inputs.items()]
        graph = helper.make_graph(self.nodes + [helper.make_node("Identity", [result], ["y"])], "handmade", values,
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        checker.check_model(model)
        return model


def convolution():
    """A stem, a residual block with a depthwise convolution, pooling and a classifier."""
    g = Graph(1)

    def conv_norm(x, channels, width, **attributes):
        x = g.add("Conv", x, g.weight(channels, width // attributes.get("group", 1), *attributes["kernel_shape"]),
                  **attributes)
        spread = g.constant(g.random.uniform(0.5, 1.5, channels).astype(np.float32))
        return g.add("BatchNormalization", x, spread, g.weight(channels), g.weight(channels), spread)

    x = g.add("Relu", conv_norm("x", 20, 3, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    block = g.add("Relu", conv_norm(x, 36, 20, kernel_shape=[1, 1]))
    block = conv_norm(block, 36, 36, kernel_shape=[3, 3], pads=[1] * 4, group=36)
    block = g.add("Mul", block, g.add("Sigmoid", block))
    x = g.add("Add", x, conv_norm(block, 20, 36, kernel_shape=[1, 1]))
    x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = g.add("Relu", conv_norm(x, 24, 20, kernel_shape=[3, 3], group=2))
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    x = g.add("Gemm", x, g.weight(10, 24), g.weight(10), transB=1)
    return g.model({"x": (TensorProto.FLOAT, ["N", 3, "H", "W"])}, g.add("Softmax", x), ["N", 10])


def lstm():
    """A bidirectional LSTM over sequences of any length, with a linear layer on each step."""
    g, hidden, width = Graph(2), 13, 9
    outputs = g.add("LSTM", "x", g.weight(2, 4 * hidden, width), g.weight(2, 4 * hidden, hidden),
                    g.weight(2, 8 * hidden), hidden_size=hidden, direction="bidirectional", outputs=3)
    steps = g.add("Transpose", outputs[0], perm=[0, 2, 1, 3])
    steps = g.add("Reshape", steps, g.constant(np.array([0, 0, 2 * hidden])))
    return g.model({"x": (TensorProto.FLOAT, ["S", "N", width])},
                   g.add("Add", g.add("MatMul", steps, g.weight(2 * hidden, 5)), g.weight(5)), ["S", "N", 5])


def transformer():
    """A transformer block: layer norm, masked attention of four heads, and a feed-forward net with GELU."""
    g, width, heads = Graph(3), 32, 4

    def linear(x, wide, narrow):
        return g.add("Add", g.add("MatMul", x, g.weight(wide, narrow, scale=wide ** -0.5)), g.weight(narrow))

    def norm(x):
        return g.add("LayerNormalization", x, g.weight(width), g.weight(width))

    def split(x):
        shape = g.constant(np.array([0, 0, heads, width // heads]))
        return g.add("Transpose", g.add("Reshape", x, shape), perm=[0, 2, 1, 3])

    inside = norm("x")
    q, k, v = (split(linear(inside, width, width)) for _ in range(3))
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.add("Div", scores, g.constant(np.float32((width // heads) ** 0.5)))
    scores = g.add("Where", "mask", scores, g.constant(np.float32(-1e9)))
    heads_out = g.add("Transpose", g.add("MatMul", g.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = g.add("Add", "x", linear(g.add("Reshape", heads_out, g.constant(np.array([0, 0, width]))), width, width))
    h = linear(norm(x), width, 4 * width)
    erf = g.add("Erf", g.add("Div", h, g.constant(np.float32(2 ** 0.5))))
    gelu = g.add("Mul", g.add("Mul", h, g.add("Add", erf, g.constant(np.float32(1)))), g.constant(np.float32(0.5)))
    return g.model({"x": (TensorProto.FLOAT, ["N", "S", width]), "mask": (TensorProto.BOOL, ["S", "S"])},
                   g.add("Add", x, linear(gelu, 4 * width, width)), ["N", "S", width])


def quantised():
    """A linear layer on bytes, its input quantised at run time."""
    g = Graph(4)
    x, scale, zero = g.add("DynamicQuantizeLinear", "x", outputs=3)
    weights = g.constant(g.random.integers(-128, 128, (40, 24)).astype(np.int8))
    sums = g.add("MatMulInteger", x, weights, zero, g.constant(np.int8(0)))
    y = g.add("Mul", g.add("Cast", sums, to=TensorProto.FLOAT), g.add("Mul", scale, g.constant(np.float32(0.01))))
    return g.model({"x": (TensorProto.FLOAT, ["N", 40])}, g.add("Tanh", y), ["N", 24])


def half():
    """Arithmetic and a product in f16."""
    g = Graph(5)
    x = g.add("Cast", "x", to=TensorProto.FLOAT16)
    w = g.constant((g.random.normal(size=(17, 11)) / 4).astype(np.float16))
    x = g.add("MatMul", g.add("Mul", x, g.add("Sigmoid", x)), w)
    return g.model({"x": (TensorProto.FLOAT, ["N", 17])}, g.add("Cast", x, to=TensorProto.FLOAT),
                   ["N", 11])


NETWORKS = {"convolution": convolution, "lstm": lstm, "transformer": transformer, "quantised": quantised, "half": half}


def inputs(name):
    """Two cases of different sizes: dicts of arrays by input name."""
    random = np.random.default_rng(7)
    shapes = {"convolution": [(1, 3, 31, 22), (2, 3, 16, 16)], "lstm": [(7, 1, 9), (3, 4, 9)],
              "transformer": [(1, 11, 32), (3, 4, 32)], "quantised": [(5, 40), (1, 40)], "half": [(6, 17), (1, 17)]}
    for shape in shapes[name]:
        case = {"x": random.normal(size=shape).astype(np.float32)}
        if name == "transformer":
            case["mask"] = np.tril(np.ones((shape[1], shape[1]), bool))
        yield case
