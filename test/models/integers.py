"""Models of 8-bit products, of every pair of signednesses, with exact results.

Shapes with odd extents, operands that are constant or come at run time, zero points of each kind, and values at
the ends of their range, which saturate where an instruction does.
"""
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {"u": (np.uint8, TensorProto.UINT8), "s": (np.int8, TensorProto.INT8)}
PAIRS = ["".join(pair) for pair in itertools.product("us", "us")]
# rows, depth, columns
MATRICES = [(1, 3, 5), (7, 5, 17), (33, 67, 50), (5, 1031, 40), (3, 64, 96)]
FORMS = ["constant", "any", "transposed"]
# channels, filters, kernel, stride, padding, dilation, groups
CONVOLUTIONS = [(3, 20, 3, 2, 1, 1, 1), (16, 33, 3, 1, 1, 1, 1), (20, 16, 1, 1, 0, 1, 1), (37, 8, 3, 1, 2, 2, 1),
                (40, 32, 3, 1, 1, 1, 2), (8, 8, 3, 1, 1, 1, 8)]


class Builder:
    def __init__(self, pair):
        self.rng = np.random.default_rng(len(pair) + ord(pair[0]) * 2 + ord(pair[1]))
        self.kinds = [TYPES[sign] for sign in pair]
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        self.arrays, self.expected = [], []

    def random(self, side, shape):
        """Half of the tensors hold nothing but the ends of the range."""
        dtype, _ = self.kinds[side]
        info = np.iinfo(dtype)
        if self.rng.integers(2) and shape:
            return self.rng.choice([info.min, info.max], shape).astype(dtype)
        return self.rng.integers(info.min, info.max + 1, shape).astype(dtype)

    def input(self, name, side, array, shape=None):
        self.inputs.append(helper.make_tensor_value_info(name, self.kinds[side][1], shape or array.shape))
        self.arrays.append(array)
        return name

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def output(self, name, expected):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.INT32, None))
        self.expected.append(expected.astype(np.int32))
        return name

    def model(self):
        graph = helper.make_graph(self.nodes, "integers", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def add_product(b, name, shape, form, zeros):
    rows, depth, columns = shape
    x, y = b.random(0, (rows, depth)), b.random(1, (depth, columns))
    operands = [b.input(name + "x", 0, x, [f"M{name}", depth] if form == "constant" else None)]
    if form == "constant":
        operands.append(b.constant(name + "y", y))
    elif form == "any":
        operands.append(b.input(name + "y", 1, y))
    else:
        b.nodes.append(helper.make_node("Transpose", [b.input(name + "t", 1, np.ascontiguousarray(y.T))], [name + "y"],
                                        perm=[1, 0]))
        operands.append(name + "y")
    p, q = np.zeros((), b.kinds[0][0]), np.zeros((), b.kinds[1][0])
    if zeros:
        p, q = b.random(0, ()), b.random(1, (columns,) if zeros == "columns" else ())
        operands += [b.constant(name + "p", p), b.constant(name + "q", q)]
    wide = lambda array: array.astype(np.int64)
    b.nodes.append(helper.make_node("MatMulInteger", operands, [name]))
    b.output(name, (wide(x) - wide(p)) @ (wide(y) - wide(q)))


def convolution(x, w, stride, pad, dilation, groups):
    """Both less their zero points, as int64."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    reach = dilation * (w.shape[2] - 1) + 1
    windows = np.lib.stride_tricks.sliding_window_view(x, (reach, reach), (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = [np.einsum("nchwij,ocij->nohw", part, filters)
             for part, filters in zip(np.split(windows, groups, 1), np.split(w, groups))]
    return np.concatenate(parts, 1)


def add_convolution(b, name, shape, zeros):
    channels, filters, kernel, stride, pad, dilation, groups = shape
    x, w = b.random(0, (2, channels, 7, 9)), b.random(1, (filters, channels // groups, kernel, kernel))
    operands = [b.input(name + "x", 0, x, ["N", channels, 7, 9]), b.constant(name + "w", w)]
    p, q = np.zeros((), b.kinds[0][0]), np.zeros((), b.kinds[1][0])
    if zeros:
        p = b.random(0, ())
        q = b.random(1, ()) if zeros == "both" else q
        operands += [b.constant(name + "p", p), b.constant(name + "q", q)]
    b.nodes.append(helper.make_node("ConvInteger", operands, [name], strides=[stride] * 2, pads=[pad] * 4,
                                    dilations=[dilation] * 2, group=groups, kernel_shape=[kernel] * 2))
    wide = lambda array, zero: array.astype(np.int64) - zero.astype(np.int64)
    b.output(name, convolution(wide(x, p), wide(w, q), stride, pad, dilation, groups))


def integer_model(pair):
    """The model, its inputs, and its outputs."""
    b = Builder(pair)
    for i, (shape, form) in enumerate(itertools.product(MATRICES, FORMS)):
        add_product(b, f"m{i}", shape, form, ("", "scalar", "columns")[i // 2 % 3])
    for i, shape in enumerate(CONVOLUTIONS):
        add_convolution(b, f"c{i}", shape, ("", "input", "both")[(i + len(pair)) % 3])
    # Unpacked batches of both sides.
    x, y = b.random(0, (3, 9, 21)), b.random(1, (3, 21, 19))
    b.nodes.append(helper.make_node("MatMulInteger", [b.input("bx", 0, x), b.input("by", 1, y)], ["b"]))
    b.output("b", x.astype(np.int64) @ y.astype(np.int64))
    return b.model(), b.arrays, b.expected
