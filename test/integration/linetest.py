"""ONNX models of one input of rows, on every level of instructions that this machine has."""
import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class LineTest(ToolTest):
    def check(self, nodes, x, outputs, shape=None, tolerance=0.0, constants=()):
        """`outputs`: what each should be."""
        dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
        graph = helper.make_graph(nodes, "lines", [helper.make_tensor_value_info("x", dtype, shape or x.shape)],
                                  [helper.make_empty_tensor_value_info(name) for name in outputs],
                                  [onnx.numpy_helper.from_array(np.array(v), n) for n, v in constants])
        path = self.work / "lines.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in cpu_levels():
            with self.subTest(x.shape, cpu=cpu, open=bool(shape)), Compiled.build(path, "--cpu", cpu) as compiled:
                for actual, wanted in zip(compiled(x), outputs.values(), strict=True):
                    if tolerance:
                        np.testing.assert_allclose(actual, wanted, rtol=tolerance)
                    else:
                        np.testing.assert_array_equal(actual, wanted)
