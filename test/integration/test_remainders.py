"""What is left of a row after whole vectors: exact on every level of instructions that this machine has, and no points
one by one where part of a vector does."""
import functools
import re
import unittest

import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from onnxparts import model_of, numbers
from toolrun import ToolTest, cpu_levels

LENGTHS = [2, 3, 5, 7, 9, 13, 17, 31, 33, 63, 77, 131, 259]
DTYPES = [np.float32, np.float64, np.float16, np.int8, np.int64]


small = functools.partial(numbers, low=-50, high=50)


class Remainders(ToolTest):
    def check(self, proto, x, expected, tolerance=0):
        path = self.work / "remainders.onnx"
        onnx.save(proto, path)
        for cpu in cpu_levels():
            with self.subTest(x.shape, dtype=x.dtype, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                for actual, wanted in zip(compiled(x), expected, strict=True):
                    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=0)

    def test_points(self):
        """Sums with a row and with a column, pieces of a concatenation, a transpose."""
        for dtype in DTYPES:
            for length in LENGTHS if dtype == np.float32 else LENGTHS[3::3]:
                x = small((9, length), dtype)
                nodes = [helper.make_node("Add", ["x", "row"], ["a"]), helper.make_node("Add", ["a", "column"], ["b"]),
                         helper.make_node("Concat", ["x", "b", "a"], ["c"], axis=1),
                         helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
                         helper.make_node("Add", ["b", "b"], ["d"])]
                row, column = small((length,), dtype), small((9, 1), dtype)
                b = x + row + column
                self.check(model_of(x, nodes, ["c", "t", "d"], [("row", row), ("column", column)]), x,
                           [np.concatenate([x, b, x + row], 1), x.T, b + b])

    def test_reduced_pieces(self):
        """Rows that are reduced, of operands that end within vectors, walked backwards as well; of known and of open lengths."""
        constants = {"low": [0, 3, 0, 2], "last": [-1], "back": [-(1 << 40)], "axis": [1], "step": [-1]}
        for dtype in (np.float32, np.float16, np.int8, np.uint8, np.int64):
            fill = np.array(-60 if dtype != np.uint8 else 0, dtype)
            nodes = [helper.make_node("Concat", ["x", "y", "x"], ["c"], axis=1), helper.make_node("Pad", ["x", "low", "fill"], ["p"]),
                     helper.make_node("Slice", ["c", "last", "back", "axis", "step"], ["r"]),
                     helper.make_node("ReduceMax", ["c", "axis"], ["c_max"], keepdims=0),
                     helper.make_node("ReduceMax", ["p", "axis"], ["p_max"], keepdims=0),
                     helper.make_node("ReduceMin", ["r", "axis"], ["r_min"], keepdims=0),
                     helper.make_node("Cast", ["c"], ["wide"], to=onnx.TensorProto.FLOAT),
                     helper.make_node("ReduceSum", ["wide", "axis"], ["c_sum"], keepdims=0)]
            outputs = ["c_max", "p_max", "r_min", "c_sum"]
            for shape in ((5, "n"), (5, 300), (5, 33)):
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
                given = [helper.make_tensor_value_info(n, kind, [5, extent]) for n, extent in (("x", shape[1]), ("y", "m" if shape[1] == "n" else 77))]
                graph = helper.make_graph(nodes, "pieces", given, [helper.make_empty_tensor_value_info(n) for n in outputs],
                                          [onnx.numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()] +
                                          [onnx.numpy_helper.from_array(fill, "fill")])
                path = self.work / "pieces.onnx"
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
                for cpu in cpu_levels():
                    with self.subTest(shape, dtype=dtype, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                        lengths = ((1, 1), (7, 31), (32, 5), (65, 1), (300, 77), (33, 0)) if shape[1] == "n" else ((shape[1], 77),)
                        for n, m in lengths:
                            x, y = (np.random.default_rng(n).integers(0, 50, (5, k)).astype(dtype) for k in (n, m))
                            c = np.concatenate([x, y, x], 1)
                            wanted = [c.max(1), np.maximum(x.max(1), fill), c.min(1), c.astype(np.float32).sum(1)]
                            for actual, expected, name in zip(compiled(x, y), wanted, outputs, strict=True):
                                np.testing.assert_array_equal(actual, expected, f"{name} {n} {m}")

    def test_periodic_lines(self):
        """Scales of a few columns along rows that are one line, in two blocks of which each has its own."""
        for dtype in DTYPES:
            for length in LENGTHS[2:9]:
                x = small((2, 517, length), dtype)
                scale, bias = small((length,), dtype) // 8, small((2, 1, length), dtype) // 8
                nodes = [helper.make_node("Mul", ["x", "scale"], ["m"]), helper.make_node("Sub", ["m", "bias"], ["y"]),
                         helper.make_node("Sub", ["x", "scale"], ["z"])]
                x = x // 8
                self.check(model_of(x, nodes, ["y", "z"], [("scale", scale), ("bias", bias)]), x, [x * scale - bias, x - scale])

    def test_softmax_of_columns(self):
        """Few columns of many rows, of which whole parts and a rest are summed."""
        for length, rows in ((5, 40000), (6, 33333), (7, 28571), (15, 13333), (31, 6451)):
            x = small((rows, length), np.float32) / 8
            exps = np.exp(x.astype(np.float64) - x.max(0))
            self.check(model_of(x, [helper.make_node("Softmax", ["x"], ["y"], axis=0)], ["y"]), x, [exps / exps.sum(0)], 3e-5)

    def test_updates_of_halves(self):
        """One after the other at places that come again, in f32 and rounded once: of all sizes, infinities and what is none."""
        generator = np.random.default_rng(0)
        x, updates = (generator.integers(0, 1 << 16, (40, 9), np.uint16).view(np.float16) for _ in range(2))
        places = generator.integers(0, 9, (40, 9))
        proto = model_of(x, [helper.make_node("ScatterElements", ["x", "places", "updates"], ["y"], axis=1, reduction="add")], ["y"],
                         [("places", places), ("updates", updates)])
        sums = x.astype(np.float32)
        with np.errstate(all="ignore"):
            for row, column in np.ndindex(x.shape):
                sums[row, places[row, column]] += updates[row, column]
            self.check(proto, x, [sums.astype(np.float16)])

    def test_results_over_operands(self):
        """Values that die where they are read: a row sum keeps kernels apart."""
        for length in LENGTHS:
            x = small((6, length), np.float32)
            nodes, name, expected = [], "x", x
            for i in range(3):
                nodes += [helper.make_node("ReduceSum", [name, "axis"], [f"s{i}"], keepdims=1),
                          helper.make_node("Sub", [name, f"s{i}"], [f"d{i}"]),
                          helper.make_node("Add", [f"d{i}", name], [f"x{i}"])]
                expected, name = (expected - expected.sum(1, keepdims=True)) + expected, f"x{i}"
            if length <= 33:  # larger sums are no exact floats any more
                self.check(model_of(x, nodes, [name], [("axis", [1])]), x, [expected])

    def test_reductions(self):
        """Along rows, and across them."""
        for length in LENGTHS:
            x = small((8, length), np.float32)
            nodes = [helper.make_node(what, ["x", axis], [name]) for what, axis, name in (
                ("ReduceSum", "one", "a"), ("ReduceMax", "one", "b"), ("ReduceSum", "zero", "c"),
                ("CumSum", "first", "d"), ("ReduceMin", "zero", "e"))]
            keep = {"keepdims": True}
            self.check(model_of(x, nodes, list("abcde"), [("zero", [0]), ("one", [1]), ("first", 0)]), x,
                       [x.sum(1, **keep), x.max(1, **keep), x.sum(0, **keep), x.cumsum(0), x.min(0, **keep)])

    def test_short_rows(self):
        """Several rows in a vector, and the rows that are left: what is found in them, and sums of sums."""
        for dtype in DTYPES:
            for length in LENGTHS[2:9]:
                x = small((1037, length), dtype)
                if np.issubdtype(dtype, np.floating):
                    x[::7, length // 2] = np.nan
                nodes = [helper.make_node("ArgMax", ["x"], ["a"], axis=1, keepdims=0),
                         helper.make_node("ArgMin", ["x"], ["b"], axis=1, keepdims=0, select_last_index=1)]
                proto = model_of(x, nodes, ["a", "b"])
                for output in proto.graph.output:
                    output.type.tensor_type.elem_type = onnx.TensorProto.INT64
                self.check(proto, x, [x.argmax(1), length - 1 - x[:, ::-1].argmin(1)])
        for length in LENGTHS[2:9]:
            x = small((1037, length), np.float32) / 64
            nodes = [helper.make_node("ReduceMean", ["x", "one"], ["m"], keepdims=1), helper.make_node("Sub", ["x", "m"], ["d"]),
                     helper.make_node("ReduceSumSquare", ["d", "one"], ["v"], keepdims=0),
                     helper.make_node("ReduceLogSumExp", ["x", "one"], ["l"], keepdims=0)]
            exact = x.astype(np.float64)
            self.check(model_of(x, nodes, ["v", "l"], [("one", [1])]), x,
                       [exact.var(1) * length, np.log(np.exp(exact).sum(1))], 1e-5)

    def test_softmax(self):
        for length in LENGTHS:
            x = small((8, length), np.float32) / 8
            exps = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
            self.check(model_of(x, [helper.make_node("Softmax", ["x"], ["y"])], ["y"]), x,
                       [exps / exps.sum(1, keepdims=True)], 3e-6)

    def test_lines_of_few_points(self):
        """Reductions of axes before a few last ones, with what is done once a line, and a line left."""
        for dtype in (np.float32, np.float64, np.float16, np.int32):
            for rows, lines, points in ((9, (513,), (2,)), (8, (400,), (3,)), (8, (7, 21), (7,)), (9, (65,), (3, 5)),
                                        (8, (65,), (31,))):
                x = numbers((rows, *lines, *points), dtype, low=-6, high=6)
                axes = tuple(range(1, 1 + len(lines)))
                nodes = [helper.make_node("ReduceMax", ["x", "axes"], ["m"], keepdims=1),
                         helper.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=0),
                         helper.make_node("Sub", ["x", "m"], ["d"]), helper.make_node("Mul", ["d", "scale"], ["e"]),
                         helper.make_node("ReduceMin", ["e", "axes"], ["n"], keepdims=1),
                         helper.make_node("Sub", ["e", "n"], ["y"])]
                scale = numbers(points, dtype, low=-6, high=6)
                difference = (x - x.max(axes, keepdims=True)) * scale
                self.check(model_of(x, nodes, list("my"), [("axes", axes), ("scale", scale)]), x,
                           [x.max(axes, keepdims=True), difference - difference.min(axes, keepdims=True)])
                if dtype == np.float16:
                    continue
                self.check(model_of(x, nodes[1:2], ["s"], [("axes", axes)]), x, [x.sum(axes)])
                if len(lines) == 1 and dtype != np.int32:
                    y = x.astype(np.float64)
                    y -= y.max(1, keepdims=True)
                    sums = np.exp(y).sum(1, keepdims=True)
                    for name, expected in (("Softmax", np.exp(y) / sums), ("LogSoftmax", y - np.log(sums))):
                        self.check(model_of(x, [helper.make_node(name, ["x"], ["y"], axis=1)], ["y"]), x, [expected], 3e-6)

    def test_open_rows_of_several_axes(self):
        """Rows that only a run counts, of axes that are one."""
        nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=1),
                 helper.make_node("Sub", ["x", "s"], ["d"]), helper.make_node("ReduceMax", ["d", "axes"], ["m"], keepdims=0)]
        for inner in ((5, 7), (3, 4, 9), (2, 63)):
            axes = tuple(range(1, 1 + len(inner)))
            path = self.work / "axes.onnx"
            onnx.save(model_of(small((3, *inner), np.float32), nodes, list("dm"), [("axes", axes)], shape=["rows", *inner]), path)
            for cpu in cpu_levels():
                with self.subTest(inner=inner, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    for rows in (1, 3, 17):
                        x = small((rows, *inner), np.float32)
                        difference = x - x.sum(axes, keepdims=True)
                        for actual, wanted in zip(compiled(x), (difference, difference.max(axes)), strict=True):
                            np.testing.assert_array_equal(actual, wanted)

    def test_first_of_a_line(self):
        """One element is what the first of two is: of equal ones the first, and a NaN the largest."""
        for dtype in (np.float32, np.float64, np.int64):
            for length in (2, 7, 33, 131, 259):
                x = numbers((9, length), dtype, low=-3, high=3)
                if dtype != np.int64:
                    x[4, length // 2] = np.nan
                for largest in (0, 1):
                    nodes = [helper.make_node("TopK", ["x", k], [f"v{k}", f"i{k}"], largest=largest) for k in ("one", "two")]
                    path = self.work / "first.onnx"
                    proto = model_of(x, nodes, ["vone", "vtwo"], [("one", [1]), ("two", [2])])
                    proto.graph.output.extend(helper.make_tensor_value_info(n, onnx.TensorProto.INT64, None) for n in ("ione", "itwo"))
                    onnx.save(proto, path)
                    for cpu in cpu_levels():
                        with self.subTest(length, dtype=dtype, largest=largest, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                            v1, v2, i1, i2 = compiled(x)
                            np.testing.assert_array_equal(v1, v2[:, :1])
                            np.testing.assert_array_equal(i1, i2[:, :1])
                            best = np.nanargmax(x, 1) if largest else np.nanargmin(x, 1)
                            rows = [r for r in range(9) if r != 4]
                            np.testing.assert_array_equal(i1[rows, 0], best[rows])

    def test_rows_of_unknown_length(self):
        """One model for all lengths, those that are shorter than a vector too."""
        nodes = [helper.make_node("Softmax", ["x"], ["y"]), helper.make_node("ReduceSum", ["x", "one"], ["s"]),
                 helper.make_node("ReduceMax", ["x", "one"], ["m"])]
        path = self.work / "open.onnx"
        proto = model_of(small((8, 9), np.float32), nodes, list("ysm"), [("one", [1])], shape=["rows", "length"])
        onnx.save(proto, path)
        for cpu in cpu_levels():
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for length in [1, 8, 64, *LENGTHS]:
                    x = small((5, length), np.float32) / 8
                    exps = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
                    with self.subTest(cpu=cpu, length=length):
                        y, s, m = compiled(x)
                        np.testing.assert_allclose(y, exps / exps.sum(1, keepdims=True), rtol=3e-6)
                        np.testing.assert_array_equal(s, x.sum(1, keepdims=True))
                        np.testing.assert_array_equal(m, x.max(1, keepdims=True))

    def test_differences_from_a_maximum(self):
        """Of the own row, and of the row whose number is the column's: those are above 0 as well."""
        x = (small((13, 13), np.float32) / 8 + np.arange(13)[:, None] * 4).astype(np.float32)
        nodes = [helper.make_node("ReduceMax", ["x", "one"], ["m"]), helper.make_node("Sub", ["x", "m"], ["d"]),
                 helper.make_node("ReduceMax", ["x", "one"], ["n"], keepdims=0),
                 helper.make_node("Sub", ["x", "n"], ["e"]), helper.make_node("Exp", ["d"], ["y"]),
                 helper.make_node("Exp", ["e"], ["z"])]
        most = x.max(1).astype(np.float64)
        self.check(model_of(x, nodes, ["y", "z"], [("one", [1])]), x, [np.exp(x - most[:, None]), np.exp(x - most)], 3e-7)

    def test_instructions(self):
        """Exponentials of 77 scores and sums of 13 columns are in vectors, all of them."""
        x = small((64, 77), np.float32)
        rows = model_of(x, [helper.make_node("Softmax", ["x"], ["y"])], ["y"])
        y = small((64, 13), np.float32)
        columns = model_of(y, [helper.make_node("ReduceSum", ["x", "zero"], ["y"], keepdims=0)], ["y"], [("zero", [0])])
        for name, proto, alone in (("rows", rows, r"\tvfn?m(add|sub)\d+ss"), ("columns", columns, r"\tvaddss")):
            path, text = self.work / f"{name}.onnx", self.work / f"{name}.s"
            onnx.save(proto, path)
            for cpu in ("v3", "v4"):
                with self.subTest(name, cpu=cpu):
                    self.compiles(path, "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", text)
                    kernels = [k for k in text.read_text().split("-- Begin function ") if re.match(r"k\d+_", k)]
                    self.assertTrue(kernels)
                    self.assertNotRegex("".join(kernels), alone)

    def test_moved_narrow_floats(self):
        """What is left of rows of bf16 and f16 is moved as it is, and not by way of f32."""
        for name, dtype in (("bf16", onnx.TensorProto.BFLOAT16), ("f16", onnx.TensorProto.FLOAT16)):
            shape = (8, 5, 56)
            pads = helper.make_tensor("pads", onnx.TensorProto.INT64, [6], [0, 0, 3, 0, 0, 3])
            graph = helper.make_graph([helper.make_node("Pad", ["x", "pads"], ["y"], mode="edge")], "borders",
                                      [helper.make_tensor_value_info("x", dtype, shape)],
                                      [helper.make_tensor_value_info("y", dtype, (8, 5, 62))], [pads])
            path, text = self.work / f"{name}.onnx", self.work / f"{name}.s"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
            with self.subTest(name):
                self.compiles(path, "--target", "x86_64-linux", "--cpu", "v3", "--emit", "asm", "-o", text)
                self.assertNotRegex(text.read_text(), r"truncsf[bh]f2|vcvtps2ph|vcvtph2ps")


if __name__ == "__main__":
    unittest.main()
