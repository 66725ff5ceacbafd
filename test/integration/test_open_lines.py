"""Lines whose lengths a run knows, as points and as pieces, and floats that become bytes: right on every level of instructions that this
machine has. Whose caches results outgrow."""
import unittest

import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels


class OpenLines(ToolTest):
    def test_open_lines(self):
        """Points of open lines are one line, and what is put together along open axes is pieces of one, of every length around whole
        vectors and none; also computed with, beside what has a scale for each line, and given twice."""
        random = np.random.default_rng(14)
        make, scalar = helper.make_node, onnx.numpy_helper.from_array(np.array(0.5, np.float32), "h")
        nodes = [make("Mul", ["x", "h"], ["m"]), make("Abs", ["m"], ["a"]), make("Mul", ["z", "h"], ["zm"]), make("Neg", ["zm"], ["zn"]),
                 make("Mul", ["x", "s"], ["scaled"]), make("Concat", ["x", "x"], ["twice"], axis=0), make("Concat", ["x", "u"], ["rows"], axis=0),
                 make("Concat", ["z", "w"], ["last"], axis=2), make("Neg", ["last"], ["last_neg"]), make("Concat", ["z", "v", "z"], ["middle"], axis=1),
                 make("Concat", ["k", "l"], ["known"], axis=1)]
        given = {"x": ["n", 33], "u": ["n2", 33], "s": ["n", 1], "z": [3, "p", "q"], "v": [3, "p2", "q"], "w": [3, "p", "q2"], "k": ["n", 2, 33],
                 "l": ["n", 5, 33]}
        outputs = ["a", "zn", "scaled", "twice", "rows", "last_neg", "middle", "known"]
        graph = helper.make_graph(nodes, "open", [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, d) for n, d in given.items()],
                                  [helper.make_empty_tensor_value_info(n) for n in outputs], [scalar])
        path = self.work / "open.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for n, n2, p, p2, q, q2 in ((1, 1, 1, 1, 1, 1), (7, 3, 5, 1, 17, 3), (0, 4, 3, 0, 9, 0), (100, 1, 64, 1, 64, 8), (500, 33, 16, 7, 1001, 77)):
                    sizes = dict(n=n, n2=n2, p=p, p2=p2, q=q, q2=q2)
                    v = {name: random.standard_normal([sizes.get(d, d) for d in dims], dtype=np.float32) for name, dims in given.items()}
                    wanted = [abs(v["x"] / 2), -(v["z"] / 2), v["x"] * v["s"], np.concatenate([v["x"]] * 2), np.concatenate([v["x"], v["u"]]),
                              -np.concatenate([v["z"], v["w"]], 2), np.concatenate([v["z"], v["v"], v["z"]], 1), np.concatenate([v["k"], v["l"]], 1)]
                    for actual, expected, name in zip(compiled(*v.values()), wanted, outputs, strict=True):
                        np.testing.assert_array_equal(actual, expected, f"{cpu} {sizes} {name}")

    def test_lines_of_few_pieces(self):
        """Parts of few points that are put together behind open axes: runs go over several lines."""
        random = np.random.default_rng(18)
        for points, behind in ((2, 1), (3, 1), (2, 2), (2, 9)):
            nodes = [helper.make_node("Split", ["x"], [f"p{i}" for i in range(points)], axis=2, num_outputs=points),
                     helper.make_node("Concat", ["p1", "p0", "p1"], ["y"], axis=2)]
            graph = helper.make_graph(nodes, "few", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "m", points, behind])],
                                      [helper.make_empty_tensor_value_info("y")])
            path = self.work / "few.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
            for cpu in [*cpu_levels(), "native"]:
                with Compiled.build(path, "--cpu", cpu) as compiled:
                    for n, m in ((1, 1), (3, 7), (0, 2), (17, 33)):
                        x = random.standard_normal((n, m, points, behind), dtype=np.float32)
                        np.testing.assert_array_equal(compiled(x)[0], x[:, :, [1, 0, 1]], f"{cpu} {x.shape}")

    def test_what_is_repeated_along_open_lines(self):
        """And comes round: by lines that are kept, and by those of which only a run knows whether they are one point."""
        random = np.random.default_rng(16)
        make = helper.make_node
        constants = {name: np.array(value, np.int64) for name, value in {"one": [1], "zero": [0], "end": [1 << 40], "twice": [1, 1, 2, 2]}.items()}
        nodes = [make("ReduceMax", ["x", "one"], ["most"]), make("Sub", ["x", "most"], ["below"]), make("Mul", ["x", "t"], ["scaled"]),
                 make("Slice", ["z", "k", "end", "one"], ["head"]), make("Slice", ["z", "zero", "k", "one"], ["tail"]),
                 make("Concat", ["head", "tail"], ["rolled"], axis=1), make("Tile", ["x", "twice"], ["tiled"])]
        given = {"x": ["b", 3, "h", "w"], "t": ["b", 1, "h2", "w2"], "z": [3, "p", 5], "k": [1]}
        outputs = ["below", "scaled", "rolled", "tiled"]
        inputs = [helper.make_tensor_value_info(n, onnx.TensorProto.INT64 if n == "k" else onnx.TensorProto.FLOAT, d) for n, d in given.items()]
        graph = helper.make_graph(nodes, "open", inputs, [helper.make_empty_tensor_value_info(n) for n in outputs],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
        path = self.work / "repeated.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for b, h, w, h2, w2, p, k in ((1, 1, 1, 1, 1, 1, 0), (2, 7, 9, 7, 9, 9, 4), (3, 5, 17, 1, 17, 100, 99), (2, 16, 16, 16, 1, 7, 7),
                                              (0, 4, 4, 4, 4, 0, 0), (1, 1, 70, 1, 1, 2000, 3)):
                    v = {name: random.standard_normal([dict(b=b, h=h, w=w, h2=h2, w2=w2, p=p).get(d, d) for d in dims], dtype=np.float32)
                         for name, dims in given.items() if name != "k"}
                    x, t, z = v.values()
                    wanted = [x - x.max(1, keepdims=True), x * t, np.concatenate([z[:, k:], z[:, :k]], 1), np.tile(x, (1, 1, 2, 2))]
                    for actual, expected, name in zip(compiled(x, t, z, np.array([k])), wanted, outputs, strict=True):
                        np.testing.assert_array_equal(actual, expected, f"{cpu} {(b, h, w, h2, w2, p, k)} {name}")

    def test_open_rows_of_a_few(self):
        """Reduced as rows of several beside each other, and a rest; of two open axes, of what has a scale for each column, and of no rows.
        Long ones in groups."""
        random = np.random.default_rng(17)
        make = helper.make_node
        constants = {"first": np.array([0], np.int64), "both": np.array([0, 1], np.int64), "scale": np.array([[1, 2, 4]], np.float32)}
        nodes = [make("Mul", ["x", "scale"], ["scaled"]), make("ReduceSum", ["scaled", "first"], ["sum"], keepdims=0),
                 make("ReduceMax", ["x", "first"], ["most"]), make("ReduceSum", ["z", "both"], ["of_both"], keepdims=0),
                 make("ReduceSum", ["far", "first"], ["sum_far"], keepdims=0), make("ReduceMin", ["wide", "first"], ["least"], keepdims=0)]
        given = {"x": ["n", 3], "z": ["b", "n", 2, 7], "far": ["n", 1100], "wide": ["n", "m"]}
        outputs = ["sum", "most", "of_both", "sum_far", "least"]
        graph = helper.make_graph(nodes, "open", [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, d) for n, d in given.items()],
                                  [helper.make_empty_tensor_value_info(n) for n in outputs],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
        path = self.work / "points.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for b, n, m in ((1, 1, 1), (2, 63, 17), (3, 64, 700), (0, 65, 0), (5, 1000, 301), (1, 0, 40), (1, 8, 1025)):
                    x, z, far, wide = (random.integers(-9, 9, [dict(b=b, n=n, m=m).get(d, d) for d in dims]).astype(np.float32) for dims in given.values())
                    wanted = [(x * constants["scale"]).sum(0), x.max(0, keepdims=True, initial=-np.inf), z.sum((0, 1)), far.sum(0), wide.min(0, initial=np.inf)]
                    for actual, expected, name in zip(compiled(x, z, far, wide), wanted, outputs, strict=True):
                        np.testing.assert_array_equal(actual, expected, f"{cpu} {b} {n} {m} {name}")

    def test_triangles_and_first_elements(self):
        """Of matrices whose extents a run knows, beside any diagonal, and as many first elements as it says, of lines shorter and longer than
        what is selected from on the stack."""
        random = np.random.default_rng(15)
        nodes = [helper.make_node("Trilu", ["x", "d"], ["u"], upper=1), helper.make_node("Trilu", ["x", "d"], ["l"], upper=0),
                 helper.make_node("TopK", ["x", "k"], ["largest", "places"], axis=-1), helper.make_node("TopK", ["x", "k"], ["least", "low"], axis=-1, largest=0)]
        given = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "m"]), helper.make_tensor_value_info("d", onnx.TensorProto.INT64, []),
                 helper.make_tensor_value_info("k", onnx.TensorProto.INT64, [1])]
        graph = helper.make_graph(nodes, "open", given, [helper.make_empty_tensor_value_info(n) for n in ("u", "l", "largest", "places", "least", "low")])
        path = self.work / "triangles.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
        for cpu in [*cpu_levels(), "native"]:
            with Compiled.build(path, "--cpu", cpu) as compiled:
                for n, m, d, k in ((1, 1, 0, 1), (7, 33, 3, 0), (30, 131, -2, 131), (0, 9, 0, 2), (5, 260, 100, 40), (2, 9000, -1, 3000), (3, 20011, 500, 77)):
                    x = random.integers(0, 100, (n, m)).astype(np.float32)
                    down, up = np.argsort(-x, -1, kind="stable")[:, :k], np.argsort(x, -1, kind="stable")[:, :k]
                    wanted = [np.triu(x, d), np.tril(x, d), np.take_along_axis(x, down, -1), down, np.take_along_axis(x, up, -1), up]
                    for actual, expected in zip(compiled(x, np.array(d), np.array([k])), wanted, strict=True):
                        np.testing.assert_array_equal(actual, expected, f"{cpu} {n} {m} {d} {k}")

    def test_lower_bits_of_clamped_conversions(self):
        """Of 32 bits, which most casts to bytes go by; in runs that fill registers and around them."""
        edges = [0.0, -0.9, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, 1e9 + 64, -1e9 - 64, 2147483520.0, 2147483647.0, 2147483647.5, 2147483648.0,
                 -2147483648.0, -2147483649.0, -2147483904.0, 4294967295.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
        for source in (np.float32, np.float64):
            for length in (7, 31, 32, 64, 107, 5000):
                x = np.resize(np.array(edges).astype(source), length)
                wide = np.clip(np.trunc(np.nan_to_num(x.astype(np.float64), nan=0)), -2**31, 2**31 - 1).astype(np.int64)
                for target in map(np.dtype, ("int8", "uint8")):
                    nodes = [helper.make_node("Cast", ["x"], ["w"], to=onnx.TensorProto.INT32),
                             helper.make_node("Cast", ["w"], ["y"], to=helper.np_dtype_to_tensor_dtype(target))]
                    graph = helper.make_graph(nodes, "casts", [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
                                              [helper.make_empty_tensor_value_info("y")])
                    path = self.work / "casts.onnx"
                    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
                    for cpu in [*cpu_levels(), "native"]:
                        with Compiled.build(path, "--cpu", cpu) as compiled:
                            np.testing.assert_array_equal(compiled(x)[0], wide.astype(target), f"{source} {length} {target} {cpu}")
            self.compiles("casts.onnx", "-o", "casts.so", "--cpu", "x86-64-v3", "--dump-ir", "ir")
            code = "".join(path.read_text() for path in self.work.glob("ir/8-codegen/k*.mlir"))
            self.assertIn("llvm.x86.avx2.packuswb", code)

    def test_results_outgrow_shared_caches(self):
        """Of 40 MB those of 32 MB, not those of 60."""
        graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "large", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (10240, 1024))],
                                  [helper.make_empty_tensor_value_info("y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), self.work / "large.onnx")
        for cpu, past in (("znver5", True), ("znver3", True), ("icelake-server", False)):
            self.compiles(self.work / "large.onnx", "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", self.work / "large.s")
            self.assertEqual("movntp" in (self.work / "large.s").read_text(), past, cpu)


if __name__ == "__main__":
    unittest.main()
