"""Whole models compiled on this machine, run on its GPU and held against PyTorch's float64.

    python gpu_models.py [--precisions f32,bf16,f16] [--seconds S] [NAME...]

A model is what test/models/architectures.py or test/bench/gpu_rows.py builds, exported by torch.export. In f32 the largest
error may be at most twice PyTorch's own (TF32 off) or 1e-5 of the largest output; in bf16 and f16 the largest one and the
root of the mean square at most twice those of the module converted to the type. One line a model and type, with the
time of a run; the exit code is 1 if any is beyond. Inputs that are strided or not aligned must give the same bits.
"""
import argparse
import copy
import pathlib
import sys
import tempfile
import time
import traceback
import warnings

import torch
from torch.utils import _pytree as pytree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "models"), str(HERE.parent / "bench")]
from architectures import ARCHITECTURES  # noqa: E402
from compiled import CompileError, compile_model  # noqa: E402  (adds the Python loader's folder)
import tcc_torch  # noqa: E402

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
NAMES = ["linear-relu", "conv-bn-silu", "resnet50", "mobilenet_v3_large", "efficientnet_b0", "resnext101_32x8d",
         "convnext_tiny", "vit_b_16", "bert-base", "distilbert", "gpt2", "t5-small-encoder"]


def arch():
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def moved(value, dtype=None, device="cuda"):
    def move(leaf):
        if not torch.is_tensor(leaf):
            return leaf
        return leaf.to(device=device, dtype=dtype if dtype and leaf.is_floating_point() else leaf.dtype)
    return pytree.tree_map(move, value)


def outputs(module, inputs, dtype):
    """The module's outputs in `dtype`, as float64."""
    with torch.no_grad():
        result = copy.deepcopy(module).to(device="cuda", dtype=dtype)(*moved(inputs, dtype))
    return [leaf.double() for leaf in pytree.tree_leaves(result) if torch.is_tensor(leaf)]


def errors(actual, exact):
    """The largest error and the root of the mean square, over all outputs."""
    together = torch.cat([(a.double() - e).flatten() for a, e in zip(actual, exact, strict=True)])
    return together.abs().max().item(), together.square().mean().sqrt().item()


def export(module, inputs, path):
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs, strict=False), path)


def median_ms(run, seconds):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]


def in_other_form(tensor):
    """The same values in a form that kernels do not read: transposed in memory, or one element off its alignment."""
    if tensor.dim() > 1:
        return tensor.mT.contiguous().mT
    room = tensor.new_empty(tensor.numel() + 1)
    room[1:] = tensor.flatten()
    return room[1:].view(tensor.shape)


def check(name, precisions, folder, seconds, flags):
    """Lines of text, and whether all are good."""
    architecture = ARCHITECTURES[name]
    module, inputs = architecture.build(), tuple(architecture.inputs(*architecture.sizes[0]).values())
    export(module, inputs, folder / "model.pt2")
    exact = outputs(module, inputs, torch.float64)
    scale = max(tensor.abs().max().item() for tensor in exact)
    for precision in precisions:
        start = time.perf_counter()
        compile_model(folder / "model.pt2", folder / f"{precision}.so", "--arch", arch(), "--precision", precision, *flags)
        compiled_in = time.perf_counter() - start
        model, given = tcc_torch.Model(folder / f"{precision}.so"), moved(inputs)
        results = list(model(*given))
        ours = errors([output.double() for output in results], exact)
        others = list(model(*map(in_other_form, given)))
        torchs = errors(outputs(module, inputs, TYPES[precision]), exact)
        least = 1e-5 * scale if precision == "f32" else 0.0
        good = all(mine <= max(2 * theirs, least) for mine, theirs in zip(ours, torchs))
        same = all(map(torch.equal, results, others))
        text = ", ".join(f"{what} {a:.3g} (PyTorch's {b:.3g})" for what, a, b in
                         zip(("largest error", "root mean square"), ours, torchs))
        if not same:
            text = f"inputs in another form give other outputs; {text}"
        yield good and same, (f"{text}, outputs up to {scale:.3g}; {median_ms(lambda: model(*given), seconds):.3f} ms "
                              f"a run, compiled in {compiled_in:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--precisions", default="f32,bf16,f16")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--flags", default="", help="more options for tcc")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    count = bad = 0
    for name in options.names:
        with tempfile.TemporaryDirectory(prefix="gpu-models-") as folder:
            precisions = options.precisions.split(",")
            results = check(name, precisions, pathlib.Path(folder), options.seconds, options.flags.split())
            try:
                for precision, (good, text) in zip(precisions, results):
                    count, bad = count + 1, bad + (not good)
                    print(f"{'good' if good else 'BEYOND':7}{name} {precision}: {text}", flush=True)
            except Exception as failure:  # one model's fault leaves the others
                count, bad = count + 1, bad + 1
                print(f"FAILED {name}: {type(failure).__name__}: {str(failure).strip()[:600]}", flush=True)
                if not isinstance(failure, CompileError):
                    traceback.print_exc()
    print(f"{count - bad} of {count} are good", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
