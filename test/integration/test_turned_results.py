"""Convolutions and products whose results lie across the columns of their tiles: images that tiles and lines of the cache
cross, several images, parts of panels, open batches, what follows fused. And convolutions with a filter for each channel,
whose channels stay planes: windows that reach over every side of an image, strides, dilations, one to three axes. And
transposed convolutions, whose phases have parts of a window."""
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from compiled import Compiled
from toolrun import ToolTest, cpu_levels

F32 = TensorProto.FLOAT


class TurnedResults(ToolTest):
    def check(self, nodes, weights, x, open_batch=False):
        shape = ["n" if open_batch else x.shape[0], *x.shape[1:]]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, shape)],
                                  [helper.make_tensor_value_info("y", F32, None)],
                                  [numpy_helper.from_array(w, name) for name, w in weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        expected, = ReferenceEvaluator(model).run(None, {"x": x})
        path = self.work / "m.onnx"
        onnx.save(model, path)
        for cpu in [*cpu_levels(), "native"]:
            with self.subTest(shape=x.shape, weights=weights["w"].shape, open=open_batch, cpu=cpu), \
                    Compiled.build(path, "--cpu", cpu) as compiled:
                y, = compiled(x)
                np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())

    def test_convolutions(self):
        rng = np.random.default_rng(0)
        for images, channels, filters, size, kernel, stride in (
                (1, 3, 64, (30, 31), 3, 1), (3, 3, 64, (7, 7), 3, 1), (2, 1, 50, (9, 40), 5, 2), (1, 3, 100, (33, 33), 4, 4),
                (2, 20, 64, (13, 11), 3, 2), (5, 16, 130, (5, 5), 1, 1), (1, 64, 256, (14, 14), 1, 1), (2, 24, 37, (6, 50), 3, 1),
                (1, 20, 70, (32, 32), 5, 1), (1, 40, 130, (32, 64), 1, 1), (2, 1, 40, (64, 48), 3, 1),  # planes of whole pages
                (2, 40, 2, (9, 21), 3, 1), (1, 12, 3, (8, 30), 3, 1)):  # shifted planes, fewer than channels and more
            x = rng.standard_normal((images, channels, *size), dtype=np.float32)
            w = rng.standard_normal((filters, channels, kernel, kernel), dtype=np.float32)
            nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[stride] * 2, pads=[kernel // 2] * 4),
                     helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])]
            for open_batch in (False, True):
                self.check(nodes, {"w": w, "b": rng.standard_normal(filters, dtype=np.float32)}, x, open_batch)

    def test_planes(self):
        rng = np.random.default_rng(2)
        for images, channels, size, filters, kernel, stride, dilation, pads in (
                (1, 5, (9, 40), 5, (3, 3), 1, 1, (1, 1, 1, 1)), (2, 3, (8, 37), 6, (3, 3), 1, 1, (0, 2, 2, 0)),
                (1, 4, (17, 70), 4, (5, 5), 2, 1, (2, 2, 2, 2)), (3, 2, (33, 32), 2, (3, 5), 1, 2, (2, 4, 2, 4)),
                (2, 3, (100,), 3, (4,), 1, 1, (3, 0)), (1, 2, (65,), 4, (7,), 2, 1, (3, 3)), (1, 3, (2, 50), 3, (3, 3), 1, 1, (1, 1, 1, 1)),
                (1, 2, (5, 6, 33), 2, (3, 1, 3), 1, 1, (1, 0, 1, 1, 0, 1)), (1, 3, (7, 34), 3, (3, 3), 1, 1, (0, 0, 0, 0))):
            x = rng.standard_normal((images, channels, *size), dtype=np.float32)
            w = rng.standard_normal((filters, 1, *kernel), dtype=np.float32)
            axes = len(kernel)
            nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[stride] * axes, dilations=[dilation] * axes,
                                      pads=pads, group=channels),
                     helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])]
            for open_batch in (False, True):
                self.check(nodes, {"w": w, "b": rng.standard_normal(filters, dtype=np.float32)}, x, open_batch)

    def test_transposed_convolutions(self):
        rng = np.random.default_rng(3)
        for images, channels, size, filters, kernel, stride, pads, more in (
                (1, 32, (9, 11), 24, (3, 3), 2, (1, 1, 1, 1), 1), (2, 24, (8, 8), 10, (3, 3), 2, (1, 1, 1, 1), 0),
                (1, 40, (6, 13), 40, (5, 5), 2, (2, 2, 2, 2), 1), (1, 16, (5, 7), 33, (4, 3), 3, (0, 1, 0, 0), 0),
                (3, 20, (17,), 12, (7,), 3, (2, 1), 2), (1, 64, (4, 5), 16, (4, 4), 2, (1, 1, 1, 1), 0),
                (1, 400, (6, 6), 16, (3, 3), 2, (1, 1, 1, 1), 1), (1, 16, (3, 4, 6), 8, (3, 3, 3), 2, (1, 1, 1, 1, 1, 1), 1),
                (3, 17, (61,), 100, (5,), 2, (2, 2), 0), (2, 5, (130,), 96, (4,), 3, (1, 1), 0),
                # Windows that do not meet: phases are planes, joined with a part of the first and the last pixels.
                (1, 3, (300,), 20, (3,), 3, (1, 1), 0), (2, 17, (7, 28), 9, (2, 2), 3, (0, 0, 0, 0), 0),
                (1, 12, (9, 40), 6, (2, 2), 2, (1, 1, 1, 1), 0), (1, 3, (50,), 7, (4,), 4, (2, 1), 0),
                (1, 5, (4, 5, 33), 4, (3, 3, 3), 3, (1, 0, 2, 0, 1, 1), 0), (1, 4, (6, 3000), 3, (3, 2), 2, (0, 1, 1, 0), 0)):
            x = rng.standard_normal((images, channels, *size), dtype=np.float32)
            w = rng.standard_normal((channels, filters, *kernel), dtype=np.float32)
            axes = len(kernel)
            nodes = [helper.make_node("ConvTranspose", ["x", "w", "b"], ["c"], strides=[stride] * axes, pads=pads,
                                      output_padding=[more] * axes),
                     helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])]
            for open_batch in (False, True):
                self.check(nodes, {"w": w, "b": rng.standard_normal(filters, dtype=np.float32)}, x, open_batch)

    def test_joined_phases(self):
        """A line that three planes' are joined to is made of vectors of each, wherever it begins."""
        w = np.random.default_rng(7).standard_normal((3, 20, 3), dtype=np.float32)
        graph = helper.make_graph([helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[3], pads=[1, 1])], "g",
                                  [helper.make_tensor_value_info("x", F32, (1, 3, 300))],
                                  [helper.make_tensor_value_info("y", F32, None)], [numpy_helper.from_array(w, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "j.onnx")
        self.compiles("j.onnx", "-o", self.fresh_name(), "--cpu", "x86-64-v4", "--dump-ir", "joined")
        code, = (self.work / "joined/8-codegen").glob("k*_slice.mlir")
        self.assertRegex(code.read_text(), "vector.shuffle")
        self.assertNotIn("gather", code.read_text())

    def test_absent_taps(self):
        """Of a window of 2x2 taps each panel of filters asks which it has."""
        x = np.zeros((1, 32, 8, 8), np.float32)
        for kernel, pad, asks in ((3, 1, True), (4, 1, False)):
            w = np.random.default_rng(4).standard_normal((32, 64, kernel, kernel), dtype=np.float32)
            nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[pad] * 4)]
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, x.shape)],
                                      [helper.make_tensor_value_info("y", F32, None)], [numpy_helper.from_array(w, "w")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "t.onnx")
            self.compiles("t.onnx", "-o", self.fresh_name(), "--cpu", "x86-64-v3", "--dump-ir", f"ir{kernel}")
            code, = (self.work / f"ir{kernel}/8-codegen").glob("k*_conv*.mlir")
            self.assertEqual("arith.shrui" in code.read_text(), asks)

    def test_whole_lines(self):
        """Tiles of four rows by several panels wait, where sums are short, until squares of eight are turned."""
        for channels, wait in ((1, True), (8, False)):
            w = np.random.default_rng(5).standard_normal((64, channels, 3, 3), dtype=np.float32)
            graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], "g",
                                      [helper.make_tensor_value_info("x", F32, (1, channels, 30, 31))],
                                      [helper.make_tensor_value_info("y", F32, None)], [numpy_helper.from_array(w, "w")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "l.onnx")
            self.compiles("l.onnx", "-o", self.fresh_name(), "--cpu", "x86-64-v3", "--dump-ir", f"lines{channels}")
            code, = (self.work / f"lines{channels}/8-codegen").glob("k*_conv*.mlir")
            squares = re.search(r"vector\.shuffle .* : vector<8xf32>, vector<8xf32>", code.read_text())
            self.assertEqual(squares is not None, wait)

    def test_lines_of_pages(self):
        """Columns a page apart share a set of each cache: their tiles wait for whole lines, whatever the sums."""
        for size, wait in (((32, 32), True), ((32, 30), False)):
            w = np.random.default_rng(6).standard_normal((64, 24, 5, 5), dtype=np.float32)
            graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[2] * 4)], "g",
                                      [helper.make_tensor_value_info("x", F32, (1, 24, *size))],
                                      [helper.make_tensor_value_info("y", F32, None)], [numpy_helper.from_array(w, "w")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "p.onnx")
            self.compiles("p.onnx", "-o", self.fresh_name(), "--cpu", "x86-64-v4", "--dump-ir", f"pages{size[1]}")
            code, = (self.work / f"pages{size[1]}/8-codegen").glob("k*_conv*.mlir")
            squares = re.search(r"vector\.shuffle .* : vector<16xf32>, vector<16xf32>", code.read_text())
            self.assertEqual(squares is not None, wait)

    def test_products(self):
        rng = np.random.default_rng(1)
        for batch, rows, k, n in ((1, 45, 30, 64), (3, 49, 17, 100), (2, 6, 40, 33)):
            x = rng.standard_normal((batch, rows, k), dtype=np.float32)
            nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Transpose", ["p"], ["y"], perm=[0, 2, 1])]
            self.check(nodes, {"w": rng.standard_normal((k, n), dtype=np.float32)}, x)
            self.check(nodes, {"w": rng.standard_normal((k, n), dtype=np.float32)}, x, True)


if __name__ == "__main__":
    unittest.main()
