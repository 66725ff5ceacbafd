"""Results that outgrow the caches are stored past them: right, and only where that pays."""
import unittest

import numpy as np
import onnx
from onnx import helper

from linetest import LineTest, softmax


class PastTheCaches(LineTest):
    def test_updates_past_the_caches(self):
        """What a scatter leaves of a tensor that outgrows the caches, in parts that begin and end anywhere."""
        random = np.random.default_rng(13)
        x = random.standard_normal((10001, 1003), dtype=np.float32)
        places, updates = np.array([[0], [7], [10000], [7]]), random.standard_normal((4, 1003), dtype=np.float32)
        wanted = x.copy()
        np.add.at(wanted, places[:, 0], updates)
        self.check([helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")], x, {"y": wanted}, constants=[("i", places), ("u", updates)])
        self.compiles(self.work / "lines.onnx", "--target", "x86_64-linux", "--cpu", "znver3", "--emit", "asm", "-o", self.work / "lines.s")
        self.assertIn("vmovntps", (self.work / "lines.s").read_text())

    def test_results_past_the_caches(self):
        """Results that outgrow the caches are stored as whole lines, those of odd rows and smaller ones as others are; also over an
        input, in pieces, by blocks of rows, in other types and behind loops of a row."""
        random = np.random.default_rng(12)  # what the other tests draw stays
        for shape, past in (((10240, 1024), True), ((8449, 1001), False), ((2048, 1024), False)):
            x = random.standard_normal(shape, dtype=np.float32)
            nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Concat", ["x", "n"], ["c"], axis=1),
                     helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Cast", ["x"], ["d"], to=onnx.TensorProto.DOUBLE),
                     helper.make_node("Softmax", ["n"], ["s"], axis=-1), helper.make_node("Abs", ["s"], ["a"]),
                     helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0])]
            outputs = {"n": -x, "c": np.concatenate([x, -x], 1), "t": x.T, "d": x.astype(np.float64), "b": softmax(-x).T}
            self.check(nodes, x, outputs, tolerance=2e-4)
            self.check(nodes[:4], x, {name: outputs[name] for name in "nctd"})
            self.compiles(self.work / "lines.onnx", "--target", "x86_64-linux", "--cpu", "znver3", "--emit", "asm", "-o", self.work / "lines.s")
            for instruction in ("movntp", "sfence"):
                self.assertEqual(instruction in (self.work / "lines.s").read_text(), past, (shape, instruction))


if __name__ == "__main__":
    unittest.main()
