"""Those programs of cases.py that write into views and into what they are given for outputs, and one that casts."""
import torch
from torch import nn


def written(normal):
    """Operators that write: strided views, diagonals, `out`, rows of a table; regions that cast."""
    def strided(a):
        a = a.clone()
        torch.as_strided(a, (2, 2), (5, 2), 1).fill_(9.0)
        b, c = a.clone().fill_diagonal_(3.0), torch.cat([a, a]).fill_diagonal_(4.0, wrap=True)
        return a, b, c, torch.zeros(3, 3, 3).fill_diagonal_(1.0)

    def given(a, b):
        out, total, larger, empty = torch.empty(3, 4), torch.zeros(4), torch.empty(3, 4), torch.empty(0)
        torch.add(a, b, alpha=2, out=out)
        torch.sum(a, 0, out=total)
        torch.maximum(a, b, out=larger)
        torch.div(a, b, rounding_mode="floor", out=empty)
        return out, total, larger, empty

    def given_pairs(a):
        values, places = torch.empty(3), torch.empty(3, dtype=torch.int64)
        torch.max(a, 1, out=(values, places))
        ordered, order = torch.empty(3, 4), torch.empty(3, 4, dtype=torch.int64)
        torch.sort(a, 1, descending=True, out=(ordered, order))
        low, high = torch.empty(4), torch.empty(4)
        torch.aminmax(a, dim=0, out=(low, high))
        q, r = torch.empty(3, 3), torch.empty(3, 4)
        torch.linalg.qr(a, out=(q, r))
        return values + 1, places, ordered, order, low, high, q @ r

    def results(x, y, s):
        """Overloads of which nothing in the name tells what they compute, and arguments that are not called out."""
        aten = torch.ops.aten

        def room(*shape, dtype=torch.float32):
            return torch.ones(shape, dtype=dtype)

        part = room(3, 3)
        aten.add.out(x[:2, :2], y[:2, :2], alpha=2, out=part[:2, :2])
        return [
            aten.copysign.out(x, y, out=room(3, 3)), aten.ldexp.out(x, y.round(), out=room(3, 3)),
            aten.xlogy.OutTensor(x, y.abs(), out=room(3, 3)), aten.max.unary_out(x, out=room()),
            aten.min.unary_out(x, out=room()), aten.all.all_out(x > 0, out=room(dtype=torch.bool)),
            aten.any.all_out(x > 0, out=room(dtype=torch.bool)), aten.mean.dtype_out(x, out=room()),
            aten.silu_backward.grad_input(x, y, grad_input=room(3, 3)),
            aten.tanh_backward.grad_input(x, y, grad_input=room(3, 3)),
            *aten.native_layer_norm.out(x, [3], None, None, 1e-5, out0=room(3, 3), out1=room(3, 1), out2=room(3, 1)),
            *aten.linalg_inv_ex.inverse(s, inverse=room(3, 3), info=room(dtype=torch.int32)),
            *aten.linalg_cholesky_ex.L(s, L=room(3, 3), info=room(dtype=torch.int32)),
            *aten.max_pool2d_with_indices.out(x[None], [2, 2], [1, 1], out=room(1, 2, 2),
                                              indices=room(1, 2, 2, dtype=torch.int64)),
            *aten.var_mean.correction_out(x, [1], correction=1, out0=room(3), out1=room(3)),
            *aten.triangular_solve.X(y, s, X=room(3, 3), M=room(3, 3)),
            *aten.nll_loss_forward.output(x, torch.tensor([0, 2, 1]), None, 1, -100, output=room(), total_weight=room()),
            aten.sum.IntList_out(x, [0], out=room(3)),
            aten.div.out_mode(x, y, rounding_mode="floor", out=room(3, 3)), part]

    def windows(a):
        b, c, d = a.clone(), a.clone(), a.clone()
        b.unfold(0, 2, 3).mul_(3)
        c.unfold(1, 2, 2)[:, 1] = 7
        d.unfold(0, 3, 3)[:, :, 1:].neg_()
        return b, c, d

    class Casting(nn.Module):
        """bfloat16 and back again; one value is given twice."""

        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, a):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                b = self.norm(self.linear(a) + a @ a.t()[:, :4].contiguous())
                c = F.mse_loss(b, b * 2)
                with torch.autocast("cpu", enabled=False):
                    d = self.linear(a)
            with torch.no_grad():
                e = b.float() + b
            return b, c, d, e

    yield "strided_writes", strided, (normal(4, 4),)
    yield "given_results", given, (normal(3, 4), normal(3, 4))
    yield "given_pairs", given_pairs, (normal(3, 4),)
    yield "written_windows", windows, (normal(8, 5),)
    yield "renormed", lambda w, n: torch.embedding_renorm_(w.clone(), n, 1.0, 2.0), (
        normal(6, 4), torch.tensor([1, 3, 3]))
    yield "casting", Casting(), (normal(4, 4),)
    x, y = normal(3, 3), normal(3, 3)
    yield "written_results", results, (x, y, y @ y.T + torch.eye(3))
