"""What is odd but legal must compile and run: strange names, zero sizes, unknown dims written as -1, long chains."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from onnxparts import model, value
from toolrun import ToolTest


class OddButLegal(ToolTest):
    def outputs(self, proto, inputs, timeout=60):
        onnx.save(proto, self.work / "model.onnx")
        library = self.fresh_name()
        self.compiles("model.onnx", "-o", library, timeout=timeout)
        with Compiled(self.work / library) as compiled:
            return compiled(*inputs), compiled

    def test_names(self):
        for name in ("a name", "it's \"quoted\"", "%s%n%d", "a/b/../c", "naïve 名前 🙂", "\\", "x:0", "#weight", "{}"):
            with self.subTest(name):
                proto = model([helper.make_node("Neg", [name], [name + "!"], name=name)],
                              [value(name, ("n", 3))], [value(name + "!", ("n", 3))])
                x = np.arange(6, dtype=np.float32).reshape(2, 3)
                (y,), compiled = self.outputs(proto, [x])
                np.testing.assert_array_equal(y, -x)
                self.assertEqual(compiled.inputs[0].name, name)

    def test_file_name(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"])], [value("x", (3,))], [value("y", (3,))])
        onnx.save(proto, self.work / "a model's (1) ünï %s.onnx")
        self.compiles("a model's (1) ünï %s.onnx", "-o", "out put.so")
        self.assertTrue((self.work / "out put.so").exists())

    def test_zero_sizes(self):
        for shape in ((0, 3), (2, 0), (0,)):
            with self.subTest(shape):
                proto = model([helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Add", ["a", "x"], ["y"])],
                              [value("x", shape)], [value("y", shape)])
                (y,), _ = self.outputs(proto, [np.zeros(shape, np.float32)])
                self.assertEqual(y.shape, shape)

    def test_many_axes(self):
        """Axes of one point are put between and moved, as windows of volumes have them."""
        places, order, summed = [1, 3, 5, 6, 8], [9, 3, 0, 8, 2, 7, 1, 6, 4, 5], (4, 9)
        proto = model([helper.make_node("Unsqueeze", ["x", "places"], ["a"]), helper.make_node("Transpose", ["a"], ["b"], perm=order),
                       helper.make_node("Add", ["b", "w"], ["c"]), helper.make_node("ReduceSum", ["c", "summed"], ["y"])],
                      [value("x", ("n", 2, 3, 2, 4))], [value("y", [None] * 10)])
        w = np.arange(6, dtype=np.float32).reshape(1, 2, 1, 3, *[1] * 6)
        proto.graph.initializer.extend([numpy_helper.from_array(np.array(places), "places"), numpy_helper.from_array(w, "w"),
                                        numpy_helper.from_array(np.array(summed), "summed")])
        x = np.random.default_rng(0).normal(size=(3, 2, 3, 2, 4)).astype(np.float32)
        (y,), _ = self.outputs(proto, [x])
        expected = (np.expand_dims(x, tuple(places)).transpose(order) + w).sum(summed, keepdims=True)
        np.testing.assert_allclose(y, expected, rtol=1e-6)

    def test_zero_size_at_run_time(self):
        proto = model([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [value("x", ("n", 3))], [value("y", ())])
        (y,), _ = self.outputs(proto, [np.zeros((0, 3), np.float32)])
        self.assertEqual(y, 0)

    def test_distinct_rows_of_any_width(self):
        """As wide as a run has them, or wider than is written out: sorted by one column after the other in a loop."""
        random = np.random.default_rng(0)
        for form, shapes in ((("n", "m"), ((6, 4), (1, 1), (9, 40), (40, 1), (0, 3))), ((9, 300), ((9, 300),))):
            proto = model([helper.make_node("Unique", ["x"], list("yfic"), axis=0)], [value("x", form)],
                          [value("y", (None, form[1])), *[value(name, (None,), TensorProto.INT64) for name in "fic"]])
            for shape in shapes:
                x = random.integers(0, 2, shape).astype(np.float32)
                x[2::3] = x[1:2]
                results, _ = self.outputs(proto, [x])
                for actual, expected in zip(results, np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=0)):
                    np.testing.assert_array_equal(actual, expected.reshape(actual.shape))

    def test_pads_of_named_axes(self):
        """How many there are the axes say, where the operand does not."""
        proto = model([helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"])],
                      [value("x", ("a", "b", 2)), value("pads", ("p",), TensorProto.INT64)], [value("y", (None, None, None))])
        proto.graph.initializer.append(numpy_helper.from_array(np.array([1, -1]), "axes"))
        x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
        (y,), compiled = self.outputs(proto, [x, np.array([1, 0, 2, 3])])
        np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (1, 2), (0, 3))))

    def test_scans_of_no_rows(self):
        """Their state keeps its open extent in every turn, and so have the results of a run without any."""
        body = helper.make_graph([helper.make_node("Mul", ["a", "e"], ["b"]), helper.make_node("Neg", ["b"], ["o"])], "body",
                                 [value(name, ("n", 3)) for name in "ae"], [value(name, ("n", 3)) for name in "bo"])
        proto = model([helper.make_node("Scan", ["h", "x"], ["y", "all"], body=body, num_scan_inputs=1, scan_output_axes=[1])],
                      [value("h", ("n", 3)), value("x", ("t", "n", 3))], [value("y", ("n", 3)), value("all", ("n", "t", 3))])
        h, x = np.ones((2, 3), np.float32), np.full((4, 2, 3), 2, np.float32)
        for turns in (0, 1, 4):
            (y, each), _ = self.outputs(proto, [h, x[:turns]])
            np.testing.assert_array_equal(y, h * 2 ** turns)
            np.testing.assert_array_equal(each, np.broadcast_to(-(2.0 ** np.arange(1, turns + 1))[:, None], (2, turns, 3)))

    def test_loops_that_change_extents(self):
        """Two states change places, one grows, and one stays."""
        states = [value(name, (axis,)) for name, axis in zip("abcd", "nmkn")]
        nodes = [helper.make_node("Add", ["a", "d0"], ["a2"]), helper.make_node("Concat", ["c", "b"], ["c2"], axis=0),
                 helper.make_node("Slice", ["a2", "zero", "one"], ["d0_"]), helper.make_node("Sub", ["d", "d0_"], ["d2"]),
                 helper.make_node("ReduceSum", ["c2"], ["s"], keepdims=0)]
        body = helper.make_graph([helper.make_node("Slice", ["d", "zero", "one"], ["d0"]), *nodes], "body",
                                 [value("i", (), TensorProto.INT64), value("go", (), TensorProto.BOOL), *states],
                                 [value("go", (), TensorProto.BOOL), *(value(name, (None,)) for name in ("b", "a2", "c2", "d2")),
                                  value("s", ())])
        proto = model([helper.make_node("Loop", ["t", "", *"xyzx"], [*"pqrs", "sums"], body=body)],
                      [value("t", (), TensorProto.INT64), *(value(name, (name + "n",)) for name in "xyz")],
                      [value(name, (None,)) for name in (*"pqrs", "sums")],
                      [numpy_helper.from_array(np.array([i]), name) for i, name in enumerate(("zero", "one"))])
        rng = np.random.default_rng(0)
        for turns, extents in ((0, (2, 3, 1)), (1, (2, 3, 1)), (3, (3, 2, 4)), (4, (1, 1, 1))):
            x, y, z = (rng.normal(size=extent).astype(np.float32) for extent in extents)
            results, _ = self.outputs(proto, [np.array(turns), x, y, z])
            a, b, c, d, sums = x, y, z, x, []
            for _ in range(turns):
                a2, c = a + d[:1], np.concatenate([c, b])
                a, b, d = b, a2, d - a2[:1]
                sums.append(c.sum())
            for actual, expected in zip(results, (a, b, c, d, np.array(sums, np.float32)), strict=True):
                self.assertEqual(actual.shape, expected.shape)
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)

    def test_index_tuples_of_open_length(self):
        """The rank of the updates, or of the result where the file states it, says how many axes they index."""
        inputs = [value("x", ("n", "m", 3)), value("i", ("k", "l"), TensorProto.INT64)]
        x = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
        for tuples, shape in (([[1], [3]], (2, 5, 3)), ([[1, 2], [-1, 0]], (2, 3)), ([[0, 1, 2], [1, 4, 0]], (2,))):
            dims, rows = [None] * len(shape), tuple(np.array(tuples).T)
            writes = model([helper.make_node("ScatterND", ["x", "i", "u"], ["y"])], [*inputs, value("u", dims)], [value("y", x.shape)])
            reads = model([helper.make_node("GatherND", ["x", "i"], ["y"])], inputs, [value("y", dims)])
            u, expected = -np.ones(shape, np.float32), x.copy()
            expected[rows] = u
            (y,), _ = self.outputs(writes, [x, np.array(tuples), u])
            np.testing.assert_array_equal(y, expected)
            (y,), _ = self.outputs(reads, [x, np.array(tuples)])
            np.testing.assert_array_equal(y, x[rows])
            with self.assertRaisesRegex(Exception, "index tuples and the axes they index"):
                self.outputs(reads, [x, np.zeros((2, len(tuples[0]) % 3 + 1), np.int64)])

    def test_outputs_of_another_shape_than_stated(self):
        """The nodes' shape holds, and it is said; what --shape and --dim change is no contradiction."""
        for stated, given, options, said in (((5,), (4,), (), "is stated as [5], but its node gives [4]"),
                                             (("n", 4, 1), ("n", 4), (), "is stated as [n, 4, 1], but its node gives [n, 4]"),
                                             (("m", 4), ("n", 4), (), None),
                                             ((3, 4), (3, 4), ("--shape", "x=2x4"), None)):
            with self.subTest(stated):
                proto = model([helper.make_node("Neg", ["x"], ["y"])], [value("x", given)], [value("y", stated)])
                onnx.save(proto, self.work / "stated.onnx")
                text = self.compiles("stated.onnx", "-o", self.fresh_name(), *options).text
                notes = [line for line in text.splitlines() if line.startswith("note:")]
                self.assertEqual(notes, [f"note: output 'y' {said}"] if said else [])

    def test_minus_one_is_unknown(self):
        proto = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", (-1, 3))], [value("y", (-1, 3))])
        for rows in (1, 5):
            x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
            (y,), _ = self.outputs(proto, [x])
            np.testing.assert_array_equal(y, np.maximum(x, 0))

    def test_no_nodes(self):
        proto = model([], [value("x", (3,))], [value("x", (3,))])
        (y,), _ = self.outputs(proto, [np.arange(3, dtype=np.float32)])
        np.testing.assert_array_equal(y, np.arange(3))

    def test_unused_input(self):
        proto = model([helper.make_node("Neg", ["b"], ["y"])], [value("a", (2,)), value("b", (3,))], [value("y", (3,))])
        (y,), _ = self.outputs(proto, [np.zeros(2, np.float32), np.ones(3, np.float32)])
        np.testing.assert_array_equal(y, -np.ones(3))

    def test_one_value_as_two_outputs(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])],
                      [value("x", (3,))], [value("y", (3,)), value("z", (3,))])
        (y, z), _ = self.outputs(proto, [np.ones(3, np.float32)])
        np.testing.assert_array_equal(y, z)

    def test_long_chain(self):
        ops = ["Sin", "Cos", "Tanh", "Sigmoid"]
        nodes = [helper.make_node(ops[k % 4], [f"v{k}"], [f"v{k + 1}"]) for k in range(10_000)]
        proto = model(nodes, [value("v0", (16,))], [value("v10000", (16,))])
        x = np.linspace(-1, 1, 16, dtype=np.float32)
        (y,), _ = self.outputs(proto, [x], timeout=60)
        exact = x.astype(np.float64)
        for k in range(10_000):
            exact = {"Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v))}[ops[k % 4]](exact)
        np.testing.assert_allclose(y, exact, rtol=1e-5)

    def test_long_chain_of_open_shape(self):
        """The extent of the last value is that of the first, found in a step and not in n."""
        ops = ["Relu", "Neg", "Abs", "Sigmoid"]
        nodes = [helper.make_node(ops[k % 4], [f"v{k}"], [f"v{k + 1}"]) for k in range(20_000)]
        proto = model(nodes, [value("v0", ("N",))], [value("v20000", ("N",))])
        (y,), _ = self.outputs(proto, [np.ones(3, np.float32)], timeout=30)
        last = 0.0
        for _ in range(5000):
            last = 1 / (1 + np.exp(-abs(max(last, 0.0))))
        np.testing.assert_allclose(y, np.full(3, last), rtol=1e-5)

    def test_many_pieces(self):
        names = [f"v{k}" for k in range(1000)]
        proto = model([helper.make_node("Split", ["x"], names, axis=0, num_outputs=len(names))],
                      [value("x", (len(names), 3))], [value(name, (1, 3)) for name in names])
        x = np.arange(3 * len(names), dtype=np.float32).reshape(-1, 3)
        pieces, _ = self.outputs(proto, [x])
        np.testing.assert_array_equal(np.concatenate(pieces), x)

    def test_many_branches_on_one_condition(self):
        def branch(op, k):
            return helper.make_graph([helper.make_node(op, [f"v{k}"], [f"{op}{k}"])], op, [], [value(f"{op}{k}", (3,))])
        nodes = [helper.make_node("If", ["c"], [f"v{k + 1}"], then_branch=branch("Neg", k), else_branch=branch("Relu", k))
                 for k in range(301)]
        condition = helper.make_tensor_value_info("c", TensorProto.BOOL, ())
        proto = model(nodes, [value("v0", (3,)), condition], [value("v301", (3,))])
        x = np.array([-1, 0, 2], np.float32)
        for taken, expected in ((True, -x), (False, np.maximum(x, 0))):
            (y,), _ = self.outputs(proto, [x, np.array(taken)])
            np.testing.assert_array_equal(y, expected)


if __name__ == "__main__":
    unittest.main()
