"""Exports architectures in small to .pt2 and ONNX, compiles each and compares it with PyTorch.

    build/python-models/bin/python test/models/zoo.py [--forms static,dynamic,onnx] [--sample 12] [PATTERN...]
    build/python-models/bin/python test/models/zoo.py --verify --families

The models are what real programs export (torchvision, timm, transformers, torch.nn), with seeded weights and few
layers. The module in float64 is the yardstick: a float result is good when its error is at most twice PyTorch's own
or within the tolerance of agreement.py. One line a model and form that is not good, and a summary.
"""
import argparse
import collections
import copy
import fnmatch
import gc
import importlib
import logging
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import time
import warnings

import torch
from torch.utils import _pytree as pytree

from agreement import disagreement
from architectures import calibrate, roughen
from compiled import Compiled, CompileError, compile_model
import zoo_decoders  # noqa: F401  adds its models to MODELS
import zoo_networks  # noqa: F401
import zoo_programs  # noqa: F401
from zoo_models import MODELS

FORMS = ["static", "static-aten", "dynamic", "dynamic-aten", "onnx", "onnx-dynamic"]

# One quick model of each kind, in one form: what takes a minute or two in all.
FAMILIES = {
    "static": "tv-squeezenet1_1 tv-mc3_18 timm-starnet_s1 hf-mixtral hf-mamba hf-t5 nn-LSTM nn-Conv3d form-complex form-linalg "
              "net-swin-bf16 net-mobile-block-odd net-generator-bf16 net-fake train-convolutions train-encoder train-ends train-words",
    "static-aten": "hf-segformer nn-MultiheadAttention form-indexing",
    "dynamic": "tv-shufflenet_v2_x0_5 hf-swin hf-llama hf-bart hf-deberta-v2 hf-fnet hf-wav2vec2 nn-EmbeddingBag form-scans form-complex form-filters "
               "net-mamba net-graph net-rwkv-bf16 net-sparse-experts net-decoder-alibi-window-cap net-cross-bf16 net-whole-8",
    "dynamic-aten": "hf-detr form-loops form-views",
    "onnx": "nn-GRU hf-sam-vision", "onnx-dynamic": "hf-clip-vision"}

PACKAGES = {"tv-": "torchvision", "timm-": "timm", "hf-": "transformers", "": "torch.onnx"}


class Skip(Exception):
    """PyTorch itself cannot export it."""


def double(value):
    return pytree.tree_map(lambda t: t.double() if torch.is_tensor(t) and t.is_floating_point() else t, value)


def tensors(value):
    return [leaf for leaf in pytree.tree_leaves(value) if torch.is_tensor(leaf)]


def dims_of(model, arguments):
    """AUTO for the model's dynamic axes of every tensor that has them."""
    def axes(leaf):
        if not torch.is_tensor(leaf):
            return None
        return {axis: torch.export.Dim.AUTO for axis in model.dynamic if axis < leaf.dim()}
    return pytree.tree_map(axes, arguments)


def build(model):
    torch.manual_seed(0)
    module = model.make()
    roughen(module)
    args, kwargs = model.inputs(*model.sizes[-1])
    if not kwargs and all(map(torch.is_tensor, args)) and getattr(module, "calibrated", True):
        calibrate(module, dict(enumerate(args)))
    return module.eval()


def export(model, module, form, path):
    dynamic = "dynamic" in form
    args, kwargs = model.inputs(*model.sizes[-1 if dynamic else 0])
    shapes = (dims_of(model, args), dims_of(model, kwargs)) if dynamic else None
    if dynamic:  # by parameter name, as torch wants them
        import inspect
        names = [p for p in inspect.signature(module.forward).parameters]
        shapes = {**dict(zip(names, shapes[0])), **shapes[1]}
        if any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(module.forward).parameters.values()):
            shapes = {names[0]: dims_of(model, args)}
    try:
        with torch.no_grad():
            program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
            if "aten" in form:
                program = program.run_decompositions()
            if "onnx" in form:
                torch.onnx.export(program, dynamo=True, verbose=False).save(str(path))
            else:
                torch.export.save(program, path)
    except Exception as error:
        raise Skip(f"{type(error).__name__}: {str(error)[:300]}") from error


def flat_inputs(compiled, args, kwargs):
    """What the compiled model takes: the tensors, and numbers that are inputs."""
    leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs))]
    values = [leaf if torch.is_tensor(leaf) else torch.tensor(leaf) for leaf in leaves
              if torch.is_tensor(leaf) or len(compiled.inputs) == len(leaves)]
    return [v.detach().contiguous() for v in values]


def numbers(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy()


def mismatch(actual, stored, exact):
    if actual.dtype != stored.dtype:
        return f"is {actual.dtype}, expected {stored.dtype}"
    narrow = {torch.bfloat16: 3e-2, torch.float16: 4e-3}.get(stored.dtype)
    actual, stored = numbers(actual), numbers(stored)
    if narrow is not None and actual.shape == stored.shape:
        scale = max(1.0, abs(stored).max(initial=0))
        error = abs(actual.astype("f8") - stored.astype("f8")).max(initial=0)
        return None if error <= narrow * scale else f"error {error:.3g}, values up to {scale:.3g}"
    if wrong := disagreement(actual, stored):
        if exact is not None and not disagreement(actual, stored, numbers(exact)):
            return None
        return wrong
    return None


def takes(compiled, values):
    """Whether the extents that PyTorch left no choice are those of `values`."""
    return all(known is None or all(isinstance(a, str) or a is None or a == b for a, b in zip(known, value.shape))
               for known, value in zip((i.shape for i in compiled.inputs), values))


def run(model, form, folder, flags):
    module = build(model)
    path = folder / ("model.onnx" if "onnx" in form else "model.pt2")
    export(model, module, form, path)
    start = time.time()
    compile_model(path, folder / "model.so", *flags, timeout=300)
    took = time.time() - start
    with Compiled(folder / "model.so", 2) as compiled:
        for size in model.sizes if "dynamic" in form else model.sizes[:1]:
            args, kwargs = model.inputs(*size)
            if "dynamic" in form and size != model.sizes[-1] and \
                    not takes(compiled, flat_inputs(compiled, args, kwargs)):
                continue  # an export fixes what the module's arithmetic needs to know
            with torch.no_grad():
                plain = copy.deepcopy(module)
                stored = tensors(plain(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
                try:
                    exact = tensors(copy.deepcopy(module).double()(*double(copy.deepcopy(args)),
                                                                   **double(copy.deepcopy(kwargs))))
                except (RuntimeError, AssertionError):  # a cast in the model
                    exact = [None] * len(stored)
            actual = compiled(*flat_inputs(compiled, args, kwargs),
                              wrap=lambda output: torch.from_dlpack(output).clone())
            if len(actual) != len(stored):
                return f"wrong: {len(actual)} outputs instead of {len(stored)}", took
            for i, (a, s, e) in enumerate(zip(actual, stored, exact)):
                if wrong := mismatch(a, s, e if e is not None and e.shape == s.shape else None):
                    return f"wrong: output {i} at {size}: {wrong}", took
    return "good", took


def attempt(name, form, folder, flags, queue):
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch prints whole graphs
    try:
        queue.put(run(MODELS[name], form, pathlib.Path(folder), flags))
    except Skip as error:
        queue.put((f"skipped: {error}", 0))
    except CompileError as error:
        kind = {1: "internal", 2: "refused"}.get(error.code, "crash")
        queue.put((f"{kind}: {error.message[-1500:]}", 0))
    except Exception as error:
        queue.put((f"failed: {type(error).__name__}: {str(error)[:500]}", 0))


def verdict(name, form, keep, flags):
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        if keep:
            folder = str(keep / f"{name}.{form}")
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=attempt, args=(name, form, folder, flags, queue))
        child.start()
        child.join(600)
        if child.is_alive():
            child.kill()
            return "slow: more than 600 s", 0
        return queue.get() if not queue.empty() or child.exitcode == 0 else (f"crash: ends with {child.exitcode}", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="models (all if none is named)")
    parser.add_argument("--forms", default="static,static-aten,dynamic,dynamic-aten")
    parser.add_argument("--families", action="store_true", help="one quick model of each kind, in one form")
    parser.add_argument("--sample", type=int, help="only so many pairs of model and form, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verify", action="store_true", help="compile with --verify too")
    parser.add_argument("--flags", default="", help="options for tcc, such as --arch=sim")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files in this folder")
    options = parser.parse_args()
    names = [n for n in MODELS if not options.patterns or any(fnmatch.fnmatch(n, p) for p in options.patterns)]
    pairs = [(n, form) for n in names for form in options.forms.split(",")
             if "dynamic" not in form or MODELS[n].dynamic]
    if options.families:
        pairs = [(n, form) for form, chosen in FAMILIES.items() for n in chosen.split() if n in names]
        names = [name for name, _ in pairs]
    if options.sample and options.sample < len(pairs):
        pairs = random.Random(options.seed).sample(pairs, options.sample)
        names = [name for name, _ in pairs]
    counts = collections.Counter()
    for prefix, package in PACKAGES.items():  # once, here, not in every child
        if any(name.startswith(prefix) for name in names):
            importlib.import_module(package)
    if any(name.startswith("hf-") for name in names):
        importlib.import_module("transformers.modeling_utils")
        importlib.import_module("transformers.masking_utils")
    gc.freeze()  # children do not look at what was imported
    for name, form in pairs:
        what, took = verdict(name, form, options.keep, (["--verify"] if options.verify else []) + options.flags.split())
        kind = what.split(":")[0]
        counts[kind] += 1
        print(f"{kind:8} {name} {form} {took:.1f} s {' '.join(what[len(kind) + 2:].split())}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return 0 if set(counts) <= {"good", "skipped"} else 1


if __name__ == "__main__":
    sys.exit(main())
