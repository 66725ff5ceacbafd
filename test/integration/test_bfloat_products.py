"""Products of bf16: right on every level of instructions that this machine has, and by the target's dot instruction."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels

BF16, F32 = TensorProto.BFLOAT16, TensorProto.FLOAT


def rounded(x):
    """To bf16, whose ties go to even; no NaN."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view(np.float32)


class BfloatProducts(ToolTest):
    def model(self, m, k, n, form):
        """x y in bf16, of f32 that are rounded first; y as a weight, as it comes, or transposed."""
        rng = np.random.default_rng(k)
        x, y = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
        nodes, inputs, weights = [], [("x", x)], []
        if form == "weight":
            weights.append(numpy_helper.from_array(y, "y"))
        else:
            inputs.append(("y", y.T.copy() if form == "transposed" else y))
        nodes += [helper.make_node("Cast", [name], [f"{name}16"], to=BF16) for name in "xy"]
        right = "y16"
        if form == "transposed":
            nodes.append(helper.make_node("Transpose", ["y16"], [right := "turned"], perm=[1, 0]))
        nodes += [helper.make_node("MatMul", ["x16", right], ["z16"]), helper.make_node("Cast", ["z16"], ["z"], to=F32)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, F32, a.shape) for name, a in inputs],
                                  [helper.make_tensor_value_info("z", F32, (m, n))], weights)
        path = self.work / f"{form}-{m}-{k}-{n}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return path, [a for _, a in inputs], rounded(x).astype(np.float64) @ rounded(y)

    def test_values(self):
        for form in ("weight", "rows", "transposed"):
            for m, k, n in ((1, 64, 48), (5, 33, 17), (40, 13, 70), (64, 600, 33), (33, 74, 50), (2, 3400, 40), (70, 1000, 20), (200, 600, 50), (33, 131, 66), (5, 4097, 33)):
                path, arrays, expected = self.model(m, k, n, form)
                for cpu in [*cpu_levels(), "native"]:
                    with self.subTest(form, m=m, k=k, n=n, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                        z, = compiled(*arrays)
                        np.testing.assert_allclose(z, expected, rtol=2**-8, atol=1e-4 * k)

    def test_open_rows(self):
        """By weights: no row, one, the rest of a tile and many tiles."""
        path, _, _ = self.model(200, 600, 50, "weight")
        model = onnx.load(path)
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.shape.dim[0].dim_param = "rows"
        onnx.save(model, path)
        y = numpy_helper.to_array(model.graph.initializer[0])
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu, threads=1) as compiled:
                for rows in (0, 1, 3, 8, 63, 66, 261):
                    with self.subTest(cpu=cpu, rows=rows):
                        x = np.random.default_rng(rows).standard_normal((rows, 600)).astype(np.float32)
                        np.testing.assert_allclose(compiled(x)[0], rounded(x).astype(np.float64) @ rounded(y), rtol=2**-8, atol=0.06)

    def test_row_before_another(self):
        """Of an odd number of terms the last pair ends with its row: what the next one begins with is none of its terms."""
        for form in ("weight", "rows", "transposed"):
            for m, k, n in ((2, 65, 48), (2, 1001, 48), (9, 4097, 33), (20, 4097, 100), (3, 4097, 16)):
                path, (x, *rest), expected = self.model(m, k, n, form)
                x[1, 0] = np.nan
                for cpu in [*cpu_levels(), "native"]:
                    with self.subTest(form, m=m, k=k, n=n, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                        z, = compiled(x, *rest)
                        self.assertTrue(np.isnan(z[1]).all())
                        np.testing.assert_allclose(np.delete(z, 1, 0), np.delete(expected, 1, 0), rtol=2**-8, atol=1e-4 * k)

    def test_instruction(self):
        for form in ("weight", "rows", "transposed"):
            for cpu, used in (("sapphirerapids", "tdpbf16ps"), ("cooperlake", "vdpbf16ps"), ("v4", None)):
                text = self.work / "product.s"
                for k in (64, 131):  # of whole pairs, and not
                    model = self.model(40, k, 48, form)[0]
                    self.compiles(model, "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", text)
                    for instruction in ("tdpbf16ps", "vdpbf16ps"):
                        self.assertEqual(instruction in text.read_text(), instruction == used, (form, k, cpu))


if __name__ == "__main__":
    unittest.main()
