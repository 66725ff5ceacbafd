"""Models run where their caller's thread has little stack: its part of what kernels keep there is another thread's."""
import threading
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from toolrun import ToolTest


def with_stack(size, function):
    """What the function gives on a thread with so many bytes of stack."""
    results, before = [], threading.stack_size(size)
    try:
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0]


class SmallStacks(ToolTest):
    def check(self, nodes, shapes, weights=()):
        path = self.work / "model.onnx"
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(array, name) for name, array in weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        random = np.random.default_rng(1)
        arrays = [random.standard_normal(shape, np.float32) for shape in shapes.values()]
        for threads in 1, 2:
            with Compiled.build(path, "--cpu", "x86-64-v3", threads=threads) as model:
                expected = model(*arrays)[0]
                for size in 64 << 10, 512 << 10, 2 << 20:
                    for _ in range(2):  # the second time the stack is known
                        np.testing.assert_array_equal(with_stack(size, lambda: model(*arrays)[0]), expected)
                np.testing.assert_array_equal(model(*arrays)[0], expected)

    def test_attention(self):
        self.check([helper.make_node("MatMul", ["q", "k"], ["s"]), helper.make_node("Softmax", ["s"], ["p"]),
                    helper.make_node("MatMul", ["p", "v"], ["y"])],
                   {"q": (1, 2, 512, 64), "k": (1, 2, 64, 1024), "v": (1, 2, 1024, 64)})

    def test_convolution(self):
        filters = np.random.default_rng(0).standard_normal((256, 256, 3, 3), np.float32) / 48
        self.check([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": (1, 256, 28, 56)}, [("w", filters)])


if __name__ == "__main__":
    unittest.main()
