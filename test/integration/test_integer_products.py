"""8-bit products are exact, on every level of instructions that this machine has, and use the target's dot instruction."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from integers import PAIRS, TYPES, integer_model
from toolrun import ToolTest, cpu_levels


class IntegerProducts(ToolTest):
    def test_exact(self):
        for pair in PAIRS:
            proto, arrays, expected = integer_model(pair)
            path = self.work / f"{pair}.onnx"
            onnx.save(proto, path)
            for cpu in cpu_levels():
                with self.subTest(pair, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    for output, actual, wanted in zip(proto.graph.output, compiled(*arrays), expected, strict=True):
                        np.testing.assert_array_equal(actual, wanted, output.name)

    def test_instructions(self):
        """One product of each pair: the instruction, and none for single elements."""
        dots = {("x86_64-linux", "sapphirerapids"): {"uu": "tdpbuud", "ss": "tdpbssd", "us": "tdpbusd", "su": "tdpbsud"},
                ("x86_64-linux", "cascadelake"): dict.fromkeys(PAIRS, "vpdpbusd"),
                ("x86_64-linux", "alderlake"): dict.fromkeys(PAIRS, "vpdpbusd"),
                ("x86_64-linux", "v3"): dict.fromkeys(PAIRS, "vpmaddwd"),
                ("x86_64-linux", "v2"): dict.fromkeys(PAIRS, "pmaddwd"),
                ("aarch64-linux", "neoverse-v1"): {"uu": "udot", "ss": "sdot", "us": "sdot", "su": "udot"}}
        for (target, cpu), names in dots.items():
            for pair, instruction in names.items():
                with self.subTest(pair, cpu=cpu):
                    path, text = self.product(pair), self.work / "product.s"
                    self.compiles(path, "--target", target, "--cpu", cpu, "--emit", "asm", "-o", text)
                    listing = text.read_text()
                    self.assertIn(f"\t{instruction}\t", listing)
                    self.assertNotIn("pmulld", listing)
                    self.assertNotIn("pmaddubsw", listing)

    def test_no_instruction(self):
        """Plain NEON has none: bytes are widened."""
        text = self.work / "product.s"
        self.compiles(self.product("us"), "--target", "aarch64-linux", "--cpu", "generic", "--emit", "asm", "-o", text)
        self.assertNotRegex(text.read_text(), r"\t[us]dot\t")

    def product(self, pair):
        (_, x), (dtype, _) = TYPES[pair[0]], TYPES[pair[1]]
        weights = numpy_helper.from_array(np.arange(64 * 48).reshape(64, 48).astype(dtype), "y")
        graph = helper.make_graph([helper.make_node("MatMulInteger", ["x", "y"], ["z"])], "product",
                                  [helper.make_tensor_value_info("x", x, [8, 64])],
                                  [helper.make_tensor_value_info("z", TensorProto.INT32, [8, 48])], [weights])
        path = self.work / f"product-{pair}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return path


if __name__ == "__main__":
    unittest.main()
