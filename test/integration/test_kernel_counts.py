"""What runs as one kernel, by --print-plan, and that it computes the right thing."""
import json
import re
import unittest

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from toolrun import SOURCE, ToolTest


def weight(name, *shape, scale=0.1):
    values = np.random.default_rng(len(name)).normal(scale=scale, size=shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


def model(nodes, inputs, outputs, weights=(), opset=23):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value(*x) for x in inputs], [value(*y) for y in outputs], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


class KernelCounts(ToolTest):
    def kernels(self, proto, *flags):
        """The names of the compiled model's kernels, copies by transposes apart."""
        path = self.work / "model.onnx"
        onnx.save(proto, path)
        lines = self.compiles(path, "-o", self.fresh_name(), "--print-plan", *flags).out.splitlines()
        names = [line.split()[0] for line in lines if line.split()[1:2] and line.split()[1].startswith("(")]
        self.assertTrue(names, lines)
        return [name for name in names if name != "transpose"]

    def agrees(self, proto, expected, *arrays):
        onnx.save(proto, self.work / "run.onnx")
        results = Compiled.build(self.work / "run.onnx")(*arrays)
        for actual, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)

    def test_rows_of_narrow_lines(self):
        """Axes before a few points that stay: a kernel of rows, with what is done once a line; not of a few long rows."""
        for op, rows, kernels in (("Softmax", 64, ["reduce_sub_exp_div"]), ("LogSoftmax", 64, ["reduce_sub_exp_log"]),
                                  ("Softmax", 2, None)):
            with self.subTest(op, rows=rows):
                proto = model([helper.make_node(op, ["x"], ["y"], axis=1)], [("x", [rows, 999, 7])], [("y", [rows, 999, 7])])
                found = self.kernels(proto)
                self.assertEqual(found, kernels) if kernels else self.assertGreater(len(found), 2)
                x = np.random.default_rng(0).normal(size=(rows, 999, 7)).astype(np.float32)
                exps = np.exp(x - x.max(1, keepdims=True))
                shares = exps / exps.sum(1, keepdims=True)
                self.agrees(proto, [np.log(shares) if op == "LogSoftmax" else shares], x)

    def test_rows(self):
        scale = weight("scale", 64)
        for op, attributes, weights in [("Softmax", {}, []),
                                        ("LayerNormalization", {}, [scale, weight("bias", 64)]),
                                        ("RMSNormalization", {}, [scale]),
                                        ("LogSoftmax", {}, [])]:
            for rows in (8, "N"):
                with self.subTest(op, rows=rows):
                    node = helper.make_node(op, ["x", *[w.name for w in weights]], ["y"], **attributes)
                    proto = model([node], [("x", [rows, 64])], [("y", [rows, 64])], weights)
                    self.assertEqual(len(self.kernels(proto)), 1)

    def test_few_long_rows_of_a_gpu(self):
        """Blocks share what they are reduced to; the points are loops. Many rows are a kernel."""
        for rows, kernels in ((2, ["reduce", "sub_exp", "reduce", "div"]), (256, ["reduce_sub_exp_div"])):
            with self.subTest(rows=rows):
                proto = model([helper.make_node("Softmax", ["x"], ["y"])], [("x", [rows, 100000])], [("y", [rows, 100000])])
                self.assertEqual(self.kernels(proto, "--arch", "sm_90a"), kernels)

    def test_attention_reads_a_cache(self):
        """Keys of a cache, of known length or not, and new ones are read where they lie: nothing is joined or turned."""
        rng = np.random.default_rng(2)
        q, k, v = (rng.normal(size=(2, 3, 1, 16)).astype(np.float32) for _ in range(3))
        past = [rng.normal(size=(2, 3, 99, 16)).astype(np.float32) for _ in range(2)]
        nodes = [helper.make_node("Concat", ["pk", "k"], ["keys"], axis=2),
                 helper.make_node("Concat", ["pv", "v"], ["values"], axis=2),
                 helper.make_node("Transpose", ["keys"], ["turned"], perm=[0, 1, 3, 2]),
                 helper.make_node("MatMul", ["q", "turned"], ["s"]), helper.make_node("Softmax", ["s"], ["w"]),
                 helper.make_node("MatMul", ["w", "values"], ["y"])]
        for length in (99, "T"):
            with self.subTest(length=length):
                one, cache = [2, 3, 1, 16], [2, 3, length, 16]
                proto = model(nodes, [("q", one), ("k", one), ("v", one), ("pk", cache), ("pv", cache)], [("y", one)])
                onnx.save(proto, self.work / "model.onnx")
                plan = self.compiles(self.work / "model.onnx", "-o", self.fresh_name(), "--print-plan").out
                self.assertEqual(sum("concat" in line or "transpose" in line for line in plan.splitlines()), 1, plan)
                keys, values = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
                exps = np.exp(q @ keys.swapaxes(2, 3))
                self.agrees(proto, [exps / exps.sum(-1, keepdims=True) @ values], q, k, v, *past)

    def test_product_worth_two_threads(self):
        """Its tasks, an odd number of them, are for two threads: no thread needs more than half of them to be worth it."""
        proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 256])], [("y", [1, 1024])],
                      [weight("w", 256, 1024)])
        onnx.save(proto, self.work / "model.onnx")
        self.compiles(self.work / "model.onnx", "--cpu", "x86-64-v3", "--emit", "llvm", "-o", "model.ll")
        call = re.search(r"call void @tcc_rt_parallel\(.*i64 (\d+), i64 (\d+)\)", (self.work / "model.ll").read_text())
        tasks, least = int(call[1]), int(call[2])
        self.assertGreaterEqual(tasks // least, 2, call[0])

    def test_what_scans_read(self):
        """It is computed where it is read, but for long functions, along the last axis and across rows."""
        x, y = np.random.default_rng(1).normal(size=(2, 33, 199)).astype(np.float32)
        for axis, reverse, exclusive in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 0, 1)):
            for function in (False, True):
                with self.subTest(axis=axis, reverse=reverse, exclusive=exclusive, function=function):
                    nodes = [helper.make_node("Exp", ["x"], ["e"])] if function else []
                    nodes += [helper.make_node("Mul", ["e" if function else "x", "y"], ["p"]),
                              helper.make_node("CumSum", ["p", "axis"], ["s"], reverse=reverse, exclusive=exclusive)]
                    proto = model(nodes, [("x", [33, 199]), ("y", [33, 199])], [("s", [33, 199])],
                                  [numpy_helper.from_array(np.int64(axis), "axis")])
                    self.assertEqual(self.kernels(proto), ["exp", "mul_cumulative"] if function else ["mul_cumulative"])
                    p = (np.exp(x) if function else x).astype(np.float64) * y
                    p = np.flip(p, axis) if reverse else p
                    sums = p.cumsum(axis) - (p if exclusive else 0)
                    self.agrees(proto, [np.flip(sums, axis) if reverse else sums], x, y)

    def test_sums_along_a_line_expand_nothing(self):
        """Lanes are moved up by valign or a permutation: vexpand takes a Zen 5 ten cycles."""
        proto = model([helper.make_node("CumSum", ["x", "axis"], ["s"])], [("x", [33, 199])], [("s", [33, 199])],
                      [numpy_helper.from_array(np.int64(1), "axis")])
        onnx.save(proto, self.work / "model.onnx")
        self.compiles("model.onnx", "-o", "model.so", "--cpu", "x86-64-v4", "--dump-ir", "ir")
        code = "".join(path.read_text() for path in (self.work / "ir/8-codegen").glob("k*.s"))
        self.assertIn("zmm", code)
        self.assertNotIn("vexpand", code)

    def test_gates_of_planes(self):
        """A function that a plane has in common is computed in vectors before, unless there are few planes or they are
        large; planes of 49 points are one line."""
        rng = np.random.default_rng(5)
        for shape, count in (((16, 256, 7, 7), 2), ((2, 16, 7, 7), 1), ((4, 128, 32, 64), 1)):
            with self.subTest(shape=shape):
                nodes = [helper.make_node("Sigmoid", ["g"], ["s"]), helper.make_node("Mul", ["x", "s"], ["y"])]
                gates = (*shape[:2], 1, 1)
                proto = model(nodes, [("x", shape), ("g", gates)], [("y", shape)])
                self.assertEqual(len(self.kernels(proto)), count)
                x, g = rng.normal(size=shape).astype(np.float32), rng.normal(size=gates).astype(np.float32)
                self.agrees(proto, [x / (1 + np.exp(-g))], x, g)

    def test_scales_of_channels(self):
        """What a channel's scale is made by is computed once a row: it is loaded as what the kernel does not change."""
        nodes = [helper.make_node("Sqrt", ["v"], ["r"]), helper.make_node("Div", ["x", "r"], ["y"])]
        proto = model(nodes, [("x", [5, 33, 400]), ("v", [33, 1])], [("y", [5, 33, 400])])
        onnx.save(proto, self.work / "scales.onnx")
        dump = self.work / "scales.ir"
        self.compiles(self.work / "scales.onnx", "-o", self.fresh_name(), "--dump-ir", dump)
        code = "".join(path.read_text() for path in sorted(dump.glob("8-codegen/k*.mlir")))
        self.assertRegex(code, r"llvm\.load %\w+ invariant .* -> f32")
        rng = np.random.default_rng(7)
        x, v = rng.normal(size=(5, 33, 400)).astype(np.float32), rng.uniform(1, 2, size=(33, 1)).astype(np.float32)
        self.agrees(proto, [x / np.sqrt(v)], x, v)

    def test_linear_with_epilogue(self):
        w, b = weight("w", 64, 32), weight("bias", 32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "bias"], ["a"]),
                 helper.make_node("Gelu", ["a"], ["g"]), helper.make_node("Add", ["g", "r"], ["y"])]
        for rows in (8, "N"):
            proto = model(nodes, [("x", [rows, 64]), ("r", [rows, 32])], [("y", [rows, 32])], [w, b])
            # Of open rows one kernel is for a single row, and a run starts one of both.
            self.assertEqual(len(self.kernels(proto)), 1 if rows == 8 else 2)

    def test_gates_of_a_turn(self):
        """A turn of an LSTM is its product, one kernel for all gates, and what writes its output."""
        weights = [weight("w", 1, 64, 8), weight("r", 1, 64, 16)]
        node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=16)
        for batch in (2, "N"):
            with self.subTest(batch=batch):
                proto = model([node], [("x", [5, batch, 8])], [("y", [5, 1, batch, 16])], weights, 22)
                gates = [name for name in self.kernels(proto) if "logistic" in name or "tanh" in name]
                self.assertEqual(gates, ["add_logistic_mul_tanh"])

    def test_convolution_after_computed_padding(self):
        """PyTorch's exporter turns the amounts of F.pad round by a slice and a transpose of constants: what is padded
        has known extents all the same, and the convolution its fast form."""
        def ints(name, *values):
            return numpy_helper.from_array(np.array(values, np.int64), name)
        constants = [ints("amounts", 0, 0, 1, 2, 3, 4, 0, 0), ints("pairs", -1, 2), ints("flat", -1), ints("axis", 0),
                     ints("start", -1), ints("end", -(2**63) + 1), ints("step", -1), weight("w", 32, 16, 3, 3)]
        nodes = [helper.make_node("Reshape", ["amounts", "pairs"], ["rows"]),
                 helper.make_node("Slice", ["rows", "start", "end", "axis", "step"], ["turned"]),
                 helper.make_node("Transpose", ["turned"], ["columns"], perm=[1, 0]),
                 helper.make_node("Reshape", ["columns", "flat"], ["pads"]),
                 helper.make_node("Pad", ["x", "pads"], ["padded"]),
                 helper.make_node("Transpose", ["padded"], ["planes"], perm=[0, 3, 1, 2]),
                 helper.make_node("Conv", ["planes", "w"], ["y"])]
        proto = model(nodes, [("x", ["N", 12, 14, 16])], [("y", None)], constants)
        onnx.save(proto, self.work / "model.onnx")
        self.compiles("model.onnx", "--stop-after", "layout", "-o", "layout.mlir")
        self.assertIn("#cpu.", (self.work / "layout.mlir").read_text())  # the weights are packed
        x = np.random.default_rng(0).normal(size=(2, 12, 14, 16)).astype(np.float32)
        self.agrees(proto, onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x}), x)

    def test_convolution_with_batch_norm_and_silu(self):
        norm = [weight(name, 32) for name in ("scale", "shift", "mean")] + [
            numpy_helper.from_array(np.full(32, 0.5, np.float32), "variance")]
        nodes = [helper.make_node("Conv", ["x", "w", "bias"], ["c"], pads=[1, 1, 1, 1]),
                 helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
                 helper.make_node("Sigmoid", ["n"], ["s"]), helper.make_node("Mul", ["n", "s"], ["y"])]
        proto = model(nodes, [("x", ["N", 16, 8, 8])], [("y", ["N", 32, 8, 8])],
                      [weight("w", 32, 16, 3, 3), weight("bias", 32), *norm])
        self.assertEqual(self.kernels(proto), ["conv_add_logistic_mul_transpose"])
        x = np.random.default_rng(0).normal(size=(3, 16, 8, 8)).astype(np.float32)
        reference = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x})
        self.agrees(proto, reference, x)

    def test_samples(self):
        for suffix in ("onnx", "pt2"):
            path = SOURCE / f"samples/conv-bn-silu/conv-bn-silu.{suffix}"
            for cpu, loops in (("x86-64-v4", 0), ("x86-64-v3", 1)):  # none: in planes; the input, channels last
                plan = self.compiles(path, "-o", self.fresh_name(), "--cpu", cpu, "--print-plan").out
                self.assertEqual(plan.count("(convolution)"), 1, plan)
                self.assertEqual(plan.count("(loop)"), loops, plan)

    def test_several_results(self):
        nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Sin", ["e"], ["s"]),
                 helper.make_node("Add", ["e", "s"], ["y"])]
        proto = model(nodes, [("x", [4, 64])], [("e", [4, 64]), ("y", [4, 64])])
        self.assertEqual(len(self.kernels(proto)), 1)
        x = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
        self.agrees(proto, [np.exp(x), np.exp(x) + np.sin(np.exp(x))], x)

    def test_heads_are_stored_where_they_belong(self):
        nodes = [helper.make_node("MatMul", ["p", "v"], ["c"]),
                 helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 1, 3])]
        proto = model(nodes, [("p", [2, 4, 8, 8]), ("v", [2, 4, 8, 16])], [("y", [2, 8, 4, 16])])
        self.assertEqual(len(self.kernels(proto)), 1)
        random = np.random.default_rng(0)
        p, v = (random.normal(size=s).astype(np.float32) for s in [(2, 4, 8, 8), (2, 4, 8, 16)])
        self.agrees(proto, [(p @ v).transpose(0, 2, 1, 3)], p, v)

    def test_two_products_are_two_kernels(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
                 helper.make_node("MatMul", ["r", "w"], ["y"])]
        proto = model(nodes, [("x", [8, 32])], [("y", [8, 32])], [weight("w", 32, 32)])
        self.assertEqual(len(self.kernels(proto)), 2)

    def test_transforms_read_and_store_pairs(self):
        random = np.random.default_rng(0)
        for shape, onesided in [((37, 30, 2), 0), ((5, 400, 2), 0), ((6, 30, 1), 1)]:
            nodes = [helper.make_node("DFT", ["x", "", "axis"], ["y"], onesided=onesided)]
            numbers = (shape[1] // 2 + 1) if onesided else shape[1]
            axis = numpy_helper.from_array(np.int64(1), "axis")
            proto = model(nodes, [("x", list(shape))], [("y", [shape[0], numbers, 2])], [axis])
            self.assertEqual(len(self.kernels(proto)), 1)
            x = random.normal(size=shape).astype(np.float32)
            z = np.fft.fft(x[..., 0] + (0 if onesided else 1j * x[..., -1]), axis=1)[:, :numbers]
            self.agrees(proto, [np.stack([z.real, z.imag], -1)], x)


class Memory(ToolTest):
    def test_dynamic_results_lie_in_an_arena(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["s"]),
                 helper.make_node("MatMul", ["s", "w"], ["g"]), helper.make_node("Softmax", ["g"], ["t"]),
                 helper.make_node("MatMul", ["t", "w"], ["y"])]
        proto = model(nodes, [("x", ["N", 64])], [("y", ["N", 64])], [weight("w", 64, 64)])
        onnx.save(proto, self.work / "model.onnx")
        plan = self.compiles("model.onnx", "-o", "model.so", "--print-plan").out
        manifest = json.loads((self.work / "model.so.json").read_text())
        self.assertEqual(manifest["memory"]["peak_bytes"], "512*N")
        # Two rows of 64 floats live at once, whatever N is; softmax is in place.
        self.assertIn("peak 512*N bytes", plan)
        w = numpy_helper.to_array(proto.graph.initializer[0])
        with Compiled(self.work / "model.so") as compiled:
            for rows in (3, 1, 100, 0, 7):
                y = x = np.random.default_rng(rows).normal(size=(rows, 64)).astype(np.float32)
                for last in (False, False, True):
                    y = y @ w
                    if not last:
                        e = np.exp(y - y.max(axis=1, keepdims=True, initial=-np.inf))
                        y = e / e.sum(axis=1, keepdims=True)
                np.testing.assert_allclose(compiled(x)[0], y, rtol=1e-5, atol=1e-6)


class Algebra(ToolTest):
    def test_constants_are_merged(self):
        one, two, three = (numpy_helper.from_array(np.float32(v), n) for v, n in [(1, "one"), (2, "two"), (3, "three")])
        nodes = [helper.make_node("Mul", ["x", "two"], ["a"]), helper.make_node("Add", ["a", "three"], ["b"]),
                 helper.make_node("Sub", ["b", "one"], ["y"])]
        proto = model(nodes, [("x", ["N"])], [("y", ["N"])], [one, two, three])
        onnx.save(proto, self.work / "model.onnx")
        text = self.compiles("model.onnx", "--stop-after", "simplify", "-o", "out.mlir").out
        text = text or (self.work / "out.mlir").read_text()
        self.assertEqual((text.count("prim.add"), text.count("prim.sub"), text.count("prim.mul")), (1, 0, 1), text)


if __name__ == "__main__":
    unittest.main()
