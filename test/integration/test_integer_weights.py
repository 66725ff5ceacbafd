"""Weights of 8 bits with a scale a column: products of few rows read them as they are, on every level of instructions."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from testfolder import onnx_session
from toolrun import ToolTest, cpu_levels

F32 = TensorProto.FLOAT


class IntegerWeights(ToolTest):
    def model(self, m, k, n, dtype, scales, form, rows=None):
        """x times weights [k, n] that are widened and scaled; with a bias after it. `rows`: what the file says of m."""
        rng = np.random.default_rng(k)
        info = np.iinfo(dtype)
        w = rng.integers(info.min, info.max + 1, (k, n), dtype=dtype)
        scale = rng.uniform(0.5, 2, n if scales == "columns" else ()).astype(np.float32)
        bias = rng.standard_normal(n, dtype=np.float32)
        zeros = numpy_helper.from_array(np.zeros(scale.shape, dtype), "zeros")
        weights = [zeros, numpy_helper.from_array(w.T.copy() if form == "rows" else w, "w"),
                   numpy_helper.from_array(scale, "scale"), numpy_helper.from_array(bias, "bias")]
        nodes = [helper.make_node("DequantizeLinear", ["w", "scale", "zeros"] if m > 1 else ["w", "scale"], ["wide"], axis=0 if form == "rows" else 1)]
        if form == "rows":
            nodes.append(helper.make_node("Transpose", ["wide"], ["turned"], perm=[1, 0]))
        nodes += [helper.make_node("MatMul", ["x", "turned" if form == "rows" else "wide"], ["product"]),
                  helper.make_node("Add", ["product", "bias"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, (1, rows or m, k))],
                                  [helper.make_tensor_value_info("y", F32, (1, rows or m, n))], weights)
        path = self.work / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        x = rng.standard_normal((1, m, k), dtype=np.float32)
        return path, x, x.astype(np.float64) @ (w * scale.astype(np.float64)) + bias

    def close(self, y, expected):
        """Sums of f32 differ by rounding, which goes with the greatest of the sums."""
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())

    def test_values(self):
        for dtype in (np.int8, np.uint8):
            for scales in ("columns", "one"):
                for form in ("columns", "rows"):
                    for m, k, n in ((1, 64, 48), (5, 33, 17), (16, 300, 70)):
                        path, x, expected = self.model(m, k, n, dtype, scales, form)
                        for cpu in [*cpu_levels(), "native"]:
                            with self.subTest(dtype=dtype, scales=scales, form=form, m=m, cpu=cpu), \
                                    Compiled.build(path, "--cpu", cpu) as compiled:
                                y, = compiled(x)
                                self.close(y, expected)

    def test_open_rows(self):
        """No row, one, few in one tile across several panels, full tiles and rests of all heights."""
        for dtype, k, n in ((np.int8, 300, 700), (np.uint8, 1700, 131)):
            path, x, expected = self.model(35, k, n, dtype, "columns", "rows", rows="m")
            for cpu in [*cpu_levels(), "native"]:
                with Compiled.build(path, "--cpu", cpu) as compiled:
                    for m in (*range(10), 13, 16, 17, 35):
                        with self.subTest(dtype=dtype, k=k, cpu=cpu, m=m):
                            y, = compiled(x[:, :m].copy())
                            self.close(y, expected[:, :m]) if m else self.assertEqual(y.shape, (1, 0, n))

    def test_narrow_floats(self):
        """As torchao has them: x in bf16, integers widened to it, and the scale after the product."""
        rng = np.random.default_rng(3)
        w, x = rng.integers(-127, 128, (64, 48), dtype=np.int8), rng.standard_normal((3, 64), dtype=np.float32)
        nodes = [helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.BFLOAT16),
                 helper.make_node("Cast", ["w"], ["w16"], to=TensorProto.BFLOAT16),
                 helper.make_node("MatMul", ["x16", "w16"], ["y16"]), helper.make_node("Cast", ["y16"], ["y"], to=F32)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, x.shape)],
                                  [helper.make_tensor_value_info("y", F32, (3, 48))], [numpy_helper.from_array(w, "w")])
        path = self.work / "narrow.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        self.compiles(path, "--stop-after", "layout", "-o", "m.mlir")
        self.assertIn("64x48xi8, #cpu.panels", (self.work / "m.mlir").read_text())
        for cpu in [*cpu_levels(), "native"]:
            with self.subTest(cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                y, = compiled(x)
                np.testing.assert_allclose(y, x.astype(np.float64) @ w, rtol=2**-7, atol=8)

    def test_what_is_stored(self):
        for m, element in ((1, "i8, #cpu.panels"), (16, "i8, #cpu.panels"), (64, "f32, #cpu.grouped<.*bits = 8"), ("m", "i8, #cpu.panels")):
            path = self.model(64, 64, 48, np.int8, "columns", "rows", rows=m)[0]
            self.compiles(path, "--stop-after", "layout", "-o", "m.mlir")
            self.assertRegex((self.work / "m.mlir").read_text(), rf"48x64x{element}")

    def grouped(self, rows, bits, group, zeros, form="nbits", groups=3, n=50):
        """x by weights with a scale and, if asked, a zero point a group, in one of the forms that models have."""
        rng = np.random.default_rng(bits * group)
        k, half = groups * group, 1 << (bits - 1)
        q = rng.integers(0, 2 * half, (n, groups, group), dtype=np.int64)
        zero = rng.integers(0, 2 * half, (n, groups, 1), dtype=np.int64) if zeros else np.full((n, groups, 1), half)
        scale = rng.uniform(0.5, 2, (n, groups, 1)).astype(np.float32)
        def packed(values):
            values = np.pad(values, ((0, 0), (0, -values.shape[1] % (8 // bits))))
            shifts = (np.arange(values.shape[1]) % (8 // bits) * bits).astype(np.int64)
            return (values << shifts).reshape(n, -1, 8 // bits).sum(-1).astype(np.uint8)
        signed = (q - half).astype(np.int8)
        wide = (q - zero) * scale.astype(np.float64)
        turn = helper.make_node("Transpose", ["m"], ["t"], perm=[1, 0])
        product = helper.make_node("MatMul", ["x", "t"], ["y"])
        if form == "nbits":
            weights = [numpy_helper.from_array(packed(q.reshape(n, k)).reshape(n, groups, -1), "q"),
                       numpy_helper.from_array(scale.reshape(-1), "s")]
            weights += [numpy_helper.from_array(packed(zero[..., 0]).reshape(-1), "z")] * zeros
            nodes = [helper.make_node("MatMulNBits", ["x", "q", "s"] + ["z"] * zeros, ["y"], domain="com.microsoft",
                                      K=k, N=n, bits=bits, block_size=group)]
        elif form == "arithmetic":  # a byte each, with a shift after the scale
            shift = rng.standard_normal((n, groups, 1)).astype(np.float32)
            wide = wide + shift
            weights = [numpy_helper.from_array(signed, "q"), numpy_helper.from_array(scale, "s"),
                       numpy_helper.from_array(shift, "b"), numpy_helper.from_array(np.array([n, k]), "shape")]
            nodes = [helper.make_node("Cast", ["q"], ["f"], to=F32), helper.make_node("Mul", ["s", "f"], ["p"]),
                     helper.make_node("Add", ["p", "b"], ["w"]), helper.make_node("Reshape", ["w", "shape"], ["m"]), turn, product]
        elif form == "blocks":
            weights = [numpy_helper.from_array(signed.reshape(n, k), "q"), numpy_helper.from_array(scale[..., 0].copy(), "s")]
            nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["m"], axis=1, block_size=group), turn, product]
        else:  # k first
            weights = [numpy_helper.from_array(signed.reshape(n, k).T.copy(), "q"),
                       numpy_helper.from_array(scale[..., 0].T.copy(), "s")]
            nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["t"], axis=0, block_size=group), product]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, (1, rows, k))],
                                  [helper.make_tensor_value_info("y", F32, (1, rows, n))], weights)
        path = self.work / "grouped.onnx"
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
        return path, k, wide.reshape(n, k)

    def test_groups(self):
        """Products of one row, of more and of any number keep the integers in as few bits as hold them."""
        for rows, bits, group, zeros, form, stored in (
                (1, 4, 32, True, "nbits", "group = 32, bits = 4>"), (1, 4, 64, False, "nbits", "group = 64, bits = 4, zero = 8>"),
                (5, 4, 32, False, "arithmetic", "group = 32, bits = 4>"), (1, 4, 32, False, "blocks", "group = 32, bits = 4, zero = 8>"),
                ("m", 4, 16, False, "k first", "group = 16, bits = 4, zero = 8>"), ("m", 4, 32, True, "nbits", "group = 32, bits = 4>"),
                (1, 8, 32, True, "nbits", "group = 32, bits = 8>"), (20, 8, 512, False, "k first", "group = 256, bits = 8, zero = 128>"),
                (3, 2, 16, True, "nbits", "group = 16, bits = 2>"), (70, 4, 128, True, "nbits", "group = 128, bits = 4>")):
            path, k, wide = self.grouped(rows, bits, group, zeros, form)
            self.compiles(path, "--stop-after", "layout", "-o", "m.mlir")
            self.assertRegex((self.work / "m.mlir").read_text(), rf"#cpu.grouped<.*{stored}")
            for cpu in [*cpu_levels(), "native"]:
                with Compiled.build(path, "--cpu", cpu) as compiled:
                    for m in (1, 2, 7, 8, 9, 64, 333) if rows == "m" else [rows]:
                        with self.subTest(rows=rows, m=m, bits=bits, zeros=zeros, form=form, cpu=cpu):
                            x = np.random.default_rng(m).standard_normal((1, m, k), dtype=np.float32)
                            y, = compiled(x)
                            self.close(y, x.astype(np.float64) @ wide.T)

    def test_panels_beside(self):
        """One row reads several panels at once, the last ones alone, in blocks of k of which the last is short."""
        for bits, zeros, n in ((4, True, 6000), (4, False, 5999), (2, True, 6030), (8, True, 6100)):
            path, k, wide = self.grouped(1, bits, 32, zeros, groups=37, n=n)
            x = np.random.default_rng(n).standard_normal((1, 1, k), dtype=np.float32)
            for cpu, panels in (("x86-64-v4", r"vectors = 3.*panels_per_task = [23],"), ("x86-64-v3", "panels_per_task = 2,")):
                self.compiles(path, "--cpu", cpu, "--stop-after", "schedule", "-o", "m.mlir")
                self.assertRegex((self.work / "m.mlir").read_text(), panels)
            for cpu in [*cpu_levels(), "native"]:
                with self.subTest(bits=bits, zeros=zeros, n=n, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    y, = compiled(x)
                    self.close(y, x.astype(np.float64) @ wide.T)

    def test_gathered_groups(self):
        """Rows of a table in groups of 2, 4 and 8 bits, packed in bytes or of 4-bit types, as ONNX Runtime's tools write it."""
        rng = np.random.default_rng(1)
        ids = np.array([[3, -1, 0], [49, 3, 7]])
        for bits, form, zeros, axis in ((4, "bytes", True, 1), (4, "bytes", False, 1), (8, "bytes", True, 1), (2, "bytes", True, 1),
                                        (4, TensorProto.UINT4, True, 1), (4, TensorProto.INT4, False, 1), (4, TensorProto.INT4, True, 0)):
            with self.subTest(bits=bits, form=form, zeros=zeros, axis=axis):
                low = -8 if form == TensorProto.INT4 else 0
                q, group = rng.integers(low, low + (1 << bits), (50, 96)), 16
                groups = (50, 6) if axis == 1 else (4, 96)
                scale = rng.uniform(0.5, 2, groups).astype(np.float32)
                zero = rng.integers(low, low + (1 << bits), groups) if zeros else np.full(groups, 1 << bits - 1 if form == "bytes" else 0)
                def stored(values, name):
                    if form != "bytes":
                        return helper.make_tensor(name, form, values.shape, values.flatten().tolist())
                    values = np.pad(values, ((0, 0), (0, -values.shape[1] % (8 // bits))))
                    shifts = np.arange(values.shape[1]) % (8 // bits) * bits
                    return numpy_helper.from_array((values << shifts).reshape(50, -1, 8 // bits).sum(-1).astype(np.uint8), name)
                weights = [stored(q, "q"), numpy_helper.from_array(scale, "s")] + [stored(zero, "z")] * zeros
                node = helper.make_node("GatherBlockQuantized", ["q", "ids", "s"] + ["z"] * zeros, ["y"], domain="com.microsoft",
                                        block_size=group, quantize_axis=axis, gather_axis=0, bits=bits)
                graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, ("b", 3))],
                                          [helper.make_tensor_value_info("y", F32, ("b", 3, 96))], weights)
                path = self.work / "gathered.onnx"
                opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
                onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
                def spread(values):
                    return np.repeat(values, group, axis)[:50]
                y, = self.run_model(path, ids)
                np.testing.assert_allclose(y, ((q - spread(zero)) * spread(scale.astype(np.float64)))[ids], rtol=1e-6)
                expected, = onnx_session(path).run(None, {"ids": ids})
                np.testing.assert_allclose(y, expected, rtol=1e-6)

    def run_model(self, path, *arrays):
        with Compiled.build(path) as compiled:
            return compiled(*arrays)

    def test_one_copy(self):
        """An open number of rows: one model for prompts and tokens keeps the integers alone."""
        path, k, wide = self.grouped("m", 4, 32, True, groups=64)
        self.compiles(path, "-o", "m.so")
        self.assertLess((self.work / "m.so").stat().st_size, wide.size + 200_000)


if __name__ == "__main__":
    unittest.main()
