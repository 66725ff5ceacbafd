"""Models of zoo.py that no package has: language models' parts, training steps and quantised layers."""
import math

import torch
from torch import nn
import torch.nn.functional as F

from zoo_models import add
from zoo_networks import net, normal, whole, PAIRS


class Experts(nn.Module):
    """Each token goes to its two best experts, whose rows are gathered, multiplied and added back."""

    def __init__(self, width=8, experts=4):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.up, self.down = (nn.Parameter(torch.randn(experts, *s) / 3) for s in ((width, 12), (12, width)))
        self.count = experts

    def forward(self, x):
        rows = x.flatten(0, 1)
        weights, chosen = self.gate(rows).softmax(-1, dtype=torch.float32).topk(2, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        order = chosen.flatten().argsort(stable=True)
        token = order // 2
        counts = torch.zeros(self.count, dtype=torch.int64).scatter_add(0, chosen.flatten(), torch.ones_like(token))
        expert = torch.searchsorted(counts.cumsum(0), torch.arange(order.shape[0]), right=True)
        picked = rows[token][:, None] @ self.up[expert]
        made = (F.silu(picked) @ self.down[expert]).squeeze(1) * weights.flatten()[order][:, None]
        load = F.one_hot(chosen, self.count).sum((0, 1))
        return torch.zeros_like(rows).index_add(0, token, made).view_as(x), load, counts.cumsum(0)


net("experts", Experts, lambda b, n: (normal(b, n, 8),), PAIRS, (0, 1))


class SparseExperts(Experts):
    """As above, each expert on the rows that it has: as many as the data says."""

    def forward(self, x):
        rows = x.flatten(0, 1)
        weights, chosen = self.gate(rows).softmax(-1).topk(2, -1)
        y = torch.zeros_like(rows)
        for expert in range(self.count):
            token, place = torch.where(chosen == expert)
            made = F.silu(rows[token] @ self.up[expert]) @ self.down[expert]
            y = y.index_add(0, token, made * weights[token, place, None])
        return y.view_as(x)


net("sparse-experts", SparseExperts, lambda b, n: (normal(b, n, 8),), PAIRS, (0, 1))


def turned(x, cos, sin, pairs):
    """Rotary places of neighbours (GPT-J) or of halves (Llama)."""
    if pairs:
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    low, high = x.chunk(2, -1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


class Decoder(nn.Module):
    """A layer with few heads of keys, places of many kinds, a window, and weights of low rank added (LoRA)."""

    def __init__(self, places, window, cap, width=16, heads=4, groups=2):
        super().__init__()
        self.places, self.window, self.cap, self.heads, self.groups = places, window, cap, heads, groups
        size = width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, groups * size), nn.Linear(width, groups * size)
        self.low, self.high = nn.Linear(width, 2, bias=False), nn.Linear(2, width, bias=False)
        self.norm, self.out, self.q_norm = nn.RMSNorm(width), nn.Linear(width, width), nn.RMSNorm(size)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        b, n, w = x.shape
        y = self.norm(x)
        q = (self.q(y) + 0.5 * self.high(self.low(y))).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = (layer(y).view(b, n, self.groups, -1).transpose(1, 2) for layer in (self.k, self.v))
        q = self.q_norm(q)
        at = torch.arange(n)
        bias = torch.zeros(n, n, dtype=x.dtype)
        if self.places in ("pairs", "halves", "partial", "complex"):
            size = q.shape[-1] // (2 if self.places == "partial" else 1)
            angle = at[:, None] * 100.0 ** (-torch.arange(0, size, 2) / size)
            if self.places == "complex":
                turn = torch.polar(torch.ones_like(angle), angle)
                q, k = (torch.view_as_real(torch.view_as_complex(t.float().unflatten(-1, (-1, 2)).contiguous()) * turn)
                        .flatten(-2).to(x.dtype) for t in (q, k))
            else:
                cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
                q, k = (torch.cat((turned(t[..., :size], cos, sin, self.places == "pairs"), t[..., size:]), -1) for t in (q, k))
        if self.places == "alibi":
            slopes = 2.0 ** (-8 * (torch.arange(self.heads) + 1) / self.heads)
            bias = ((at[None] - at[:, None]) * slopes[:, None, None]).to(x.dtype)
        allowed = at[None] <= at[:, None]
        if self.window:
            allowed = allowed & (at[:, None] - at[None] < self.window)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        if self.cap:
            scores = torch.tanh(q @ k.mT / math.sqrt(q.shape[-1]) / self.cap) * self.cap + bias
            y = scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.where(allowed, bias, -torch.inf))
        x = x + self.out(y.transpose(1, 2).flatten(2))
        gate, up = self.up(x).chunk(2, -1)
        return x + self.down(F.gelu(gate, approximate="tanh") * up)


for _places, _window, _cap in (("pairs", None, None), ("halves", 3, None), ("partial", None, 5.0), ("complex", None, None),
                               ("alibi", None, None), ("alibi", 4, 3.0)):
    net(f"decoder-{_places}{'-window' if _window else ''}{'-cap' if _cap else ''}",
        lambda places=_places, window=_window, cap=_cap: Decoder(places, window, cap),
        lambda b, n: (normal(b, n, 16),), PAIRS, (0, 1))


class Cache(nn.Module):
    """One token a call: keys and values are written where they belong in buffers that the model keeps."""

    def __init__(self, width=16, heads=2, length=12):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(2, heads, length, width // heads))
        self.register_buffer("values", torch.zeros(2, heads, length, width // heads))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x, at):
        q, k, v = self.qkv(x).view(2, -1, 3, self.heads, x.shape[-1] // self.heads).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, at, k)
        self.values[:, :, at] = v
        self.steps.add_(at.shape[0])
        mask = torch.arange(self.keys.shape[2])[None] <= at[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2)), self.steps.clone()


net("cache", Cache, lambda n: (normal(2, n, 16), torch.arange(n)), [(3,), (1,), (5,)], ())


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True, activation="gelu")

    def forward(self, x, memory, known):
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return self.layer(x, memory, tgt_mask=mask, memory_key_padding_mask=~known)


net("cross", Cross, lambda b, n: (normal(b, n, 16), normal(b, 5, 16, seed=1), torch.arange(5)[None].expand(b, 5) < 4), PAIRS, (0,))


# ---------------------------------------------------------------------------- training

class Step(nn.Module):
    """The loss of a network, its gradients, and the weights after a step."""

    def __init__(self, layers, loss, rule):
        super().__init__()
        self.layers, self.loss, self.rule = layers, loss, rule

    def forward(self, x, target):
        names, weights = zip(*self.layers.named_parameters())

        def value(values):
            return self.loss(torch.func.functional_call(self.layers, dict(zip(names, values)), (x,)), target)
        gradients, loss = torch.func.grad_and_value(value)(weights)
        return loss, *(self.rule(w, g) for w, g in zip(weights, gradients))


def plain(w, g):
    return w - 0.1 * g


def adam(w, g):
    m, v = 0.1 * g, 0.001 * g * g
    return w * (1 - 1e-3) - 1e-2 * (m / (1 - 0.9)) / ((v / (1 - 0.999)).sqrt() + 1e-4)


class Traced(nn.Module):
    """What make_fx makes of a step, since torch.export takes no gradient of parameters."""
    calibrated = False

    def __init__(self, make, inputs):
        super().__init__()
        from torch.fx.experimental.proxy_tensor import make_fx
        step = make()
        self.names = [name for name, _ in step.named_parameters()]
        self.weights = nn.ParameterList([nn.Parameter(p.detach().clone()) for p in step.parameters()])
        buffers = dict(step.named_buffers())

        def call(weights, *args):
            return torch.func.functional_call(step, ({**dict(zip(self.names, weights)), **buffers},), args)
        self.graph = make_fx(call)([w.detach() for w in self.weights], *inputs)

    def forward(self, x, target):
        return self.graph(list(self.weights), x, target)


def training(name, make, inputs):
    add("train-" + name, lambda: Traced(make, inputs()), lambda: (inputs(), {}), [()], ())


training("perceptron", lambda: Step(nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 4)), F.cross_entropy, adam),
         lambda: (normal(5, 6), whole(4, 5)))
training("convolutions", lambda: Step(nn.Sequential(
    nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 8, 5, padding=2, groups=8), nn.MaxPool2d(2),
    nn.ConvTranspose2d(8, 4, 3, 2, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), F.mse_loss, plain),
    lambda: (normal(2, 3, 16, 16), normal(2, 4)))
training("encoder", lambda: Step(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), F.smooth_l1_loss, plain),
         lambda: (normal(2, 5, 8), normal(2, 5, 8, seed=1)))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(11, 6), nn.LSTMCell(6, 6), nn.Linear(6, 11)

    def forward(self, text):
        h = c = torch.zeros(text.shape[0], 6)
        for i in range(text.shape[1]):
            h, c = self.cell(self.words(text[:, i]), (h, c))
        return self.out(h).log_softmax(-1)


class Ends(nn.Module):
    """What an LSTM of both directions says last; on a CPU it is traced as oneDNN's layers."""

    def __init__(self):
        super().__init__()
        self.rows, self.out = nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x):
        y, (h, c) = self.rows(x)
        return self.out(y[:, -1]) + h.mean() * c.sum(0)[:, :3]


training("ends", lambda: Step(Ends(), F.mse_loss, adam), lambda: (normal(4, 7, 6), normal(4, 3)))
training("words", lambda: Step(Words(), F.nll_loss, adam), lambda: (whole(11, 3, 4), whole(11, 3)))


# ---------------------------------------------------------------------------- quantised

class Whole8(nn.Module):
    """Weights of eight bits by channel, rows of eight bits by their largest."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (24, 16), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(24) / 50)

    def forward(self, x):
        size = x.abs().amax(-1, keepdim=True).float() / 127
        rows = torch.clamp(torch.round(x.float() / size), -128, 127).to(torch.int8)
        exact = torch._int_mm(rows, self.weight.t())
        return (exact.float() * size * self.scale).to(x.dtype), F.linear(x, self.weight.to(x.dtype) * self.scale.to(x.dtype)[:, None])


net("whole-8", Whole8, lambda b: (normal(b, 16),), [(17,), (40,), (20,)], (0,))


class Whole4(nn.Module):
    """Weights of four bits, two a byte, with scales and zeros by groups of columns."""

    def __init__(self, rows=24, columns=32, group=8):
        super().__init__()
        self.group = group
        self.register_buffer("packed", torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(rows, columns // group) / 8)
        self.register_buffer("zeros", torch.randint(0, 16, (rows, columns // group), dtype=torch.uint8))

    def forward(self, x):
        weight = torch.stack((self.packed & 15, self.packed >> 4), -1).flatten(1)
        weight = weight.unflatten(1, (-1, self.group)).to(x.dtype) - self.zeros[..., None].to(x.dtype)
        return F.linear(x, (weight * self.scales[..., None].to(x.dtype)).flatten(1))


net("whole-4", Whole4, lambda b: (normal(b, 32),), [(3,), (1,), (40,)], (0,))


class Fake(nn.Module):
    """quantize and dequantize as torch.ao's export gives them."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.register_buffer("scales", torch.rand(6) / 60 + 0.001)

    def forward(self, x):
        import torch.ao.quantization.fx._decomposed  # noqa: F401  registers the operators
        q = torch.ops.quantized_decomposed
        x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.02, 3, -128, 127, torch.int8), 0.02, 3, -128, 127, torch.int8)
        zeros = torch.zeros(6, dtype=torch.int64)
        weight = q.quantize_per_channel(self.conv.weight, self.scales, zeros, 0, -127, 127, torch.int8)
        weight = q.dequantize_per_channel(weight, self.scales, zeros, 0, -127, 127, torch.int8)
        y = F.relu(F.conv2d(x, weight, self.conv.bias, padding=1))
        y = torch.fake_quantize_per_tensor_affine(y, 0.05, 0, 0, 255)
        return torch.fake_quantize_per_channel_affine(y, self.scales * 10, zeros.int(), 1, -128, 127)


net("fake", Fake, lambda b: (normal(b, 3, 8, 8),), dynamic=(), kinds=("",))
