"""Rows made of values that lie at other points: turned over, moved, joined, cut, of open lengths too."""
import torch
import torch.nn.functional as F

AUTO = torch.export.Dim.AUTO


def elsewhere():
    def normal(*shape):
        return torch.randn(*shape, generator=random)

    moves = (lambda v: v.flip(1), lambda v: torch.roll(v, 1, 1), lambda v: F.pad(v, (0, 0, 1, 0))[:, :-1] + v,
             lambda v: v[:, 1:], lambda v: F.pad(v, (0, 0, 2, 1)), lambda v: torch.cat([v, v.flip(1) * 2], 1))

    def rows(x, e, i):
        """Of a function, and of elements found by an index, each of its own: a row would keep them for its loops."""
        for k, move in enumerate(moves):
            for n, v in enumerate((torch.erf(x + k), e[k][i])):
                y = move(v)
                yield F.softmax(y, -1) if (k + n) % 2 else F.layer_norm(y, (8,))

    random = torch.Generator().manual_seed(1)
    inputs = normal(2, 5, 8), normal(6, 7, 8), torch.randint(0, 7, (2, 5), generator=random)
    yield "rows_of_other_places", lambda x, e, i: [*rows(x, e, i)], inputs
    yield "rows_of_other_places_open", lambda x, e, i: [*rows(x, e, i)], inputs, ({0: AUTO, 1: AUTO}, None, {0: AUTO, 1: AUTO})
    yield "rows_turned", lambda x: [F.softmax(torch.erf(x).transpose(1, 2), -1), F.softmax(torch.erf(x).mT + x, -1)], (
        normal(1, 32, 32),)
    # Axes before a few points, reduced in lanes.
    yield "lines_of_other_places", lambda x: [y.std(1) for y in (
        x.flip(0), x.flip(1), torch.erf(x).flip(0) + x, torch.roll(x, 3, 1), (x * x)[:, :1].flip(0) + x)], (
        normal(8, 128, 8),)
