"""Models of torch.export that change their buffers or inputs, against PyTorch: each run goes on from the one before."""
import pathlib
import unittest

import numpy as np

from compiled import Compiled
from toolrun import ToolTest
import tcc

FOLDER = pathlib.Path(__file__).resolve().parent / "torch_export"


def listed(data, kind, run):
    return [data[f"{kind}{run}_{i}"] for i in range(sum(key.startswith(f"{kind}{run}_") for key in data))]


class Mutation(unittest.TestCase):
    def agree(self, actual, expected, what):
        self.assertEqual(actual.dtype, expected.dtype, what)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6, err_msg=what)

    def check(self, name, form, arrange=np.array, flags=()):
        data = dict(np.load(FOLDER / (name + ".npz")))
        with Compiled.build(FOLDER / (name + form + ".pt2"), *flags) as model:
            self.assertEqual(len(model.inputs), len(listed(data, "input", 0)))
            for run in range(100):
                inputs = [arrange(x) for x in listed(data, "input", run)]
                if not inputs:
                    return
                outputs, expected = model(*inputs), listed(data, "output", run)
                self.assertEqual(len(outputs), len(expected))
                for i, (actual, right) in enumerate(zip(outputs, expected)):
                    self.agree(actual, right, f"output {i} of run {run}")
                for i, (actual, right) in enumerate(zip(inputs, listed(data, "written", run))):
                    self.agree(actual, right, f"input {i} after run {run}")

    def test_inputs_of_any_strides_are_written_back(self):
        for form in ["", "-aten"]:
            self.check("in_place", form, lambda x: np.array(x, order="F"))

    def test_on_a_device(self):
        for name in ["cache", "counter", "exchange", "in_place"]:
            with self.subTest(name):
                self.check(name, "", flags=["--arch", "sim"])

    def test_read_only_inputs_are_refused(self):
        def frozen(x):
            x = np.array(x)
            x.flags.writeable = False
            return x
        with self.assertRaisesRegex(Exception, "writes into input"):
            self.check("in_place", "", frozen)

    def test_each_context_has_a_state_of_its_own(self):
        data = dict(np.load(FOLDER / "counter.npz"))
        for _ in range(2):
            with Compiled.build(FOLDER / "counter.pt2") as model:
                self.assertEqual(model(data["input0_0"])[1], 3)
                self.assertEqual(model(data["input0_0"])[1], 4)


class Indices(unittest.TestCase):
    def test_integers_that_pytorch_trusts_are_checked(self):
        data = dict(np.load(FOLDER / "trusting.npz"))
        names = [key.removesuffix("_good") for key in data if key.endswith("_good")]
        good = [data["x"], *(data[name + "_good"] for name in names)]
        with Compiled.build(FOLDER / "trusting.pt2") as model:
            for name, result in zip(names, model(*good)):
                np.testing.assert_allclose(result, data[name], rtol=1e-5, atol=1e-5, err_msg=name)
            for place, name in enumerate(names):
                for bad in data[name + "_bad"]:
                    with self.subTest(f"{name} of {bad.tolist()}"), self.assertRaises(tcc.Error):
                        model(*good[:place + 1], bad, *good[place + 2:])

    def test_indices_out_of_range_fail_as_in_pytorch(self):
        data = dict(np.load(FOLDER / "indices.npz"))
        names = [key.removesuffix("_indices") for key in data if key.endswith("_indices")]
        with Compiled.build(FOLDER / "indices.pt2") as model:
            for place, name in enumerate(names):
                for k, indices in enumerate(data[name + "_indices"]):
                    given = [data["x"]] + [np.array([2, 0]) for _ in names]
                    given[place + 1] = indices
                    with self.subTest(f"{name} at {indices.tolist()}"):
                        if f"{name}_{k}" in data:
                            np.testing.assert_allclose(model(*given)[place], data[f"{name}_{k}"], rtol=1e-5)
                        else:
                            with self.assertRaisesRegex(Exception, "an index is out of range"):
                                model(*given)


class ChangedInPart(ToolTest):
    def test_a_cache_is_changed_where_it_lies(self):
        for flags in [], ["--arch", "sim"]:
            with self.subTest(flags):
                self.compiles(FOLDER / "cache.pt2", "--stop-after", "plan", "-o", "model.mlir", *flags)
                text = (self.work / "model.mlir").read_text()
                self.assertEqual(text.count("prim.scatter_along"), 2)
                self.assertNotIn("host.copy", text)
                self.assertNotIn("prim.transpose", text)


class BoundedIndices(ToolTest):
    def test_indices_that_cannot_leave_their_axis_are_not_checked(self):
        self.compiles(FOLDER / "bounded.pt2", "--stop-after", "decompose", "-o", "model.mlir")
        text = (self.work / "model.mlir").read_text()
        self.assertIn("prim.take", text)
        self.assertNotIn("an index is out of range", text)


class Messages(ToolTest):
    def test_storage_of_another_order_is_not_read(self):
        """as_strided sees how eager lays its operand out, which is not how it lies here."""
        order, part = "whose elements do not lie row by row", "that is part of another one"
        for name, why in (("turned_storage", order), ("turned_open_storage", order), ("part_of_open_storage", part),
                          ("resized_storage", order)):
            with self.subTest(name):
                result = self.tcc(FOLDER / f"{name}.pt2", "-o", "model.so")
                self.assertEqual(result.code, 2)
                self.assertIn(f"reads the storage of a tensor {why}", result.text)

    def test_refused_nodes_are_named_with_their_line_of_python(self):
        result = self.tcc(FOLDER / "refused.pt2", "-o", "model.so")
        self.assertEqual(result.code, 2, result.text)
        self.assertRegex(result.text, r"node '_euclidean_dist': aten\._euclidean_dist\.default on \(f32\[3x3\]\) "
                                      r"\(.*model\.py:6\): no rule")

    def test_dims_that_depend_on_each_other_are_checked(self):
        with Compiled.build(FOLDER / "doubled.pt2") as model:
            x = np.ones((3, 2), np.float32)
            y = np.ones((6, 2), np.float32)
            self.assertEqual(model(x, y)[0].tolist(), (np.concatenate([x, x]) + y).tolist())
            with self.assertRaisesRegex(Exception, r"input 'y': dim 0 must be 2\*s\d+"):
                model(x, y[:5])

    def test_sizes_that_python_branched_on_are_checked(self):
        """The graph is that of the branches taken, here n % 3 == 0, n != m and n m > 12, and computes nothing else."""
        with Compiled.build(FOLDER / "guarded.pt2") as model:
            for shape in [(6, 4), (9, 2), (3, 5), (15, 1)]:
                x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
                y = (x * 2 + 1) * 5
                whole, half, _ = model(x, np.ones(1, np.float32))
                self.assertEqual(whole.tolist(), y.tolist())
                self.assertEqual(half.tolist(), y[::2].reshape(-1).tolist())
            for shape, guard in [((4, 7), "% 3"), ((6, 6), "!="), ((3, 4), "> 12"), ((3, 1), "> 12"), ((1, 20), "% 3")]:
                with self.subTest(shape), self.assertRaisesRegex(Exception, "exported for sizes with .*" + guard):
                    model(np.ones(shape, np.float32), np.ones(7, np.float32))
            with self.assertRaisesRegex(Exception, "exported for sizes with .*Second.*% 5"):
                model(np.ones((6, 4), np.float32), np.ones(10, np.float32))

    def test_floats_and_bits_that_python_branched_on_are_checked(self):
        with Compiled.build(FOLDER / "scaled.pt2") as model:
            for shape in [(8, 6, 4, 3), (9, 7, 4, 5), (9, 9, 6, 7)]:
                self.assertEqual(model(np.ones(shape, np.float32))[0].tolist(), np.full(shape, 128.).tolist())
            for shape, guard in [((8, 8, 4, 3), ", 1\\) <= 1.8"), ((10, 6, 4, 3), "trunc"), ((8, 6, 8, 8), " / "), ((8, 5, 4, 3), "round"), ((8, 6, 5, 4), "&"),
                                 ((8, 6, 2, 3), "\\^"), ((8, 6, 4, 2), "abs"), ((1, 6, 4, 3), "")]:
                with self.subTest(shape), self.assertRaisesRegex(Exception, "exported for sizes with .*" + guard):
                    model(np.ones(shape, np.float32))

    def test_powers_and_choices_that_python_branched_on_are_checked(self):
        with Compiled.build(FOLDER / "chosen.pt2") as model:
            for shape in [(8, 7, 4), (9, 6, 5), (9, 6, 7)]:
                self.assertEqual(model(np.ones(shape, np.float32))[0].tolist(), np.full(shape, 16.).tolist())
            for shape, guard in [((5, 7, 4), " if "), ((11, 7, 4), " / "), ((7, 7, 3), "\\*\\* "), ((8, 5, 4), "=="), ((1, 6, 4), "")]:
                with self.subTest(shape), self.assertRaisesRegex(Exception, "exported for sizes with .*" + guard):
                    model(np.ones(shape, np.float32))

    def test_a_size_that_is_fixed_to_break_a_guard_is_refused(self):
        result = self.tcc(FOLDER / "guarded.pt2", "-o", "model.so", "--shape", "given_rows=4,7")
        self.assertEqual(result.code, 2, result.text)
        self.assertIn("exported for sizes with", result.text)

    def test_bounds_of_a_dim_are_checked(self):
        with Compiled.build(FOLDER / "doubled.pt2") as model:
            with self.assertRaisesRegex(Exception, "9"):
                model(np.ones((9, 2), np.float32), np.ones((18, 2), np.float32))

    def test_an_unknown_dim_is_answered_with_those_there_are(self):
        result = self.tcc(FOLDER / "doubled.pt2", "-o", "model.so", "--dim", "batch=4")
        self.assertEqual(result.code, 2, result.text)
        self.assertRegex(result.text, r"there is 's\d+' \(axis 0 of 'x'\)")


def add(name, form):
    setattr(Mutation, f"test_{name}{form.replace('-', '_')}", lambda self: self.check(name, form))


for name in ["counter", "cache", "batch_norm", "instance_norm", "in_place", "dropped", "exchange", "same_name"]:
    for form in ["", "-aten"]:
        add(name, form)


if __name__ == "__main__":
    unittest.main()
