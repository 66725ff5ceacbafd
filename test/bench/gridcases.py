"""Products over a grid of extents, for `scripts/bench ops --only wide/grid`: where one is much slower than its neighbours.

Rows from one to thousands, columns and sums from a panel to a vocabulary, at powers of two and beside them, with weights
packed when the model is compiled and with both operands at run time. What is more than a second's work is left out, and of
the rest some are drawn, the same in every run.
"""
import torch
from torch import nn

from opcases import BF16, F32, SHORT, size_name
from oddcases import drawn
from widecases import wide

ROWS = (1, 4, 16, 31, 64, 128, 512, 2048)
EXTENTS = (64, 100, 768, 1000, 4095, 4096, 4097, 11008, 32000, 50257)


def grid():
    forms = {"matmul": torch.matmul, "nt": lambda x, y: x @ y.T}
    fits = lambda m, k, n: 1e5 < m * k * n < 1.5e9 and k * n < 5.2e7 and m * max(k, n) < 2e7  # noqa: E731
    for m, k, n in drawn(4, 96, (ROWS, EXTENTS, EXTENTS), fits):
        for dtype in (F32, BF16):
            label = f"{SHORT[dtype]}/{size_name(m, k, n)}"
            wide(f"grid/linear/{label}", None, (m, k, dtype), state=lambda d=dtype, k=k, n=n: nn.Linear(k, n, bias=False).to(d))
            for name, form in forms.items():
                wide(f"grid/{name}/{label}", form, (m, k, dtype), (k, n, dtype) if name == "matmul" else (n, k, dtype))


grid()
