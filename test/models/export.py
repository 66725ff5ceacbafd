"""Exports the architectures as ONNX and .pt2 with inputs and reference outputs (scripts/export-models).

Each architecture gives the folders NAME (static), NAME-dynamic, and where .pt2
is asked for NAME-pt2 (static) and NAME-dynamic-pt2, whose model.pt2 is in the
training dialect and model-aten.pt2 after run_decompositions(). The yardstick
beside the outputs is the same module in float64.
"""
import argparse
import copy
import logging
import pathlib
import re
import shutil
import sys
import time
import warnings

import torch

from architectures import ARCHITECTURES
from testfolder import alone, write_onnx_data_sets


SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Of the symbolic dims. GPT-2 and BERT have few positions.
LARGEST = {"batch": 4096, "sequence": 512}


def tensors(value):
    """The flat list of tensors a module returned."""
    leaves, _ = torch.utils._pytree.tree_flatten(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def with_relative_traces(program):
    """Source lines without the folders of this machine, so that the same model gives the same bytes elsewhere."""
    for node in program.graph.nodes:
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = re.sub(r'"[^"]*/(site-packages|%s)/' % SOURCE.name, '"', trace)
    return program


class Exporter:
    def __init__(self, name, root):
        self.name, self.root = name, root
        self.architecture = ARCHITECTURES[name]
        self.module = self.architecture.build()
        self.exact = copy.deepcopy(self.module).double()

    def arguments(self, dynamic):
        # A size of one is specialised by torch.export: trace a dynamic model on the last sizes.
        return self.architecture.inputs(*self.architecture.sizes[-1 if dynamic else 0])

    def cases(self, dynamic):
        sizes = self.architecture.sizes
        return [self.architecture.inputs(*size) for size in (sizes if dynamic else sizes[:1])]

    def dynamic_shapes(self):
        symbols = {}
        shapes = []
        for axes in self.architecture.dynamic.values():
            shapes.append({axis: symbols.setdefault(name, torch.export.Dim(name, min=1, max=LARGEST[name]))
                           for axis, name in axes.items()})
        return tuple(shapes)

    def exact_outputs(self, case):
        with torch.no_grad():
            return [t.double().numpy() for t in tensors(self.exact(*map(double, case.values())))]

    def program(self, dynamic):
        shapes = self.dynamic_shapes() if dynamic else None
        with torch.no_grad():
            program = torch.export.export(self.module, tuple(self.arguments(dynamic).values()),
                                          dynamic_shapes=shapes, strict=False)
        return with_relative_traces(program)

    def fresh(self, suffix):
        part = self.root / f".{self.name}{suffix}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        return part, self.root / f"{self.name}{suffix}"

    def onnx(self, dynamic):
        part, folder = self.fresh("-dynamic" if dynamic else "")
        arguments, names = tuple(self.arguments(dynamic).values()), list(self.architecture.dynamic)
        if dynamic and self.architecture.trace:
            torch.onnx.export(self.module, arguments, str(part / "model.onnx"), dynamo=False, input_names=names,
                              dynamic_axes=self.architecture.dynamic)
        else:
            torch.onnx.export(self.program(dynamic), dynamo=True, verbose=False, input_names=names,
                              dynamic_shapes=self.dynamic_shapes() if dynamic else None  # for the dims' names
                              ).save(str(part / "model.onnx"))
        cases = self.cases(dynamic)
        arrays = [{name: tensor.numpy() for name, tensor in case.items()} for case in cases]
        write_onnx_data_sets(part, arrays, [self.exact_outputs(case) for case in cases])
        finish(part, folder)

    def pt2(self, dynamic):
        part, folder = self.fresh("-dynamic-pt2" if dynamic else "-pt2")
        program = self.program(dynamic)
        torch.export.save(program, part / "model.pt2")
        try:
            torch.export.save(program.run_decompositions(), part / "model-aten.pt2")
        except Exception as error:  # torch itself fails on some: an invalid view of attention's strided output
            print(f"{folder.name}: no model-aten.pt2: {str(error)[:200]}", file=sys.stderr)
        # The same module on the same inputs: the data sets of the ONNX export hold.
        for data in (self.root / (self.name + ("-dynamic" if dynamic else ""))).glob("test_data_set_*"):
            shutil.copytree(data, part / data.name)
        finish(part, folder)


def forms(architecture):
    if architecture.only_static:
        return [""]
    return ["", "-dynamic"] + (["-pt2", "-dynamic-pt2"] if architecture.pt2 else [])


def finish(part, folder):
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    print(folder, flush=True)


def export(name, root, force):
    """The forms that could not be exported."""
    failed, start = [], time.time()
    wanted = [form for form in forms(ARCHITECTURES[name]) if force or not (root / (name + form)).exists()]
    exporter = Exporter(name, root) if wanted else None
    for suffix in wanted:
        try:
            (exporter.pt2 if suffix.endswith("pt2") else exporter.onnx)("dynamic" in suffix)
        except Exception as error:  # the others are still wanted
            failed.append(name + suffix)
            print(f"{name}{suffix}: {type(error).__name__}: {str(error)[:800]}", file=sys.stderr)
    if wanted:
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr)
    return failed


def main():
    parser = argparse.ArgumentParser(prog="scripts/export-models", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="architectures (all if none is named)")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--force", action="store_true", help="export again what is there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(2)
    failed = []
    for name in options.names or ARCHITECTURES:
        with alone(options.output, name):
            failed += export(name, options.output, options.force)
    return f"not exported: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
