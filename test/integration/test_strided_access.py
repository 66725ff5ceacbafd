"""Transposes, strided slices and interleaving: exact on every level of instructions that this machine has, beside
edges and remainders of every size, and without an access for each lane."""
import itertools
import re
import unittest

import numpy as np
import onnx
from onnx import helper

from compiled import Compiled
from onnxparts import model_of, numbers
from toolrun import ToolTest, cpu_levels

TRANSPOSES = [((37, 70), (1, 0)), ((1, 16, 12, 12), (0, 2, 3, 1)), ((1, 7, 9, 40), (0, 3, 1, 2)),
              ((2, 3, 33, 17), (0, 2, 3, 1)), ((2, 33, 17, 3), (0, 3, 1, 2)), ((3, 5, 21, 34), (0, 1, 3, 2)),
              ((7, 9, 11, 13), (3, 1, 0, 2)), ((2, 4, 20, 18), (0, 2, 3, 1)), ((5, 1, 19, 1), (2, 1, 3, 0))]
SLICES = [(0, 101, 2), (1, 101, 2), (1, 100, 3), (2, 101, 4), (100, -200, -1), (99, -200, -2), (3, 98, 5)]
WINDOWS = [(2, 2, 0, 1), (3, 2, 1, 1), (5, 1, 2, 1), (3, 1, 1, 2), (3, 3, 1, 1), (2, 4, 1, 1), (7, 2, 3, 1)]
DTYPES = [np.float32, np.float64, np.float16, np.uint8, np.int64, np.bool_]


class StridedAccess(ToolTest):
    def check(self, proto, x, expected, *flags):
        path = self.work / "strided.onnx"
        onnx.save(proto, path)
        for cpu in cpu_levels():
            with self.subTest(x.shape, dtype=x.dtype, cpu=cpu), Compiled.build(path, "--cpu", cpu, *flags) as compiled:
                for actual, wanted in zip(compiled(x), expected, strict=True):
                    np.testing.assert_array_equal(actual, wanted)

    def test_transposes(self):
        """All permutations in one model a type, with known and with unknown extents."""
        for dtype in DTYPES:
            for shape, order in TRANSPOSES if dtype == np.float32 else TRANSPOSES[1:3]:
                x = numbers(shape, dtype)
                for names in (None, [f"d{i}" for i in range(x.ndim)]):
                    proto = model_of(x, [helper.make_node("Transpose", ["x"], ["y"], perm=order)], ["y"], shape=names)
                    self.check(proto, x, [x.transpose(order)])

    def test_slices(self):
        x = numbers((6, 101), np.float32)
        names, nodes, constants = [], [], [("axis", [1])]
        for i, bounds in enumerate(SLICES):
            constants += [(f"{word}{i}", [value]) for word, value in zip(("begin", "end", "step"), bounds)]
            nodes.append(helper.make_node("Slice", ["x", f"begin{i}", f"end{i}", "axis", f"step{i}"], [f"y{i}"]))
            names.append(f"y{i}")
        expected = [x[:, begin:None if end < 0 else end:step] for begin, end, step in SLICES]
        self.check(model_of(x, nodes, names, constants), x, expected)

    def test_block_of_a_longer_expression(self):
        """A residual in the result's order beside a transposed operand, through a reshape, and two results."""
        x = numbers((2, 24, 5, 9), np.float32)
        nodes = [helper.make_node("Reshape", ["x", "flat"], ["r"]),
                 helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
                 helper.make_node("Reshape", ["x", "turned"], ["s"]),
                 helper.make_node("Add", ["t", "s"], ["a"]), helper.make_node("Mul", ["a", "t"], ["b"])]
        constants = [("flat", [2, 24, 45]), ("turned", [2, 45, 24])]
        t, s = x.reshape(2, 24, 45).transpose(0, 2, 1), x.reshape(2, 45, 24)
        self.check(model_of(x, nodes, ["a", "b"], constants), x, [t + s, (t + s) * t])

    def test_reshaped_slices(self):
        """Elements that are evenly apart stay so when they are seen in another shape; others do not."""
        for dtype in (np.float32, np.float64, np.float16, np.int64):
            x = numbers((30, 31, 6), dtype)
            cuts = [((0, 0, 1), (30, 31, 2), (1, 1, 1)), ((2, 0, 0), (29, 31, 6), (1, 1, 1)), ((0, 0, 1), (30, 31, 6), (1, 1, 3)),
                    ((0, 0, 0), (30, 31, 6), (1, 1, 2)), ((0, 0, 0), (30, 31, 5), (1, 1, 2)), ((0, 3, 0), (30, 30, 6), (1, 1, 1)),
                    ((1, 2, 0), (30, 3, 6), (2, 1, 1)), ((0, 2, 4), (30, 3, 5), (3, 1, 1)), ((29, 4, 1), (30, 31, 2), (1, 2, 1))]
            nodes, constants, expected = [], [("axes", [0, 1, 2]), ("line", [-1])], []
            for i, bounds in enumerate(cuts):
                constants += [(f"{word}{i}", list(values)) for word, values in zip(("begin", "end", "step"), bounds)]
                nodes += [helper.make_node("Slice", ["x", f"begin{i}", f"end{i}", "axes", f"step{i}"], [f"s{i}"]),
                          helper.make_node("Reshape", [f"s{i}", "line"], [f"r{i}"]), helper.make_node("Add", [f"r{i}", f"r{i}"], [f"y{i}"])]
                line = x[tuple(slice(*of) for of in zip(*bounds))].reshape(-1)
                expected.append(line + line)
            self.check(model_of(x, nodes, [f"y{i}" for i in range(len(cuts))], constants), x, expected)
        path, text = self.work / "parts.onnx", self.work / "parts.s"
        x = numbers((300, 301, 2), np.float32)
        part = [helper.make_node("Slice", ["x", "one", "two", "two"], ["s"]), helper.make_node("Reshape", ["s", "line"], ["r"]),
                helper.make_node("Add", ["r", "r"], ["y"])]
        onnx.save(model_of(x, part, ["y"], [("one", [1]), ("two", [2]), ("line", [-1])]), path)
        self.compiles(path, "--target", "x86_64-linux", "--cpu", "v4", "--emit", "asm", "-o", text)
        self.assertNotRegex(text.read_text(), r"\tv(p?gather|pextr|pinsr)")

    def test_windows(self):
        """Of pools: inside a row and over its ends, in rows of several lengths."""
        for shape in ((2, 3, 19, 112), (1, 2, 9, 57), (1, 1, 16, 7)):
            x = numbers(shape, np.float32) - 100
            nodes, expected = [], []
            for i, (width, stride, pad, dilation) in enumerate(WINDOWS):
                wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
                windows = np.lib.stride_tricks.sliding_window_view(wide, [(width - 1) * dilation + 1] * 2, (2, 3))
                expected.append(windows[:, :, ::stride, ::stride, ::dilation, ::dilation].max((4, 5)))
                nodes.append(helper.make_node("MaxPool", ["x"], [f"y{i}"], kernel_shape=[width] * 2,
                                              strides=[stride] * 2, pads=[pad] * 4, dilations=[dilation] * 2))
            self.check(model_of(x, nodes, [f"y{i}" for i in range(len(nodes))]), x, expected)

    def test_windows_of_volumes(self):
        """Nine rows of three, of which the last vector makes one, and what is taken from that."""
        x = numbers((1, 2, 7, 9, 31), np.float32) - 100
        wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (1, 1)), constant_values=-np.inf)
        for width in (3, 4):
            windows = np.lib.stride_tricks.sliding_window_view(wide, [width] * 3, (2, 3, 4))[:, :, ::2, ::2, ::2]
            proto = model_of(x, [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[width] * 3, strides=[2] * 3,
                                                  pads=[1] * 6)], ["y"])
            self.check(proto, x, [windows.max((5, 6, 7))])
        path, text = self.work / "volume.onnx", self.work / "volume.s"
        onnx.save(model_of(x, [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3] * 3, strides=[2] * 3,
                                                pads=[1] * 6)], ["y"]), path)
        self.compiles(path, "--target", "x86_64-linux", "--cpu", "v3", "--emit", "asm", "-o", text)
        self.assertGreaterEqual(len(re.findall(r"\tvmaxps", text.read_text())), 9 + 2)
        self.assertNotIn("gather", text.read_text())

    def test_windows_by_lines(self):
        """Lines of several runs, shorter than a vector, of open extents and of other types; averages with and without borders."""
        for shape, dtype, names in (((1, 2, 9, 1030), np.float32, None), ((2, 3, 7, 7), np.float32, None), ((2, 3, 30, 14), np.float32, "nchw"),
                                    ((1, 2, 6, 300), np.float32, "nchw"), ((1, 3, 12, 45), np.float64, None), ((1, 3, 12, 45), np.float16, None),
                                    ((1, 3, 12, 45), np.uint8, None), ((1, 3, 12, 45), np.int8, "nchw"), ((1, 1, 5, 2), np.float32, None)):
            x = np.random.default_rng(7).integers(0, 100, shape).astype(dtype)
            nodes, expected = [], []
            for i, (k, stride, pad, dilation) in enumerate(((3, 1, 1, 1), (3, 2, 1, 1), (5, 2, 2, 1), (5, 3, 1, 1), (4, 5, 0, 1), (3, 2, 2, 2))):
                reach = (k - 1) * dilation + 1
                if min(shape[2:]) + 2 * pad < reach:
                    continue
                attributes = {"kernel_shape": [k] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2}
                wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-1)
                windows = np.lib.stride_tricks.sliding_window_view(wide, [reach] * 2, (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
                nodes.append(helper.make_node("MaxPool", ["x"], [f"y{i}"], **attributes))
                expected.append(windows.max((4, 5)).astype(dtype))
                if x.dtype.kind == "f":
                    inside = windows >= 0
                    sums = np.where(inside, windows, 0).sum((4, 5))
                    for border in (0, 1):
                        nodes.append(helper.make_node("AveragePool", ["x"], [f"a{border}{i}"], count_include_pad=border, **attributes))
                        expected.append((sums / (k * k if border else inside.sum((4, 5)))).astype(dtype))
            proto = model_of(x, nodes, [node.output[0] for node in nodes], shape=names and list(names), opset=22)
            path = self.work / "lines.onnx"
            onnx.save(proto, path)
            for cpu in cpu_levels():
                with self.subTest(shape, dtype=dtype, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    for node, actual, wanted in zip(nodes, compiled(x), expected, strict=True):
                        np.testing.assert_allclose(actual, wanted, rtol=0 if node.op_type == "MaxPool" else 1e-3 if dtype == np.float16 else 1e-6)

    def test_open_images_resized(self):
        """Lines whose lanes lie in a vector or two, and lines of which they are further apart."""
        for scale, shape in itertools.product((2, 1.7013, 1.3007, 0.6511, 0.3713), ((1, 2, 9, 57), (2, 1, 4, 200))):
            x = numbers(shape, np.float32)
            nearest, linear = x, x.astype(np.float64)
            for axis in (2, 3):
                n = x.shape[axis]
                at = (np.arange(int(n * np.float32(scale))) + 0.5) / np.float32(scale) - 0.5
                low = np.floor(np.maximum(at, 0)).astype(int)
                part = np.expand_dims(np.maximum(at, 0) - low, tuple(range(1, 4 - axis)))
                linear = linear.take(low, axis) * (1 - part) + linear.take(np.minimum(low + 1, n - 1), axis) * part
                places = (np.arange(len(at)) / np.float32(scale)).astype(np.float32)
                nearest = nearest.take(np.floor(places).astype(int), axis)
            nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
                                      nearest_mode="floor"), helper.make_node("Resize", ["x", "", "scales"], ["z"], mode="linear")]
            proto = model_of(x, nodes, ["y", "z"], [("scales", np.array([1, 1, scale, scale], np.float32))], shape=["n", "c", "h", "w"])
            path = self.work / "resized.onnx"
            onnx.save(proto, path)
            for cpu in cpu_levels():
                with self.subTest(shape, scale=scale, cpu=cpu), Compiled.build(path, "--cpu", cpu) as compiled:
                    y, z = compiled(x)
                    np.testing.assert_array_equal(y, nearest)
                    np.testing.assert_allclose(z, linear, rtol=1e-4, atol=1e-3)

    def test_folds(self):
        """Blocks that overlap by whole steps, by parts of one and not at all, whose borders are cut off; lines that are
        shorter than vectors and longer ones."""
        for k, stride, dilation, pad, image in ((3, 2, 1, 1, (7, 57)), (7, 4, 1, 3, (21, 80)), (5, 3, 1, 0, (9, 62)), (4, 2, 1, 1, (8, 70)),
                                                (2, 3, 1, 0, (8, 50)), (3, 1, 2, 2, (9, 40)), (3, 2, 2, 1, (11, 41)), (2, 2, 1, 0, (7, 9)),
                                                (7, 1, 1, 3, (9, 33)), (5, 6, 1, 2, (12, 60)), (3, 2, 1, 2, (1, 36))):
            counts = [(d + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for d in image]
            blocks = np.random.default_rng(k).integers(-9, 9, (2, 3, k, k, *counts)).astype(np.float32)
            wide = np.zeros((2, 3, image[0] + 2 * pad, image[1] + 2 * pad), np.float32)
            for i, j in itertools.product(range(k), range(k)):
                rows, columns = ([o * dilation + stride * c for c in range(count)] for o, count in zip((i, j), counts))
                wide[:, :, np.array(rows)[:, None], np.array(columns)] += blocks[:, :, i, j]
            x = blocks.reshape(2, 3 * k * k, -1)
            node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4)
            self.check(model_of(x, [node], ["y"], [("image", list(image)), ("block", [k, k])]), x,
                       [wide[:, :, pad:pad + image[0], pad:pad + image[1]]])

    def test_places_of_maxima(self):
        """Of windows in planes and volumes, over their ends, with equal elements, one axis after the other and all at once."""
        for shape, window, stride, pad in (((1, 2, 9, 40), 5, 1, 2), ((1, 2, 21, 33), 11, 3, 5), ((1, 2, 7, 9, 21), 3, 1, 1),
                                           ((1, 1, 9, 10, 19), 5, 4, 2), ((1, 1, 7, 9, 35), 3, 2, 1), ((2, 1, 100), 5, 1, 2)):
            x = np.random.default_rng(window).integers(-3, 3, shape).astype(np.float32)
            x[..., :2] = -np.inf
            dims = len(shape) - 2
            wide = np.pad(x, [(0, 0)] * 2 + [(pad, pad)] * dims, constant_values=np.nan)
            flat = np.arange(x.size, dtype=np.int64).reshape(x.shape)
            places = np.pad(flat, [(0, 0)] * 2 + [(pad, pad)] * dims)
            axes = tuple(range(2, 2 + dims))
            steps = (slice(None), slice(None), *[slice(None, None, stride)] * dims)
            of = lambda a: np.lib.stride_tricks.sliding_window_view(a, [window] * dims, axes)[steps].reshape(  # noqa: E731
                *[1 + (n + 2 * pad - window) // stride if i > 1 else n for i, n in enumerate(shape)], -1)
            windows = of(wide)
            inside = ~np.isnan(windows)
            best = np.nanmax(windows, -1, keepdims=True)
            first = ((windows == best) & inside).argmax(-1)[..., None]
            expected = [best[..., 0], np.take_along_axis(of(places), first, -1)[..., 0]]
            nodes = [helper.make_node("MaxPool", ["x"], ["y", "at"], kernel_shape=[window] * dims, strides=[stride] * dims,
                                      pads=[pad] * 2 * dims), helper.make_node("Cast", ["at"], ["places"], to=onnx.TensorProto.FLOAT)]
            for names in (None, ["n", "c", *"dhw"[:dims]]):
                self.check(model_of(x, nodes, ["y", "places"], shape=names), x, expected)

    def test_columns_of_truths(self):
        """The largest of truth values is carried in bytes, and none is taken out of a vector."""
        x = numbers((96, 192), np.bool_)
        proto = model_of(x, [helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)], ["y"], [("axes", [0])])
        proto.opset_import[0].version = 20
        self.check(proto, x, [x.max(0)])
        path, text = self.work / "truths.onnx", self.work / "truths.s"
        onnx.save(proto, path)
        self.compiles(path, "--target", "x86_64-linux", "--cpu", "v3", "--emit", "asm", "-o", text)
        self.assertNotRegex(text.read_text(), r"\tvp(ins|ext)rb")

    def test_instructions(self):
        """No gather or scatter, and no element on its own but in the remainders."""
        for name, shape, order in (("turn", (64, 96), (1, 0)), ("picture", (32, 64, 3), (2, 0, 1)),
                                   ("pixels", (3, 32, 64), (1, 2, 0))):
            path, text = self.work / f"{name}.onnx", self.work / f"{name}.s"
            onnx.save(model_of(numbers(shape, np.float32), [helper.make_node("Transpose", ["x"], ["y"], perm=order)],
                               ["y"]), path)
            for cpu in ("v3", "v4"):
                with self.subTest(name, cpu=cpu):
                    self.compiles(path, "--target", "x86_64-linux", "--cpu", cpu, "--emit", "asm", "-o", text)
                    self.assertNotRegex(text.read_text(), r"\tv(p?gather|p?scatter|extractps|pextr|insertps|pinsr)")
        path, text = self.work / "pool.onnx", self.work / "pool.s"
        onnx.save(model_of(numbers((1, 4, 112, 112), np.float32),
                           [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)],
                           ["y"]), path)
        self.compiles(path, "--target", "x86_64-linux", "--cpu", "v4", "--emit", "asm", "-o", text)
        self.assertNotIn("gather", text.read_text())

    def test_lines_of_transforms(self):
        """Vectors of a line that is no whole number of them, and of neighbouring lines, end where those do: none is a part.

        Real lines beside each other are done in pairs, which the last task may not have in other ones than the task before it:
        it has fewer."""
        for name, shape, axis in (("lines", (64, 30, 1), 1), ("columns", (30, 67, 2), 0), ("pairs", (30, 67, 1), 0)):
            x = numbers(shape, np.float32)
            is_real = shape[-1] == 1
            proto = model_of(x, [helper.make_node("DFT", ["x", "", "axis"], ["y"], onesided=int(is_real))], ["y"], [("axis", axis)])
            proto.opset_import[0].version = 20
            path, text = self.work / f"{name}.onnx", self.work / f"{name}.s"
            onnx.save(proto, path)
            with Compiled.build(path, "--cpu", "v3" if "v3" in cpu_levels() else "native") as compiled:
                y, = compiled(x)
            wide = x.astype(np.float64)
            expected = np.fft.rfft(wide[..., 0], axis=axis) if is_real else np.fft.fft(wide[..., 0] + 1j * wide[..., 1], axis=axis)
            np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
            self.compiles(path, "--target", "x86_64-linux", "--cpu", "v3", "--emit", "asm", "-o", text)
            kernels = [k for k in text.read_text().split("-- Begin function ") if re.match(r"k\d+_fourier", k)]
            self.assertTrue(kernels)
            for kernel in kernels if name != "pairs" else ():
                self.assertNotIn("vmaskmov", kernel, name)

    def test_mean_of_an_open_batch(self):
        """What follows a sum of all pixels sees it under another shape, along which lanes still lie."""
        x = numbers((3, 16, 6, 6), np.float32)
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("GlobalAveragePool", ["c"], ["y"])]
        filters = np.zeros((40, 16, 3, 3), np.float32)
        filters[:, :, 1, 1] = np.eye(40, 16)
        proto = model_of(x, nodes, ["y"], [("w", filters)], shape=["N", 16, 6, 6])
        mean = x.sum((2, 3), keepdims=True) / np.float32(36)
        self.check(proto, x, [np.concatenate([mean, np.zeros((3, 24, 1, 1), np.float32)], axis=1)])
        path, text = self.work / "mean.onnx", self.work / "mean.s"
        onnx.save(proto, path)
        self.compiles(path, "--target", "x86_64-linux", "--cpu", "v4", "--emit", "asm", "-o", text)
        kernels = text.read_text().split("-- Begin function ")
        mean = next(kernel for kernel in kernels if re.match(r"k\d+_reduce_div", kernel))
        self.assertNotRegex(mean, r"\tv(p?gather|p?scatter|extractps|pextr|insertps|pinsr)")


if __name__ == "__main__":
    unittest.main()
