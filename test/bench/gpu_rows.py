"""What scripts/bench gpu measures: modules in bf16 with seeded weights, and their inputs."""
import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from architectures import ARCHITECTURES


@dataclasses.dataclass
class Row:
    build: Callable[[], nn.Module]  # in f32, eval mode
    inputs: Callable[[], tuple]
    narrow: bool = False            # built and exported in bf16, because f32 would be too large


def architecture(name, *size):
    known = ARCHITECTURES[name]
    return Row(known.build, lambda: tuple(known.inputs(*size).values()))


class LlamaDecode(nn.Module):
    """One token through the layers of Llama-3.2-1B: the cache's `length` places are all attended to, and the token's
    keys and values are written at `position`."""

    def __init__(self, layers=16, width=2048, heads=32, groups=8, inner=8192, vocabulary=128256, length=1024):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.query = nn.Linear(width, width, bias=False)
            layer.key = nn.Linear(width, groups * self.size, bias=False)
            layer.value = nn.Linear(width, groups * self.size, bias=False)
            layer.out = nn.Linear(width, width, bias=False)
            layer.gate = nn.Linear(width, inner, bias=False)
            layer.up = nn.Linear(width, inner, bias=False)
            layer.down = nn.Linear(inner, width, bias=False)
            layer.before, layer.between = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
            layer.register_buffer("keys", torch.randn(1, groups, length, self.size))
            layer.register_buffer("values", torch.randn(1, groups, length, self.size))
            self.layers.append(layer)
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.register_buffer("rates", 500000.0 ** (-torch.arange(0, self.size, 2) / self.size))

    def turned(self, x, angles):
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.cat([a * c - b * s, b * c + a * s], -1)

    def forward(self, token, position):
        x = self.embedding(token)
        angles = position.float() * self.rates.float()
        for layer in self.layers:
            h = layer.before(x)
            q = self.turned(layer.query(h).view(1, 1, self.heads, self.size).transpose(1, 2), angles)
            k = self.turned(layer.key(h).view(1, 1, self.groups, self.size).transpose(1, 2), angles)
            v = layer.value(h).view(1, 1, self.groups, self.size).transpose(1, 2)
            layer.keys.index_copy_(2, position, k)
            layer.values.index_copy_(2, position, v)
            y = F.scaled_dot_product_attention(q, layer.keys, layer.values, enable_gqa=True)
            x = x + layer.out(y.transpose(1, 2).reshape(1, 1, -1))
            h = layer.between(x)
            x = x + layer.down(F.silu(layer.gate(h)) * layer.up(h))
        return F.linear(self.norm(x), self.embedding.weight)


def llama(**options):
    def build():
        torch.manual_seed(0)
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            module = LlamaDecode(**options)
            for parameter in module.parameters():
                if parameter.dim() == 2:
                    nn.init.normal_(parameter, std=0.02)
        return module.to(torch.bfloat16).eval()
    return Row(build, lambda: (torch.tensor([[17]]), torch.tensor([1000])), narrow=True)


ROWS = {
    "resnet50 b32": architecture("resnet50", 32),
    "bert-base s128 b32": architecture("bert-base", 32, 128),
    "vit_b_16 b32": architecture("vit_b_16", 32),
    "gpt2 s512 b8": architecture("gpt2", 8, 512),
    "resnext101_32x8d b32": architecture("resnext101_32x8d", 32),
    "convnext_tiny b32": architecture("convnext_tiny", 32),
    "llama-1b decode": llama(),
    "resnet50 b1": architecture("resnet50", 1),
    "bert-base s128 b1": architecture("bert-base", 1, 128),
    "gpt2 s128 b1": architecture("gpt2", 1, 128),
    "vit_b_16 b1": architecture("vit_b_16", 1),
    "mobilenet_v3_large b1": architecture("mobilenet_v3_large", 1),
    "efficientnet_b0 b1": architecture("efficientnet_b0", 1),
    "llama-2-layers decode": llama(layers=2, vocabulary=4096),
}
