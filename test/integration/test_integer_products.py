"""8-bit products are exact, on every level of instructions that this machine has, and use the target's dot instruction."""
import itertools
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

    def test_pairs_that_fit(self):
        """Weights of which no pair leaves 16 bits with any byte: at the bound itself, and one beyond it."""
        rng = np.random.default_rng(1)
        edges = {"bound": [64, 64, -64, -64, 127, 1, -128, 0, 127, -127, 100, 28], "beyond": [64, 65, -64, -64]}
        for (name, numbers), x_type in itertools.product(edges.items(), (np.uint8, np.int8)):
            k, columns = 12 * 7, 21
            column = np.resize(np.array(numbers, np.int8), k)
            y = np.stack([np.roll(column, 2 * n) for n in range(columns)], axis=1)
            limits = np.iinfo(x_type)
            x = rng.integers(limits.min, limits.max, (13, k), endpoint=True).astype(x_type)
            x[0], x[1] = limits.max, limits.min
            path = self.work / f"{name}-{x_type.__name__}.onnx"
            self.save(path, y, x_type, x.shape[0])
            for cpu in cpu_levels():
                with self.subTest(name, x=x_type.__name__, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    np.testing.assert_array_equal(compiled(x)[0], x.astype(np.int32) @ y.astype(np.int32))
            for cpu, instruction in {"v3": "vpmaddubsw", "v4": "vpmaddubsw", "v2": "pmaddwd", "cascadelake": "vpdpbusd"}.items():
                text = self.work / "product.s"
                self.compiles(path, "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", text)
                usual = "pmaddubsw" not in instruction or name == "bound"
                self.assertIn(f"\t{instruction if usual else 'vpmaddwd'}\t", text.read_text(), (name, cpu))
                if not usual:
                    self.assertNotIn("pmaddubsw", text.read_text())

    def test_no_instruction(self):
        """Plain NEON has none: bytes are widened."""
        text = self.work / "product.s"
        self.compiles(self.product("us"), "--target", "aarch64-linux", "--cpu", "generic", "--emit", "asm", "-o", text)
        self.assertNotRegex(text.read_text(), r"\t[us]dot\t")

    def product(self, pair):
        (_, x), (dtype, _) = TYPES[pair[0]], TYPES[pair[1]]
        path = self.work / f"product-{pair}.onnx"
        self.save(path, np.arange(64 * 48).reshape(64, 48).astype(dtype), helper.tensor_dtype_to_np_dtype(x), 8)
        return path

    def save(self, path, weights, x_type, rows):
        """A model that multiplies `rows` rows by these weights."""
        graph = helper.make_graph(
            [helper.make_node("MatMulInteger", ["x", "y"], ["z"])], "product",
            [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(x_type)), [rows, weights.shape[0]])],
            [helper.make_tensor_value_info("z", TensorProto.INT32, [rows, weights.shape[1]])],
            [numpy_helper.from_array(weights, "y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


if __name__ == "__main__":
    unittest.main()
