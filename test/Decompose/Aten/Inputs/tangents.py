"""Those programs of cases.py that torch.func.jvp differentiates, as it is saved."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import jvp

UNARY = ("exp expm1 log log2 log1p sqrt rsqrt sin cos tan acos atan cosh tanh asinh sigmoid "
         "erfc erfinv lgamma i0 abs floor reciprocal relu")


class Layer(nn.Module):
    """With respect to what it is given, and to its parameters."""

    def __init__(self, normal):
        super().__init__()
        self.conv, self.top = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(3, 4)
        for parameter in self.parameters():
            parameter.data = normal(*parameter.shape)

    def run(self, x):
        y = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(2).transpose(1, 2)
        return self.top(F.scaled_dot_product_attention(y, 2 * y, y).mean(1))

    def forward(self, x, t, weight, bias):
        y = x[:, 0, 0, :3]
        parameters = dict(self.top.named_parameters())
        return jvp(self.run, (x,), (t,)), jvp(lambda p: torch.func.functional_call(self.top, p, (y,)), (parameters,),
                                              ({"weight": weight, "bias": bias},))


def tangents(normal):
    def unary(x, t):
        return jvp(lambda x: [*(getattr(torch, name)(x) for name in UNARY.split()), torch.acosh(x + 2), F.gelu(x),
                              F.elu(x - 0.5), F.softmax(x, -1),
                              x.clamp(0.3, 0.6), x**2.5, 2**x], (x,), (t,))

    def binary(x, y, t, u):
        return jvp(lambda x, y: [x + y, x - y, x * y, x / y, x**y, torch.atan2(x, y), torch.maximum(x, y), torch.fmin(x, y),
                                 torch.remainder(x, y), torch.hypot(x, y), torch.where(x > y, x, y * 2),
                                 torch.logaddexp(x, y), x @ y.t(), torch.cat([x, y])], (x, y), (t, u))

    def rows(x, t, i):
        return jvp(lambda x: [x.sum(), x.var(0), x.std(), x.max(), x.amax(1), x.min(1).values, x.logsumexp(1), x.cumsum(1),
                              x.prod(1), x.sort(1).values, x.topk(2, 1).values, x * x.argmax(1, True), F.layer_norm(x, (4,)),
                              x.reshape(2, 6), x[1:, ::2], x.flip(0), x[:, i], F.pad(x, (1, 2)), x.index_add(0, i, x[:2]),
                              x.double(), x.scatter(1, i[None], x[:1, :2]), x.tril(), x.roll(1, 0)], (x,), (t,))

    def arguments(x, t, u):
        """One value given twice, a constant, results that do not change, and a derivative of a derivative."""
        constant = torch.tensor([1.0, 2.0, 3.0, 4.0])
        return (jvp(lambda a, b: a * b * b, (x, x), (t, u)), jvp(lambda a: a * a.sin(), (constant,), (t[0],)),
                jvp(lambda a: (a * u, a.sum()), (x,), (t,), has_aux=True),
                jvp(lambda a: jvp(lambda b: b.sin() * b, (a,), (u,))[1], (x,), (t,)))

    x, y, t, u = normal(3, 4).sigmoid(), normal(3, 4).sigmoid(), normal(3, 4), normal(3, 4)
    yield "tangents", unary, (x, t)
    yield "tangents_of_two", binary, (x, y, t, u)
    yield "tangents_of_rows", rows, (x, t, torch.tensor([0, 2]))
    yield "tangents_of_arguments", arguments, (x, t, u)
    yield "tangents_of_layers", Layer(normal), (normal(2, 2, 6, 6), normal(2, 2, 6, 6), normal(4, 3), normal(4))
