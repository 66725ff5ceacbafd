"""Convolutions and products of dequantised bytes (ONNX QDQ, QLinearConv) multiply integers: as numpy's exact sums say, on every
level of instructions, and no weight is made a float."""
import itertools
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import Compiled
from toolrun import ToolTest, cpu_levels

TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
F32 = TensorProto.FLOAT


def sums(x, w, pads, strides, dilations, groups):
    """Exact sums of a convolution of integers, outside of which x is 0."""
    axes = x.ndim - 2
    x = np.pad(x.astype(np.int64), [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])])
    w, out = w.astype(np.int64), []
    extents = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations)]
    for group in range(groups):
        part = x[:, group * w.shape[1]:][:, :w.shape[1]]
        filters = w[group * (w.shape[0] // groups):][:w.shape[0] // groups]
        total = np.zeros((x.shape[0], filters.shape[0], *extents), np.int64)
        for tap in itertools.product(*map(range, w.shape[2:])):
            seen = part[(slice(None), slice(None), *(slice(t * d, t * d + (e - 1) * s + 1, s)
                                                     for t, d, e, s in zip(tap, dilations, extents, strides)))]
            total += np.einsum("nc...,oc->no...", seen, filters[(slice(None), slice(None), *tap)])
        out.append(total)
    return np.concatenate(out, 1)


class Case:
    """x [n, channels, extents], filters of `kernel`, with zero points of x and of the weights."""

    def __init__(self, shape, filters, kernel, x_type=np.uint8, zero=3, groups=1, strides=1, dilations=1, pads=None, w_type=np.int8,
                 per_channel=True, w_zero=None, seed=0):
        rng = np.random.default_rng(seed)
        axes = len(shape) - 2
        self.groups, self.zero = groups, x_type(zero)
        self.strides, self.dilations = [strides] * axes, [dilations] * axes
        self.pads = pads or [dilations * (k // 2) for k in kernel] * 2
        low, high = np.iinfo(x_type).min, np.iinfo(x_type).max
        self.x = rng.integers(low, high + 1, shape).astype(x_type)
        self.w_zero = np.asarray((0 if w_type == np.int8 else 128) if w_zero is None else w_zero, w_type)
        limits = np.iinfo(w_type)
        self.w = rng.integers(limits.min, limits.max + 1, (filters, shape[1] // groups, *kernel)).astype(w_type)
        self.bias = rng.integers(-5000, 5000, filters).astype(np.int32)
        self.x_scale = np.float32(0.037)
        self.w_scale = rng.uniform(0.001, 0.02, filters if per_channel else ()).astype(np.float32)
        self.y_scale = np.float32(self.x_scale * self.w_scale.max() * np.sqrt(self.w[0].size) * 60)
        along = (filters, *([1] * axes))
        w_zeros = np.broadcast_to(self.w_zero.astype(np.int64), (filters,)).reshape(filters, *([1] * (axes + 1)))
        centred = self.x.astype(np.int64) - int(self.zero), self.w.astype(np.int64) - w_zeros
        self.sums = sums(*centred, self.pads, self.strides, self.dilations, groups) + self.bias.reshape(along)
        self.scale = np.broadcast_to(self.w_scale.astype(np.float64) * self.x_scale, (filters,)).reshape(along)

    def attributes(self):
        return dict(pads=self.pads, strides=self.strides, dilations=self.dilations, group=self.groups)

    def constants(self):
        w_zero = np.broadcast_to(self.w_zero, self.w_scale.shape)
        values = dict(w=self.w, ws=self.w_scale, wz=w_zero, xs=self.x_scale, xz=self.zero, ys=self.y_scale, yz=np.uint8(100),
                      b=self.bias, bs=(self.w_scale * self.x_scale).astype(np.float32), bz=np.zeros(self.w_scale.shape, np.int32))
        return [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in values.items()]

    def model(self, nodes, path, result):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TYPES[self.x.dtype.type], self.x.shape)],
                                  [helper.make_tensor_value_info("y", result, None)], self.constants())
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return path

    def dequantised(self, path):
        """The sums as floats, of operands that are floats in the graph."""
        nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
                 helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
                 helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"], axis=0)]
        if not self.bs_is_vector():
            nodes[2] = helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"])
        return self.model([*nodes, helper.make_node("Conv", ["xf", "wf", "bf"], ["y"], **self.attributes())], path, F32)

    def bs_is_vector(self):
        return self.w_scale.ndim == 1

    def quantised(self, path):
        """QDQ down to bytes."""
        self.dequantised(path)
        proto = onnx.load(path)
        proto.graph.node[-1].output[0] = "f"
        proto.graph.node.append(helper.make_node("QuantizeLinear", ["f", "ys", "yz"], ["y"]))
        proto.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
        onnx.save(proto, path)
        return path

    def integer(self, path):
        node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **self.attributes())
        return self.model([node], path, TensorProto.UINT8)

    def bytes(self):
        """What the sums are as bytes, and whether each is far enough from where they round."""
        exact = self.sums * self.scale / self.y_scale
        return np.clip(np.rint(exact) + 100, 0, 255), np.abs(exact - np.floor(exact) - 0.5) > 1e-3


CASES = {
    "dense": dict(shape=(2, 64, 9, 11), filters=48, kernel=(3, 3)),
    "dense i8": dict(shape=(2, 64, 9, 11), filters=48, kernel=(3, 3), x_type=np.int8, zero=-128),
    "dense i8 between": dict(shape=(1, 40, 9, 11), filters=33, kernel=(3, 3), x_type=np.int8, zero=-7),
    "no zero point": dict(shape=(1, 32, 13, 7), filters=16, kernel=(3, 3), zero=0),
    "odd channels": dict(shape=(1, 35, 8, 8), filters=20, kernel=(3, 3), strides=2),
    "one point": dict(shape=(1, 48, 10, 10), filters=70, kernel=(1, 1)),
    "one point, strides": dict(shape=(2, 48, 11, 11), filters=70, kernel=(1, 1), strides=2, x_type=np.int8, zero=5),
    "few channels": dict(shape=(1, 3, 20, 20), filters=32, kernel=(3, 3), strides=2, zero=133),
    "few channels, i8": dict(shape=(1, 3, 17, 15), filters=24, kernel=(7, 7), x_type=np.int8, zero=5, strides=2),
    "many gathered taps": dict(shape=(1, 12, 24, 24), filters=8, kernel=(19, 19), zero=9),
    "few filters": dict(shape=(1, 64, 12, 12), filters=3, kernel=(3, 3), zero=20),
    "depthwise": dict(shape=(2, 40, 12, 13), filters=40, kernel=(3, 3), groups=40),
    "depthwise i8": dict(shape=(1, 33, 12, 13), filters=33, kernel=(5, 5), groups=33, x_type=np.int8, zero=-128, strides=2),
    "depthwise i8 between": dict(shape=(1, 96, 7, 7), filters=96, kernel=(3, 3), groups=96, x_type=np.int8, zero=11),
    "narrow groups": dict(shape=(1, 32, 9, 9), filters=32, kernel=(3, 3), groups=8, zero=200),
    "wide groups": dict(shape=(1, 64, 9, 9), filters=96, kernel=(3, 3), groups=2, zero=200),
    "dilated": dict(shape=(1, 32, 15, 15), filters=32, kernel=(3, 3), dilations=3, zero=7),
    "uneven border": dict(shape=(1, 32, 9, 9), filters=32, kernel=(2, 3), pads=[0, 2, 1, 0], zero=9),
    "a line": dict(shape=(2, 24, 50), filters=17, kernel=(5,), zero=31),
    "a volume": dict(shape=(1, 20, 5, 6, 7), filters=19, kernel=(3, 3, 3), zero=64),
    "u8 weights": dict(shape=(1, 64, 9, 9), filters=40, kernel=(3, 3), w_type=np.uint8, zero=40),
    "zero point of weights": dict(shape=(2, 40, 9, 11), filters=33, kernel=(3, 3), w_type=np.uint8, zero=40, w_zero=117),
    "zero points of filters": dict(shape=(1, 32, 9, 8), filters=24, kernel=(3, 2), x_type=np.int8, zero=-7, strides=2,
                                   w_zero=np.arange(-12, 12)),
    "zero point of a point's weights": dict(shape=(1, 48, 7, 7), filters=70, kernel=(1, 1), w_type=np.uint8, w_zero=90),
    "zero point of depthwise weights": dict(shape=(1, 32, 9, 9), filters=32, kernel=(3, 3), groups=32, w_type=np.uint8, w_zero=101),
    "one scale": dict(shape=(1, 64, 9, 9), filters=40, kernel=(3, 3), per_channel=False, x_type=np.int8, zero=-1),
}


class QuantizedConvolutions(ToolTest):
    def test_floats(self):
        for name, arguments in CASES.items():
            case = Case(**arguments)
            path, expected = case.dequantised(self.work / "m.onnx"), case.sums * case.scale
            for cpu in cpu_levels():
                with self.subTest(name, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    y, = compiled(case.x)
                    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())

    def test_bytes(self):
        for name, arguments in CASES.items():
            case = Case(**arguments)
            expected, clear = case.bytes()
            self.assertGreater(clear.mean(), 0.95)
            for form in ("quantised", "integer"):
                path = getattr(case, form)(self.work / f"{form}.onnx")
                for cpu in cpu_levels():
                    with self.subTest(name, form=form, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                        y, = compiled(case.x)
                        np.testing.assert_array_equal(y[clear], expected[clear])
                        self.assertLessEqual(np.abs(y - expected).max(), 1)

    def test_open_extents(self):
        """Extents that only a run knows."""
        for name in ("dense", "dense i8 between", "few channels", "depthwise", "depthwise i8 between", "one point"):
            case = Case(**CASES[name])
            for form in ("dequantised", "integer"):
                path = getattr(case, form)(self.work / f"{form}.onnx")
                proto = onnx.load(path)
                for axis in (0, 2, 3):
                    proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"d{axis}"
                onnx.save(proto, path)
                expected, clear = (case.sums * case.scale, ...) if form == "dequantised" else case.bytes()
                with self.subTest(name, form=form), Compiled.build(path, "--cpu", "native") as compiled:
                    y, = compiled(case.x)
                    np.testing.assert_allclose(y[clear], expected[clear], rtol=1e-5, atol=1e-5 * np.abs(expected).max())

    def test_weights_stay_bytes(self):
        for name in ("dense", "depthwise", "one scale"):
            case, out = Case(**CASES[name]), self.work / "m.so"
            self.compiles(case.dequantised(self.work / "m.onnx"), "--cpu", "cascadelake", "-o", out)
            weights = json.loads((self.work / "m.so.json").read_text())["weights"]["tensors"]
            kinds = {w["name"]: w["dtype"] for w in weights}
            self.assertIn("i8", kinds.values(), name)
            self.assertFalse([w for w in weights if w["dtype"] == "f32" and np.prod(w["shape"]) >= case.w.size], name)

    def test_bytes_are_turned_apart(self):
        """Bytes that are stored channels first leave the convolution's kernel channels last."""
        for name in ("dense", "one point", "depthwise"):
            out = self.work / "m.so"
            self.compiles(Case(**CASES[name]).integer(self.work / "m.onnx"), "--cpu", "cascadelake", "-o", out)
            names = [kernel["name"] for kernel in json.loads((self.work / "m.so.json").read_text())["kernels"]]
            self.assertEqual([n.split("_", 1)[1] for n in names if "conv" not in n], ["transpose", "transpose"], names)
            self.assertFalse([n for n in names if "conv" in n and "transpose" in n], names)

    def test_rounding(self):
        """Halves, what is out of range and what is no number, as bytes around several zero points."""
        edges = [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 128.5, 254.5, 255.5, 300, 1e5, 1e10, 3e38, 1e-40, np.inf, np.nan, 0.0]
        x = np.float32(edges + [-v for v in edges] + list(np.arange(-300, 300, 0.25)))
        for y_type, zero in itertools.product((np.uint8, np.int8), (0, 1, 100, 127)):
            node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
            graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", F32, x.shape)],
                                      [helper.make_tensor_value_info("y", TYPES[y_type], x.shape)],
                                      [numpy_helper.from_array(np.float32(1), "s"), numpy_helper.from_array(y_type(zero), "z")])
            path = self.work / "rounding.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
            limits = np.iinfo(y_type)
            expected = np.where(np.isnan(x), 0, np.clip(np.rint(x.astype(np.float64)) + zero, limits.min, limits.max)).astype(y_type)
            for cpu in cpu_levels():
                with self.subTest(zero=zero, y=y_type.__name__, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    np.testing.assert_array_equal(compiled(x)[0], expected)

    def test_product(self):
        """A linear layer, with k on either axis."""
        rng = np.random.default_rng(1)
        for turned, x_type in itertools.product((False, True), (np.uint8, np.int8)):
            w = rng.integers(-128, 128, (70, 33)).astype(np.int8)
            scale, zero = rng.uniform(0.01, 0.1, 33).astype(np.float32), x_type(5)
            x = rng.integers(np.iinfo(x_type).min, np.iinfo(x_type).max + 1, (9, 70)).astype(x_type)
            constants = dict(w=w.T.copy() if turned else w, ws=scale, wz=np.zeros(33, np.int8), xs=np.float32(0.5), xz=zero)
            nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
                     helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0 if turned else 1),
                     helper.make_node("Gemm", ["xf", "wf"], ["y"], transB=int(turned))]
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TYPES[x_type], x.shape)],
                                      [helper.make_tensor_value_info("y", F32, None)],
                                      [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
            path = self.work / "product.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
            expected = (x.astype(np.float64) - zero) @ w * 0.5 * scale.astype(np.float64)
            for cpu in cpu_levels():
                with self.subTest(turned=turned, x=x_type.__name__, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    y, = compiled(x)
                    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


if __name__ == "__main__":
    unittest.main()
