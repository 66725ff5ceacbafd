#!/usr/bin/env python3
"""Writes the models of test_torch_export.py (torch 2.15): NAME.pt2, NAME-aten.pt2, and NAME.npz by PyTorch.

Each run K of a model has inputK_I, outputK_I, and writtenK_I: the inputs after it. Runs follow each other on one
model, so that its state shows.
Usage: export.py [FOLDER]
"""
import copy
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Counter(nn.Module):
    """Counts its runs; what it returns is read before and after the change."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("seen", torch.zeros(2, dtype=torch.bool))

    def forward(self, x):
        before = self.count.clone()
        self.count += 1
        self.seen.logical_or_(x[:2] > 0)
        return x * self.count, before, self.seen.clone()


class Cache(nn.Module):
    """A cache of keys and values: one written at a computed place, one by a slice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 8, 4))
        self.register_buffer("v", torch.zeros(1, 2, 8, 4))

    def forward(self, q, k, v, at):
        self.k.index_copy_(2, at, k)
        self.v[:, :, at] = v
        seen = (torch.arange(8) <= at[-1]).reshape(1, 8)
        return nn.functional.scaled_dot_product_attention(q, self.k, self.v, attn_mask=seen)


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(x).relu()


class InstanceNormalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(3, affine=True, track_running_stats=True)

    def forward(self, x):
        return self.norm(x).relu(), self.norm.running_mean * 1


class InPlace(nn.Module):
    """Writes into its inputs, the second one through views."""

    def forward(self, x, y):
        x.add_(1)
        y[:, 0] = 0
        y.t()[1].mul_(x[0])
        return x * 2 + y


class Dropped(nn.Module):
    """dropout_, whose argument is called "self", where dropout has "input"; it drops nothing."""

    def forward(self, x):
        return F.dropout(x * 2, 0.25, False, True)


class Exchange(nn.Module):
    """Two buffers change places; a third stays what it is."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(4.0))
        self.register_buffer("b", -torch.arange(4.0))
        self.register_buffer("c", torch.ones(4))

    def forward(self, x):
        a = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(a)
        return x + self.a * self.c, self.b.clone()


class SameName(nn.Module):
    """An input and a buffer of one name; nothing but the buffer changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("x", torch.zeros(3))

    def forward(self, x):
        self.x.add_(x)
        return self.x.sum()


def models():
    random = torch.Generator().manual_seed(7)

    def normal(*shape):
        return torch.randn(*shape, generator=random)

    yield "counter", Counter(), [(normal(5),) for _ in range(3)]
    yield "cache", Cache(), [(normal(1, 2, 1, 4), normal(1, 2, 1, 4), normal(1, 2, 1, 4), torch.tensor([k]))
                             for k in range(3)]
    yield "batch_norm", Normalised().train(), [(normal(2, 3, 4, 5),) for _ in range(3)]
    yield "instance_norm", InstanceNormalised().train(), [(normal(2, 3, 4, 5),) for _ in range(3)]
    yield "in_place", InPlace(), [(normal(3, 3), normal(3, 3)) for _ in range(2)]
    yield "dropped", Dropped(), [(normal(3, 3),)]
    yield "exchange", Exchange(), [(normal(4),) for _ in range(3)]
    yield "same_name", SameName(), [(normal(3),) for _ in range(2)]


# With the line that it is written on, which messages name.
REFUSED = """
import torch


class Refused(torch.nn.Module):
    def forward(self, x):
        return torch.ops.aten._euclidean_dist(x, x)
"""


def export_refused(path):
    scope = {}
    exec(compile(REFUSED.replace("\n", "", 1), "model.py", "exec"), scope)
    torch.export.save(torch.export.export(scope["Refused"](), (torch.eye(3),)), path)


class TurnedStorage(nn.Module):
    def forward(self, x):
        return torch.as_strided(x.t(), (2, 2), (1, 2))


class PartOfStorage(nn.Module):
    def forward(self, x):
        return torch.as_strided(x[-2:], (2, 2), (3, 1), 1)


class ResizedStorage(nn.Module):
    def forward(self, x):
        return x.clone().t().resize_as_(x[:2, :2])


def export_storages(folder):
    """What reads a storage, of known and of open extents."""
    rows = ({0: torch.export.Dim.AUTO},)
    for name, model, dims in (("turned_storage", TurnedStorage(), None), ("turned_open_storage", TurnedStorage(), rows),
                              ("part_of_open_storage", PartOfStorage(), rows), ("resized_storage", ResizedStorage(), None)):
        program = torch.export.export(model, (torch.randn(4, 3),), dynamic_shapes=dims)
        save(program, os.path.join(folder, name + ".pt2"))


class Doubled(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, x]) + y


def export_doubled(path):
    size = torch.export.Dim("size", min=2, max=8)
    program = torch.export.export(Doubled(), (torch.ones(3, 2), torch.ones(6, 2)),
                                  dynamic_shapes=({0: size}, {0: 2 * size}))
    save(program, path)


class Guarded(nn.Module):
    """Branches on sizes: the graph has those that the example takes."""

    def forward(self, given, **named):
        x = given["rows"]
        n, m = x.shape
        x = x * 2 if n % 3 == 0 else x * 3
        x = x + 1 if n != m else x - 1
        x = x * 5 if n * m > 12 else x * 7
        y = named["Second"]
        return x, x[::2].reshape(-1), y * 2 if y.shape[0] % 5 != 0 else y


def export_guarded(path):
    auto = torch.export.Dim.AUTO
    save(torch.export.export(Guarded(), ({"rows": torch.ones(6, 4)},), {"Second": torch.ones(7)},
                             dynamic_shapes={"given": {"rows": {0: auto, 1: auto}}, "named": {"Second": {0: auto}}}), path)


class Scaled(nn.Module):
    """Branches on floats, bits and distances of sizes."""

    def forward(self, x):
        n, m, k, j = x.shape
        for holds in [int(0.5 * n) == 4, n / j > 1.0, round(m / 4) == 2, k & 1 == 0, k ^ 3 > 4, abs(k - j) < 2,
                      round(m / k, 1) <= 1.8]:
            x = x * 2 if holds else x * 3
        return x


def export_scaled(path):
    auto = torch.export.Dim.AUTO
    save(torch.export.export(Scaled(), (torch.ones(8, 6, 4, 3),), dynamic_shapes=({i: auto for i in range(4)},)), path)


class Chosen(nn.Module):
    """Branches on powers, on what a condition chooses and on whether two conditions agree."""

    def forward(self, x):
        n, m, k = x.shape
        for holds in [torch.sym_ite(n > 4, n, m) > 5, torch.sym_ite(m > k, n / k, k / n) < 2.5, 2 ** k > 12, (n > 5) == (m > 5)]:
            x = x * 2 if holds else x * 3
        return x


def export_chosen(path):
    auto = torch.export.Dim.AUTO
    save(torch.export.export(Chosen(), (torch.ones(8, 7, 4),), dynamic_shapes=({i: auto for i in range(3)},), strict=False), path)


class Random(nn.Module):
    """Draws from every distribution, for test_random_numbers.py. The order of the results is in the test."""

    def forward(self, x, weights):
        half = torch.rand(20000, dtype=torch.float16), torch.rand(20000, dtype=torch.bfloat16)
        return (torch.rand(20000), torch.rand(20000, dtype=torch.float64), *half,
                torch.randint(0, 2 ** 32, (20000,)), torch.randint(-3, 4, (20000,)),
                torch.randint(-2 ** 63, 2 ** 63 - 1, (20000,)), torch.randperm(100000), torch.randperm(8),
                torch.randn(20000), torch.randn(20000, dtype=torch.float64), torch.normal(2.0, 3.0, (20000,)),
                torch.bernoulli(x), torch.bernoulli(x, 0.125), torch.empty(20000).exponential_(2.0),
                torch.multinomial(weights, 20000, True), torch.multinomial(weights.expand(2000, 6), 2),
                *torch.native_dropout(x, 0.25, True), nn.functional.dropout(x, 0.5, True),
                torch.empty(20000).geometric_(0.25), torch.empty(20000).cauchy_(1.0, 2.0),
                torch.empty(20000).log_normal_(0.5, 0.25), torch.rand(20000, dtype=torch.complex64),
                torch.randn(20000, dtype=torch.complex64))


def like(x, **generator):
    aten = torch.ops.aten
    return (aten.rand_like.generator(x, **generator), aten.randn_like.generator(x, **generator),
            aten.randint_like.generator(x, 6, **generator), aten.randint_like.low_generator_dtype(x, -1, 5, **generator))


class Accepted(nn.Module):
    """Numbers that are drawn until each is accepted, and integers of every type; for test_random_numbers.py too."""

    def forward(self, rates, counts, chances, forms):
        aten, rates = torch.ops.aten, rates.abs()  # what tcc --verify takes for them may be negative
        return (torch.poisson(rates.expand(4000, -1)), torch.poisson(rates[1:4].half().expand(10, -1)),
                torch.binomial(counts.expand(4000, -1), chances), aten._standard_gamma(forms.expand(4000, -1)),
                aten._standard_gamma(forms.double()), aten._sample_dirichlet(forms[:4].expand(4000, -1)),
                torch.empty(4000).random_(), torch.empty(4000, dtype=torch.int8).random_(),
                torch.empty(4000, dtype=torch.int64).random_(), torch.empty(4000, dtype=torch.int32).random_(7),
                torch.empty(4000, dtype=torch.bool).random_(), *like(rates.expand(600, -1), generator=None))


class Primitives(nn.Module):
    """What random operators are below ATen, rows as many as the input has; for test_random_numbers.py too."""

    def forward(self, x):
        prims, rows = torch.ops.prims, x.shape[0]
        single, double = (dict(dtype=dtype, device=torch.device("cpu")) for dtype in (torch.float32, torch.float64))
        return (prims.normal([rows, 20], mean=2.0, std=3.0, requires_grad=False, **single),
                prims.normal([rows, 20], mean=-1, std=0.5, requires_grad=False, **double),
                prims.uniform([rows, 20], low=-2.0, high=6.0, stride=[20, 1], **single),
                prims.uniform([rows, 20], low=1, high=2, stride=[20, 1], **double))


def export_random(folder):
    inputs = torch.linspace(0, 1, 2000), torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    save(torch.export.export(Random(), inputs), os.path.join(folder, "random.pt2"))
    save(torch.export.export(Accepted(), tuple(torch.ones(n) for n in (7, 8, 8, 6))), os.path.join(folder, "accepted.pt2"))
    save(torch.export.export(Primitives(), (torch.ones(4),), dynamic_shapes=({0: torch.export.Dim.AUTO},), strict=False),
         os.path.join(folder, "primitives.pt2"))


# Operators that take indices of the first axis of x, [3, 4], and the number of positions that they index.
INDEXING = {
    "embedding": (3, lambda x, i: F.embedding(i, x)),
    "embedding_bag": (3, lambda x, i: F.embedding_bag(i, x, torch.tensor([0]))),
    "gather": (3, lambda x, i: x.gather(0, rows(i))),
    "index": (3, lambda x, i: x[i]),
    "index_add": (3, lambda x, i: x.index_add(0, i, x[:2])),
    "index_copy": (3, lambda x, i: x.index_copy(0, i, x[:2])),
    "index_fill": (3, lambda x, i: x.index_fill(0, i, 7.0)),
    "index_put": (3, lambda x, i: x.index_put((i,), x[0], accumulate=True)),
    "index_reduce": (3, lambda x, i: x.index_reduce(0, i, x[:2], "amax")),
    "index_select": (3, lambda x, i: x.index_select(0, i)),
    "multi_margin_loss": (3, lambda x, i: F.multi_margin_loss(x[:2, :3], i)),
    "nll_loss": (3, lambda x, i: F.nll_loss(x[:2, :3], i)),
    "cross_entropy": (3, lambda x, i: F.cross_entropy(x[:2, :3], i)),
    "max_unpool2d": (12, lambda x, i: torch.ops.aten.max_unpool2d(x[:1, :2, None], i.reshape(1, 2, 1), [3, 4])),
    "one_hot": (3, lambda x, i: F.one_hot(i, 3)),
    "put": (12, lambda x, i: x.put(i, x[0, :2])),
    "scatter": (3, lambda x, i: x.scatter(0, rows(i), x[:2])),
    "scatter_value": (3, lambda x, i: x.scatter(0, rows(i), 7.0)),
    "scatter_add": (3, lambda x, i: x.scatter_add(0, rows(i), x[:2])),
    "scatter_reduce": (3, lambda x, i: x.scatter_reduce(0, rows(i), x[:2], "prod")),
    "take": (12, lambda x, i: x.take(i)),
    "take_along_dim": (3, lambda x, i: torch.take_along_dim(x, rows(i), 0)),
    "take_along_dim_flat": (12, lambda x, i: torch.take_along_dim(x, i)),
}


def rows(indices):
    return indices.reshape(2, 1).expand(2, 4)


class Indexing(nn.Module):
    """Each operator on indices of its own."""

    def forward(self, x, *indices):
        return [function(x, i) for (_, function), i in zip(INDEXING.values(), indices, strict=True)]


def export_indices(folder):
    """indices.npz holds x; for each operator NAME_indices: rows of two indices, and NAME_K: what it gives for row
    K, which is not there where PyTorch refuses it."""
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    program = torch.export.export(Indexing(), (x, *[torch.tensor([2, 0]) for _ in INDEXING]))
    save(program, os.path.join(folder, "indices.pt2"))
    data = {"x": x.numpy()}
    for name, (count, function) in INDEXING.items():
        tried = [(2, 0), (count - 1, 1), (count, 0), (1, -1), (-count, 1), (0, -count - 1), (2**40, 0)]
        data[name + "_indices"] = np.array(tried)
        for k, pair in enumerate(tried):
            try:
                data[f"{name}_{k}"] = function(x, torch.tensor(pair)).numpy()
            except (IndexError, RuntimeError):
                pass
    np.savez(os.path.join(folder, "indices.npz"), **data)


# Operators on x, [3, 3], and three integers that PyTorch takes as they are: such as it expects, and others.
TRUSTING = {
    "lu_solve": (lambda x, i: torch.linalg.lu_solve(x, i.int(), x), (2, 3, 3), [(4, 2, 3), (0, 2, 3), (-1, 2, 3), (2**31 - 1, 2, 3)]),
    "lu_unpack": (lambda x, i: torch.lu_unpack(x, i.int())[0], (3, 2, 3), [(4, 2, 3), (1, 0, 3)]),
    "ldl_solve": (lambda x, i: torch.linalg.ldl_solve(x, i.int(), x), (1, -3, -3), [(1, -4, -4), (4, 2, 3), (1, 0, 3), (1, 2, -3)]),
    "embedding_backward": (lambda x, i: torch.ops.aten.embedding_dense_backward(x, i, 5, -1, False), (0, 4, -1),
                           [(5, 0, 0), (0, -2, 0), (0, 0, 2**40)]),
    "max_pool_backward": (lambda x, i: torch.ops.aten.max_pool2d_with_indices_backward(
        x[None, :1], x.new_ones(1, 2, 6), [2, 2], [2, 2], [0, 0], [1, 1], False, i.reshape(1, 1, 3)), (0, 9, 5),
        [(12, 0, 0), (0, -1, 0), (0, 0, 2**40)]),
    "masked_scatter": (lambda x, i: x.masked_scatter(i > 0, x.flatten()[:4]), (1, 0, -1), [(1, 1, 0), (1, 2, 3)]),
    "repeat_interleave": (lambda x, i: x.repeat_interleave(i, 0, output_size=3), (1, 2, 0), [(2, 2, 0), (4, -1, 0), (0, 0, 0)]),
}


class Trusting(nn.Module):
    def forward(self, x, *integers):
        return [function(x, i) for (function, *_), i in zip(TRUSTING.values(), integers, strict=True)]


def export_trusting(folder):
    """trusting.npz holds x and for each operator what it takes, what not, and its result."""
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(2))
    given = [torch.tensor(good) for _, good, _ in TRUSTING.values()]
    save(torch.export.export(Trusting(), (x, *given)), os.path.join(folder, "trusting.pt2"))
    data = {"x": x.numpy()}
    for (name, (function, good, bad)), i in zip(TRUSTING.items(), given):
        data |= {name: function(x, i).numpy(), name + "_good": np.array(good), name + "_bad": np.array(bad)}
    np.savez(os.path.join(folder, "trusting.npz"), **data)


class Bounded(nn.Module):
    """Indices that cannot leave the axis, because of how they are made."""

    def forward(self, x, y):
        count = x.shape[0]
        return (x[torch.arange(count)], x[y.clamp(0, count - 1)], x[x.argmax(0)], x[x.topk(2, 0).indices],
                x[y % count], x[torch.nonzero(x[:, 0]).squeeze(1)], F.embedding((x > 0).long(), x),
                x.gather(0, torch.where(x > 0, 1, 3)), x[(y % 8) // 2])


def export_bounded(path):
    save(torch.export.export(Bounded(), (torch.ones(5, 4), torch.tensor([7, -2, 3]))), path)


def save(program, path):
    for node in program.graph.nodes:  # paths of this machine
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def tensors(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    export_refused(os.path.join(folder, "refused.pt2"))
    export_storages(folder)
    export_doubled(os.path.join(folder, "doubled.pt2"))
    export_guarded(os.path.join(folder, "guarded.pt2"))
    export_scaled(os.path.join(folder, "scaled.pt2"))
    export_chosen(os.path.join(folder, "chosen.pt2"))
    export_random(folder)

    export_indices(folder)
    export_trusting(folder)
    export_bounded(os.path.join(folder, "bounded.pt2"))
    for name, module, runs in models():
        program = torch.export.export(copy.deepcopy(module), tuple(x.clone() for x in runs[0]))
        for form, saved in [("", program), ("-aten", program.run_decompositions())]:
            save(saved, os.path.join(folder, name + form + ".pt2"))
        data = {}
        for k, inputs in enumerate(runs):
            given = [x.clone() for x in inputs]
            with torch.no_grad():
                outputs = tensors(module(*given))
            for kind, values in [("input", inputs), ("output", outputs), ("written", given)]:
                for i, value in enumerate(values):
                    data[f"{kind}{k}_{i}"] = value.numpy()
        np.savez_compressed(os.path.join(folder, name + ".npz"), **data)


main()
