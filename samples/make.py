"""Makes the models of samples/: seeded weights, one dynamic batch dimension, a few kB each.

    scripts/setup-python --models && build/python-models/bin/python samples/make.py

Writes NAME/NAME.onnx, NAME/NAME.pt2 and NAME/data, a folder in the form of
ONNX's backend tests with one input and PyTorch's output for it.
"""
import pathlib
import re
import sys

import numpy as np
import onnx
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test" / "models"))
from testfolder import write_tensor


class SinCos(nn.Module):
    def forward(self, x):
        return torch.sin(torch.cos(x))


def conv_bn_silu():
    norm = nn.BatchNorm2d(8)
    nn.init.uniform_(norm.running_mean, -0.5, 0.5)
    nn.init.uniform_(norm.running_var, 0.5, 2)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), norm, nn.SiLU())


SAMPLES = {"sincos": (SinCos, (8,)), "linear": (lambda: nn.Linear(10, 2), (10,)),
           "linear-relu": (lambda: nn.Sequential(nn.Linear(10, 2), nn.ReLU()), (10,)),
           "conv-bn-silu": (conv_bn_silu, (3, 8, 8))}


SHAPES = ({0: torch.export.Dim("batch", max=1024)},)


def export(module, x):
    program = torch.export.export(module, (x,), dynamic_shapes=SHAPES)
    for node in program.graph.nodes:
        if trace := node.meta.get("stack_trace"):  # without the folders of this machine
            node.meta["stack_trace"] = re.sub(r'"[^"]*/(site-packages/|(?=samples/))', '"', trace)
    return program


def make(name, module, shape):
    folder = HERE / name
    (folder / "data").mkdir(parents=True, exist_ok=True)
    x = torch.randn(4, *shape)
    program = export(module, x)
    torch.export.save(program, folder / f"{name}.pt2")
    model = torch.onnx.export(program, dynamo=True, verbose=False, input_names=["x"], output_names=["y"],
                              dynamic_shapes=SHAPES).model_proto
    for node in model.graph.node:
        del node.metadata_props[:]
    onnx.save(model, folder / f"{name}.onnx")
    with torch.no_grad():
        y = module(x)
    write_tensor(folder / "data" / "input_0.pb", "x", x.numpy())
    write_tensor(folder / "data" / "output_0.pb", "y", y.numpy())
    np.save(folder / "x.npy", x.numpy())


for name, (module, shape) in SAMPLES.items():
    torch.manual_seed(0)
    make(name, module().eval(), shape)
