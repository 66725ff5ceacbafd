"""Models of zoo.py that no package has: networks written out, each in float32 and bfloat16."""
import math

import torch
from torch import nn
import torch.nn.functional as F

from zoo_models import add, random


def net(name, make, inputs, sizes=None, dynamic=(0,), kinds=("", "bf16")):
    """inputs(*size) gives the tensors that the module takes."""
    for kind in kinds:
        def module(kind=kind):
            built = make()
            return built.bfloat16() if kind else built

        def arguments(*size, kind=kind):
            values = inputs(*size)
            return tuple(v.bfloat16() if kind and v.dtype == torch.float32 else v for v in values), {}
        add(f"net-{name}{'-' if kind else ''}{kind}", module, arguments, sizes, dynamic)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=random(*shape, seed))


def whole(limit, *shape, seed=0):
    return torch.randint(0, limit, shape, generator=random(*shape, seed))


PAIRS = [(2, 6), (1, 9), (3, 7)]  # batch and length


class Swin(nn.Module):
    """Attention in shifted windows with a table of relative places, then patches that merge."""

    def __init__(self, width=16, heads=2, window=4):
        super().__init__()
        self.window, self.heads = window, heads
        self.patch = nn.Conv2d(3, width, 2, 2)
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) / 4)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None]).permute(1, 2, 0) + window - 1
        self.register_buffer("places", apart[..., 0] * (2 * window - 1) + apart[..., 1])
        self.merge = nn.Linear(4 * width, 2 * width, bias=False)

    def attention(self, x, shift):
        b, h, w, c = x.shape
        n = self.window
        moved = torch.roll(x, (-shift, -shift), (1, 2)) if shift else x
        parts = moved.reshape(b, h // n, n, w // n, n, c).transpose(2, 3).reshape(-1, n * n, c)
        q, k, v = self.qkv(self.norm(parts)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / math.sqrt(c // self.heads) + self.table[self.places].permute(2, 0, 1)
        if shift:
            zone = torch.zeros(1, h, w)
            for i, rows in enumerate((slice(0, -n), slice(-n, -shift), slice(-shift, None))):
                for j, columns in enumerate((slice(0, -n), slice(-n, -shift), slice(-shift, None))):
                    zone[:, rows, columns] = 3 * i + j
            zone = zone.reshape(h // n, n, w // n, n).transpose(1, 2).reshape(-1, n * n)
            mask = (zone[:, None] != zone[:, :, None]).to(x.dtype) * -100.0
            scores = (scores.unflatten(0, (b, -1)) + mask[None, :, None]).flatten(0, 1)
        y = self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        y = y.reshape(b, h // n, w // n, n, n, c).transpose(2, 3).reshape(b, h, w, c)
        return x + (torch.roll(y, (shift, shift), (1, 2)) if shift else y)

    def forward(self, image):
        x = self.patch(image).permute(0, 2, 3, 1)
        x = self.attention(self.attention(x, 0), self.window // 2)
        return self.merge(torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)).mean((1, 2))


net("swin", Swin, lambda b: (normal(b, 3, 16, 16),))


class ConvNext(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.wide = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma, self.beta = nn.Parameter(torch.ones(4 * width)), nn.Parameter(torch.zeros(4 * width))
        self.scale = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, image):
        x = self.stem(image)
        y = F.gelu(self.up(self.norm(self.wide(x).permute(0, 2, 3, 1))))
        size = torch.linalg.vector_norm(y, dim=(1, 2), keepdim=True)  # ConvNeXt V2's response normalisation
        y = self.gamma * (y * size / (size.mean(-1, keepdim=True) + 1e-6)) + self.beta + y
        return x + (self.scale * self.down(y)).permute(0, 3, 1, 2)


net("convnext", ConvNext, lambda b: (normal(b, 3, 32, 24),))


class MobileBlock(nn.Module):
    """An inverted residual with 5x5 filters of one channel, squeeze and excitation (EfficientNet, MobileNetV3)."""

    def __init__(self, width=24, size=5):
        super().__init__()
        self.expand, self.norm1 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.spread = nn.Conv2d(4 * width, 4 * width, size, padding=size // 2, groups=4 * width, bias=False)
        self.norm2, self.norm3 = nn.BatchNorm2d(4 * width), nn.BatchNorm2d(width)
        self.less, self.more = nn.Conv2d(4 * width, 6, 1), nn.Conv2d(6, 4 * width, 1)
        self.project = nn.Conv2d(4 * width, width, 1, bias=False)

    def forward(self, x):
        y = F.silu(self.norm2(self.spread(F.hardswish(self.norm1(self.expand(x))))))
        y = y * torch.sigmoid(self.more(F.silu(self.less(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.norm3(self.project(y))


net("mobile-block", MobileBlock, lambda b: (normal(b, 24, 14, 14),))
net("mobile-block-odd", lambda: MobileBlock(10, 7), lambda b, h: (normal(b, 10, h, 9),), PAIRS, (0, 2))


class MobileVit(nn.Module):
    """Attention between the same pixels of all patches."""

    def __init__(self, width=16):
        super().__init__()
        self.near, self.into = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, width, 1, bias=False)
        self.layer = nn.TransformerEncoderLayer(width, 4, 32, batch_first=True, activation="gelu", norm_first=True)
        self.back, self.join = nn.Conv2d(width, 8, 1), nn.Conv2d(16, 8, 3, padding=1)

    def forward(self, x):
        b, _, h, w = x.shape
        y = self.into(self.near(x))
        parts = y.reshape(b, -1, h // 2, 2, w // 2, 2).permute(0, 3, 5, 2, 4, 1).reshape(b * 4, h * w // 4, -1)
        y = self.layer(parts).reshape(b, 2, 2, h // 2, w // 2, -1).permute(0, 5, 3, 1, 4, 2).reshape(b, -1, h, w)
        return self.join(torch.cat([x, self.back(y)], 1))


net("mobile-vit", MobileVit, lambda b: (normal(b, 8, 12, 8),))


class Detr(nn.Module):
    """Learnt queries that look at pixels with places of sines; boxes and classes."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.queries = nn.Parameter(torch.randn(5, width))
        self.own, self.cross = (nn.MultiheadAttention(width, 2, batch_first=True) for _ in range(2))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.classes, self.boxes = nn.Linear(width, 7), nn.Linear(width, 4)

    def forward(self, image, valid):
        x = self.stem(image)
        mask = F.interpolate(valid[:, None].float(), size=x.shape[-2:])[:, 0] > 0.5
        down, right = mask.cumsum(1, dtype=torch.float32), mask.cumsum(2, dtype=torch.float32)
        rate = 10000 ** (torch.arange(8) // 2 * 2 / 8)
        waves = [torch.stack([(d[..., None] / rate)[..., 0::2].sin(), (d[..., None] / rate)[..., 1::2].cos()], 4).flatten(3)
                 for d in (down, right)]
        rows = x.flatten(2).mT
        keys = rows + torch.cat(waves, 3).flatten(1, 2).to(x.dtype)
        q = self.queries.expand(x.shape[0], -1, -1)
        q = self.norm1(q + self.own(q, q, q)[0])
        seen, weights = self.cross(q, keys, rows, key_padding_mask=~mask.flatten(1))
        q = self.norm2(q + seen)
        return self.classes(q), self.boxes(q).sigmoid(), weights


net("detr", Detr, lambda b: (normal(b, 3, 16, 24), torch.arange(24)[None, None].expand(b, 16, 24) < 18))


class Mamba(nn.Module):
    """A selective scan over a sequence, in a recurrence that torch.export unrolls or in one of sums."""

    def __init__(self, width=8, state=4):
        super().__init__()
        self.into, self.out = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)
        self.near = nn.Conv1d(2 * width, 2 * width, 4, padding=3, groups=2 * width)
        self.rates, self.both = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, 2 * state)
        self.a, self.d = nn.Parameter(torch.randn(2 * width, state) / 2), nn.Parameter(torch.ones(2 * width))

    def forward(self, x):
        from torch._higher_order_ops.scan import scan
        y, gate = self.into(x).chunk(2, -1)
        y = F.silu(self.near(y.mT)[..., :x.shape[1]].mT)
        step = F.softplus(self.rates(y))
        b, c = self.both(y).chunk(2, -1)
        decay = torch.exp(-step[..., None] * self.a.exp())
        more = step[..., None] * b[:, :, None] * y[..., None]
        _, states = scan(lambda h, it: ((n := h * it[0] + it[1]), n.clone()), torch.zeros_like(more[:, 0]),
                         (decay.transpose(0, 1), more.transpose(0, 1)))
        y = (states.transpose(0, 1) * c[:, :, None]).sum(-1) + self.d * y
        return self.out(y * F.silu(gate))


net("mamba", Mamba, lambda b, n: (normal(b, n, 8),), PAIRS, (0,))


class Rwkv(nn.Module):
    """Mixing with the token before, and weighted sums that decay, as one product with a matrix of decays."""

    def __init__(self, width=12):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(3, width))
        self.key, self.value, self.gate, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.decay, self.first = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, -1))
        k, v, r = (layer(torch.lerp(before, x, m)) for layer, m in zip((self.key, self.value, self.gate), self.mix))
        n = x.shape[1]
        apart = torch.arange(n)[:, None] - torch.arange(n)[None]
        weight = torch.where(apart[..., None] > 0, -(apart[..., None] - 1) * self.decay.exp(), -torch.inf)
        weight = torch.where(apart[..., None] == 0, self.first, weight)
        scores = weight[None] + k[:, None]
        top = scores.amax(2, keepdim=True)
        e = (scores - top).exp()
        return self.out(r.sigmoid() * ((e * v[:, None]).sum(2) / e.sum(2)).to(x.dtype))


net("rwkv", Rwkv, lambda b, n: (normal(b, n, 12),), PAIRS, (0, 1))


class Graph(nn.Module):
    """Messages along edges, added, averaged and attended to at their targets."""

    def __init__(self, width=8):
        super().__init__()
        self.message, self.update = nn.Linear(2 * width, width), nn.GRUCell(width, width)
        self.score = nn.Linear(2 * width, 1)

    def forward(self, x, edges):
        sources, targets = edges
        n = x.shape[0]
        for _ in range(2):
            pair = torch.cat([x[sources], x.index_select(0, targets)], -1)
            score = F.leaky_relu(self.score(pair)).squeeze(-1)
            most = torch.full((n,), -torch.inf, dtype=x.dtype).scatter_reduce(0, targets, score, "amax")
            weight = (score - most[targets]).exp()
            total = torch.zeros(n, dtype=x.dtype).index_add(0, targets, weight)
            message = torch.relu(self.message(pair)) * (weight / total[targets])[:, None]
            sums = torch.zeros_like(x).scatter_add(0, targets[:, None].expand(-1, x.shape[1]), message)
            mean = torch.zeros_like(x).index_reduce(0, targets, message, "mean", include_self=False)
            x = self.update(sums + mean, x)
        degree = torch.bincount(targets, minlength=n)
        return x, degree, x.sum(0) / degree.clamp(min=1).sum()


net("graph", Graph, lambda n, e: (normal(n, 8), torch.cat([whole(n, 2, e), torch.arange(n).expand(2, n)], 1)),
    [(6, 9), (4, 20), (7, 13)], (0,), kinds=("",))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.GELU(), nn.Conv2d(8, 16, 3, 2, 1), nn.GELU(), nn.Flatten())
        self.mean, self.spread = nn.Linear(16 * 16, 6), nn.Linear(16 * 16, 6)
        self.start = nn.Linear(6, 16 * 16)
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
                                nn.ConvTranspose2d(8, 1, 3, 2, 1, 1), nn.Sigmoid())

    def forward(self, image, noise):
        x = self.down(image)
        mean, spread = self.mean(x), self.spread(x)
        y = self.up(self.start(mean + (spread / 2).exp() * noise).unflatten(1, (16, 4, 4)))
        apart = -0.5 * (1 + spread - mean ** 2 - spread.exp()).sum(1)
        return y, apart, F.binary_cross_entropy(y.float(), image.float().sigmoid(), reduction="none").sum((1, 2, 3))


net("vae", Vae, lambda b: (normal(b, 1, 16, 16), normal(b, 6)))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = nn.Embedding(5, 4)
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(12, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(8, 8, 5, 3, 2, 1, groups=4), nn.PixelShuffle(2), nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), nn.Tanh())

    def forward(self, noise, label):
        return self.layers(torch.cat([noise, self.classes(label)], 1)[..., None, None])


net("generator", Generator, lambda b: (normal(b, 8), whole(5, b)))


class Translator(nn.Module):
    """An encoder of padded texts, and a decoder with attention that torch.export unrolls."""

    def __init__(self, width=10):
        super().__init__()
        self.words = nn.Embedding(20, width, padding_idx=0)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.cell, self.score, self.out = nn.LSTMCell(3 * width, width), nn.Linear(width, 2 * width), nn.Linear(width, 20)

    def forward(self, text):
        mask = text != 0
        rows, last = self.encoder(self.words(text))
        h = last.sum(0)
        c, token = torch.zeros_like(h), torch.ones(text.shape[0], dtype=torch.int64)
        results = []
        for _ in range(3):
            scores = (rows @ self.score(h)[..., None]).squeeze(-1).masked_fill(~mask, -torch.inf)
            seen = (scores.softmax(-1)[:, None] @ rows).squeeze(1)
            h, c = self.cell(torch.cat([seen, self.words(token)], -1), (h, c))
            results.append(self.out(h))
            token = results[-1].argmax(-1)
        return torch.stack(results, 1)


net("translator", Translator, lambda b, n: (whole(19, b, n) + 1,), [(2, 6), (1, 6), (3, 6)], (0,), kinds=("",))


class Wave(nn.Module):
    """wav2vec's stem: convolutions along a wave, a norm of groups, a wide convolution of places by groups."""

    def __init__(self, width=16):
        super().__init__()
        self.first, self.norm = nn.Conv1d(1, width, 10, 5, bias=False), nn.GroupNorm(width, width)
        self.rest = nn.ModuleList([nn.Conv1d(width, width, k, 2) for k in (3, 3, 2)])
        self.places = nn.utils.parametrizations.weight_norm(nn.Conv1d(width, width, 8, padding=4, groups=4), dim=2)
        self.gated = nn.Conv1d(width, 2 * width, 3, padding=2, dilation=2)

    def forward(self, wave):
        x = F.gelu(self.norm(self.first(wave[:, None])))
        for layer in self.rest:
            x = F.gelu(layer(x))
        x = x + F.gelu(self.places(x)[..., :-1])
        return F.glu(self.gated(x), 1).mT


net("wave", Wave, lambda b, n: (normal(b, n),), [(2, 400), (1, 650), (3, 523)], (0, 1))
