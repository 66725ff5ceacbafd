"""Products of open rows, of rows that are read in place and of columns that lie along what is summed, beside NumPy's in
double precision, on every level of instructions that this machine has: single rows, rests of blocks and of vectors, nothing
to sum, no row and no column."""
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels


class Products(ToolTest):
    def write(self, nodes, inputs, outputs, dtype, weights=()):
        values = [[helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape) for name, shape in some]
                  for some in (inputs, outputs)]
        graph = helper.make_graph(nodes, "g", *values, [numpy_helper.from_array(value, name) for name, value in weights])
        path = self.work / "product.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return path

    def close(self, actual, left, right):
        expected = left.astype(np.float64) @ right.astype(np.float64)
        tolerance = 4e-3 if actual.dtype == np.float16 else 1e-5 if actual.dtype == np.float32 else 1e-12
        self.assertEqual(actual.shape, expected.shape)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * (1 + left.shape[-1]) ** 0.5)

    def test_open_rows(self):
        rng = np.random.default_rng(1)
        weights = rng.standard_normal((64, 100), dtype=np.float32)
        path = self.write([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", ["b", "s", 64])], [("y", ["b", "s", 100])],
                          np.float32, [("w", weights)])
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for rows in ((1, 1), (0, 1), (1, 0), (2, 1), (1, 7), (5, 9)):
                    with self.subTest(cpu=cpu, rows=rows):
                        x = rng.standard_normal((*rows, 64), dtype=np.float32)
                        self.close(compiled(x)[0], x, weights)

    def test_few_open_rows(self):
        """Both at run time: no row, one, those of one tile and more have their own ways to read what they are multiplied with."""
        rng = np.random.default_rng(3)
        for dtype, k, n in ((np.float32, 64, 100), (np.float32, 900, 33), (np.float32, 4100, 321), (np.float64, 70, 30), (np.float16, 300, 40)):
            for form in ("plain", "turned"):
                right = rng.standard_normal((k, n)).astype(dtype)
                given = right if form == "plain" else right.T.copy()
                nodes = [helper.make_node("MatMul", ["x", "w" if form == "plain" else "t"], ["y"])]
                if form == "turned":
                    nodes.insert(0, helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]))
                path = self.write(nodes, [("x", ["m", k]), ("w", given.shape)], [("y", ["m", n])], dtype)
                for cpu in [*cpu_levels(), "native"]:
                    with Compiled.build(path, "--cpu", cpu) as compiled:
                        for rows in (0, 1, 2, 3, 4, 5, 7, 8, 9, 17):
                            with self.subTest(dtype.__name__, k=k, n=n, form=form, cpu=cpu, rows=rows):
                                x = rng.standard_normal((rows, k)).astype(dtype)
                                self.close(compiled(x, given)[0], x, right)

    def test_open_vectors(self):
        """A matrix by a vector, a vector by a matrix and the same for each of a batch, of open rows, an open length or an open
        batch; of none of them too."""
        rng = np.random.default_rng(5)
        runs = ({"m": 0, "k": 100, "b": 2}, {"m": 1, "k": 1, "b": 1}, {"m": 7, "k": 0, "b": 3}, {"m": 33, "k": 130, "b": 0}, {"m": 100, "k": 700, "b": 2})
        for dtype in (np.float32, np.float16):
            for left, right in ((("m", 65), (65, 1)), ((1, "k"), ("k", 300)), (("m", "k"), ("k", 1)), ((2, "k"), ("k", 300)),
                                (("b", "m", 70), ("b", 70, 1)), (("b", 1, "k"), ("b", "k", 40)), (("b", 9, "k"), ("b", "k", 1))):
                path = self.write([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", left), ("w", right)], [("y", [*left[:-1], right[-1]])], dtype)
                for cpu in [*cpu_levels(), "native"]:
                    with Compiled.build(path, "--cpu", cpu) as compiled:
                        for run in runs:
                            with self.subTest(dtype.__name__, left=left, right=right, cpu=cpu, run=run):
                                x, w = (rng.uniform(-1, 1, [run.get(extent, extent) for extent in shape]).astype(dtype) for shape in (left, right))
                                self.close(compiled(x, w)[0], x, w)

    def test_columns_along_sums(self):
        """Stored as they are and turned, alone and in a batch."""
        rng = np.random.default_rng(2)
        cases = [(np.float32, shape) for shape in ((2, 2000, 33), (3, 100, 7), (8, 64, 16), (13, 257, 5), (8, 0, 5), (0, 64, 5), (4, 64, 0))]
        for dtype, (m, k, n) in [*cases, (np.float64, (4, 1000, 10)), (np.float64, (2, 63, 17)), (np.float16, (3, 300, 33))]:
            for batch in ([], [3]):
                left, right = rng.standard_normal((*batch, m, k)).astype(dtype), rng.standard_normal((*batch, n, k)).astype(dtype)
                turn = {"perm": [0, 2, 1] if batch else [1, 0]}
                path = self.write([helper.make_node("Transpose", ["r"], ["c"], **turn), helper.make_node("MatMul", ["l", "c"], ["y"]),
                                   helper.make_node("Transpose", ["y"], ["z"], **turn)],
                                  [("l", left.shape), ("r", right.shape)], [("y", [*batch, m, n]), ("z", [*batch, n, m])], dtype)
                for cpu in [*cpu_levels(), "native"]:
                    with self.subTest(dtype.__name__, m=m, k=k, n=n, batch=batch, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                        y, z = compiled(left, right)
                        self.close(y, left, right.swapaxes(-1, -2))
                        np.testing.assert_array_equal(z, y.swapaxes(-1, -2))

    def test_batches_of_single_sums(self):
        """Neither a row nor a column: of a vector of lanes one is stored, next to what other tasks store."""
        rng = np.random.default_rng(11)
        extents = {"a": 9, "b": 17, "c": 24, "d": 5}
        for equation in ("cba,bca->ac", "acb,abc->bc", "cba,bca->ca", "cdba,cabd->dac", "ba,ba->ab"):
            left, right, out = equation.replace("->", ",").split(",")
            for dtype in (np.float32, np.float64, np.int32):
                shapes = [[extents[letter] for letter in term] for term in (left, right, out)]
                path = self.write([helper.make_node("Einsum", ["x", "w"], ["y"], equation=equation)],
                                  [("x", shapes[0]), ("w", shapes[1])], [("y", shapes[2])], dtype)
                x, w = ((8 * rng.standard_normal(shape)).astype(dtype) for shape in shapes[:2])
                expected = np.einsum(equation, x.astype(np.float64), w.astype(np.float64))
                for cpu in [*cpu_levels(), "native"]:
                    with Compiled.build(path, "--cpu", cpu) as compiled, self.subTest(equation, dtype=dtype.__name__, cpu=cpu):
                        np.testing.assert_allclose(compiled(x, w)[0], expected, rtol=1e-5 if dtype == np.float32 else 1e-12,
                                                   atol=1e-3 if dtype == np.float32 else 1e-9)

    def test_rows_in_place(self):
        """Several tiles of rows that read a matrix where it lies, whole pages apart too, or tasks below each other that read the
        same weights; of a left operand that lies as the product takes it, and turned."""
        rng = np.random.default_rng(4)
        cases = [(np.float32, shape) for shape in ((33, 700, 129), (17, 300, 1024), (19, 64, 7), (40, 5000, 70), (130, 513, 50), (33, 0, 20))]
        for dtype, (m, k, n) in [*cases, (np.float64, (35, 300, 50)), (np.float16, (21, 300, 33)), (np.int32, (20, 70, 33))]:
            for form, batch, packed in (("plain", [], False), ("turned", [], False), ("turned", [3], False), ("plain", [3], False),
                                        ("plain", [], True), ("turned", [], True)):
                low = -9 if dtype == np.int32 else -1
                left = rng.uniform(low, -low, (*batch, m, k)).astype(dtype)
                right = rng.uniform(low, -low, (*batch, k, n)).astype(dtype)
                given = left if form == "plain" else left.swapaxes(-1, -2).copy()
                nodes = [helper.make_node("MatMul", ["x" if form == "plain" else "t", "w"], ["y"])]
                if form == "turned":
                    nodes.insert(0, helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1] if batch else [1, 0]))
                inputs = [("x", given.shape)] + ([] if packed else [("w", right.shape)])
                path = self.write(nodes, inputs, [("y", [*batch, m, n])], dtype, [("w", right)] if packed else [])
                for cpu in [*cpu_levels(), "native"]:
                    with self.subTest(dtype.__name__, m=m, k=k, n=n, form=form, batch=batch, packed=packed, cpu=cpu), \
                            Compiled.build(path, "--cpu", cpu) as compiled:
                        self.close(compiled(*([given] if packed else [given, right]))[0], left, right)


if __name__ == "__main__":
    unittest.main()
