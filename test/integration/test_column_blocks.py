"""What is reduced across rows and read again, a block of columns at a time: right on every level of instructions that this machine has."""
import unittest

import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels

TYPES = {onnx.TensorProto.FLOAT: (np.float32, 4e-6), onnx.TensorProto.DOUBLE: (np.float64, 1e-13), onnx.TensorProto.FLOAT16: (np.float16, 2e-3)}


def exact(x):
    """The outputs of the program below."""
    shares = np.exp(x - x.max(1, keepdims=True))
    sums = shares.sum(1, keepdims=True)
    centred = x - x.mean(1, keepdims=True)
    return [shares / sums, np.log(shares / sums), (np.log(sums) + x.max(1, keepdims=True))[:, 0],
            centred / np.sqrt((centred**2).mean(1, keepdims=True) + 0.01)]


class ColumnBlocks(ToolTest):
    def test_column_blocks(self):
        """Softmax, its logarithm, the logarithm of the sum of exponentials and a norm over channels: whole vectors and parts of one, few
        lines and so many that sums are cut, results over an argument that dies, axes that become one, types of 16 to 64 bits."""
        random = np.random.default_rng(28)
        make = helper.make_node
        nodes = [make("Neg", ["x"], ["n"]), make("Softmax", ["n"], ["shares"], axis=1), make("LogSoftmax", ["n"], ["logarithms"], axis=1),
                 make("ReduceLogSumExp", ["n", "axis"], ["sums"], keepdims=0), make("ReduceMean", ["n", "axis"], ["mean"]),
                 make("Sub", ["n", "mean"], ["centred"]), make("Mul", ["centred", "centred"], ["squares"]),
                 make("ReduceMean", ["squares", "axis"], ["variance"]), make("Add", ["variance", "small"], ["more"]),
                 make("Sqrt", ["more"], ["root"]), make("Div", ["centred", "root"], ["normal"])]
        outputs = ["shares", "logarithms", "sums", "normal"]
        for shape in ((5, 23, 9, 35), (2, 250, 320), (1, 17, 5003), (8, 64, 32, 32)):
            for kind, (dtype, tolerance) in TYPES.items():
                constants = [onnx.numpy_helper.from_array(np.array([1], np.int64), "axis"),
                             onnx.numpy_helper.from_array(np.array(0.01, dtype), "small")]
                graph = helper.make_graph(nodes, "columns", [helper.make_tensor_value_info("x", kind, shape)],
                                          [helper.make_empty_tensor_value_info(name) for name in outputs], constants)
                path = self.work / "columns.onnx"
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
                x = random.standard_normal(shape).astype(dtype)
                wanted = exact(-x.astype(np.float64))
                for cpu in [*cpu_levels(), "native"]:
                    with Compiled.build(path, "--cpu", cpu) as compiled:
                        for actual, expected, name in zip(compiled(x), wanted, outputs, strict=True):
                            np.testing.assert_allclose(actual.astype(np.float64), expected, tolerance, 4 * tolerance, err_msg=f"{cpu} {shape} {dtype} {name}")

    def test_numbers_of_a_column(self):
        """One that is no number, or infinite, is seen in its column alone."""
        path = self.work / "softmax.onnx"
        graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], axis=1)], "softmax",
                                  [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 24, 1003))], [helper.make_empty_tensor_value_info("y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        x = np.random.default_rng(29).standard_normal((2, 24, 1003)).astype(np.float32)
        x[0, 5, 1002], x[1, 0, 0], x[1, 7, 500] = np.nan, np.inf, -np.inf
        with np.errstate(invalid="ignore"):
            expected = exact(x.astype(np.float64))[0]
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                np.testing.assert_allclose(compiled(x)[0], expected, 4e-6, 1e-7, err_msg=cpu)


if __name__ == "__main__":
    unittest.main()
