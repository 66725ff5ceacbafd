"""Matrix products of two activations that were bytes, as attention of quantised models has them, and layers whose scales a run finds:
as exact sums say, on every level of instructions. Bytes that are moved between dequantising and quantising stay what they were."""
import itertools
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels

TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
F32 = TensorProto.FLOAT


def integers(rng, kind, shape):
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


def saved(path, nodes, inputs, outputs, constants):
    """`inputs`, `outputs`: name, type and shape of each."""
    values = [[helper.make_tensor_value_info(*value) for value in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *values, [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


class QuantizedProducts(ToolTest):
    def check(self, path, arrays, expected, **tolerance):
        for cpu in cpu_levels():
            with self.subTest(path.stem, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                np.testing.assert_allclose(compiled(*arrays)[0], expected, **tolerance)

    def test_activations(self):
        """q by k, of which k is turned before it is dequantised or after; rows may be open."""
        rng = np.random.default_rng(0)
        for number, (q_type, k_type, later) in enumerate(itertools.product(TYPES, TYPES, (False, True))):
            q, k = integers(rng, q_type, (2, 3, 19, 33)), integers(rng, k_type, (2, 3, 21, 33))
            zeros = q_type(7), k_type(100)
            nodes = [helper.make_node("DequantizeLinear", ["q", "qs", "qz"], ["qf"]),
                     helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
                     helper.make_node("DequantizeLinear", ["kt", "ks", "kz"], ["kf"]),
                     helper.make_node("MatMul", ["qf", "kf"], ["y"])]
            if later:
                nodes[1:3] = [helper.make_node("DequantizeLinear", ["k", "ks", "kz"], ["kt"]),
                              helper.make_node("Transpose", ["kt"], ["kf"], perm=[0, 1, 3, 2])]
            rows = "rows" if number % 2 else q.shape[2]
            path = saved(self.work / f"activations{number}.onnx", nodes,
                         [("q", TYPES[q_type], [2, 3, rows, 33]), ("k", TYPES[k_type], k.shape)], [("y", F32, None)],
                         dict(qs=np.float32(0.5), qz=zeros[0], ks=np.float32(0.25), kz=zeros[1]))
            exact = (q.astype(np.float64) - zeros[0]) @ (k.astype(np.float64) - zeros[1]).transpose(0, 1, 3, 2) * 0.125
            self.check(path, [q, k], exact, rtol=1e-6)

    def test_functions_of_a_byte(self):
        """What an activation makes of each byte, with what is rounded in it and after it: bytes or floats."""
        floats = np.linspace(-40, 40, 1021).astype(np.float32).repeat(3)
        for x_type, length in itertools.product(TYPES, (floats.size, "length")):
            limits = np.iinfo(x_type)
            middle, low = x_type((limits.min + limits.max + 1) // 2 + 9), x_type(limits.min + 10)
            steps = np.float32(0.25), np.float32(1 / 256), np.float32(0.125)

            def rounded(v, step, zero):
                return np.clip(np.rint(v / step) + zero, limits.min, limits.max).astype(x_type)

            def value(q, step, zero):
                return (q.astype(np.float32) - np.float32(zero)) * step
            q = rounded(floats, steps[0], middle)
            gate = rounded(1 / (1 + np.exp(-value(q, steps[0], middle))), steps[1], limits.min)
            product = value(q, steps[0], middle) * value(gate, steps[1], limits.min)
            nodes = [helper.make_node("QuantizeLinear", ["x", "s0", "z0"], ["q"]),
                     helper.make_node("DequantizeLinear", ["q", "s0", "z0"], ["f"]),
                     helper.make_node("Sigmoid", ["f"], ["g"]),
                     helper.make_node("QuantizeLinear", ["g", "s1", "z1"], ["gq"]),
                     helper.make_node("DequantizeLinear", ["gq", "s1", "z1"], ["gf"]),
                     helper.make_node("Mul", ["f", "gf"], ["m"])]
            constants = dict(s0=steps[0], s1=steps[1], s2=steps[2], z0=middle, z1=x_type(limits.min), z2=low)
            path = saved(self.work / f"floats-{x_type.__name__}-{length}.onnx", nodes, [("x", F32, [length])], [("m", F32, None)], constants)
            self.check(path, [floats], product, rtol=1e-6)
            nodes.append(helper.make_node("QuantizeLinear", ["m", "s2", "z2"], ["y"]))
            path = saved(self.work / f"bytes-{x_type.__name__}-{length}.onnx", nodes, [("x", F32, [length])],
                         [("y", TYPES[x_type], None)], constants)
            self.check(path, [floats], rounded(product, steps[2], low), atol=0)

    def test_zero_points_of_weights(self):
        rng = np.random.default_rng(1)
        for x_type, per_column in itertools.product(TYPES, (False, True)):
            x, w = integers(rng, x_type, (9, 70)), integers(rng, np.uint8, (70, 33))
            columns = (33,) if per_column else ()
            scale, zero = rng.uniform(0.01, 0.1, columns).astype(np.float32), rng.integers(50, 200, columns).astype(np.uint8)
            nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
                     helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=1),
                     helper.make_node("MatMul", ["xf", "wf"], ["y"])]
            path = saved(self.work / f"weights{x_type.__name__}{per_column}.onnx", nodes, [("x", TYPES[x_type], x.shape)],
                         [("y", F32, None)], dict(xs=np.float32(0.5), xz=x_type(5), w=w, ws=scale, wz=zero))
            exact = (x.astype(np.float64) - 5) @ (w - zero.astype(np.float64)) * 0.5 * scale.astype(np.float64)
            self.check(path, [x], exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())

    def test_scales_of_a_run(self):
        """Of the input, as dynamic quantisation finds them."""
        rng = np.random.default_rng(2)
        x, w = rng.standard_normal((2, 9, 70)).astype(np.float32), integers(rng, np.int8, (70, 33))
        nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["b", "s", "z"]),
                 helper.make_node("DequantizeLinear", ["b", "s", "z"], ["xf"]),
                 helper.make_node("DequantizeLinear", ["w", "ws"], ["wf"], axis=1),
                 helper.make_node("MatMul", ["xf", "wf"], ["y"])]
        scale = rng.uniform(0.01, 0.1, 33).astype(np.float32)
        path = saved(self.work / "run.onnx", nodes, [("x", F32, x.shape)], [("y", F32, None)], dict(w=w, ws=scale))
        low, high = min(x.min(), 0), max(x.max(), 0)
        step = np.float32(high - low) / np.float32(255)
        zero = np.clip(np.rint(-low / step), 0, 255)
        found = np.clip(np.rint(x / step) + zero, 0, 255).astype(np.float64)
        exact = (found - zero) @ w * np.float64(step) * scale.astype(np.float64)
        self.check(path, [x], exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())

    def test_bytes_stay(self):
        """Every byte, through what moves it, compares it and cuts it off, beside ONNX Runtime without optimisations."""
        for kind, scale, zero in itertools.product(TYPES, (0.1, 0.0123, 7.5e-9, 3.3e12), (3, 100)):
            limits = np.iinfo(kind)
            x = np.arange(limits.min, limits.max + 1).astype(kind).reshape(1, 4, 8, 8)
            steps = [("Transpose", ["f"], dict(perm=[0, 2, 3, 1])), ("Relu", ["f"], {}), ("Clip", ["f", "low", "high"], {}),
                     ("MaxPool", ["f"], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])), ("Concat", ["f", "f"], dict(axis=1)),
                     ("Identity", ["f"], {})]
            nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"])]
            for i, (name, operands, attributes) in enumerate(steps):
                nodes += [helper.make_node(name, operands, [f"m{i}"], **attributes),
                          helper.make_node("QuantizeLinear", [f"m{i}", "s", "z"], [f"y{i}"])]
            path = saved(self.work / "bytes.onnx", nodes, [("x", TYPES[kind], x.shape)],
                         [(f"y{i}", TYPES[kind], None) for i in range(len(steps))],
                         dict(s=np.float32(scale), z=kind(zero), low=np.float32(-20.3 * scale), high=np.float32(33.5 * scale)))
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            expected = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
            with Compiled.build(path, "--cpu", "native") as compiled:
                for (name, _, _), actual, wanted in zip(steps, compiled(x), expected, strict=True):
                    np.testing.assert_array_equal(actual, wanted, f"{name} {kind.__name__} {scale} {zero}")


if __name__ == "__main__":
    unittest.main()
