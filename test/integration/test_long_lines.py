"""Long rows, deep columns, few updates, the first elements of lines and clamped conversions: right on every level of instructions that
this machine has, where kernels keep values in the result's place, cut sums or leave lanes out."""
import re
import unittest

import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from linetest import LineTest, softmax
from toolrun import cpu_levels

RANDOM = np.random.default_rng(7)


def first_places(x, k):
    """Places of the k largest of each line; NaN is the largest, equal elements keep their order."""
    keys = np.where(np.isnan(x), np.inf, x)
    return np.argsort(-keys, axis=-1, kind="stable")[..., :k]


class LongLines(LineTest):
    def test_places_in_open_lines(self):
        """Of every length around whole vectors, of several registers and of one, with equal elements and NaNs."""
        random = np.random.default_rng(13)
        nodes = [helper.make_node(op, ["x"], [op[3:5] + str(last)], axis=-1, keepdims=0, select_last_index=last)
                 for op in ("ArgMax", "ArgMin") for last in (0, 1)]
        graph = helper.make_graph(nodes, "places", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", "length"])],
                                  [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes])
        path = self.work / "places.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in cpu_levels():
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for length in (1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 79, 80, 95, 127, 128, 145, 1000):
                    for nans in (0.0, 0.02):
                        x = random.integers(-3, 4, (9, length)).astype(np.float32)
                        x[random.random(x.shape) < nans] = np.nan
                        reverse = x[:, ::-1]
                        wanted = [np.argmax(x, -1), length - 1 - np.argmax(reverse, -1), np.argmin(x, -1), length - 1 - np.argmin(reverse, -1)]
                        for actual, places, node in zip(compiled(x), wanted, nodes, strict=True):
                            np.testing.assert_array_equal(actual, places, f"{cpu} {length} {nans} {node.output[0]}")

    def test_open_lines_are_one(self):
        """Points, a scale for each channel, rows of several axes: of extents that a run knows, also none and one."""
        random = np.random.default_rng(14)
        scale = random.standard_normal((1, 5, 1, 1)).astype(np.float32)
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "one"], ["p"]),
                 helper.make_node("Mul", ["x", "scale"], ["s"]), helper.make_node("Add", ["x", "line"], ["l"]),
                 helper.make_node("ReduceMean", ["x", "axes"], ["m"], keepdims=0), helper.make_node("ReduceMax", ["p", "axes"], ["n"], keepdims=1),
                 helper.make_node("Sub", ["p", "n"], ["d"])]
        constants = [onnx.numpy_helper.from_array(v, n) for n, v in
                     (("one", np.ones((), np.float32)), ("scale", scale), ("axes", np.array([2, 3])))]
        for open_axes in (["n", 5, "h", "w"], ["n", 5, 7, 9], [2, 5, "h", 9], ["n", 5, "h", 33]):
            graph = helper.make_graph(nodes, "open", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, open_axes),
                                                      helper.make_tensor_value_info("line", onnx.TensorProto.FLOAT, open_axes[3:])],
                                      [helper.make_empty_tensor_value_info(name) for name in "pslmd"], constants)
            path = self.work / "open.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
            shapes = {tuple(known if isinstance(known, int) else extent for known, extent in zip(open_axes, shape))
                      for shape in ((2, 5, 7, 9), (1, 5, 1, 1), (0, 5, 3, 3), (3, 5, 17, 31), (1, 5, 64, 48), (40, 5, 33, 33))}
            for cpu in cpu_levels():
                with Compiled.build(path, "--cpu", cpu) as compiled:
                    for shape in sorted(shapes):
                        x = random.standard_normal(shape).astype(np.float32)
                        line = random.standard_normal(shape[3:]).astype(np.float32)
                        p, m = np.maximum(x, 0) + 1, x.mean((2, 3), dtype=np.float64)
                        for actual, wanted in zip(compiled(x, line), (p, x * scale, x + line, m, p - p.max((2, 3), keepdims=True)), strict=True):
                            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{cpu} {open_axes} {shape}")

    def test_next_row_is_fetched(self):
        """Where rows come from memory: not of what caches hold, of short rows, nor where one loop reads a row."""
        random = np.random.default_rng(11)  # what the other tests draw stays
        softmax_node = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
        deviation = [helper.make_node("LayerNormalization", ["x", "w"], ["y"], axis=-1)]
        total = [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0, noop_with_empty_axes=0)]
        for nodes, shape, fetched in (([softmax_node], (4096, 1024), True), ([softmax_node], (3000, 1001), True), ([softmax_node], (64, 1024), False),
                                      ([softmax_node], (65536, 64), False), ([softmax_node], (100, 100000), False),
                                      (deviation, (4096, 768), True), (deviation, (1000, 5000), False), (total, (4096, 1024), False)):
            path, text = self.work / "rows.onnx", self.work / "rows.s"
            constants = [onnx.numpy_helper.from_array(np.ones(shape[1], np.float32), "w")] if nodes is deviation else []
            graph = helper.make_graph(nodes, "rows", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
                                      [helper.make_empty_tensor_value_info("y")], constants)
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
            self.compiles(path, "--target", "x86_64-linux", "--cpu", "znver3", "--emit", "asm", "-o", text)
            for instruction in ("prefetcht", "prefetchw"):
                self.assertEqual(instruction in text.read_text(), fetched, (nodes[0].op_type, shape, instruction))
        for shape in ((700, 1001), (1100, 517)):
            x = random.standard_normal(shape).astype(np.float32)
            self.check([softmax_node], x, {"y": softmax(x.astype(np.float64))}, tolerance=2e-5)

    def test_lines_that_move_whole(self):
        """Planes of few points in any order, in parts, turned round, taken by an index, and summed up beside each other; what follows the
        groups of a normalization."""
        random = np.random.default_rng(12)  # what the other tests draw stays
        for n in (3, 7, 28):
            x = random.standard_normal((3, 12, n, n)).astype(np.float32)
            groups, planes = ("groups", [3, 4, 3, n, n]), ("planes", [3, 12, n, n])
            begin = [helper.make_node("Reshape", ["x", "groups"], ["a"]), helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3, 4])]
            shuffle = [*begin, helper.make_node("Reshape", ["b", "planes"], ["y"])]
            shuffled = x.reshape(groups[1]).swapaxes(1, 2).reshape(x.shape)
            self.check(shuffle, x, {"y": shuffled}, constants=[groups, planes])
            index = np.array([[5, 0], [11, 5]])
            nodes = [helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["s"]), helper.make_node("Concat", ["s", "x"], ["c"], axis=1),
                     helper.make_node("Gather", ["c", "index"], ["y"], axis=1)]
            expected = np.concatenate([x[:, 10:1:-3], x], 1)[:, index]
            self.check(nodes, x, {"y": expected}, constants=[("starts", [10]), ("ends", [1]), ("axes", [1]), ("steps", [-3]), ("index", index)])
            total = [helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)]
            self.check(total, x, {"y": x.max(1)}, constants=[("axes", [1])])
            scale = random.standard_normal((3, 4, 1, 1, 1)).astype(np.float32)
            nodes = [helper.make_node("Reshape", ["x", "groups"], ["a"]), helper.make_node("Mul", ["a", "scale"], ["b"]),
                     helper.make_node("Reshape", ["b", "planes"], ["c"]), helper.make_node("Add", ["c", "x"], ["d"]), helper.make_node("Relu", ["d"], ["y"])]
            expected = np.maximum((x.reshape(groups[1]) * scale).reshape(x.shape) + x, 0)
            self.check(nodes, x, {"y": expected}, tolerance=1e-5, constants=[groups, planes, ("scale", scale)])

    def test_long_runs_are_copied(self):
        """What is put together, cut, turned round and moved along, of runs that the C library copies and of shorter ones; a run of
        which a part is computed is not copied."""
        random = np.random.default_rng(19)
        for dtype in (np.float32, np.float64, np.float16, np.int8, np.bool_):
            for shape in ((3, 5, 7, 1999), (2, 3, 21001), (40011,), (2, 2, 65537)):
                x = random.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)
                axis = max(0, x.ndim - 2)
                cut = x.shape[axis] - 1
                nodes = [helper.make_node("Slice", ["x", "one", "all", "axis"], ["s"]), helper.make_node("Concat", ["x", "s", "x"], ["y"], axis=axis),
                         helper.make_node("Slice", ["x", "five", "all", "last"], ["t"]), helper.make_node("Slice", ["x", "zero", "five", "last"], ["h"]),
                         helper.make_node("Concat", ["t", "h"], ["rolled"], axis=-1),
                         helper.make_node("Slice", ["x", "end", "begin", "axis", "back"], ["turned"]),
                         helper.make_node("Split", ["x", "parts"], ["p", "q"], axis=axis)]
                s = np.take(x, range(1, x.shape[axis]), axis)
                wanted = {"y": np.concatenate([x, s, x], axis), "rolled": np.roll(x, -5, -1), "turned": np.flip(x, axis),
                          "p": np.take(x, [0], axis), "q": s}
                self.check(nodes, x, wanted, constants=[
                    ("one", [1]), ("zero", [0]), ("five", [5]), ("all", [1 << 30]), ("axis", [axis]), ("last", [x.ndim - 1]), ("end", [-1]),
                    ("begin", [-(1 << 30)]), ("back", [-1]), ("parts", [1, cut])])
        x = random.standard_normal((2, 100003)).astype(np.float32)
        nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Concat", ["x", "n"], ["y"], axis=0),
                 helper.make_node("Pad", ["x", "pads"], ["padded"]), helper.make_node("Gather", ["x", "rows"], ["taken"])]
        self.check(nodes, x, {"y": np.concatenate([x, -x]), "padded": np.pad(x, ((0, 0), (7, 9))), "taken": x[[1, 0, 1]]},
                   constants=[("pads", [0, 7, 0, 9]), ("rows", [1, 0, 1])])
        self.compiles("lines.onnx", "--target", "x86_64-linux", "--emit", "asm", "-o", "lines.s")
        self.assertRegex((self.work / "lines.s").read_text(), "call.*memcpy|jmp.*memcpy")

    def test_numbers_that_are_none(self):
        """Extremes of windows and of rows, and shares, beside NaN and infinities; -0.0 equals 0.0 and either is right."""
        random = np.random.default_rng(13)  # what the other tests draw stays
        for window, stride in ((3, 1), (3, 2), (5, 1)):
            x = random.standard_normal((2, 3, 19, 37)).astype(np.float32)
            x.reshape(-1)[random.integers(0, x.size, 30)] = np.nan
            x[0, 1, :9] = -np.inf
            x[1, 0, 4] = np.inf
            pad = window // 2
            padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
            windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))[:, :, ::stride, ::stride]
            pool = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)
            self.check([pool], x, {"y": windows.max((-1, -2))})
        for length in (40, 300, 5001):
            x = random.standard_normal((9, length)).astype(np.float32)
            x[1, 7], x[2, -1], x[3, ::2], x[4], x[5, 0] = np.nan, np.nan, -np.inf, -np.inf, np.inf
            x[6] *= 1e30
            with np.errstate(invalid="ignore"):
                expected = softmax(x.astype(np.float64))
            expected[expected < 1e-37] = 0
            self.check([helper.make_node("Softmax", ["x"], ["s"], axis=-1), helper.make_node("Mul", ["s", "scale"], ["y"])], x, {"y": expected},
                       tolerance=2e-5, constants=[("scale", np.float32(1))])
            self.check([helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)], x, {"y": x.max(1)}, constants=[("axes", [1])])
            self.check([helper.make_node("ReduceMin", ["x", "axes"], ["y"], keepdims=0)], x, {"y": x.min(1)}, constants=[("axes", [1])])

    def test_points_that_are_repeated(self):
        """Stored interleaved, also of the part of a vector that is left of a line."""
        random = np.random.default_rng(15)
        for dtype in (np.uint8, np.float16, np.float32):
            for width, times in ((53, 2), (20, 2), (37, 4), (7, 3), (130, 2)):
                x = random.integers(0, 200, (2, 3, 9, width)).astype(dtype)
                node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
                                        nearest_mode="floor")
                self.check([node], x, {"y": x.repeat(times, 2).repeat(times, 3)},
                           constants=[("scales", np.array([1, 1, times, times], np.float32))])

    def test_rows_of_few_elements(self):
        """Which are lanes: their extremes, sums, places and softmax, of whole vectors and not."""
        random = np.random.default_rng(17)
        for rows in (256, 1000, 5003):
            for length in (2, 3, 4):
                x = random.standard_normal((rows, length)).astype(np.float32)
                wide = x.astype(np.float64)
                shifted = wide - wide.max(1, keepdims=True)
                self.check([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], x, {"y": softmax(wide)}, tolerance=2e-5)
                logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
                nodes = [helper.make_node("LogSoftmax", ["x"], ["l"], axis=-1), helper.make_node("Sub", ["l", "one"], ["y"])]
                self.check(nodes, x, {"y": logs - 1}, tolerance=2e-5, constants=[("one", np.float32(1))])
                x[3], x[9, 1], x[10, 0], x[11] = np.nan, np.nan, np.inf, -np.inf
                for name, expected in (("ReduceMax", x.max(1)), ("ReduceMin", x.min(1))):
                    self.check([helper.make_node(name, ["x", "axes"], ["y"], keepdims=0)], x, {"y": expected}, constants=[("axes", [1])])
                self.check([helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)], x, {"y": first_places(x, 1)[:, 0]})

    def test_scans_before_several_axes(self):
        random = np.random.default_rng(14)
        for shape, axis in (((57, 6, 3), 0), ((3, 29, 28, 28), 1), ((5, 17, 3, 1, 2), 1), ((2, 3, 40), 1), ((0, 3, 2), 0), ((4, 0, 3, 2), 1)):
            x = random.integers(-9, 9, shape).astype(np.float32)
            for flags in ({}, {"reverse": 1}, {"exclusive": 1}):
                y = np.flip(x, axis) if "reverse" in flags else x
                y = y.cumsum(axis) - (y if "exclusive" in flags else 0)
                y = np.flip(y, axis) if "reverse" in flags else y
                self.check([helper.make_node("CumSum", ["x", "axis"], ["y"], **flags)], x, {"y": y}, constants=[("axis", axis)])

    def test_softmax_of_long_rows(self):
        """Also where an operand is read again, the one that the result may lie over or a turned one of its size, and where
        the result is turned."""
        for n in (20001, 20032):
            x = RANDOM.standard_normal((17, n)).astype(np.float32)
            y = softmax(x.astype(np.float64))
            for shape in (None, (17, "n")):
                node = helper.make_node("Softmax", ["a"], ["y"], axis=-1)
                begin = helper.make_node("Neg", ["x"], ["a"])
                self.check([begin, node], -x, {"y": y}, shape, 2e-5)
                again = helper.make_node("Mul", ["y", "a"], ["z"])
                self.check([begin, node, again], -x, {"z": y * x}, shape, 2e-5)
                columns = [helper.make_node("Reshape", ["x", "shape"], ["b"]), helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
                           helper.make_node("Mul", ["y", "c"], ["z"])]
                self.check([begin, node, *columns], -x, {"z": y * -x.reshape(-1, 17).T}, shape, 2e-5, [("shape", [-1, 17])])
                turned = helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0])
                self.check([begin, node, turned], -x, {"z": y.T}, shape, 2e-5)

    def test_softmax_of_few_long_rows(self):
        """Of parts that hold nothing but -inf, inf or NaN, and rows that do."""
        x = (3 * RANDOM.standard_normal((7, 1 << 16))).astype(np.float32)
        x[1, :40000] = -np.inf
        x[2] = -np.inf
        x[3, 9] = np.inf
        x[4, 9] = np.nan
        x[5, 100:] = -3e38
        x[6, 50000] = 3e38
        with np.errstate(invalid="ignore"):
            y = softmax(x.astype(np.float64))
            shifted = x - x.max(-1, keepdims=True).astype(np.float64)
            log = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        wanted = {"Softmax": y, "LogSoftmax": log}
        self.check([helper.make_node(op, ["x"], [op], axis=-1) for op in wanted], x, wanted, tolerance=2e-5)

    def test_row_that_is_a_result_itself(self):
        """An exponential and its sum, as results both, also where what it is made of is read again."""
        for n in (1001, 20032):
            x = RANDOM.standard_normal((17, n)).astype(np.float32)
            e = np.exp(x.astype(np.float64))
            nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("ReduceSum", ["e", "axes"], ["s"], keepdims=0)]
            self.check(nodes, x, {"e": e, "s": e.sum(-1)}, tolerance=2e-5, constants=[("axes", [-1])])
            again = [helper.make_node("Mul", ["e", "x"], ["p"]), helper.make_node("ReduceMax", ["p", "axes"], ["m"], keepdims=0)]
            self.check([*nodes, *again], x, {"e": e, "s": e.sum(-1), "m": (e * x).max(-1)}, tolerance=2e-5,
                       constants=[("axes", [-1])])

    def test_places_in_short_lines(self):
        """The first or last of equals, NaN, and nothing but -inf; along the last axis and before a few points."""
        for shape, axis in (((700, 2), 1), ((700, 15), 1), ((900, 5), 1), ((64, 33, 3), 1), ((40, 100, 7), 1)):
            x = RANDOM.integers(-2, 3, shape).astype(np.float32)
            x[3] = -np.inf
            x[5, 1] = np.nan
            x[7, 0] = np.inf
            x[8] = np.nan
            last = shape[axis] - 1 - np.flip(x, axis).argmax(axis)
            nodes = [helper.make_node("ArgMax", ["x"], ["a"], axis=axis, keepdims=0),
                     helper.make_node("ArgMin", ["x"], ["b"], axis=axis, keepdims=0),
                     helper.make_node("ArgMax", ["x"], ["c"], axis=axis, keepdims=0, select_last_index=1)]
            self.check(nodes, x, {"a": x.argmax(axis), "b": x.argmin(axis), "c": last})

    def test_sums_of_a_few_points_stay_in_registers(self):
        """Their lines are folded there, and written vector by vector, not line by line."""
        x = np.ones((128, 33, 3), np.float32)
        nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
        self.check(nodes, x, {"y": x.sum(1)}, constants=[("axes", [1])])
        text = self.work / "lines.s"
        self.compiles(self.work / "lines.onnx", "--target", "x86_64-linux", "--cpu", "v3", "--emit", "asm", "-o", text)
        stores = re.findall(r"\tvmovu?p?[sd]?[as]?\s+%[xy]mm\d+, -?\d*\(%r[sb]p", text.read_text())
        self.assertLess(len(stores), 12)

    def test_long_rows_compute_exponentials_once(self):
        """Beside an operand of the result's size too, over which the result may not lie."""
        x = np.ones((17, 20032), np.float32)
        begin = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
        columns = [helper.make_node("Reshape", ["x", "shape"], ["b"]), helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
                   helper.make_node("Mul", ["y", "c"], ["z"])]
        for name, nodes in (("y", []), ("z", columns)):
            self.check([begin, *nodes], x, {name: softmax(x)}, constants=[("shape", [-1, 17])], tolerance=2e-5)
            self.compiles("lines.onnx", "-o", "lines.so", "--dump-ir", f"ir-{name}")
            code = "".join(path.read_text() for path in self.work.glob(f"ir-{name}/8-codegen/k*.mlir"))
            self.assertEqual(code.count("math.exp "), 1)

    def test_rows_by_a_vector(self):
        """Long ones beside each other, short ones, which memory brings one after the other, in turns."""
        for length, beside in ((512, 0), (2048, 1)):
            x, v = (RANDOM.random(shape, np.float32) for shape in ((203, length), (length,)))
            self.check([helper.make_node("MatMul", ["x", "v"], ["y"])], x, {"y": x @ v.astype(np.float64)},
                       tolerance=2e-5, constants=[("v", v)])
            self.compiles("lines.onnx", "-o", "lines.so", "--cpu", "x86-64-v4", "--dump-ir", f"ir-{length}")
            code = "".join(path.read_text() for path in self.work.glob(f"ir-{length}/8-codegen/k*.mlir"))
            self.assertEqual(len(re.findall(r"%\d+:4 = scf.for", code)), beside)

    def test_narrow_rows_by_a_vector(self):
        """Of 16 bits, from beyond the caches: one after the other, fetched ahead; with rests of rows, and what is nearer beside each other."""
        random = np.random.default_rng(13)  # what the other tests draw stays
        for shape, fetched in (((8200, 1030), 1), ((203, 2048), 0)):
            x, v = (random.random(s, np.float32).astype(np.float16) for s in (shape, shape[1:]))
            self.check([helper.make_node("MatMul", ["x", "v"], ["y"])], x, {"y": x.astype(np.float64) @ v.astype(np.float64)},
                       tolerance=1e-3, constants=[("v", v)])
            self.compiles("lines.onnx", "-o", "lines.so", "--cpu", "x86-64-v4", "--dump-ir", f"ir-narrow-{fetched}")
            code = "".join(path.read_text() for path in self.work.glob(f"ir-narrow-{fetched}/8-codegen/k*.mlir"))
            self.assertEqual("llvm.intr.prefetch" in code, bool(fetched))

    def test_deep_columns(self):
        x = (1 + RANDOM.standard_normal((2, 1024, 600)) / 64).astype(np.float32)
        for shape in (None, (2, "n", 600)):
            wanted = {"ReduceSum": x.sum(1, dtype=np.float64), "ReduceMax": x.max(1),
                      "ReduceProd": x.prod(1, dtype=np.float64), "ReduceMean": x.mean(1, dtype=np.float64)}
            nodes = [helper.make_node(op, ["x", "axes"], [op], keepdims=0) for op in wanted]
            self.check(nodes, x, wanted, shape, 2e-5, [("axes", [1])])

    def test_few_updates(self):
        """Of a large tensor: places that meet, in order, an index for each row or for each element."""
        x = RANDOM.integers(-9, 9, (2, 700, 40)).astype(np.float32)
        rows = RANDOM.integers(-700, 700, (30,))
        rows[:6] = [0, 699, -1, 350, 350, 0]
        updates = RANDOM.integers(-9, 9, (2, 30, 40)).astype(np.float32)
        elements = RANDOM.integers(-700, 700, (2, 30, 40))
        spread = np.broadcast_to(rows[None, :, None], elements.shape)
        outputs, nodes = {}, []
        for name, indices in (("rows", spread), ("elements", elements)):
            added, assigned = x.copy(), x.copy()
            for b, k, c in np.ndindex(updates.shape):
                added[b, indices[b, k, c], c] += updates[b, k, c]
                assigned[b, indices[b, k, c], c] = updates[b, k, c]
            outputs |= {f"{name}_added": added, f"{name}_assigned": assigned}
            index = name
            if name == "rows":
                index = "spread"
                nodes.append(helper.make_node("Expand", ["rows", "shape"], [index]))
            nodes += [helper.make_node("ScatterElements", ["x", index, "u"], [f"{name}_added"], axis=1, reduction="add"),
                      helper.make_node("ScatterElements", ["x", index, "u"], [f"{name}_assigned"], axis=1)]
        added = x.copy()
        for k in range(30):
            added[k % 2, rows[k]] += updates[0, k]
        outputs["tuples"] = added
        nodes.append(helper.make_node("ScatterND", ["x", "pairs", "u0"], ["tuples"], reduction="add"))
        self.check(nodes, x, outputs, constants=[
            ("rows", rows[None, :, None]), ("shape", elements.shape), ("elements", elements), ("u", updates),
            ("u0", updates[0]), ("pairs", np.stack([np.arange(30) % 2, rows], 1))])

    def test_first_of_lines(self):
        """Lines with ties, with infinities and NaN, of lengths that leave a part of a vector."""
        for length in (5, 64, 100, 333, 1024, 9001):
            x = RANDOM.integers(-40, 40, (7, length)).astype(np.float32)
            x[3] = np.arange(length)
            x[4] = -np.arange(length)
            x[5, ::3] = np.inf
            x[6, 1::4] = np.nan
            nodes, outputs, constants = [], {}, []
            for k in (k for k in (1, 3, 5, 10, 30) if k <= length):
                places = first_places(x, k)
                nodes.append(helper.make_node("TopK", ["x", f"k{k}"], [f"v{k}", f"i{k}"]))
                outputs |= {f"v{k}": np.take_along_axis(x, places, -1), f"i{k}": places}
                constants.append((f"k{k}", [k]))
            self.check(nodes, x, outputs, constants=constants)

    def test_small_part_of_lines(self):
        """Kept on the stack: in both orders, of types whose keys have 32 bits, known and open; ties, NaN, lines in order, and
        such that have hardly as many that are not infinite."""
        random = np.random.default_rng(19)
        for length, dtype in ((40011, np.float32), (40011, np.float16), (40011, np.uint8), (39999, np.int32)):
            x = random.integers(0 if dtype == np.uint8 else -900, 200, (7, length)).astype(dtype)
            x[1], x[2] = np.sort(x[1]), np.sort(x[2])[::-1]
            if np.issubdtype(dtype, np.floating):
                x[3], x[4, ::3], x[5, ::900], x[6, 1::4] = -np.inf, np.nan, np.nan, np.inf
                x[3, 17::900] = 1
            nodes, outputs, constants = [], {}, []
            for k in (70, 300):
                for largest in (0, 1):
                    numbers = np.where(np.isnan(x), np.inf, x.astype(np.float64))
                    ranked = np.searchsorted(np.unique(numbers), numbers) * 2 + np.isnan(x)  # NaN after infinity
                    order = np.argsort(-ranked if largest else ranked, -1, kind="stable")[:, :k]
                    name = f"{k}_{largest}"
                    nodes.append(helper.make_node("TopK", ["x", f"k{name}"], [f"v{name}", f"i{name}"], largest=largest))
                    outputs |= {f"v{name}": np.take_along_axis(x, order, -1), f"i{name}": order}
                    constants.append((f"k{name}", [k]))
            self.check(nodes, x, outputs, constants=constants)
            self.check(nodes, x, outputs, shape=("lines", "length"), constants=constants)

    def test_short_lines_in_order(self):
        """Lines of a few vectors, of every width of keys: ties, zeros of both signs, NaN and infinities; all of a line and a part."""
        random = np.random.default_rng(13)  # what the other tests draw stays
        for length in (3, 8, 31, 64):
            for dtype in (np.float32, np.float64, np.float16, np.int64, np.uint8):
                x = random.integers(0 if dtype == np.uint8 else -9, 20, (40, length)).astype(dtype)
                if np.issubdtype(dtype, np.floating):
                    x[1, 1::2], x[2, ::2], x[3, 1::3], x[4, :1], x[5] = np.nan, np.inf, -np.inf, -0.0, np.nan
                nodes, outputs, constants = [], {}, []
                for k in (2, length):
                    for largest in (0, 1):
                        numbers = np.where(np.isnan(x), np.inf, x.astype(np.float64))
                        ranked = np.searchsorted(np.unique(numbers), numbers) * 2 + np.isnan(x)  # NaN after infinity
                        order = np.argsort(-ranked if largest else ranked, -1, kind="stable")
                        name = f"{k}_{largest}"
                        nodes.append(helper.make_node("TopK", ["x", f"k{name}"], [f"v{name}", f"i{name}"], largest=largest))
                        outputs |= {f"v{name}": np.take_along_axis(x, order[:, :k], -1), f"i{name}": order[:, :k]}
                        constants.append((f"k{name}", [k]))
                self.check(nodes, x, outputs, constants=constants)

    def test_first_across_lines(self):
        """Of lines that are neighbours: every type, ties, NaN and infinities, one to more than are kept in lanes, all of a line."""
        random = np.random.default_rng(16)
        for shape, axis in (((33, 45), 0), ((2, 19, 3, 7), 1), ((4, 40, 1), 1)):
            for dtype in (np.float32, np.float64, np.float16, np.int64, np.uint8):
                x = random.integers(0 if dtype == np.uint8 else -9, 20, shape).astype(dtype)
                if np.issubdtype(dtype, np.floating):
                    flat = x.reshape(-1)
                    flat[::7], flat[3::11], flat[5::13], flat[40:60] = np.nan, np.inf, -np.inf, np.nan
                nodes, outputs, constants = [], {}, []
                for k in (1, 2, 5, 16, 17, shape[axis]):
                    for largest in (0, 1):
                        numbers = np.where(np.isnan(x), np.inf, x.astype(np.float64))
                        ranked = np.searchsorted(np.unique(numbers), numbers) * 2 + np.isnan(x)  # NaN after infinity
                        order = np.argsort(-ranked if largest else ranked, axis, kind="stable").take(range(k), axis)
                        name = f"{k}_{largest}"
                        nodes.append(helper.make_node("TopK", ["x", f"k{name}"], [f"v{name}", f"i{name}"], largest=largest, axis=axis))
                        outputs |= {f"v{name}": np.take_along_axis(x, order, axis), f"i{name}": order}
                        constants.append((f"k{name}", [k]))
                self.check(nodes, x, outputs, constants=constants)

    def test_short_lines_are_counted(self):
        """They call no function that sorts, longer ones do."""
        for length, sorts in ((31, False), (64, False), (65, True)):
            path, text = self.work / "order.onnx", self.work / "order.s"
            graph = helper.make_graph([helper.make_node("TopK", ["x", "k"], ["v", "i"])], "order",
                                      [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (9, length))],
                                      [helper.make_empty_tensor_value_info(name) for name in "vi"],
                                      [onnx.numpy_helper.from_array(np.array([length - 1]), "k")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
            self.compiles(path, "--target", "x86_64-linux", "--cpu", "x86-64-v3", "--emit", "asm", "-o", text)
            self.assertEqual("tcc_sort_words" in text.read_text(), sorts, length)

    def test_conversions_clamp(self):
        edges = [0.0, -0.0, 0.5, -0.5, 1.99, 126.9, 127.0, 127.9, 128.0, -127.9, -128.0, -128.9, -129.0, 254.9, 255.9, 256.0,
                 32767.9, 32768.0, -32768.9, -32769.0, 65535.9, 65536.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
        for source in (np.float32, np.float64, np.float16):
            x = np.resize(np.array(edges).astype(source), 107)
            nodes, outputs = [], {}
            for target in map(np.dtype, (np.int8, np.uint8, np.int16, np.uint16, np.int32)):
                bounds = np.iinfo(target)
                wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0))
                outputs[target.name] = np.clip(wide, bounds.min, bounds.max).astype(np.int64).astype(target)
                nodes.append(helper.make_node("Cast", ["x"], [target.name], to=helper.np_dtype_to_tensor_dtype(target)))
            self.check(nodes, x, outputs)

    def test_lines_of_64_bits_are_sorted(self):
        """Whose upper halves are all equal, equal in runs, or all different."""
        wide = RANDOM.integers(-2**62, 2**62, (3, 9000))
        runs = RANDOM.integers(-3, 3, wide.shape) * 2**32 + RANDOM.integers(-2, 2**31, wide.shape) // 2**27
        floats = RANDOM.standard_normal(wide.shape)
        floats[:, 100:300] = np.resize([0.0, -0.0, np.inf, -np.inf, 1 + 2**-52, 1.0, 1 - 2**-53], 200)
        for x in (wide, runs, wide % 50, floats, floats[:, :40].copy(), runs[:, :700].copy()):
            for descending in (0, 1):
                order = np.argsort(-x if descending else x, axis=-1, kind="stable")
                for k in (x.shape[1], 30):
                    node = helper.make_node("TopK", ["x", "k"], ["v", "p"], axis=-1, largest=descending)
                    wanted = {"v": np.take_along_axis(x, order[:, :k], -1), "p": order[:, :k]}
                    self.check([node], x, wanted, constants=[("k", [k])])

    def test_rows_are_taken_by_tables(self):
        """That ascend slowly or fast, or do not, up to the end of the memory."""
        for source in (20, 70, 160):
            places = {"same": np.arange(source), "first": np.zeros(97, np.int64),
                      "turned": np.arange(source)[::-1].copy(), "mixed": RANDOM.integers(0, source, 200)}
            for count in (16, 33, 64, 101, 320):
                places[f"to{count}"] = np.arange(count) * source // count
                places[f"end{count}"] = np.minimum(np.arange(count) * source // count + source // 2, source - 1)
            for dtype in (np.float64, np.int32, np.float32):
                x = RANDOM.integers(-99, 99, (3, 5, source)).astype(dtype)
                nodes = [helper.make_node("Gather", ["x", f"i{n}"], [n], axis=-1) for n in places]
                self.check(nodes, x, {n: x[..., i] for n, i in places.items()},
                           constants=[(f"i{n}", i) for n, i in places.items()])
        self.compiles("lines.onnx", "-o", "lines.so", "--cpu", "x86-64-v4", "--dump-ir", "ir")
        code = "".join(path.read_text() for path in self.work.glob("ir/8-codegen/k*.mlir"))
        self.assertIn("llvm.x86.avx512.vpermi2var.ps.512", code)


if __name__ == "__main__":
    unittest.main()
