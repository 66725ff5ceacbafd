"""Programs whose file states other shapes than they have where they run, as torch 2.11 writes of an LSTM's last states."""
import torch
from torch import nn


class LastStates(nn.Module):
    """The last states as models use them: kept, of one layer, joined, projected."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(2, 3, 2, bidirectional=True, proj_size=2), nn.Linear(2, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c, h[-1] * 2, torch.cat([h[-2], h[-1]], -1), self.head(h).relu(), c + 1


def misstated():
    """(name, module, inputs, dynamic dims)"""
    auto = torch.export.Dim.AUTO
    x = torch.randn(4, 3, 2, generator=torch.Generator().manual_seed(1))
    yield "lstm_misstated", LastStates(), (x,), ({0: auto, 1: auto},)


def misstate(program):
    """States the last states of each LSTM as [L, 1, B, H], and what follows from it."""
    lstm, changed = torch.ops.aten.lstm.input, set()
    for node in program.graph.nodes:
        if node.target is lstm:
            y, *states = node.meta["val"]
            node.meta["val"] = (y, *(state.unsqueeze(1) for state in states))
        elif node.op == "call_function" and any(n in changed or n.target is lstm for n in node.all_input_nodes):
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
            with next(v.fake_mode for v in torch.utils._pytree.tree_leaves(args) if isinstance(v, torch.Tensor)):
                node.meta["val"] = node.target(*args, **kwargs)
            changed.add(node)
    return program
