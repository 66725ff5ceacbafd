"""Exports PyTorch's own operator samples (op_db), compiles each and compares: finds what ATen rules lack.

    build/python-models/bin/python test/models/aten_sweep.py [--dtype float32] [--samples 3] [NAME...]

A tool for those who write rules, not a test: op_db is internal to PyTorch and needs the package expecttest.
One line an operator that is not good; the samples stay in --folder, so that tcc can be run again on them.
"""
import argparse
import collections
import multiprocessing
import pathlib
import pickle
import re
import subprocess
import sys
import warnings

import torch
from torch.utils import _pytree as pytree

from compiled import Compiled, compile_model, CompileError

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10, torch.float16: 4e-3, torch.bfloat16: 3e-2,
             torch.complex64: 1e-4, torch.complex128: 1e-10}


class Call(torch.nn.Module):
    """The operator with all but the tensors of its arguments fixed."""

    def __init__(self, op, leaves, spec):
        super().__init__()
        self.op, self.spec = op, spec
        self.fixed = [None if torch.is_tensor(leaf) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if torch.is_tensor(leaf)]

    def forward(self, *tensors):
        leaves = list(self.fixed)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(*args, **kwargs)


def tensors_of(result):
    return [leaf for leaf in pytree.tree_leaves(result) if torch.is_tensor(leaf)]


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and torch.equal(torch.nan_to_num(x), torch.nan_to_num(y))


def spread(samples, count):
    step = max(1, (len(samples) - 1) / max(1, count - 1))
    return [samples[min(round(i * step), len(samples) - 1)] for i in range(min(count, len(samples)))]


def export_sample(op, sample, path):
    """Writes path.pt2 and path.pickle; returns why it cannot, or None."""
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    module = Call(op, leaves, spec)
    inputs = [leaf.detach().clone() for leaf in leaves if torch.is_tensor(leaf)]
    if any(tensor.layout != torch.strided for tensor in inputs):
        return "sparse"
    with torch.no_grad():
        expected, again = tensors_of(module(*inputs)), tensors_of(module(*inputs))
        if not all(map(same, expected, again)):
            return "random"
        expected = [tensor.detach().clone() for tensor in expected]
        if not expected or any(tensor.layout != torch.strided for tensor in expected):
            return "no dense outputs"
        program = torch.export.export(module, tuple(tensor.clone() for tensor in inputs), strict=False)
    torch.export.save(program, path.with_suffix(".pt2"))
    pickle.dump((inputs, expected), open(path.with_suffix(".pickle"), "wb"))
    return None


def export_op(info, dtype, count, folder):
    skipped = []
    try:
        samples = spread([s for s in info.sample_inputs("cpu", dtype, requires_grad=False)], count)
    except Exception as error:
        return [f"no samples: {error}"]
    name = info.name.replace(".", "_") + (f"-{info.variant_test_name}" if info.variant_test_name else "")
    for index, sample in enumerate(samples):
        try:
            why = export_sample(info.op, sample, folder / f"{name}-{index}")
        except Exception as error:
            why = f"{type(error).__name__}: {str(error)[:200]}"
        if why:
            skipped.append(why)
    return skipped


def difference(actual, expected):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not (actual.is_floating_point() or actual.is_complex()):
        return None if torch.equal(actual, expected) else f"{int((actual != expected).sum())} elements differ"
    tolerance = TOLERANCE[expected.dtype]
    if torch.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"largest difference {(actual.double() - expected.double()).abs().nan_to_num(0).max().item():.3g}" \
        if not actual.is_complex() else "complex values differ"


def run_library(path, library, queue):
    inputs, expected = pickle.load(open(path.with_suffix(".pickle"), "rb"))
    try:
        with Compiled(library, 1) as model:
            actual = model(*inputs, wrap=lambda output: torch.from_dlpack(output).clone())
    except Exception as error:
        return queue.put(f"run: {error}")
    if len(actual) != len(expected):
        return queue.put(f"{len(actual)} outputs instead of {len(expected)}")
    queue.put(next(filter(None, map(difference, actual, expected)), "good"))


def check(path):
    """"good", or a kind of failure and what it is."""
    library = path.with_suffix(".so")
    try:
        compile_model(path.with_suffix(".pt2"), library, timeout=60)
    except CompileError as error:
        kind = {1: "internal", 2: "refused"}.get(error.code, "crash")
        return f"{kind}: {error.message[-700:]}"
    except subprocess.TimeoutExpired:
        return "slow: more than 60 s"
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=run_library, args=(path, library, queue))
    child.start()
    child.join(30)
    if child.is_alive():
        child.kill()
        return "slow: the run takes more than 30 s"
    library.unlink()
    library.with_name(library.name + ".json").unlink(missing_ok=True)
    verdict = queue.get() if child.exitcode == 0 else f"crash: the run ends with {child.exitcode}"
    return verdict if verdict == "good" or ":" in verdict else "wrong: " + verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="operators (all of op_db if none is named)")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/aten-sweep"))
    parser.add_argument("--again", action="store_true", help="use the samples that are in the folder")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.again:
        from torch.testing._internal.common_methods_invocations import op_db
        dtype = getattr(torch, options.dtype)
        for info in op_db:
            if (not options.names or info.name in options.names) and dtype in info.dtypes:
                for why in export_op(info, dtype, options.samples, options.folder):
                    print(f"skipped  {info.name}: {why}".splitlines()[0], flush=True)
    counts, missing = collections.Counter(), collections.Counter()
    for path in sorted(options.folder.glob("*.pt2")):
        if options.names and not any(path.stem.startswith(name.replace(".", "_") + "-") for name in options.names):
            continue
        verdict = check(path)
        kind = verdict.split(":")[0]
        counts[kind] += 1
        missing.update(set(re.findall(r"': ([\w.]+) on \(", verdict)) if kind == "refused" else [])
        if kind != "good":
            print(f"{kind:8} {path.stem}: {' '.join(verdict[len(kind) + 2:].split())}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    print(", ".join(f"{op} {count}" for op, count in missing.most_common()))


if __name__ == "__main__":
    sys.exit(main())
