"""Whole models on the simulated device (--arch sim): precisions, --verify, and where the host waits."""
import json
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
import handmade
from toolrun import SOURCE, ToolTest

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def nonzero():
    """Extents that depend on data: the host reads how many there are before the next kernel starts."""
    nodes = [helper.make_node("NonZero", ["x"], ["places"], name="where"),
             helper.make_node("Gather", ["w", "places"], ["y"], name="pick"),
             helper.make_node("Exp", ["y"], ["z"], name="after")]
    return helper.make_model(helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", FLOAT, [1 << 18]), helper.make_tensor_value_info("w", FLOAT, [1 << 18])],
        [helper.make_tensor_value_info("z", FLOAT, [1, "n"])]), opset_imports=[helper.make_opsetid("", 17)])


def roots():
    """A loop over eight numbers that goes on until they change no more, between kernels over many."""
    body = helper.make_graph(
        [helper.make_node("Mul", ["v", "v"], ["square"]), helper.make_node("Sub", ["square", "a"], ["over"]),
         helper.make_node("Add", ["v", "v"], ["slope"]), helper.make_node("Div", ["over", "slope"], ["step"]),
         helper.make_node("Sub", ["v", "step"], ["next"]), helper.make_node("Abs", ["step"], ["size"]),
         helper.make_node("ReduceMax", ["size"], ["largest"], keepdims=0),
         helper.make_node("Greater", ["largest", "small"], ["more"])], "body",
        [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", FLOAT, [8])],
        [helper.make_tensor_value_info("more", TensorProto.BOOL, []), helper.make_tensor_value_info("next", FLOAT, [8])])
    nodes = [helper.make_node("Exp", ["x"], ["y"], name="before"), helper.make_node("ReduceMean", ["y"], ["a"], axes=[0], keepdims=0, name="mean"),
             helper.make_node("Loop", ["most", "yes", "a"], ["r"], name="loop", body=body),
             helper.make_node("Mul", ["y", "r"], ["z"], name="after")]
    known = [numpy_helper.from_array(np.array(value), name) for name, value in
             (("most", np.int64(99)), ("yes", True), ("small", np.float32(1e-6)))]
    return helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [16384, 8])], [helper.make_tensor_value_info("z", FLOAT, [16384, 8])],
        known), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def spectra():
    """Transforms of what their kernel makes of lines, as many as the run has."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"]), helper.make_node("DFT", ["square", "", "axis"], ["y"], name="dft")]
    return helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, ["n", 12, "m", 1])],
        [helper.make_tensor_value_info("y", FLOAT, ["n", 12, "m", 2])],
        [numpy_helper.from_array(np.array(1), "axis")]), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def lookup():
    """A check of data, which waits for nothing."""
    nodes = [helper.make_node("Gather", ["w", "i"], ["y"], name="pick"), helper.make_node("Exp", ["y"], ["z"], name="after")]
    return helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("w", FLOAT, [6]), helper.make_tensor_value_info("i", INT64, [3])],
        [helper.make_tensor_value_info("z", FLOAT, [3])]), opset_imports=[helper.make_opsetid("", 17)])


def filters(image, weights, **attributes):
    """One convolution, with filters by a seed."""
    values = np.random.default_rng(1).standard_normal(weights).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", **attributes)
    return helper.make_model(helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", FLOAT, image)],
        [helper.make_tensor_value_info("y", FLOAT, [image[0], weights[0], None, None])],
        [numpy_helper.from_array(values, "w")]), opset_imports=[helper.make_opsetid("", 17)])


class SimulatedDevice(ToolTest):
    def write(self, model):
        (self.work / "model.onnx").write_bytes(model.SerializeToString())
        return "model.onnx"

    def outputs(self, path, inputs, *flags):
        library = self.fresh_name()
        self.compiles(path, "-o", library, *flags)
        with Compiled(self.work / library, 1) as model:
            return [np.array(output) for output in model(**inputs)]

    def test_precisions(self):
        """Where values are rounded is in the IR: the device rounds where the CPU does."""
        for name, make in handmade.NETWORKS.items():
            path, inputs = self.write(make()), next(handmade.inputs(name))
            exact = self.outputs(path, inputs)
            for precision in ("bf16", "f16"):
                with self.subTest(f"{name} {precision}"):
                    cpu = self.outputs(path, inputs, "--precision", precision)
                    device = self.outputs(path, inputs, "--precision", precision, "--arch", "sim")
                    for plain, ours, theirs in zip(exact, device, cpu, strict=True):
                        self.assertEqual((ours.shape, ours.dtype), (plain.shape, plain.dtype))
                        if not np.issubdtype(plain.dtype, np.floating):
                            continue
                        rounding = np.abs(theirs - plain).max(initial=0)
                        unit = np.abs(plain).max(initial=0) * 2.0 ** (-8 if precision == "bf16" else -11)
                        self.assertLessEqual(np.abs(ours - plain).max(initial=0), 2 * max(rounding, unit))

    def test_open_spectra(self):
        path = self.write(spectra())
        for shape in ((5, 12, 7, 1), (1, 12, 300, 1)):
            x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
            line = np.fft.fft(np.square(x[..., 0].astype(np.float64)), axis=1)
            actual, = self.outputs(path, {"x": x}, "--arch", "sim")
            np.testing.assert_allclose(actual, np.stack([line.real, line.imag], -1), rtol=1e-5, atol=1e-4)

    def test_rows_of_nothing(self):
        """Sums over an extent of 0 read nothing."""
        for shape, axes in (([0], [0]), ([3, 0], [1]), ([0, 5], [0, 1]), ([2, 0, 64], [1]), ([2, 7, 0], [1, 2])):
            for kind in ("ReduceSum", "ReduceProd", "ReduceL2"):
                with self.subTest(f"{kind} {shape} {axes}"):
                    path = self.write(helper.make_model(helper.make_graph(
                        [helper.make_node("Exp", ["x"], ["e"]), helper.make_node(kind, ["e", "axes"], ["y"], keepdims=0)], "g",
                        [helper.make_tensor_value_info("x", FLOAT, shape)],
                        [helper.make_tensor_value_info("y", FLOAT, None)],
                        [numpy_helper.from_array(np.array(axes), "axes")]), opset_imports=[helper.make_opsetid("", 18)],
                        ir_version=8))
                    y, = self.outputs(path, {"x": np.zeros(shape, np.float32)}, "--arch", "sim")
                    reduce = np.prod if kind == "ReduceProd" else np.sum
                    np.testing.assert_array_equal(y, reduce(np.zeros(shape, np.float32), axis=tuple(axes)))

    def test_schedules_by_size(self):
        """Of two schedules of a launch each run takes the one for its size."""
        nodes = [helper.make_node("Exp", ["x"], ["y"], name="exp")]
        path = self.write(helper.make_model(helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", FLOAT, ["n", 16])],
            [helper.make_tensor_value_info("y", FLOAT, ["n", 16])]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        self.compiles(path, "--arch", "sim", "--stop-after", "schedule", "-o", "scheduled.mlir")
        text = (self.work / "scheduled.mlir").read_text()
        schedule = text[text.index("#gpu.schedules<"):]
        schedule = schedule[:schedule.index(">>") + 2]
        other = schedule.replace("threads = 256", "threads = 64")
        self.assertNotEqual(other, schedule)
        text = text.replace(schedule, f"#kernel.by_size<small = {other}, below = 800, large = {schedule}>")
        (self.work / "scheduled.mlir").write_text(text)
        for rows in (1, 49, 50, 1000):
            x = np.random.default_rng(rows).standard_normal((rows, 16)).astype(np.float32)
            y, = self.outputs("scheduled.mlir", {"x": x}, "--start-from", "plan", "--arch", "sim")
            np.testing.assert_allclose(y, np.exp(x), rtol=1e-5)
        self.compiles("scheduled.mlir", "--start-from", "plan", "--arch", "sim", "-o", "model.so")
        kernels = json.loads((self.work / "model.so.json").read_text())["kernels"]
        self.assertEqual([kernel["code"][0]["threads"] for kernel in kernels], [64, 256])

    def test_open_columns(self):
        """How many blocks share the points of a sum of open length is left to the run."""
        path = self.write(helper.make_model(helper.make_graph(
            [helper.make_node("ReduceMean", ["x", "axes"], ["y"], name="mean", keepdims=0),
             helper.make_node("ReduceMax", ["x", "axes"], ["z"], name="max", keepdims=0)], "g",
            [helper.make_tensor_value_info("x", FLOAT, ["n", "length", 36])],
            [helper.make_tensor_value_info(name, FLOAT, ["n", 36]) for name in "yz"],
            [helper.make_tensor("axes", INT64, [1], [1])]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
        self.compiles(path, "--arch", "sim", "--stop-after", "schedule", "-o", "scheduled.mlir")
        self.assertIn("most_blocks", (self.work / "scheduled.mlir").read_text())
        random = np.random.default_rng(3)
        for rows, length in ((1, 1), (1, 5000), (2, 40000), (0, 7), (3, 64), (700, 129)):
            x = random.standard_normal((rows, length, 36)).astype(np.float32)
            y, z = self.outputs(path, {"x": x}, "--arch", "sim")
            np.testing.assert_allclose(y, x.mean(1), rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(z, x.max(1))

    def test_open_rows(self):
        """An exact product of open rows takes the schedule for as many as a run has, and blocks share its sums."""
        random = np.random.default_rng(3)
        w = random.standard_normal((300, 72)).astype(np.float32)
        path = self.write(helper.make_model(helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="dot")], "g",
            [helper.make_tensor_value_info("x", FLOAT, ["n", 300])], [helper.make_tensor_value_info("y", FLOAT, ["n", 72])],
            [helper.make_tensor("w", FLOAT, w.shape, w.flatten())]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        self.compiles(path, "--arch", "sim", "--stop-after", "schedule", "-o", "scheduled.mlir")
        self.assertIn("large = #kernel.by_size<", (self.work / "scheduled.mlir").read_text())
        for rows in (1, 32, 33, 128, 129, 512, 513, 1025):
            x = random.standard_normal((rows, 300)).astype(np.float32)
            y, = self.outputs(path, {"x": x}, "--arch", "sim")
            np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-4)

    def test_open_groups(self):
        """Groups of channels of open images are walked along three axes, by a warp or a block, kept or not."""
        random = np.random.default_rng(5)
        scale, bias = random.standard_normal((2, 12)).astype(np.float32)
        path = self.write(helper.make_model(helper.make_graph(
            [helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], name="norm", num_groups=3)], "g",
            [helper.make_tensor_value_info("x", FLOAT, [2, 12, "h", "w"])],
            [helper.make_tensor_value_info("y", FLOAT, [2, 12, "h", "w"])],
            [numpy_helper.from_array(scale, "scale"), numpy_helper.from_array(bias, "bias")]),
            opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        for h, w in ((0, 4), (1, 1), (5, 6), (8, 8), (5, 13), (30, 31), (45, 45), (50, 60), (1, 3000), (3000, 1)):
            with self.subTest(f"{h} x {w}"):
                x = random.standard_normal((2, 12, h, w)).astype(np.float32)
                y, = self.outputs(path, {"x": x}, "--arch", "sim")
                groups = x.astype(np.float64).reshape(2, 3, -1)
                if h:
                    groups = groups - groups.mean(-1, keepdims=True)
                    groups /= np.sqrt(np.square(groups).mean(-1, keepdims=True) + 1e-5)
                expected = groups.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
                np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)

    def test_few_rows_at_odd_places(self):
        """Few rows, and columns, whose elements are read one by one: whole rounds of steps, and what is left."""
        random = np.random.default_rng(4)
        for rows, inner, columns in ((3, 1001, 50), (1, 129, 5), (2, 5003, 3)):
            x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((rows, inner), (columns, inner)))
            path = self.write(helper.make_model(helper.make_graph(
                [helper.make_node("Gemm", ["x", "w"], ["y"], name="dot", transB=1)], "g",
                [helper.make_tensor_value_info("x", FLOAT, x.shape), helper.make_tensor_value_info("w", FLOAT, w.shape)],
                [helper.make_tensor_value_info("y", FLOAT, [rows, columns])]),
                opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
            y, = self.outputs(path, {"x": x, "w": w}, "--arch", "sim")
            np.testing.assert_allclose(y, x @ w.T, rtol=1e-4, atol=1e-3)

    def test_filters(self):
        """Filters that are rearranged for matrix units: joined pixels, joined groups, a filter for each channel."""
        for image, weights, attributes in (
                ([2, 3, 20, 24], [8, 3, 7, 7], {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
                ([1, 3, 18, 18], [8, 3, 3, 3], {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
                ([1, 2, 16, 16], [8, 2, 4, 4], {"strides": [4, 4]}),
                ([1, 1, 9, 15], [8, 1, 3, 5], {"strides": [1, 3], "pads": [1, 2, 1, 2]}),
                ([1, 128, 6, 7], [128, 8, 3, 3], {"group": 16, "pads": [1, 1, 1, 1]}),
                ([1, 64, 5, 5], [32, 16, 3, 3], {"group": 4}),
                ([1, 48, 20, 19], [48, 1, 5, 5], {"group": 48, "pads": [2, 2, 2, 2]})):
            with self.subTest(f"{image} {weights}"):
                path = self.write(filters(image, weights, **attributes))
                x = np.random.default_rng(2).standard_normal(image).astype(np.float32)
                exact, = self.outputs(path, {"x": x})
                device, = self.outputs(path, {"x": x}, "--precision", "bf16", "--arch", "sim")
                self.assertLessEqual(np.abs(device - exact).max(), np.abs(exact).max() * 2.0 ** -7)

    def test_verify(self):
        for name in ("linear-relu", "conv-bn-silu"):
            result = self.compiles(SOURCE / "samples" / name / f"{name}.onnx", "--arch", "sim", "--verify", "-o", "model.so")
            self.assertIn("agree", result.out + result.text)

    def test_where_the_host_waits(self):
        result = self.compiles(self.write(nonzero()), "--arch", "sim", "--print-plan", "-o", "model.so")
        self.assertIn("the host reads what the device computes in", result.out + result.text)
        self.assertIn("  waits for an extent: where", result.out + result.text)
        counts = json.loads((self.work / "model.so.json").read_text())["crossings"]
        self.assertGreater(counts["stalls"], 0)
        self.assertEqual(counts["in_loops"], 0)
        refused = self.tcc("model.onnx", "--arch", "sim", "--no-fallback", "-o", "refused.so")
        self.assertEqual(refused.code, 2)
        self.assertIn("--no-fallback: the host reads", refused.text)
        self.assertFalse((self.work / "refused.so").exists())

    def test_small_loops_run_on_the_host(self):
        """What a turn needs is brought to the host once, and no turn waits for the device."""
        result = self.compiles(self.write(roots()), "--arch", "sim", "--print-plan", "-o", "model.so")
        self.assertRegex(result.out + result.text, r"\(row, on the host\)")
        self.assertRegex(result.out + result.text, r"  waits for a kernel on the host: .*\n")
        facts = json.loads((self.work / "model.so.json").read_text())
        self.assertEqual((facts["crossings"]["stalls"], facts["crossings"]["in_loops"]), (1, 0))
        self.assertEqual({kernel["target"] for kernel in facts["kernels"]}, {"cpu", "sim"})
        x = np.random.default_rng(3).standard_normal((16384, 8)).astype(np.float32)
        expected, = self.outputs("model.onnx", {"x": x})
        actual, = self.outputs("model.onnx", {"x": x}, "--arch", "sim")
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        self.assertEqual(self.tcc("model.onnx", "--arch", "sim", "--no-fallback", "-o", "refused.so").code, 2)

    def test_checks_wait_for_nothing(self):
        result = self.compiles(self.write(lookup()), "--arch", "sim", "--no-fallback", "--print-plan", "-o", "model.so")
        self.assertNotIn("the host reads", result.out + result.text)
        counts = json.loads((self.work / "model.so.json").read_text())["crossings"]
        self.assertEqual((counts["stalls"], counts["at_end"]), (0, 0))
        w = np.arange(6, dtype=np.float32)
        with Compiled(self.work / "model.so", 1) as model:
            for last in (5, 6, -6, -7, 0):
                i = np.array([1, 2, last])
                if -6 <= last < 6:
                    np.testing.assert_allclose(model(w=w, i=i)[0], np.exp(w[i]), rtol=1e-6)
                else:
                    with self.assertRaisesRegex(Exception, "^node 'pick': an index is out of range$"):
                        model(w=w, i=i)

    def test_indices_are_checked_where_they_are_read(self):
        node = helper.make_node("Gather", ["w", "i"], ["y"], name="pick")
        model = helper.make_model(helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("w", FLOAT, [60, 8]), helper.make_tensor_value_info("i", INT64, ["n"])],
            [helper.make_tensor_value_info("y", FLOAT, ["n", 8])]), opset_imports=[helper.make_opsetid("", 17)])
        self.compiles(self.write(model), "--arch", "sim", "--no-fallback", "-o", "model.so")
        # Of open extents with indices of words, and of 64 bits.
        kernels = json.loads((self.work / "model.so.json").read_text())["kernels"]
        self.assertEqual(len({kernel["name"].split("_", 1)[1] for kernel in kernels}), 1)
        random = np.random.default_rng(2)
        w = random.standard_normal((60, 8)).astype(np.float32)
        with Compiled(self.work / "model.so", 1) as model:
            for count, place, bad in ((700, 699, 60), (0, 0, 0), (700, 300, -61), (1, 0, -60), (5, 4, 59), (9000, 0, 1 << 40), (9000, 1, 0)):
                i = random.integers(-60, 60, count)
                i[place:place + 1] = bad
                if count == 0 or -60 <= bad < 60:
                    np.testing.assert_array_equal(model(w=w, i=i)[0], w[i])
                else:
                    with self.assertRaisesRegex(Exception, "^node 'pick': an index is out of range$"):
                        model(w=w, i=i)


if __name__ == "__main__":
    unittest.main()
