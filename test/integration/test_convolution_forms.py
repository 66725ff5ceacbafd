"""Convolutions in the forms that a CPU has for them (lanes as pixels, pairs of bf16, gathered bytes) beside ONNX Runtime."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from test_bfloat_products import rounded
from toolrun import ToolTest, cpu_levels

BF16, F32 = TensorProto.BFLOAT16, TensorProto.FLOAT

# Input, filters, kernel, strides, dilations, paddings, groups.
FORMS = (((2, 33, 12, 13), 17, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1), ((1, 10, 15, 9), 34, (5, 3), (1, 1), (2, 1), (4, 1, 3, 0), 2),
         ((1, 40, 9, 11), 15, (3, 3), (3, 2), (2, 3), (2, 3, 2, 3), 1), ((3, 24, 30), 8, (4,), (3,), (1,), (1, 2), 8),
         ((1, 31, 6, 7, 9), 5, (3, 3, 3), (1, 2, 1), (1, 1, 2), (1, 1, 2, 1, 1, 2), 1), ((1, 9, 1030), 21, (7,), (1,), (1,), (3, 3), 3),
         ((1, 64, 7, 7), 3, (7, 7), (1, 1), (1, 1), (3, 3, 3, 3), 1), ((1, 3, 40, 41), 9, (11, 11), (4, 4), (1, 1), (2, 2, 2, 2), 1),
         ((2, 6, 14, 14), 40, (3, 3), (1, 1), (1, 1), (0, 0, 0, 0), 2), ((1, 128, 1, 1), 17, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
         ((1, 16, 5, 70), 6, (1, 5), (1, 2), (1, 3), (0, 0, 0, 0), 2))

# Pools of short lines, whose channels become the lanes: input, window, strides, dilations, paddings.
POOLS = (((2, 32, 14, 14), (7, 7), (3, 3), (1, 1), (3, 3, 3, 3)), ((3, 16, 15, 13), (5, 4), (4, 3), (1, 2), (2, 1, 1, 0)),
         ((1, 48, 31, 45), (7, 7), (3, 4), (1, 1), (3, 2, 1, 3)), ((2, 16, 9, 14, 13), (5, 5, 5), (4, 3, 4), (1, 1, 1), (2, 2, 2, 1, 2, 0)))


def attributes(kernel, strides, dilations, pads, groups):
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": groups}


class ConvolutionForms(ToolTest):
    def save(self, graph, name):
        path = self.work / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
        return path

    def model(self, number, narrow):
        """The result is what follows the convolution, a bias and a relu; `narrow`: computed in bf16 of f32 that are rounded."""
        shape, filters, kernel, *rest = FORMS[number]
        rng = np.random.default_rng(number)
        x = rng.standard_normal(shape).astype(np.float32)
        w = rng.standard_normal((filters, shape[1] // rest[-1], *kernel)).astype(np.float32)
        bias = rng.standard_normal((filters, *[1] * len(kernel))).astype(np.float32)
        nodes = []
        if narrow:
            x, w = rounded(x), rounded(w)
            nodes += [helper.make_node("Cast", [name], [f"{name}16"], to=BF16) for name in "xw"]
        nodes.append(helper.make_node("Conv", ["x16", "w16"] if narrow else ["x", "w"], ["y16" if narrow else "y"],
                                      **attributes(kernel, *rest)))
        if narrow:
            nodes.append(helper.make_node("Cast", ["y16"], ["y"], to=F32))
        nodes += [helper.make_node("Add", ["y", "bias"], ["sum"]), helper.make_node("Relu", ["sum"], ["z"])]
        values = [helper.make_tensor_value_info("x", F32, shape)], [helper.make_tensor_value_info("z", F32, None)]
        weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "bias")]
        return self.save(helper.make_graph(nodes, "g", *values, weights), f"{number}-{narrow}"), x

    def test_pools(self):
        for number, (shape, window, strides, dilations, pads) in enumerate(POOLS):
            x = np.random.default_rng(number).standard_normal(shape).astype(np.float32)
            places = {"kernel_shape": window, "strides": strides, "dilations": dilations, "pads": pads}
            nodes = [helper.make_node("MaxPool", ["x"], ["most"], **places), helper.make_node("AveragePool", ["x"], ["mean"], **places)]
            results = [helper.make_tensor_value_info(name, F32, None) for name in ("most", "mean")]
            path = self.save(helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, shape)], results), f"pools-{number}")
            most, mean = onnxruntime.InferenceSession(path).run(None, {"x": x})
            for cpu in [*cpu_levels(), "native"]:
                with self.subTest(shape, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    given = compiled(x)
                    np.testing.assert_array_equal(given[0], most)
                    np.testing.assert_allclose(given[1], mean, rtol=1e-5, atol=1e-6)

    def test_values(self):
        for number in range(len(FORMS)):
            path, x = self.model(number, narrow=False)
            expected, = onnxruntime.InferenceSession(path).run(None, {"x": x})
            narrow, _ = self.model(number, narrow=True)
            for cpu in [*cpu_levels(), "native"]:
                with self.subTest(FORMS[number], cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    z, = compiled(x)
                    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-4)
            rounded_x = rounded(x)
            path, _ = self.model(number, narrow=False)
            weights = onnx.load(path)
            weights.graph.initializer[0].CopyFrom(numpy_helper.from_array(rounded(numpy_helper.to_array(weights.graph.initializer[0])), "w"))
            expected, = onnxruntime.InferenceSession(weights.SerializeToString()).run(None, {"x": rounded_x})
            for cpu in [*cpu_levels(), "native"]:
                with self.subTest(FORMS[number], cpu=cpu, type="bf16"), Compiled.build(narrow, "--cpu", cpu) as compiled:
                    z, = compiled(rounded_x)
                    np.testing.assert_allclose(z, expected, rtol=2**-7, atol=2**-7 * np.abs(expected).max())

    def test_infinite_neighbours(self):
        """What a vector reads beside its pixels is multiplied by nothing."""
        path, x = self.model(1, narrow=False)
        x[0, 0, 5, 5], x[0, 3, 0, 8] = np.inf, np.nan
        expected, = onnxruntime.InferenceSession(path).run(None, {"x": x})
        with Compiled.build(path) as compiled:
            z, = compiled(x)
        np.testing.assert_array_equal(np.isfinite(z), np.isfinite(expected))

    def test_dilated_bytes(self):
        """Few channels are gathered in steps, which lie across taps."""
        rng = np.random.default_rng(5)
        for channels, dilation in ((3, 1), (3, 2), (5, 3)):
            x = rng.integers(0, 255, (1, channels, 14, 15), dtype=np.uint8)
            w = rng.integers(-127, 127, (9, channels, 3, 3), dtype=np.int8)
            node = helper.make_node("ConvInteger", ["x", "w"], ["y"], **attributes((3, 3), (1, 1), [dilation] * 2, [dilation] * 4, 1))
            graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
                                      [helper.make_tensor_value_info("y", TensorProto.INT32, None)], [numpy_helper.from_array(w, "w")])
            path = self.save(graph, f"bytes-{channels}-{dilation}")
            expected, = onnxruntime.InferenceSession(path).run(None, {"x": x})
            for cpu in [*cpu_levels(), "native"]:
                with self.subTest(channels=channels, dilation=dilation, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    np.testing.assert_array_equal(compiled(x)[0], expected)

    def test_instructions(self):
        for number in (0, 4, 5):
            model, _ = self.model(number, narrow=True)
            for cpu, used in (("cooperlake", True), ("sapphirerapids", False), ("v4", False)):
                text = self.work / "convolution.s"
                self.compiles(model, "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", text)
                self.assertEqual("vdpbf16ps" in text.read_text(), used, (number, cpu))


if __name__ == "__main__":
    unittest.main()
