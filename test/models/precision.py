"""Models compiled with --precision bf16 and f16, against the same module in float64 and in PyTorch in that type.

    build/python-models/bin/python test/models/precision.py [--precisions bf16,f16] [NAME...]

The yardstick is the error of PyTorch itself when the module is converted to the type (module.to): tcc's error, the
largest one and the root of the mean square, may be at most twice that. PyTorch rounds after every operator, so tcc, which
rounds where values leave a kernel, is expected to be nearer. Inputs and outputs keep their types. One line a model and
type; the exit code is 1 if any is beyond.
"""
import argparse
import copy
import pathlib
import sys
import tempfile
import warnings

import torch
from torch.utils import _pytree as pytree

import zoo
from architectures import ARCHITECTURES
from compiled import Compiled, compile_model

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
NAMES = ["resnet50", "bert-base"]


def load(name):
    """A module and its inputs, in order."""
    if name in ARCHITECTURES:
        architecture = ARCHITECTURES[name]
        return architecture.build(), tuple(architecture.inputs(*architecture.sizes[0]).values()), {}
    model = zoo.MODELS[name]
    return zoo.build(model), *model.inputs(*model.sizes[0])


def converted(value, dtype):
    return pytree.tree_map(lambda t: t.to(dtype) if torch.is_tensor(t) and t.is_floating_point() else t, value)


def outputs(module, dtype, args, kwargs):
    with torch.no_grad():
        result = copy.deepcopy(module).to(dtype)(*converted(copy.deepcopy(args), dtype), **converted(copy.deepcopy(kwargs), dtype))
    return [t.double() for t in zoo.tensors(result) if t.is_floating_point()]


def errors(actual, exact):
    """The largest error and the root of the mean square, over all outputs."""
    all_errors = torch.cat([(a.double() - e).flatten() for a, e in zip(actual, exact, strict=True)])
    return all_errors.abs().max().item(), all_errors.square().mean().sqrt().item()


class Exported:
    """A model's file, inputs and yardsticks, the same for every type."""

    def __init__(self, name, folder):
        self.folder = folder
        self.module, self.args, self.kwargs = load(name)
        with torch.no_grad():
            torch.export.save(torch.export.export(self.module, self.args, self.kwargs, strict=False), folder / "model.pt2")
            self.types = [t.dtype for t in zoo.tensors(self.module(*copy.deepcopy(self.args), **copy.deepcopy(self.kwargs)))]
        self.exact = self.outputs(torch.float64)

    def outputs(self, dtype):
        return outputs(self.module, dtype, self.args, self.kwargs)


def check(model, precision):
    library = model.folder / f"{precision}.so"
    compile_model(model.folder / "model.pt2", library, "--precision", precision)
    with Compiled(library, 2) as compiled:
        given = zoo.flat_inputs(compiled, model.args, model.kwargs)
        actual = compiled(*given, wrap=lambda output: torch.from_dlpack(output).clone())
    if [t.dtype for t in actual] != model.types:
        return f"outputs are {[t.dtype for t in actual]}", False
    actual = [t for t in actual if t.is_floating_point()]
    ours, torchs = errors(actual, model.exact), errors(model.outputs(TYPES[precision]), model.exact)
    text = ", ".join(f"{what} {a:.3g} (PyTorch's {b:.3g})" for what, a, b in zip(("largest error", "root mean square"), ours, torchs))
    return text, all(a <= 2 * b for a, b in zip(ours, torchs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--precisions", default="bf16,f16")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    good = True
    for name in options.names:
        with tempfile.TemporaryDirectory(prefix="precision-") as folder, torch.no_grad():
            model = Exported(name, pathlib.Path(folder))
            for precision in options.precisions.split(","):
                text, fine = check(model, precision)
                good &= fine
                print(f"{'good' if fine else 'beyond':7} {name} {precision}: {text}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
