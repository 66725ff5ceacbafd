"""Exports PyTorch's own operator samples (op_db), compiles each and compares: finds what ATen rules lack.

    build/python-models/bin/python test/models/aten_sweep.py [--dtypes float32,int64] [--sample 80] [NAME...]

One line for each sample that is not good and is not listed in aten_sweep.txt, which says what is known not to be;
the exit code is 1 if there is any. --write lists what a whole sweep found. With --folder the exported samples stay,
so that tcc can be run again on them.

PyTorch rounds numbers of 16 bits wherever its kernels do, tcc where its own do. So where the two differ, the operator
in float64 is the yardstick: tcc's largest error may be at most twice PyTorch's.

--form dynamic opens every extent that PyTorch lets be open, and runs the operator again on extents one larger.
--form out gives the operator the tensors that it writes its results to (out=), one element filled with another value.
--form gradient is the operator's vector-Jacobian product, for results weighed unevenly.
"""
import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import time
import warnings
from queue import Empty

import numpy
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


def in_double(op, leaves, spec):
    """What the operator gives for the same numbers in float64; None where it takes none."""
    double = {torch.float16, torch.bfloat16}
    wide = [leaf.detach().double() if torch.is_tensor(leaf) and leaf.dtype in double else
            torch.float64 if isinstance(leaf, torch.dtype) and leaf in double else leaf for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(wide, spec)
    try:
        with torch.no_grad():
            return tensors_of(op(*args, **kwargs))
    except Exception:
        return None


def grown(program, inputs):
    """The inputs one longer along each axis whose extent is open; None where none is."""
    import sympy
    shapes = [node.meta["val"].shape for node in program.graph.find_nodes(op="placeholder")
              if node.name in program.graph_signature.user_inputs]
    symbols = {symbol for shape in shapes for extent in shape if isinstance(extent, torch.SymInt)
               for symbol in extent.node.expr.free_symbols}
    if not symbols or len(shapes) != len(inputs):
        return None
    hints = {extent.node.expr: size for shape, tensor in zip(shapes, inputs) for extent, size in zip(shape, tensor.shape)
             if isinstance(extent, torch.SymInt) and extent.node.expr.is_Symbol}
    if symbols - set(hints):
        return None
    larger = {symbol: size + 1 for symbol, size in hints.items()}
    result = []
    for shape, tensor in zip(shapes, inputs):
        for axis, extent in enumerate(shape):
            size = int(sympy.sympify(extent.node.expr).subs(larger)) if isinstance(extent, torch.SymInt) else extent
            while tensor.shape[axis] < size:
                tensor = torch.cat([tensor, tensor.narrow(axis, 0, min(tensor.shape[axis], size - tensor.shape[axis]))], axis)
            tensor = tensor.narrow(axis, 0, size)
        result.append(tensor.clone())
    return result


class Into(torch.nn.Module):
    """The operator with tensors of `results` that it writes to."""

    def __init__(self, op, results, single):
        super().__init__()
        self.op, self.single = op, single
        self.forms = [(tuple(result.shape), result.dtype) for result in results]

    def forward(self, *args, **kwargs):
        out = tuple(torch.ones(shape, dtype=dtype) for shape, dtype in self.forms)
        self.op(*args, **kwargs, out=out[0] if self.single else out)
        return out


class Gradient:
    """The derivatives of the operator's results, weighed, by all tensors of floats among its arguments."""

    def __init__(self, op):
        self.op = op

    def __call__(self, *args, **kwargs):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if torch.is_tensor(leaf) and leaf.is_floating_point()]

        def weighed(*inputs):
            given = list(leaves)
            for place, tensor in zip(places, inputs):
                given[place] = tensor
            args, kwargs = pytree.tree_unflatten(given, spec)
            results = [r for r in tensors_of(self.op(*args, **kwargs)) if r.is_floating_point()]
            return sum((r * (torch.arange(r.numel(), dtype=r.dtype).reshape(r.shape) % 3 + 1)).sum() for r in results)
        return torch.func.grad(weighed, tuple(range(len(places))))(*(leaves[i] for i in places))


def comparable(tensor):
    """uint64, which PyTorch neither compares nor reads from a pickle, as int64."""
    return tensor.view(torch.int64) if tensor.dtype == torch.uint64 else tensor


def spread(samples, count):
    step = max(1, (len(samples) - 1) / max(1, count - 1))
    return [samples[min(round(i * step), len(samples) - 1)] for i in range(min(count, len(samples)))]


def has_no_one_result(operator):
    """Random numbers and memory as it lies."""
    return torch.Tag.nondeterministic_seeded in operator.tags or "empty" in operator.name()


def export_sample(op, sample, path, form="static"):
    """Writes path.pt2 and path.pickle; returns why it cannot, or None."""
    if form == "out":
        result = op(sample.input, *sample.args, **sample.kwargs)
        op = Into(op, tensors_of(result), torch.is_tensor(result))
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    op = Gradient(op) if form == "gradient" else op
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
        open_axes = tuple({axis: torch.export.Dim.AUTO for axis in range(tensor.dim())} for tensor in inputs)
        if form == "gradient":  # torch.export traces no gradients
            module = torch.fx.experimental.proxy_tensor.make_fx(module)(*inputs)
        program = torch.export.export(module, tuple(tensor.clone() for tensor in inputs), strict=False,
                                      dynamic_shapes=(open_axes,) if form == "dynamic" else None)
        program.module()(*(tensor.clone() for tensor in inputs))  # what PyTorch itself refuses is no measure
        larger = grown(program, inputs) if form == "dynamic" else None
    called = {node.target for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    if any(map(has_no_one_result, called)):
        return "random"
    narrow = any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in expected) and form != "out"

    def exact(given):
        values = iter(given)
        wide = in_double(op, [next(values) if torch.is_tensor(leaf) else leaf for leaf in leaves], spec) if narrow else None
        return wide or [None] * len(expected)
    cases = [(inputs, expected, exact(inputs))]
    if larger is not None:
        try:
            with torch.no_grad():
                results = tensors_of(module(*larger))
                if all(map(same, tensors_of(program.module()(*(tensor.clone() for tensor in larger))), results)):
                    cases.append((larger, [tensor.detach().clone() for tensor in results], exact(larger)))
        except Exception:
            pass  # a sample's other arguments may fit its own extents alone
    torch.export.save(program, path.with_suffix(".pt2"))
    pickle.dump([(given, list(map(comparable, results)), wide) for given, results, wide in cases],
                open(path.with_suffix(".pickle"), "wb"))
    return None


def title(info):
    return info.name.replace(".", "_") + (f"-{info.variant_test_name}" if info.variant_test_name else "")


def samples_of(info, dtype, count):
    """The same ones on every run."""
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    try:
        return spread(list(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)), count)
    except Exception:  # some need what a CPU has not
        return []


def difference(actual, expected, exact=None):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not (actual.is_floating_point() or actual.is_complex()):
        return None if torch.equal(actual, expected) else f"{int((actual != expected).sum())} elements differ"
    tolerance = TOLERANCE[expected.dtype]
    if torch.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    if exact is not None and exact.shape == expected.shape:
        errors = [torch.where(exact == x, 0, (x.double() - exact).abs()) for x in (actual, expected)]
        same_kind = torch.equal(actual.isfinite(), expected.isfinite())
        error, allowed = (e[expected.isfinite()] for e in errors)
        if same_kind and error.numel() and error.max() <= 2 * allowed.max():
            return None
    return f"largest difference {(actual.double() - expected.double()).abs().nan_to_num(0).max().item():.3g}" \
        if not actual.is_complex() else "complex values differ"


def run_library(path):
    for number, (inputs, expected, exact) in enumerate(pickle.load(open(path.with_suffix(".pickle"), "rb"))):
        larger = " (larger)" if number else ""
        try:
            with Compiled(path.with_suffix(".so"), 1) as model:
                actual = model(*inputs, wrap=lambda output: comparable(torch.from_dlpack(output).clone()))
        except Exception as error:
            return f"run: {error}{larger}"
        if len(actual) != len(expected):
            return f"wrong: {len(actual)} outputs instead of {len(expected)}{larger}"
        wrong = next(filter(None, map(difference, actual, expected, exact)), None)
        if wrong:
            return f"wrong: {wrong}{larger}"
    return "good"


def run_libraries(paths, queue):
    for path in paths:
        queue.put(run_library(path))


def run(paths):
    """The verdict of each sample. They run in a process of a server's that has not seen PyTorch's samples: where those
    are made, PyTorch may have started NVIDIA's driver, which works in no fork."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "compiled"])
    verdicts = []
    while len(verdicts) < len(paths):
        queue = context.Queue()
        child = context.Process(target=run_libraries, args=(paths[len(verdicts):], queue))
        child.start()
        try:
            while len(verdicts) < len(paths):
                verdicts.append(next_verdict(child, queue))
        except ChildProcessError as error:
            verdicts.append(str(error))
        child.kill()
        child.join()
    return verdicts


def next_verdict(child, queue, seconds=30):
    for _ in range(seconds * 5):
        gone = not child.is_alive()
        try:
            return queue.get(timeout=0 if gone else 0.2)
        except Empty:
            if gone:
                raise ChildProcessError(f"crash: the run ends with {child.exitcode}") from None
    raise ChildProcessError(f"slow: the run takes more than {seconds} s")


def compile_sample(path, flags):
    """A kind of failure and what it is, or None."""
    try:
        compile_model(path.with_suffix(".pt2"), path.with_suffix(".so"), *flags, timeout=60)
    except CompileError as error:
        kind = {1: "internal", 2: "refused"}.get(error.code, "crash")
        return f"{kind}: {error.message[-700:]}"
    except subprocess.TimeoutExpired:
        return "slow: more than 60 s"
    return None


def sweep_op(info, dtype, options):
    """The verdict of each sample by its name, (operator, dtype, index); what PyTorch cannot export is left out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = options.folder / dtype
    folder.mkdir(parents=True, exist_ok=True)
    verdicts, compiled = {}, {}
    for index, sample in enumerate(samples_of(info, dtype, options.samples)):
        path = folder / f"{title(info)}-{index}"
        try:
            if export_sample(info.op, sample, path, options.form):
                continue
        except Exception:
            continue
        key = title(info), dtype, index
        verdicts[key] = compile_sample(path, options.flags.split())
        if verdicts[key] is None:
            compiled[key] = path
    verdicts.update(zip(compiled, run(list(compiled.values()))))
    for path in compiled.values():
        for left in path.parent.glob(path.name + ".so*"):
            left.unlink()
    return verdicts


def read_known(path):
    """Samples known not to be good: lines "operator: dtype dtype/index,index ...", a dtype alone for all of its."""
    known = set()
    for line in path.read_text().splitlines():
        name, _, rest = line.partition(": ")
        for entry in rest.split() if not line.startswith("#") else []:
            dtype, _, indices = entry.partition("/")
            known |= {(name, dtype, int(i)) for i in indices.split(",")} if indices else {(name, dtype)}
    return known


def write_known(path, verdicts):
    failing, everything = collections.defaultdict(list), collections.Counter()
    for (name, dtype, index), verdict in verdicts.items():
        everything[name, dtype] += 1
        if verdict != "good":
            failing[name, dtype].append(index)
    lines = collections.defaultdict(list)
    for (name, dtype), indices in sorted(failing.items()):
        whole = len(indices) == everything[name, dtype]
        lines[name].append(dtype if whole else f"{dtype}/{','.join(map(str, sorted(indices)))}")
    text = "".join(f"{name}: {' '.join(entries)}\n" for name, entries in lines.items())
    path.write_text("# Samples of PyTorch's operators that tcc refuses or computes otherwise (aten_sweep.py --write).\n"
                    + text)


def chosen(options):
    from torch.testing._internal.common_methods_invocations import op_db
    pairs = [(info, dtype) for info in op_db for dtype in options.dtypes.split(",")
             if getattr(torch, dtype) in info.dtypes and (not options.names or info.name in options.names)
             and (info.supports_out or options.form != "out")]
    if options.sample and options.sample < len(pairs):
        pairs = random.Random(options.seed).sample(pairs, options.sample)
    return pairs


def sweep(options):
    verdicts, start = {}, time.time()
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context, silence) as pool:
        futures = [pool.submit(run_pair, number, argparse.Namespace(**{**vars(options), "progress": None})) for number in range(len(PAIRS))]
        for future in concurrent.futures.as_completed(futures):
            verdicts.update(future.result())
            if options.progress:
                for key, verdict in future.result().items():
                    print(*key, " ".join(verdict.split()), file=options.progress, flush=True)
            if options.seconds and time.time() - start > options.seconds:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    return verdicts


PAIRS = []  # of operator and dtype, which the forked workers share


def silence():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch prints whole graphs


def run_pair(number, options):
    return sweep_op(*PAIRS[number], options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="operators (all of op_db if none is named)")
    parser.add_argument("--dtypes", default="float32,int64,bool,bfloat16,complex64")
    parser.add_argument("--samples", type=int, default=3, help="of each operator and dtype")
    parser.add_argument("--sample", type=int, help="only so many pairs of operator and dtype, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=pathlib.Path, help="where the exported samples stay")
    parser.add_argument("--flags", default="", help="options for tcc, such as --arch=sim")
    parser.add_argument("--seconds", type=float, help="no further pair after so long")
    parser.add_argument("--progress", type=argparse.FileType("a"), help="every verdict as it is found, into this file")
    parser.add_argument("--form", default="static", choices=["static", "dynamic", "out", "gradient"])
    parser.add_argument("--known", type=pathlib.Path, default=pathlib.Path(__file__).with_suffix(".txt"))
    parser.add_argument("--write", action="store_true", help="list what is not good in the file of what is known")
    options = parser.parse_args()
    PAIRS.extend(chosen(options))
    # Where the time is over, workers may still write.
    with tempfile.TemporaryDirectory(prefix="aten-sweep-", ignore_cleanup_errors=True) as folder:
        options.folder = options.folder or pathlib.Path(folder)
        verdicts = sweep(options)
    if options.write:
        write_known(options.known, verdicts)
    known = read_known(options.known)
    lost = 0
    for (name, dtype, index), verdict in sorted(verdicts.items()):
        listed = (name, dtype) in known or (name, dtype, index) in known
        if verdict != "good" and not listed:
            lost += 1
            print(f"{dtype}/{name}-{index}: {' '.join(verdict.split())}", flush=True)
        elif verdict == "good" and listed and (name, dtype) not in known:
            print(f"{dtype}/{name}-{index}: is good, though listed", flush=True)
    counts = collections.Counter(verdict.split(":")[0] for verdict in verdicts.values())
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()), f"({lost} not listed)")
    return 1 if lost or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
