"""Layers of whole models for `scripts/bench ops`, with random weights of the models' sizes.

Language models are measured as users run them: `prefill` of a prompt, and `decode` of one token with the keys and values
of those before it as arguments, in f32, with bf16 weights and with integer weights alone. Beside them are layers of
speech, diffusion, detection and segmentation models. A layer stands for its model: what follows it has the same shapes.
"""
import contextlib
import dataclasses
import functools

import torch
import torch.nn.functional as F
from torch import nn

from opcases import BF16, F32, case, random


class NarrowLinear(nn.Module):
    """Weights of few bits. Within `as_contrib`, what is exported is the operator that ONNX Runtime has for them."""
    contrib = False

    def matmul_nbits(self, x):
        """com.microsoft's MatMulNBits, by the weights as it takes them: `nbits`."""
        weight, scale, zero, bits = self.nbits
        outputs, groups, size = weight.shape
        group = size * 8 // bits
        return torch.onnx.ops.symbolic("com.microsoft::MatMulNBits", (x, weight, scale, zero),
                                       {"K": groups * group, "N": outputs, "bits": bits, "block_size": group},
                                       dtype=x.dtype, shape=(*x.shape[:-1], outputs), version=1)


@contextlib.contextmanager
def as_contrib():
    NarrowLinear.contrib = True
    try:
        yield
    finally:
        NarrowLinear.contrib = False


class Int8Linear(NarrowLinear):
    """Weights of 8 bits with a scale for each column, widened where they are used."""

    def __init__(self, inputs, outputs, group=128):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(outputs, 1) / 1000)
        groups = inputs // group
        self.nbits = ((self.weight.to(torch.int16) + 128).to(torch.uint8).unflatten(1, (groups, group)),
                      self.scale.repeat(1, groups), torch.full((outputs, groups), 128, dtype=torch.uint8), 8)

    def forward(self, x):
        return self.matmul_nbits(x) if self.contrib else F.linear(x, self.weight.to(x.dtype) * self.scale)


class Int4Linear(NarrowLinear):
    """Weights of 4 bits, two in a byte, with a scale and a zero point for each group of 32 along the inputs."""

    def __init__(self, inputs, outputs, group=32):
        super().__init__()
        self.register_buffer("weight", torch.randint(0, 256, (outputs, inputs // group, group // 2), dtype=torch.uint8))
        self.register_buffer("scale", torch.rand(outputs, inputs // group, 1) / 100)
        self.register_buffer("zero", torch.randint(0, 16, (outputs, inputs // group, 1)).float())
        zero = self.zero.to(torch.uint8).reshape(outputs, -1, 2)
        self.nbits = self.weight, self.scale.squeeze(-1), zero[..., 0] | zero[..., 1] << 4, 4

    def forward(self, x):
        if self.contrib:
            return self.matmul_nbits(x)
        pairs = torch.stack([self.weight & 15, self.weight >> 4], -1).flatten(2)
        weight = (pairs.to(x.dtype) - self.zero) * self.scale
        return F.linear(x, weight.flatten(1))


def split(x, heads):
    """[batch, tokens, heads * width] as [batch, heads, tokens, width]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def rotated(x, cos, sin):
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class Attention(nn.Module):
    """Of grouped queries, with rotations, a cache or a bias where those come."""

    def __init__(self, width, heads, shared, head, linear=functools.partial(nn.Linear, bias=False)):
        super().__init__()
        self.heads, self.shared = heads, shared
        self.q, self.k = linear(width, heads * head), linear(width, shared * head)
        self.v, self.out = linear(width, shared * head), linear(heads * head, width)

    def forward(self, x, source=None, cos=None, sin=None, keys=None, values=None, bias=None, causal=False):
        source = x if source is None else source
        q, k, v = split(self.q(x), self.heads), split(self.k(source), self.shared), split(self.v(source), self.shared)
        if cos is not None:
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if keys is not None:
            k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = F.scaled_dot_product_attention(q, k, v, bias, is_causal=causal, enable_gqa=self.heads != self.shared)
        return self.out(joined(y))


class Gpt2(nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, width // heads, nn.Linear)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, keys=None, values=None):
        x = x + self.attention(self.before(x), keys=keys, values=values, causal=keys is None)
        return x + self.down(F.gelu(self.up(self.after(x)), approximate="tanh"))


class Llama(nn.Module):
    def __init__(self, width, heads, shared, hidden, linear=functools.partial(nn.Linear, bias=False)):
        super().__init__()
        self.before, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, shared, width // heads, linear)
        self.gate, self.up, self.down = linear(width, hidden), linear(width, hidden), linear(hidden, width)

    def forward(self, x, cos, sin, keys=None, values=None):
        x = x + self.attention(self.before(x), cos=cos, sin=sin, keys=keys, values=values, causal=keys is None)
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class ClipLayer(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.causal, self.before, self.after = causal, nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, width // heads, nn.Linear)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.before(x), causal=self.causal)
        y = self.up(self.after(x))
        return x + self.down(y * torch.sigmoid(1.702 * y))


class T5Decoder(nn.Module):
    def __init__(self, width=512, heads=8, hidden=2048):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, heads, heads, 64), Attention(width, heads, heads, 64)
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x, encoded, bias):
        x = x + self.own(self.norms[0](x), bias=bias)
        x = x + self.cross(self.norms[1](x), encoded)
        return x + self.down(F.relu(self.up(self.norms[2](x))))


class WhisperLayer(nn.Module):
    def __init__(self, width=384, heads=6, crosses=False):
        super().__init__()
        self.before, self.between, self.after = (nn.LayerNorm(width) for _ in range(3))
        self.own = Attention(width, heads, heads, 64, nn.Linear)
        self.cross = Attention(width, heads, heads, 64, nn.Linear) if crosses else None
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, encoded=None, keys=None, values=None):
        x = x + self.own(self.before(x), keys=keys, values=values)
        if self.cross:
            x = x + self.cross(self.between(x), encoded)
        return x + self.down(F.gelu(self.up(self.after(x))))


class SwinWindows(nn.Module):
    """What comes before attention in shifted windows."""

    def __init__(self, width=96, window=7):
        super().__init__()
        self.window, self.norm, self.qkv = window, nn.LayerNorm(width), nn.Linear(width, 3 * width)

    def forward(self, x):
        batch, height, width, channels = x.shape
        size, half = self.window, self.window // 2
        y = self.norm(F.relu(x)).roll((-half, -half), (1, 2))
        y = y.view(batch, height // size, size, width // size, size, channels).transpose(2, 3)
        return self.qkv(y.reshape(-1, size * size, channels))


class UnetResidual(nn.Module):
    def __init__(self, channels=320, embedded=1280):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, channels) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(embedded, channels)

    def forward(self, x, time):
        y = self.convs[0](F.silu(self.norms[0](x))) + self.time(F.silu(time))[..., None, None]
        return x + self.convs[1](F.silu(self.norms[1](y)))


class UnetAttention(nn.Module):
    def __init__(self, channels=320, heads=8, context=768):
        super().__init__()
        self.norm, self.before, self.between, self.after = (nn.GroupNorm(32, channels), *(
            nn.LayerNorm(channels) for _ in range(3)))
        self.own = Attention(channels, heads, heads, channels // heads)
        self.cross = Attention(channels, heads, heads, channels // heads)
        self.cross.k, self.cross.v = (nn.Linear(context, channels, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x, context):
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = y + self.own(self.before(y))
        y = y + self.cross(self.between(y), context)
        up, gate = self.up(self.after(y)).chunk(2, -1)
        y = y + self.down(up * F.gelu(gate))
        return x + y.transpose(1, 2).reshape(x.shape)


class ConvNormSilu(nn.Sequential):
    def __init__(self, inputs, outputs, width=1, stride=1):
        super().__init__(nn.Conv2d(inputs, outputs, width, stride, width // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class YoloC2f(nn.Module):
    def __init__(self, channels, depth=2):
        super().__init__()
        half = channels // 2
        self.first, self.last = ConvNormSilu(channels, channels), ConvNormSilu((2 + depth) * half, channels)
        self.inner = nn.ModuleList(nn.Sequential(ConvNormSilu(half, half, 3), ConvNormSilu(half, half, 3)) for _ in range(depth))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for inner in self.inner:
            parts.append(parts[-1] + inner(parts[-1]))
        return self.last(torch.cat(parts, 1))


class YoloPools(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.last = ConvNormSilu(channels, channels // 2), ConvNormSilu(2 * channels, channels)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class Segmenter(nn.Module):
    """What follows a backbone: dilated convolutions, and maps at a quarter and the whole of the size."""

    def __init__(self, channels=256, classes=21):
        super().__init__()
        self.dilated = nn.ModuleList(nn.Conv2d(channels, 64, 3, padding=d, dilation=d) for d in (6, 12, 18))
        self.last = nn.Conv2d(192, classes, 1)

    def forward(self, x):
        y = self.last(torch.cat([F.relu(c(x)) for c in self.dilated], 1))
        return F.interpolate(y, scale_factor=8, mode="bilinear")


class TokenMaps(nn.Module):
    """Maps of tokens of several sizes, resized and joined for a convolution, as SegFormer does."""

    def __init__(self, channels=(64, 128, 320, 512), width=256):
        super().__init__()
        self.widen = nn.ModuleList(nn.Linear(c, width) for c in channels)
        self.join = nn.Conv2d(len(channels) * width, width, 1)

    def forward(self, *tokens):
        maps = []
        for linear, x in zip(self.widen, tokens, strict=True):
            side = int(x.shape[1] ** 0.5)
            maps.append(linear(x).transpose(1, 2).unflatten(2, (side, side)))
        size = maps[0].shape[2:]
        return F.relu(self.join(torch.cat([F.interpolate(m, size=size, mode="bilinear") for m in maps], 1)))


class GatedLayer(nn.Module):
    """The second half of a diffusion transformer's block: shift, scale and gate are columns of one product."""

    def __init__(self, width):
        super().__init__()
        self.by, self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, condition):
        shift, scale, gate = self.by(F.silu(condition)).unsqueeze(1).chunk(3, -1)
        y = F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift
        return x + gate * self.down(F.gelu(self.up(y), approximate="tanh"))


class DenseExperts(nn.Module):
    """All experts for all tokens: the first layer's columns are experts by hidden units."""

    def __init__(self, experts, width, hidden):
        super().__init__()
        self.up = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)
        self.bias = nn.Parameter(torch.randn(experts, hidden))
        self.down = nn.Parameter(torch.randn(experts, hidden, width) / hidden**0.5)

    def forward(self, x):
        return torch.einsum("tei,eih->th", F.relu(torch.einsum("th,ehi->tei", x, self.up) + self.bias[None]), self.down)


@dataclasses.dataclass
class LlamaSizes:
    width: int
    heads: int
    shared: int
    hidden: int

    @property
    def head(self):
        return self.width // self.heads

    @property
    def weights(self):
        return self.width * (2 * self.width + 2 * self.shared * self.head + 3 * self.hidden)


def language():
    def gpt2(tokens, cached):
        return 24 * 768**2 * tokens + 4 * tokens * (cached + tokens) * 768
    for tokens in (128, 512, 2048):
        case(f"model/gpt2/prefill-{tokens}", None, lambda s=tokens: [random(1, s, 768)], gpt2(tokens, 0), state=Gpt2)
    for cached in (512, 4096):
        case(f"model/gpt2/decode-{cached}", None,
             lambda t=cached: [random(1, 1, 768), random(1, 12, t, 64), random(1, 12, t, 64)], gpt2(1, cached), state=Gpt2)

    sizes = {"llama": LlamaSizes(2048, 32, 4, 5632), "qwen": LlamaSizes(896, 14, 2, 4864)}
    linears = {"f32": (F32, functools.partial(nn.Linear, bias=False)), "bf16": (BF16, functools.partial(nn.Linear, bias=False)),
               "int8": (F32, Int8Linear), "int4": (F32, Int4Linear)}
    for name, s in sizes.items():
        for kind, (dtype, linear) in linears.items():
            def state(s=s, linear=linear, dtype=dtype):
                return Llama(s.width, s.heads, s.shared, s.hidden, linear).to(dtype)

            def arguments(tokens, cached, s=s, dtype=dtype):
                cache = [random(1, s.shared, cached, s.head, dtype=dtype) for _ in range(2)] if cached else []
                return [random(1, tokens, s.width, dtype=dtype), *(random(tokens, s.head, dtype=dtype) for _ in range(2)), *cache]
            for tokens in (128, 512, 2048):
                if tokens == 2048 and name == "llama" or tokens != 128 and kind not in ("f32", "bf16"):
                    continue
                case(f"model/{name}-{kind}/prefill-{tokens}", None, lambda a=arguments, t=tokens: a(t, 0),
                     2 * s.weights * tokens + 2 * tokens**2 * s.width, state=state)
            for cached in (512, 4096):
                case(f"model/{name}-{kind}/decode-{cached}", None, lambda a=arguments, t=cached: a(1, t),
                     2 * s.weights + 4 * cached * s.width, state=state)
    for tokens in (1, 128):
        case(f"model/t5-decoder/{tokens}", None,
             lambda s=tokens: [random(1, s, 512), random(1, 128, 512), random(1, 8, s, s)],
             2 * tokens * 512 * (6 * 512 + 2 * 2048) + 4 * 128 * 512**2, state=T5Decoder)


def others():
    for part, tokens, width, heads in (("vision", 50, 768, 12), ("text", 77, 512, 8)):
        case(f"model/clip-{part}/{tokens}x{width}", None, lambda s=tokens, w=width: [random(1, s, w)],
             24 * tokens * width**2 + 4 * tokens**2 * width, state=lambda w=width, h=heads, p=part: ClipLayer(w, h, p == "text"))
    case("model/whisper-encoder/1500", None, lambda: [random(1, 1500, 384)], 24 * 1500 * 384**2 + 4 * 1500**2 * 384,
         state=WhisperLayer)
    case("model/whisper-decoder/1", None,
         lambda: [random(1, 1, 384), random(1, 1500, 384), random(1, 6, 100, 64), random(1, 6, 100, 64)],
         4 * 1500 * 384**2 + 28 * 384**2, state=lambda: WhisperLayer(crosses=True))
    case("model/unet-residual/320x32x32", None, lambda: [random(1, 320, 32, 32), random(1, 1280)],
         2 * 2 * 9 * 320**2 * 1024, state=UnetResidual)
    case("model/unet-residual/128x256x256", None, lambda: [random(1, 128, 256, 256), random(1, 1280)],
         2 * 2 * 9 * 128**2 * 65536, state=lambda: UnetResidual(128))
    case("model/swin-windows/4x56x56x96", None, lambda: [random(4, 56, 56, 96)], 2 * 4 * 3136 * 96 * 288,
         state=SwinWindows)
    case("model/unet-attention/320x32x32", None, lambda: [random(1, 320, 32, 32), random(1, 77, 768)],
         2 * 1024 * 320**2 * 18 + 4 * 1024**2 * 320, state=UnetAttention)
    case("model/yolo-first/3x640x640", None, lambda: [random(1, 3, 640, 640)], 2 * 27 * 16 * 320**2 + 2 * 144 * 32 * 160**2,
         state=lambda: nn.Sequential(ConvNormSilu(3, 16, 3, 2), ConvNormSilu(16, 32, 3, 2)))
    for channels, size in ((32, 160), (64, 80), (128, 40)):
        case(f"model/yolo-c2f/{channels}x{size}x{size}", None, lambda c=channels, s=size: [random(1, c, s, s)],
             2 * channels**2 * size**2 * (1 + 2 + 9), state=lambda c=channels: YoloC2f(c))
    case("model/yolo-pools/256x20x20", None, lambda: [random(1, 256, 20, 20)], 2 * 256**2 * 400 * 2.5, state=lambda: YoloPools(256))
    case("model/token-maps/4x64x64", None, lambda: [random(4, (64 >> i)**2, c) for i, c in enumerate((64, 128, 320, 512))],
         2 * 4 * 4096 * 256 * (1024 + 64 + 32 + 20 + 8), state=TokenMaps)
    case("model/gated-layer/4x256x1152", None, lambda: [random(4, 256, 1152), random(4, 1152)], 16 * 1024 * 1152**2,
         state=lambda: GatedLayer(1152))
    case("model/dense-experts/256x8x512x1408", None, lambda: [random(256, 512)], 4 * 256 * 8 * 512 * 1408,
         state=lambda: DenseExperts(8, 512, 1408))
    case("model/segmenter/256x80x80", None, lambda: [random(1, 256, 80, 80)], 2 * 9 * 256 * 192 * 6400, state=Segmenter)


language()
others()
