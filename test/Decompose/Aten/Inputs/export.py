#!/usr/bin/env python3
"""Writes the cases of this folder (torch 2.15): NAME.pt2, and NAME.data with inputs and expected outputs.

A .data file holds the inputs, a line "=", and the outputs, each as a line "dtype dims..." and its bytes.
Several operators stand in one program, without stack traces, to keep the files small.
Usage: export.py [FOLDER] [--all] [--only=NAME,..]; with --all each case is written after run_decompositions() too.
"""
import os
import sys

import torch
from torch import nn

from cases import Call, cases
from elsewhere import elsewhere
from misstated import misstate, misstated

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
          torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool", torch.float16: "f16", torch.bfloat16: "bf16",
          torch.complex64: "c64"}


def tensors(tree):
    return [v for v in torch.utils._pytree.tree_leaves(tree) if isinstance(v, torch.Tensor)]


def write_tensor(file, value):
    value = value.detach().resolve_conj().contiguous()
    file.write(" ".join([DTYPES[value.dtype], *map(str, value.shape)]).encode() + b"\n")
    file.write(bytes(value.reshape(-1).view(torch.uint8).tolist()) if value.numel() else b"")


def save(program, path):
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            for key in ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn"):
                node.meta.pop(key, None)
    program._example_inputs = None
    torch.export.save(program, path)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    folders = [a for a in arguments if not a.startswith("--")]
    folder = folders[0] if folders else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(0)
    only = next((a[7:].split(",") for a in arguments if a.startswith("--only=")), None)
    for name, model, inputs, *dynamic in (*cases(), *misstated(), *elsewhere()):
        if only and name not in only:
            continue
        bare = isinstance(model, nn.Module)
        module = (model if bare else Call(model)).eval()
        expected = tensors(module(*(v.clone() for v in inputs)))
        shapes = (dynamic[0] if bare else (dynamic[0],)) if dynamic else None
        program = torch.export.export(module, tuple(v.clone() for v in inputs), dynamic_shapes=shapes)
        programs = {name: misstate(program) if "misstated" in name else program}
        if "--all" in sys.argv:
            programs[name + "_aten"] = program.run_decompositions()
        for title, one in programs.items():
            path = os.path.join(folder, title)
            save(one, path + ".pt2")
            with open(path + ".data", "wb") as file:
                for value in inputs:
                    write_tensor(file, value)
                file.write(b"=\n")
                for value in expected:
                    write_tensor(file, value)


main()
