"""Random PyTorch programs: chains of views and writes into them, results that share memory, buffers that change,
control flow, integers and truths, and operators that give several tensors.

    build/python-models/bin/python test/models/randomprogram.py --seeds 0:100 [--flags=...]

A program is a list of steps, each a function of the values before it, run by PyTorch, exported to .pt2 (open or static
batch, with or without run_decompositions) and compiled. Two runs follow one another, since buffers go on.
"""
import argparse
import copy
import pathlib
import random
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from agreement import disagreement
from compiled import CompileError, Compiled

WIDTH = 6


class Steps:
    """Each takes the random choices and a float tensor [batch, ...] and returns what it makes, or None."""

    # Views, and writes through them.
    def view_slice(r, x):
        step = r.choice((1, 1, 2))
        return lambda v: v[:, 1::step] if v.dim() > 1 and v.shape[1] > 2 else v[None].squeeze(0)

    def view_turn(r, x):
        return lambda v: v.flatten(1).unflatten(1, (-1, 1)).squeeze(-1)

    def view_column(r, x):
        return lambda v: v.flatten(1)[:, r_at(v)].unsqueeze(1).expand(-1, WIDTH)

    def view_diagonal(r, x):
        return lambda v: torch.diagonal(v.flatten(1)).sum() + v

    def write_slice(r, x):
        value, at = r.uniform(-1, 1), r.randrange(2)
        def step(v):
            y = v.clone()
            part = y.flatten(1)[:, at:at + 2]
            part.mul_(value).add_(1)
            return y + part.sum(1).reshape(-1, *[1] * (y.dim() - 1))
        return step

    def write_turned(r, x):
        def step(v):
            y = v.flatten(1).clone()
            t = y.t()
            t[0].fill_(0.5)
            t[1:3] += t[0:1]
            return y.sin()
        return step

    def write_twice(r, x):
        def step(v):
            y = v.flatten(1).clone()
            a, b = y[:, 0::2], y[:, 1::2]
            a += 1
            b[:, :a.shape[1]].copy_(a[:, :b.shape[1]] * 2)
            a.relu_()
            return y
        return step

    def write_mask(r, x):
        def step(v):
            y = v.clone()
            y[y > 0.3] = -1.0
            y.masked_fill_(y < -1.5, 2.0)
            return y
        return step

    def write_index(r, x):
        def step(v):
            y = v.flatten(1).clone()
            y[:, [0, 2]] = y[:, [2, 0]]
            y.index_add_(1, torch.tensor([0, 0, 1]), y[:, :3])
            y[0] = 3.0
            y[-1:, 1] -= 1
            return y
        return step

    def write_narrow(r, x):
        def step(v):
            y = torch.zeros(v.shape[0], 2 * WIDTH)
            y.narrow(1, 2, WIDTH).copy_(v.flatten(1)[:, :1].expand(-1, WIDTH))
            y.as_strided((v.shape[0], 2), (2 * WIDTH, 3), 1).add_(4)
            return y
        return step

    def write_stack(r, x):
        def step(v):
            y = torch.empty(3, *v.shape)
            for i, part in enumerate(y.unbind(0)):
                part.copy_(v * (i + 1))
            first, *rest = y.chunk(3)
            first.neg_()
            return y.sum(0) + rest[0].squeeze(0)
        return step

    def write_out(r, x):
        def step(v):
            y = torch.empty_like(v)
            torch.add(v, 2, out=y)
            torch.mul(y, v, out=y)
            return y
        return step

    def swap_parts(r, x):
        def step(v):
            y = v.flatten(1).clone()
            kept = y[:, :2].clone()
            y[:, :2] = y[:, -2:]
            y[:, -2:] = kept
            return y
        return step

    def overlapping(r, x):
        def step(v):
            y = v.flatten(1).clone()
            y[:, 1:] = y[:, :-1].clone() + y[:, 1:]
            return y
        return step

    # Elementwise, several types.
    def unary(r, x):
        f = r.choice((torch.tanh, torch.sigmoid, torch.relu, F.gelu, F.silu, torch.sin, torch.abs, torch.neg, F.hardswish,
                      torch.erf, torch.atan, F.softplus, torch.cos))
        return lambda v: f(v)

    def binary(r, x):
        f, c = r.choice((torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum)), r.uniform(-2, 2)
        return lambda v: f(v, v.flip(0) if r_even(c) else v.mean(-1, keepdim=True)) * c

    def integers(r, x):
        k = r.choice((2, 3, 7))
        return lambda v: (((v * 4).round().to(torch.int32) // k) % 5 - ((v * 2).round().long() >> 1)).float() + v

    def truths(r, x):
        return lambda v: torch.where((v > 0) ^ (v.flip(-1) > 0.5), v, v.new_full((), -0.25)) + (v > 1).any(-1, keepdim=True)

    def narrow_type(r, x):
        t = r.choice((torch.float16, torch.float64, torch.bfloat16))
        return lambda v: ((v * 4).round() / 4).clamp(-8, 8).to(t).mul(0.5).add(1).float()

    def mixed(r, x):
        return lambda v: v.double().mul(2).float() + torch.arange(v.shape[-1]) / 3 - v.to(torch.int16)

    # Movement.
    def roll(r, x):
        n, d = r.randrange(-2, 3), r.choice((0, -1))
        return lambda v: torch.roll(v, n, d)

    def cat_self(r, x):
        d = r.choice((1, -1))
        return lambda v: torch.cat([v, v.flip(d)], d).narrow(d, 1, v.shape[d])

    def gather(r, x):
        return lambda v: torch.gather(v, -1, v.argsort(dim=-1, stable=True))

    def pick(r, x):
        return lambda v: v[torch.arange(v.shape[0]).flip(0)][..., [0, -1, 0]]

    def sort_parts(r, x):
        def step(v):
            values, places = v.sort(dim=-1, stable=True)
            return values - places
        return step

    def top(r, x):
        def step(v):
            values, places = v.topk(2, -1)  # of equal ones, PyTorch takes any
            return values * 2 - torch.gather(v, -1, places)
        return step

    def pad(r, x):
        mode = r.choice(("constant", "reflect", "replicate", "circular"))
        return lambda v: F.pad(v.flatten(1)[:, None], (1, 1), mode=mode)[:, 0] if v.flatten(1).shape[1] > 1 else v

    def windows(r, x):
        return lambda v: v.flatten(1).unfold(1, 2, 1).sum(-1) if v.flatten(1).shape[1] > 1 else v

    def triangle(r, x):
        return lambda v: torch.tril(v.flatten(1), 1) + torch.eye(v.shape[0], v.flatten(1).shape[1])

    # Reductions and layers.
    def reduce(r, x):
        f = r.choice((torch.softmax, torch.cumsum, torch.log_softmax, lambda v, d: v - v.amax(d, True),
                      lambda v, d: v / (v.norm(dim=d, keepdim=True) + 1), lambda v, d: v - v.var(d, keepdim=True, correction=0),
                      lambda v, d: torch.cummax(v, d).values, lambda v, d: v.logsumexp(d, True) + v))
        d = r.choice((0, -1))
        return lambda v: f(v, d)

    def linear(r, x):
        n = r.choice((1, WIDTH, 9))
        w = torch.Generator().manual_seed(r.randrange(1000))
        weight = torch.randn(n, 64, generator=w) / 4
        return lambda v: F.linear(v, weight[:, :v.shape[-1]], weight[:, -1])

    def attention(r, x):
        causal = r.random() < 0.5
        return lambda v: F.scaled_dot_product_attention(*[v.flatten(1)[:, None, :, None].expand(-1, 2, -1, 4)] * 3,
                                                        is_causal=causal)[:, 0, :, 0]

    def conv(r, x):
        w = torch.randn(3, 1, 3, generator=torch.Generator().manual_seed(r.randrange(1000)))
        return lambda v: F.conv1d(v.flatten(1)[:, None], w, padding=1).flatten(1)

    def norm(r, x):
        return lambda v: F.layer_norm(v, v.shape[-1:], eps=0.1)

    # Control flow.
    def branch(r, x):
        return lambda v: torch.cond(v.sum() > 0.37, lambda t: t.sin() + 1, lambda t: t * 2, (v.clone(),))

    def nested_branch(r, x):
        def deep(t):
            return torch.cond(t.max() > 1, lambda u: u - 1, lambda u: u.cos(), (t,))
        return lambda v: torch.cond(v.shape[0] > 2, deep, lambda t: t.neg(), (v.clone(),))

    def repeat(r, x):
        n = r.randrange(4)
        def step(v):
            count = torch.zeros((), dtype=torch.int64)
            return torch.while_loop(lambda i, t: (i < n) & (t.sum() < 50), lambda i, t: (i + 1, t * 1.5 + i), (count, v.clone()))[1]
        return step

    def scan(r, x):
        from torch._higher_order_ops.scan import scan
        back = r.random() < 0.5
        def step(v):
            last, each = scan(lambda c, row: (c * 0.5 + row, c + row.sin()), torch.zeros(v.shape[1:]), v.clone(), reverse=back)
            return each + last
        return step

    def rows(r, x):
        from torch._higher_order_ops.map import map as over
        return lambda v: over(lambda row, s: row.cumsum(-1) * s.mean(), v.clone(), v + 1)


def r_even(c):
    return int(c * 1000) % 2 == 0


def r_at(v):
    return v.flatten(1).shape[1] // 2


STEPS = [name for name in vars(Steps) if not name.startswith("__")]


class Program(nn.Module):
    def __init__(self, seed, count=7):
        super().__init__()
        r = random.Random(seed)
        self.plan = [(name := r.choice(STEPS), getattr(Steps, name)(r, None), r.randrange(1, 4)) for _ in range(count)]
        self.shared, self.state = r.random() < 0.5, r.random() < 0.5
        self.writes_input = r.random() < 0.3
        self.register_buffer("total", torch.zeros(WIDTH))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x, y):
        values = [x, y.flatten(1)]
        if self.writes_input:
            y[:, 0].add_(1)
        if self.state:
            self.total.add_(x.flatten(1)[:, :WIDTH].mean(0))
            self.total[0] = self.total[1] * 2
            self.steps += 1
            values.append(x.flatten(1)[:, :WIDTH] + self.total * self.steps)
        for name, step, back in self.plan:
            values.append(step(values[-min(back, len(values))]))
        results = values[-3:]
        if self.shared:  # several names of one memory
            last = values[-1]
            results += [last, last.flatten(1), last[..., :1], last.t() if last.dim() == 2 else last.mT, x]
        return tuple(results)


def check(seed, flags=()):
    """None, or what is wrong with the program of this seed, in words."""
    program = Program(seed).eval()
    r = random.Random(seed * 7 + 1)
    dynamic, aten = r.random() < 0.5, r.random() < 0.4
    inputs = lambda batch, i: (torch.randn(batch, WIDTH, generator=torch.Generator().manual_seed(i)),
                               torch.randn(batch, 2, 4, generator=torch.Generator().manual_seed(i + 50)))
    with tempfile.TemporaryDirectory(prefix="tcc-program-") as folder, torch.no_grad():
        path = pathlib.Path(folder) / "program.pt2"
        dims = ({0: torch.export.Dim.AUTO},) * 2 if dynamic else None
        try:
            copy.deepcopy(program)(*inputs(4, 0))
            exported = torch.export.export(program, inputs(4, 0), dynamic_shapes=dims, strict=False)
            torch.export.save(exported.run_decompositions() if aten else exported, path)
        except Exception as error:
            return f"skipped: {type(error).__name__}: {str(error)[:200]}"
        try:
            compiled = Compiled.build(path, *flags)
        except CompileError as error:
            return str(error)[:500]
        plain = copy.deepcopy(program)
        open_ = all(isinstance(i.shape[0], str) or i.shape[0] is None for i in compiled.inputs)
        with compiled:
            for run, batch in enumerate((4, 4, 5, 3) if dynamic and open_ else (4, 4)):
                arguments = inputs(batch, run)
                actual = compiled(*copy.deepcopy(arguments), wrap=lambda output: torch.from_dlpack(output).clone())
                stored = plain(*arguments)
                for i, (a, s) in enumerate(zip(actual, stored, strict=False)):
                    if wrong := disagreement(a.numpy(), s.contiguous().numpy()):
                        kinds = [name for name, *_ in program.plan]
                        return f"wrong: run {run}, batch {batch}, output {i}: {wrong}; {kinds}, aten {aten}, dynamic {dynamic}"
                if len(actual) != len(stored):
                    return f"wrong: {len(actual)} results instead of {len(stored)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:50", help="FROM:TO")
    parser.add_argument("--flags", default="", help="options for tcc, such as --arch=sim")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    first, last = map(int, options.seeds.split(":"))
    failures = skipped = 0
    for seed in range(first, last):
        if wrong := check(seed, options.flags.split()):
            skipped += wrong.startswith("skipped")
            failures += not wrong.startswith("skipped")
            print(f"seed {seed}: {wrong}", flush=True)
    print(f"{last - first} programs, {failures} failed, {skipped} not exported by PyTorch")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
