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
         ((1, 16, 5, 70), 6, (1, 5), (1, 2), (1, 3), (0, 0, 0, 0), 2),
         # Taps that meet padding alone, groups of few channels and many filters, short lines, lines that are passed over.
         ((2, 24, 4, 1), 33, (9, 9), (3, 1), (1, 1), (4, 4, 4, 4), 1), ((2, 18, 9, 33), 54, (3, 3), (1, 2), (2, 1), (2, 1, 2, 0), 3),
         ((2, 12, 3, 6, 7), 256, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1), 4), ((3, 3, 5, 6, 8), 64, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1), 1),
         ((3, 48, 14, 14), 40, (1, 1), (3, 3), (1, 1), (0, 0, 0, 0), 2), ((3, 40, 3, 3, 3), 68, (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0, 0, 0, 0), 4))

# Transposed: input, filters of a group, kernel, strides, paddings, output paddings, groups. Phases without taps, groups that do not
# lie beside each other, numbers of filters that fill no vectors, results that are cut off.
TRANSPOSED = (((2, 17, 9, 7), 33, (3, 3), (4, 4), (1, 1, 1, 1), (3, 0), 1), ((1, 20, 11, 11), 31, (3, 3), (2, 2), (1, 1, 1, 1), (0, 0), 2),
              ((2, 4, 13, 12), 32, (7, 1), (3, 3), (3, 0, 3, 0), (2, 0), 1), ((1, 16, 400), 16, (3,), (3,), (0, 0), (2,), 1),
              ((2, 17, 13, 13), 20, (1, 1), (2, 2), (0, 0, 0, 0), (0, 0), 1), ((1, 33, 5, 7), 16, (5, 5), (4, 4), (2, 2, 2, 2), (0, 1), 1),
              ((1, 6, 9, 9), 1, (4, 4), (2, 2), (1, 1, 1, 1), (0, 0), 6), ((1, 24, 7, 8), 17, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
              ((1, 6, 3, 4, 5), 5, (2, 3, 1), (2, 3, 2), (0, 1, 0, 0, 1, 0), (1, 0, 1), 2), ((2, 48, 1, 30), 40, (7, 7), (3, 3), (3, 3, 3, 3), (0, 2), 1))

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

    def test_transposed(self):
        for number, (shape, filters, kernel, strides, pads, beyond, groups) in enumerate(TRANSPOSED):
            rng = np.random.default_rng(number)
            x = rng.standard_normal(shape).astype(np.float32)
            w = rng.standard_normal((shape[1], filters, *kernel)).astype(np.float32)
            bias = rng.standard_normal(filters * groups).astype(np.float32)
            ones = [1] * len(kernel)
            nodes = [helper.make_node("ConvTranspose", ["x", "w", "bias"], ["y"], output_padding=beyond,
                                      **attributes(kernel, strides, ones, pads, groups)), helper.make_node("Relu", ["y"], ["z"])]
            weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "bias")]
            open_batch, open_all = ["N", *shape[1:]], ["N", shape[1], *(f"D{i}" for i in range(len(kernel)))]
            for form, extents in (("known", shape), ("batch", open_batch), ("open", open_all)):
                values = [helper.make_tensor_value_info("x", F32, extents)], [helper.make_tensor_value_info("z", F32, None)]
                path = self.save(helper.make_graph(nodes, "g", *values, weights), f"transposed-{number}-{form}")
                expected, = onnxruntime.InferenceSession(path).run(None, {"x": x})
                for cpu in [*cpu_levels(), "native"] if form == "known" else ["native"]:
                    with self.subTest(TRANSPOSED[number], cpu=cpu, form=form), Compiled.build(path, "--cpu", cpu) as compiled:
                        z, = compiled(x)
                        np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-4)

    def test_open_batch(self):
        for number in range(len(FORMS)):
            path, x = self.model(number, narrow=False)
            model = onnx.load(path)
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
            path = self.save(model.graph, f"{number}-open")
            session = onnxruntime.InferenceSession(path)
            with self.subTest(FORMS[number]), Compiled.build(path, "--cpu", "native") as compiled:
                for images in (np.concatenate([x, x[::-1] + 1]), x[:1], x[:0]):
                    expected = session.run(None, {"x": images})[0] if len(images) else None
                    z, = compiled(images)
                    if expected is not None:
                        np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-4)
                    else:
                        self.assertEqual(z.size, 0)

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
