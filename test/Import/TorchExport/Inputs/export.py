#!/usr/bin/env python3
"""Writes the .pt2 files of this folder (torch 2.15): each small, each for one thing that files hold."""
import os
import sys

import torch
from torch import nn
from torch.export import Dim, export


class SinCos(nn.Module):
    def forward(self, x):
        return torch.sin(torch.cos(x))


class ConvBn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return nn.functional.silu(self.bn(self.conv(x)))


class InPlace(nn.Module):
    """Writes through views, to an input and to what other views show."""

    def forward(self, x, y):
        z = x * 2
        row = z[0]
        row.add_(1)
        z[1:3].mul_(y)
        z.transpose(0, 1)[2].zero_()
        part = z.view(-1)
        y.copy_(z[3])
        return part, row + 1, z.t()


class KvCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 8, 3))

    def forward(self, position, value):
        self.cache.index_copy_(1, position, value)
        return self.cache.sum(1)


class Dynamic(nn.Module):
    def forward(self, x, mask):
        n = x.shape[1]
        return x.reshape(-1, n * 4), torch.cat([x, x], 1), mask.sum() + n, n * 2, None, 5


class Cond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))


class Loop(nn.Module):
    def forward(self, n, x):
        return torch._higher_order_ops.while_loop(
            lambda n, x: n < 5, lambda n, x: (n + 1, x * 2), (n, x))


class NoGrad(nn.Module):
    def forward(self, x):
        x = x + 1
        with torch.no_grad():
            y = x.sin()
        return y * x


class Tied(nn.Module):
    """Tied and transposed weights, a constant, and a buffer that is not saved with the state."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
        self.turned = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("scale", torch.tensor([2.0]), persistent=False)

    def forward(self, ids):
        return self.head(self.embed(ids)) * self.scale + torch.tensor([1.0, 2, 3, 4, 5]), self.turned


class Named(nn.Module):
    """Inputs by keyword and in containers, constants among them."""

    def forward(self, pair, *, flag, extra):
        return {"sum": pair[0] + pair[1] if flag else pair[0], "extra": extra["e"] * 2}


def programs():
    seq, batch = Dim("seq", min=1, max=8), Dim("batch", max=64)
    x = torch.zeros(4, 3)
    yield "sincos", export(SinCos(), (x,))
    yield "linear", export(nn.Linear(10, 2), (torch.zeros(2, 10),), dynamic_shapes=({0: batch},))
    yield "convbn", export(ConvBn().eval(), (torch.zeros(1, 3, 5, 5),))
    yield "convbn_train", export(ConvBn().train(), (torch.zeros(2, 3, 5, 5),))
    yield "inplace", export(InPlace(), (x, torch.zeros(3)))
    yield "kvcache", export(KvCache(), (torch.arange(2), torch.zeros(2, 2, 3)))
    yield "dynamic", export(
        Dynamic(), (torch.zeros(2, 3, 4), torch.zeros(3)),
        dynamic_shapes={"x": {0: batch, 1: seq}, "mask": {0: seq}})
    yield "cond", export(Cond(), (x,))
    yield "loop", export(Loop(), (torch.tensor(0), x))
    yield "nograd", export(NoGrad(), (x,))
    yield "tied", export(Tied(), (torch.arange(3),))
    yield "named", export(Named(), (((x, x)),), {"flag": True, "extra": {"e": x}})


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(0)
    for name, program in programs():
        torch.export.save(program, os.path.join(folder, name + ".pt2"))
        if name in ("inplace", "kvcache", "dynamic", "convbn"):
            torch.export.save(program.run_decompositions(), os.path.join(folder, name + "_aten.pt2"))


main()
