"""What small ONNX files are made of: values, nodes, weights and models."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BAD, ODD = "bad", "odd"  # what is to become of a file: see malformed.py
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
HUGE, LOWEST = 2**62, -2**63


def value(name, shape=(2, 3), dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def untyped(name):
    return onnx.ValueInfoProto(name=name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name="the_" + op.lower(), **attributes)


def array(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def ints(name, *values):
    return array(name, np.array(values, np.int64))


ONES = array("w", np.ones(1, np.float32))


def model(nodes, inputs=None, outputs=None, weights=(), opset=20, domains=(), functions=()):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")], outputs or [untyped("y")], list(weights))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def numbers(shape, dtype, low=0, high=250):
    """Integers from `low` to `high`, none like its neighbours."""
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % (high - low + 1) + low).astype(dtype)


def model_of(x, nodes, outputs, constants=(), shape=None, opset=18):
    """A model whose input x and whose outputs are of the array's type; `constants` are pairs of name and values."""
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    return model(nodes, [value("x", shape or x.shape, dtype)], [value(name, None, dtype) for name in outputs],
                 [array(name, values) for name, values in constants], opset)


def one(op, inputs=("x",), weights=(), shape=(2, 3), dtype=FLOAT, opset=20, **attributes):
    """A model of one node on the input x and constants."""
    return model([node(op, list(inputs), ["y"], **attributes)], [value("x", shape, dtype)], None, weights, opset)


def folded(op, inputs, weights, **attributes):
    """The node reads constants alone: constant folding meets it."""
    return model([node(op, list(inputs), ["c"], **attributes), node("ReduceSum", ["c"], ["r"], keepdims=0),
                  node("Cast", ["r"], ["q"], to=FLOAT), node("Add", ["x", "q"], ["y"])], None, None, weights)


def relu(change=None):
    proto = model([node("Relu", ["x"], ["y"])], None, [value("y")])
    if change:
        change(proto)
    return proto


# ---- protobuf's wire format ----
