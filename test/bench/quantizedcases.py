"""Quantised convolutions and products, for `scripts/bench ops --only wide/image/quantized`.

As torch's pt2e and ONNX QDQ have them: bytes are dequantised before a convolution, and what it gives is quantised again. Single
layers take and give bytes, channels first; blocks begin with bytes and end with floats, so that a byte that is rounded the other way
counts as little as it does in a model.
"""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 (defines the operators)
import torch.nn.functional as F
from torch import nn

from widecases import U8, wide

I8 = torch.int8
Q = torch.ops.quantized_decomposed
BYTES = {U8: (0, 255, U8), I8: (-128, 127, I8)}


class QuantizedConv(nn.Module):
    """Weights of i8 with a scale for each filter; x and the result of bytes with a scale and a zero point."""

    def __init__(self, channels, filters, kernel, stride=1, groups=1, kind=U8, zeros=None, gives_bytes=True, activation=None):
        super().__init__()
        terms = channels // groups * kernel * kernel
        self.register_buffer("weight", torch.randint(-127, 128, (filters, channels // groups, kernel, kernel), dtype=I8))
        self.register_buffer("scale", (torch.rand(filters) + 0.1) * 0.01 / terms**0.5)
        self.register_buffer("zero", torch.zeros(filters, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(filters))
        self.stride, self.padding, self.groups, self.kind = stride, kernel // 2, groups, kind
        self.zeros = zeros or ((125, 0) if kind == U8 else (-3, -128))
        self.gives_bytes, self.activation = gives_bytes, activation

    def floats(self, x):
        x = Q.dequantize_per_tensor(x, 0.05, self.zeros[0], *BYTES[self.kind])
        w = Q.dequantize_per_channel(self.weight, self.scale, self.zero, 0, -127, 127, I8)
        y = F.conv2d(x, w, self.bias, self.stride, self.padding, 1, self.groups)
        return self.activation(y) if self.activation else y

    def forward(self, x):
        y = self.floats(x)
        return Q.quantize_per_tensor(y, 0.05, self.zeros[1], *BYTES[self.kind]) if self.gives_bytes else y


class RoundedSilu(QuantizedConv):
    """What the convolution gives times its sigmoid, each rounded, as onnxruntime.quantization writes it."""

    def __init__(self, channels, filters, kernel, groups=1, zero=10):
        super().__init__(channels, filters, kernel, groups=groups, zeros=(zero, 116))

    def forward(self, x):
        y = Q.dequantize_per_tensor(super().forward(x), 0.05, 116, *BYTES[U8])
        gate = Q.quantize_per_tensor(torch.sigmoid(y), 1 / 255, 0, *BYTES[U8])
        return Q.quantize_per_tensor(y * Q.dequantize_per_tensor(gate, 1 / 255, 0, *BYTES[U8]), 0.05, 10, *BYTES[U8])


class QuantizedLinear(nn.Module):
    """Rows of bytes by weights of i8 up to `most`; bytes again."""

    def __init__(self, terms, columns, kind=U8, most=127):
        super().__init__()
        self.register_buffer("weight", torch.randint(-most, most + 1, (columns, terms), dtype=I8))
        self.register_buffer("scale", (torch.rand(columns) + 0.1) * 0.01 / terms**0.5)
        self.register_buffer("zero", torch.zeros(columns, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(columns))
        self.kind, self.zeros = kind, (125, 0) if kind == U8 else (-3, -128)

    def forward(self, x):
        x = Q.dequantize_per_tensor(x, 0.05, self.zeros[0], *BYTES[self.kind])
        w = Q.dequantize_per_channel(self.weight, self.scale, self.zero, 0, -127, 127, I8)
        return Q.quantize_per_tensor(F.linear(x, w, self.bias), 0.05, self.zeros[1], *BYTES[self.kind])


class Residual(nn.Module):
    """Convolutions one after the other; the last one's floats are added to what goes into the first."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        y = x
        for layer in self.layers:
            y = layer(y)
        first = self.layers[0]
        return y + Q.dequantize_per_tensor(x, 0.05, first.zeros[0], *BYTES[first.kind])


def layers():
    dense = [(64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1), (512, 512, 7, 3, 1), (128, 128, 56, 3, 2), (3, 64, 224, 7, 2),
             (3, 32, 224, 3, 2), (64, 256, 56, 1, 1), (512, 128, 28, 1, 1), (1024, 256, 14, 1, 1), (256, 512, 56, 1, 2), (16, 96, 112, 1, 1),
             (96, 24, 56, 1, 1), (960, 160, 7, 1, 1), (32, 64, 80, 3, 1)]
    for c, f, n, k, s in dense:
        for kind, name in ((U8, "u8"), (I8, "i8")):
            wide(f"image/quantized/{c}x{n}-{f}/k{k}s{s}/{name}", None, (1, c, n, n, kind),
                 state=lambda c=c, f=f, k=k, s=s, kind=kind: QuantizedConv(c, f, k, s, kind=kind))
    for c, n, k, s in ((32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (192, 28, 5, 1), (384, 14, 3, 1), (960, 7, 5, 1)):
        for kind, name in ((U8, "u8"), (I8, "i8")):
            wide(f"image/quantized/depthwise{c}x{n}/k{k}s{s}/{name}", None, (1, c, n, n, kind),
                 state=lambda c=c, k=k, s=s, kind=kind: QuantizedConv(c, c, k, s, c, kind))
    wide("image/quantized/256x56-256/k3s1g32", None, (1, 256, 56, 56, U8), state=lambda: QuantizedConv(256, 256, 3, 1, 32))


def products():
    """Of weights of 7 bits no two products leave 16 bits, where instructions without VNNI saturate."""
    for m, k, n in ((1, 768, 768), (16, 1024, 1024), (128, 768, 768), (128, 768, 3072), (197, 384, 1536), (33, 101, 77)):
        for kind, name in ((U8, "u8"), (I8, "i8")):
            for most in (63, 127):
                wide(f"image/quantized/product/{m}x{k}-{n}/{name}/most{most}", None, (m, k, kind),
                     state=lambda k=k, n=n, kind=kind, most=most: QuantizedLinear(k, n, kind, most))
    floats = lambda x, kind: Q.dequantize_per_tensor(x, 0.05, 128 if kind == U8 else 0, *BYTES[kind])
    for b, m, k, n in ((6, 64, 256, 512), (12, 197, 197, 64), (12, 1, 384, 511)):
        for kind, name in ((U8, "u8"), (I8, "i8")):
            wide(f"image/quantized/both/{b}x{m}x{k}-{n}/{name}", lambda x, y, kind=kind: torch.bmm(floats(x, kind), floats(y, kind)),
                 (b, m, k, kind), (b, k, n, kind))


def blocks():
    relu = dict(zeros=(0, 0))
    wide("image/quantized/bottleneck/256x56", None, (1, 256, 56, 56, U8), state=lambda: Residual(
        QuantizedConv(256, 64, 1, **relu), QuantizedConv(64, 64, 3, **relu), QuantizedConv(64, 256, 1, gives_bytes=False, **relu)))
    for c, n in ((24, 56), (64, 14), (160, 7)):
        wide(f"image/quantized/inverted/{c}x{n}", None, (1, c, n, n, U8), state=lambda c=c: Residual(
            QuantizedConv(c, 6 * c, 1, zeros=(125, 0)), QuantizedConv(6 * c, 6 * c, 3, 1, 6 * c, **relu),
            QuantizedConv(6 * c, c, 1, gives_bytes=False, **relu)))
    for c, n in ((16, 112), (40, 28)):
        wide(f"image/quantized/rounded-silu/{c}x{n}", None, (1, c, n, n, U8), state=lambda c=c: Residual(
            RoundedSilu(c, 6 * c, 1, zero=125), RoundedSilu(6 * c, 6 * c, 3, 6 * c), QuantizedConv(6 * c, c, 1, zeros=(10, 0), gives_bytes=False)))
    for c, n in ((32, 80), (64, 40)):
        wide(f"image/quantized/silu/{c}x{n}", None, (1, c, n, n, U8), state=lambda c=c: Residual(
            QuantizedConv(c, c, 3, zeros=(6, 6), activation=F.silu), QuantizedConv(c, c, 3, zeros=(6, 6), activation=F.silu),
            QuantizedConv(c, c, 3, zeros=(6, 6), gives_bytes=False)))


layers()
products()
blocks()
