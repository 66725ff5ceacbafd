"""Operators of ONNX Runtime's own that it has on GPUs alone, packed sequences among them, against NumPy."""
import unittest

import numpy as np
import onnx
from onnx import helper

from agreement import disagreement
from compiled import Compiled, CompileError
from graphs import model, node, unknown, value
from toolrun import ToolTest

DRAWN = np.random.default_rng(17)
LENGTHS, HEADS = [1, 4, 2], 2  # of three sequences, filled up to four tokens


def drawn(*shape):
    return DRAWN.normal(size=shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def offsets():
    places = np.arange(12).reshape(3, 4)
    real = np.arange(4) < np.array(LENGTHS)[:, None]
    return np.concatenate([places[real], places[~real]]).reshape(3, 4).astype(np.int32)


def sums():
    return np.array([0, *np.cumsum(LENGTHS)], np.int32)


def attended(q, k, v, bias=None):
    """Of tokens [T, N * H], sequence by sequence."""
    results = []
    for row, (start, end) in enumerate(zip(sums()[:-1], sums()[1:])):
        a, b, c = (x[start:end].reshape(end - start, HEADS, -1).swapaxes(0, 1) for x in (q, k, v))
        scores = a @ b.swapaxes(1, 2) / np.sqrt(a.shape[-1])
        if bias is not None:
            scores = scores + bias[row % len(bias), :, :end - start, :end - start]
        results.append((softmax(scores) @ c).swapaxes(0, 1).reshape(end - start, -1))
    return np.concatenate(results).astype(np.float32)


class PackedSequences(ToolTest):
    def check(self, op, inputs, expected, fixed=(), **attributes):
        """`inputs` by name, with open extents except those named in `fixed`."""
        outputs = [f"y{i}" for i in range(len(expected))]
        kind = lambda array: helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = lambda name, array: list(array.shape) if name in fixed else [f"{name}{i}" for i in range(array.ndim)]
        names = [name if array is not None else "" for name, array in inputs.items()]
        given = {name: array for name, array in inputs.items() if array is not None}
        graph = model([node(op, names, outputs, domain="com.microsoft", **attributes)],
                      [value(name, kind(array), shape(name, array)) for name, array in given.items()],
                      [unknown(name, kind(array)) for name, array in zip(outputs, expected)])
        path = self.work / f"{op}.onnx"
        onnx.save(graph, path)
        with Compiled.build(path) as compiled:
            for actual, stored in zip(compiled(*given.values()), expected, strict=True):
                self.assertEqual(np.array(actual).dtype, stored.dtype, op)
                self.assertIsNone(wrong := disagreement(np.array(actual), stored), f"{op}: {wrong}")

    def test_padding(self):
        x = drawn(3, 4, 5)
        tokens = x.reshape(12, 5)[offsets().ravel()[:7]]
        self.check("RemovePadding", {"x": x, "counts": np.array(LENGTHS, np.int32)},
                   [tokens, offsets(), sums(), np.array([4], np.int32)])
        expected = np.where((np.arange(4) < np.array(LENGTHS)[:, None])[..., None], x, np.float32(0))
        self.check("RestorePadding", {"tokens": tokens, "offsets": offsets()}, [expected])

    def test_packed_attention(self):
        x, w, bias, added = drawn(7, 6), drawn(6, 24), drawn(24), drawn(1, HEADS, 4, 4)
        q, k, v = np.split(x @ w + bias, 3, 1)
        for scores in (None, added):
            self.check("PackedAttention", {"x": x, "w": w, "b": bias, "offsets": offsets(), "sums": sums(), "added": scores},
                       [attended(q, k, v, scores)], num_heads=HEADS)

    def test_packed_multi_head_attention(self):
        q, k, v, bias, added = drawn(7, 8), drawn(7, 8), drawn(7, 12), drawn(28), drawn(3, HEADS, 4, 4)
        expected = attended(q + bias[:8], k + bias[8:16], v + bias[16:], added)
        self.check("PackedMultiHeadAttention", {"q": q, "k": k, "v": v, "b": bias, "offsets": offsets(), "sums": sums(), "added": added},
                   [expected], num_heads=HEADS)
        together = drawn(7, HEADS, 3, 4)
        parts = [together[:, :, i].reshape(7, 8) for i in range(3)]
        self.check("PackedMultiHeadAttention", {"q": together, "k": None, "v": None, "b": None, "offsets": offsets(), "sums": sums()},
                   [attended(*parts)], num_heads=HEADS)

    def test_relative_positions(self):
        """As transformers' T5 makes them; the table lies as [heads, buckets]."""
        for both in (0, 1):
            away = np.arange(40)[None] - np.arange(40)[:, None]
            first = np.where(away > 0, 4, 0) if both else 0
            count = 4 if both else 8
            distance = np.abs(away) if both else np.maximum(-away, 0)
            exact = count // 2
            far = exact + (np.log(np.maximum(distance, 1) / exact) / np.log(20 / exact) * (count - exact)).astype(int)
            buckets = first + np.where(distance < exact, distance, np.minimum(far, count - 1))
            table, length = drawn(3, 8), np.array(40, np.int64)
            self.check("RelativePositionBias", {"table": table.reshape(8, 3), "queries": length, "keys": length}, [table[:, buckets][None]],
                       fixed=("table",), is_bidirectional=both, max_distance=20)

    def test_gated_positions(self):
        q, bias, positions, w, b, scale = drawn(3, 4, 8), drawn(8), drawn(1, 2, 4, 4), drawn(4, 6), drawn(6), drawn(1, 2, 1, 1)
        def expected(queries):
            heads = (queries + bias).reshape(3, 4, 2, 4).swapaxes(1, 2)
            gates = 1 / (1 + np.exp(-(heads @ w + b).reshape(3, 2, 4, 2, 3).sum(-1)))
            return ((gates[..., :1] * (gates[..., 1:] * scale - 1) + 2) * positions).astype(np.float32)
        self.check("GatedRelativePositionBias", dict(q=q, bias=bias, r=positions, w=w, b=b, scale=scale), [expected(q)], num_heads=2)
        tokens = q.reshape(12, 8)[offsets().ravel()[:7]]
        padded = np.where((np.arange(4) < np.array(LENGTHS)[:, None])[..., None], q, np.float32(0))
        self.check("GatedRelativePositionBias", dict(q=tokens, bias=bias, r=positions, w=w, b=b, scale=scale, offsets=offsets()),
                   [expected(padded)], num_heads=2)

    def test_elements(self):
        x, bias = drawn(2, 3, 4), drawn(1, 3, 4)
        self.check("BiasSoftmax", {"x": x, "bias": bias}, [softmax(x + bias)], axis=2, is_inner_broadcast=0)
        both = softmax((x + bias).reshape(2, 12)).reshape(2, 3, 4)
        self.check("BiasSoftmax", {"x": x, "bias": bias}, [both], axis=1, is_inner_broadcast=0)
        self.check("BiasDropout", {"x": x, "bias": bias[0, 0], "residual": x * 2}, [x + bias[0, 0] + x * 2, np.ones(x.shape, bool)])
        left, right = drawn(2, 3, 2), drawn(3, 2)
        a, b = left.view(np.complex64), right.view(np.complex64)
        self.check("ComplexMul", {"a": left, "b": right}, [(a * b).view(np.float32)])
        self.check("ComplexMulConj", {"a": left, "b": right}, [(a * b.conj()).view(np.float32)])
        small, zero = np.array([[200, 3], [7, 255]], np.uint8), np.array(9, np.uint8)
        self.check("MulInteger", {"a": small, "z": zero, "b": small[0], "y": None}, [(small.astype(np.int32) - 9) * small[0].astype(np.int32)])
        self.check("ReduceSumInteger", {"x": small.view(np.int8)}, [small.view(np.int8).sum(1, np.int32, keepdims=True)], axes=[1], keepdims=1)
        for where, finite in ((1.0, (1, 1, 1)), (np.inf, (0, 1, 0)), (np.nan, (0, 0, 1))):
            held = np.array([1, where, 2], np.float32)
            for flags, fine in zip(({}, {"isnan_only": 1}, {"isinf_only": 1}), finite):
                self.check("IsAllFinite", {"x": x, "y": held}, [np.array(bool(fine))], **flags)

    def test_signals(self):
        for length in (2, 4, 10):
            x = drawn(3, length)
            z = np.fft.rfft(x).astype(np.complex64)
            parts = np.stack([z.real, z.imag], -1)
            self.check("Rfft", {"x": x}, [parts], signal_ndim=1)
            self.check("Irfft", {"x": parts}, [x], signal_ndim=1)

    def test_channels_last(self):
        x, w, b, added = drawn(2, 5, 4, 3), drawn(6, 3, 1, 1), drawn(6), drawn(2, 5, 4, 6)
        plain = x @ w[:, :, 0, 0].T + b
        self.check("NhwcConv", {"x": x, "w": w, "b": b}, [plain], fixed=("w",))
        self.check("NhwcFusedConv", {"x": x, "w": w, "b": b, "z": added}, [np.maximum(plain + added, 0)], fixed=("w",), activation="Relu")

    def test_refusals(self):
        x = drawn(3, 4)
        for op, inputs, outputs, attributes, why in [
                ("CDist", {"a": x, "b": x}, 1, dict(metric="cosine"), "metric 'cosine' is not supported"),
                ("Irfft", {"x": drawn(3, 2)}, 1, dict(signal_ndim=1, normalized=1), "'normalized' is 1"),
                ("UnfoldTensor", {"x": x}, 1, dict(size=0), "positive 'size'"),
                ("NGramRepeatBlock", {"i": np.ones((3, 2), np.int64), "s": x}, 1, dict(ngram_size=0), "positive 'ngram_size'"),
                ("PackedAttention", {"x": x, "w": drawn(4, 6), "b": drawn(6), "o": offsets(), "s": sums()}, 1, dict(num_heads=0), "'num_heads'"),
                ("EngramGate", dict(k=drawn(1, 1, 2, 3), q=drawn(1, 1, 2, 3), v=drawn(1, 1, 3), a=drawn(2, 3), b=drawn(2, 3)), 2, {}, "'conv_norm_scale'")]:
            with self.assertRaisesRegex(CompileError, f"exit code 2(?s:.*){why}", msg=op):
                self.check(op, inputs, [x] * outputs, **attributes)

    def test_rows_of_a_table(self):
        table, ids = drawn(5, 3), np.array([[4, 0], [2, 2]], np.int64)
        self.check("TorchEmbedding", {"table": table, "ids": ids}, [table[ids]])


if __name__ == "__main__":
    unittest.main()
