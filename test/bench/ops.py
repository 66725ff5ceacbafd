"""`scripts/bench ops`: single operators and blocks beside PyTorch eager and ONNX Runtime.

    scripts/bench ops [--quick] [--only attention,order/sort] [--peers eager,ort,openvino,compile] [--threads 2] [--write]
    scripts/bench ops --list

Every case (opcases.py) is exported as .pt2, compiled for this machine and run in turns with its peers in one process,
after all outputs were compared with eager's in float64 where that exists. The figure of an engine is its fastest run:
a case takes microseconds, and whatever else the machine does only adds to that. The roofline is what the machine can do
at most: bytes of the arguments and results at the speed of a copy out of memory, operations at that of multiply-adds in
registers (f32; those in f64 count twice), both measured beside the cases; a case's share is how near tcc comes to it. What
stays in a cache, and what needs fewer operations than are counted (Winograd) or narrower ones, comes above 100 %.

The peer `static` is tcc's own code where all extents are known, for the cases of opencases.py.

On a machine of many cores, --at-once 7 measures seven cases at a time, each on cores of its own; what they share, such as
memory and the last cache, is then slower for all engines.

With --cpu x86-64-v3 PyTorch and the libraries of its products are held to AVX2 as well. ONNX Runtime takes what the
machine has: it is no peer there. The page has these rows in a section of their own.
"""
import argparse
import contextlib
import dataclasses
import datetime
import functools
import io
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback
import warnings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test/models"))
PAGE = SOURCE / "docs/performance-operators.md"
TOLERANCE = {"float32": 2e-3, "float64": 1e-6, "float16": 2e-2, "bfloat16": 6e-2, "complex64": 2e-3}


def build(case):
    """The module of a case and its arguments, the same in every run."""
    import torch

    class Call(torch.nn.Module):
        def forward(self, *arguments):
            result = case.function(*arguments)
            return tuple(result) if isinstance(result, tuple) else result  # named ones are not serialised
    torch.manual_seed(0)
    module = (case.state() if case.state else Call()).eval()
    return module, case.arguments()


def tensors(value):
    import torch
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def exported(module, arguments, case):
    import torch
    dims = {}
    shapes = [{axis: dims.setdefault(name, torch.export.Dim(name, min=2, max=max(4096, 2 * arguments[i].shape[axis])))
               for axis, name in case.dynamic.get(i, {}).items()} for i in range(len(arguments))]
    dynamic = None
    if case.dynamic:  # a Call takes its arguments as one tuple
        dynamic = {"arguments": tuple(shapes)} if not case.state else tuple(shapes)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, tuple(arguments), dynamic_shapes=dynamic, strict=False)


def export_onnx(program, path):
    import torch
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(program, (), path, dynamo=True, verbose=False)


class Tcc:
    def __init__(self, case, module, arguments, options):
        import torch
        from compiled import Compiled, compile_model
        self.arguments = arguments
        with tempfile.TemporaryDirectory(prefix="tcc-ops-") as folder:
            path = pathlib.Path(folder)
            torch.export.save(exported(module, arguments, case), path / "model.pt2")
            compile_model(path / "model.pt2", path / "model.so", "--cpu", options.cpu, *options.flags.split())
            self.model = Compiled(path / "model.so", options.threads)
        self.run = self.model.prepare(arguments)

    def outputs(self):
        import torch
        results = self.model(*self.arguments, wrap=torch.from_dlpack)
        return [r.clone() for r in results]


class Static(Tcc):
    """tcc's code where all extents are known."""

    def __init__(self, case, module, arguments, options):
        super().__init__(dataclasses.replace(case, dynamic={}), module, arguments, options)


class Eager:
    def __init__(self, case, module, arguments, options):
        import torch

        def run():
            with torch.no_grad():
                return module(*arguments)
        self.run = run

    def outputs(self):
        return tensors(self.run())


class Compile(Eager):
    def __init__(self, case, module, arguments, options):
        import torch
        torch._inductor.config.freezing = True
        super().__init__(case, torch.compile(module), arguments, options)


@contextlib.contextmanager
def as_onnx(case, module, arguments):
    """The path of the case as an ONNX file, with weights of few bits as ONNX Runtime takes them."""
    from modelcases import as_contrib
    with tempfile.TemporaryDirectory(prefix="tcc-ops-") as folder:
        path = pathlib.Path(folder) / "model.onnx"
        with as_contrib():
            export_onnx(exported(module, arguments, case), path)
        yield path


class OnnxRuntime:
    def __init__(self, case, module, arguments, options):
        import onnxruntime
        with as_onnx(case, module, arguments) as path:
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = options.threads
            settings.log_severity_level = 4
            session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        feed = {i.name: onnxruntime.OrtValue.ortvalue_from_numpy(a.numpy())
                for i, a in zip(session.get_inputs(), arguments, strict=True)}
        self.binding = session.io_binding()
        for name, value in feed.items():
            self.binding.bind_ortvalue_input(name, value)
        for output in session.get_outputs():
            self.binding.bind_output(output.name)
        self.run = lambda: session.run_with_iobinding(self.binding)

    def outputs(self):
        import torch
        self.run()
        return [torch.from_numpy(v.numpy()) for v in self.binding.get_outputs()]


class OpenVino:
    """In the type of the arguments, weights of few bits without rounding what they are multiplied by."""

    def __init__(self, case, module, arguments, options):
        import openvino
        import torch
        precision = "bf16" if any(a.dtype == torch.bfloat16 for a in arguments) else "f32"
        with as_onnx(case, module, arguments) as path:
            model = openvino.Core().compile_model(str(path), "CPU", {
                "INFERENCE_NUM_THREADS": options.threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": precision, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
        request = model.create_infer_request()
        for index, argument in enumerate(arguments):
            if argument.dtype == torch.bfloat16:  # NumPy has no such type
                tensor = openvino.Tensor(argument.view(torch.int16).numpy(), argument.shape, openvino.Type.bf16)
            else:
                tensor = openvino.Tensor(argument.numpy(), shared_memory=True)
            request.set_input_tensor(index, tensor)
        self.arguments, self.request, self.run = arguments, request, request.infer

    def outputs(self):
        import openvino
        import torch
        self.run()
        results = [self.request.get_output_tensor(i) for i in range(len(self.request.model_outputs))]
        return [torch.from_numpy(r.data.view("int16").copy()).view(torch.bfloat16).reshape(tuple(r.shape))
                if r.element_type == openvino.Type.bf16 else torch.from_numpy(r.data.copy()) for r in results]


# What PyTorch is told so that it uses no more of the machine than code for this CPU.
LIMITS = {"x86-64-v3": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}

ENGINES = {"tcc": Tcc, "eager": Eager, "ort": OnnxRuntime, "openvino": OpenVino, "compile": Compile, "static": Static}


def places(case, arguments):
    """What an output of places stands for where equals may be chosen in any order: the elements that lie there, or nothing
    where a place is chosen twice. None for cases whose places are exact."""
    import torch
    if case.places is None:
        return None

    def elements(chosen):
        chosen = chosen if chosen.dim() == arguments[0].dim() else chosen.unsqueeze(case.places)
        twice = chosen.sort(case.places).values.diff(dim=case.places).eq(0).any()
        return torch.zeros(0) if twice else arguments[0].take_along_dim(chosen, case.places)
    return elements


def difference(actual, expected, elements=None):
    """The largest, relative to the largest expected value, in units of what the type allows. `elements`: those at the places
    that an output of integers gives, which are compared instead of these."""
    import torch
    if len(actual) != len(expected):
        return float("inf")
    worst = 0.0
    for a, e in zip(actual, expected):
        if a.shape != e.shape:
            return float("inf")
        bound = TOLERANCE.get(str(a.dtype).removeprefix("torch."), 0)
        if not bound:
            if elements and a.dtype == torch.int64:
                a, e = elements(a), elements(e)
                if a.shape != e.shape:
                    return float("inf")
            # Positions of equal elements are open in what orders: a few may differ.
            differing = (a != e).sum().item() / max(1, a.numel())
            worst = max(worst, 0.0 if differing < 1e-3 else float("inf"))
            continue
        a, e = a.double() if not a.is_complex() else a, e.double() if not e.is_complex() else e
        gap = torch.where((a == e) | (a.isnan() & e.isnan()), torch.zeros_like(a), (a - e).abs())
        scale = e[e.isfinite()].abs().max().item() if e.isfinite().any() else 1
        gap = gap.max().item() if gap.numel() else 0
        worst = max(worst, gap / max(scale, 1e-30) / bound if gap == gap else float("inf"))
    return worst


def best_times(ready, options):
    """Microseconds of the fastest run of each, in turns."""
    best = dict.fromkeys(ready, float("inf"))
    end = time.perf_counter() + options.seconds * len(ready)
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for name, engine in ready.items():
            time.sleep(0.02)  # the thread pools of the one before stop spinning
            engine.run()
            stop = time.perf_counter() + options.turn
            while True:
                begin = time.perf_counter_ns()
                engine.run()
                best[name] = min(best[name], (time.perf_counter_ns() - begin) / 1e3)
                if time.perf_counter() > stop:
                    break
        rounds += 1
    return best


def measure(case, options):
    import torch
    torch.set_num_threads(options.threads)
    module, arguments = build(case)
    with torch.no_grad():
        expected = tensors(module(*arguments))
    ready, failed = {}, {}
    for name in ["tcc", *options.peers.split(",")]:
        try:
            engine = ENGINES[name](case, module, arguments, options)
            if not (error := difference(engine.outputs(), expected, places(case, arguments))) <= 1:
                raise ValueError(f"wrong output: {error:.2g} times what the type allows")
            ready[name] = engine
        except Exception as failure:  # what an engine cannot run is a result
            failed[name] = f"{type(failure).__name__}: {' '.join(str(failure).split())[:200]}"
    moved = sum(t.numel() * t.element_size() for t in [*arguments, *module.parameters(), *module.buffers(), *expected])
    double = any(t.dtype == torch.float64 for t in expected)
    return {"case": case.name, "bytes": moved, "flops": case.flops * (2 if double else 1), "failed": failed,
            "us": best_times(ready, options), "date": datetime.date.today().isoformat()}


def peak(options):
    """Operations a microsecond that multiply-adds in registers reach, the best of many (peak.c; f32)."""
    import ctypes
    import subprocess
    from concurrent.futures import ThreadPoolExecutor
    with tempfile.TemporaryDirectory(prefix="tcc-ops-") as folder:
        library = pathlib.Path(folder) / "peak.so"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-ffp-contract=fast", f"-march={options.cpu}", "-shared", "-fPIC",
                        pathlib.Path(__file__).with_name("peak.c"), "-o", library], check=True)
        multiply_adds = ctypes.CDLL(str(library)).multiply_adds
    multiply_adds.restype = ctypes.c_double
    multiply_adds.argtypes = [ctypes.c_long, ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
    best = 0
    with ThreadPoolExecutor(options.threads) as threads:
        for _ in range(20):
            begin = time.perf_counter_ns()
            done = sum(threads.map(lambda steps: multiply_adds(steps, 0.5, ctypes.byref(ctypes.c_float())),
                                   [2000000] * options.threads))
            best = max(best, done / ((time.perf_counter_ns() - begin) / 1e3))
    return best


def roofline(options):
    """Bytes a microsecond of a copy (read and written), the best of many, and operations a microsecond at the peak."""
    import torch
    torch.set_num_threads(options.threads)
    x, y = torch.randn(1 << 24), torch.empty(1 << 24)
    times = []
    for _ in range(20):
        begin = time.perf_counter_ns()
        y.copy_(x)
        times.append((time.perf_counter_ns() - begin) / 1e3)
    return {"bytes": 2 * x.numel() * 4 / min(times), "flops": peak(options), "flops_of": "multiply-adds reach"}


def ratio(row):
    """The fastest peer's time by tcc's."""
    peers = [us for name, us in row["us"].items() if name != "tcc"]
    return min(peers) / row["us"]["tcc"] if peers and "tcc" in row["us"] else None


def share(row, roof):
    least = max(row["bytes"] / roof["bytes"], row["flops"] / roof["flops"])
    return least / row["us"]["tcc"] if "tcc" in row["us"] else None


def show(row, roof):
    figures = "".join(f"{row['us'].get(name, float('nan')):12.1f}" for name in ENGINES)
    found = ratio(row)
    print(f"{row['case']:44}{figures}{found if found is not None else float('nan'):8.2f}"
          f"{share(row, roof) or float('nan'):7.0%}", flush=True)
    for name, why in row["failed"].items():
        print(f"    {name}: {why}", flush=True)


def section_title(processor, threads, cpu="native"):
    held = "" if cpu == "native" else f", held to {cpu}"
    return f"{processor}{held}, {threads} thread{'s' if threads > 1 else ''}"


def not_run(rows):
    wrong = [row for row in rows if "tcc" in row["failed"]]
    table = [f"| {row['case']} | {row['failed']['tcc'].replace('|', '/')} |" for row in wrong]
    return ["", "What tcc does not run:", "", "| case | why |", "|---|---|", *table] if wrong else []


def section(title, stored):
    """The table of the cases that were run on one kind of machine with so many threads."""
    from statistics import median
    rows, roof = stored["rows"].values(), stored["roof"]
    known = sorted((row for row in rows if ratio(row) is not None), key=ratio)
    names = [name for name in ENGINES if any(name in row["us"] for row in rows)]
    ratios = [ratio(row) for row in known]
    lines = [f"## {title}", "",
             f"- {stored['machine']}; PyTorch {stored['torch']}; {stored['note']}.",
             f"- A copy moves {roof['bytes'] / 1e3:.1f} GB/s, {roof.get('flops_of', 'a product of 1,024 does')} "
             f"{roof['flops'] / 1e3:.0f} GFLOP/s: the roofline of the last column."]
    lines += [f"- {len(known)} cases; the fastest peer's time by tcc's: median {median(ratios):.2f}, "
              f"{sum(r < 0.95 for r in ratios)} below 0.95, least {ratios[0]:.2f}."] if ratios else []
    products = [share(row, roof) for row in rows if "flops_of" in roof and "tcc" in row["us"] and row["flops"] > 1e6
                and row["flops"] / roof["flops"] > row["bytes"] / roof["bytes"]]
    lines += [f"- {len(products)} of them have more than 1 MFLOP that weigh more than their bytes: "
              f"{sum(s >= 0.85 for s in products)} reach 85 % of the peak, "
              f"their median is {median(products):.0%}."] if products else []
    lines += ["", "| case | " + " | ".join(names) + " | fastest peer ÷ tcc | of the roofline |",
              "|---|" + "---:|" * (len(names) + 2)]
    for row in known:
        cells = [f"{row['us'][name]:,.1f}" if name in row["us"] else "" for name in names]
        lines.append(f"| {row['case']} | " + " | ".join(cells) + f" | {ratio(row):.2f} | {share(row, roof):.0%} |")
    return [*lines, *not_run(rows), ""]


def page_text(stored):
    lines = ["# Operators and blocks on the CPU", "", "Written by `scripts/bench ops --write`; do not edit.", "",
             "Microseconds of the fastest run of many, in turns in one process; outputs compared.", ""]
    for title in sorted(stored):
        lines += section(title, stored[title])
    return "\n".join(lines)


def parse(argv):
    parser = argparse.ArgumentParser(prog="scripts/bench ops", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the subset that is run before code generation changes")
    parser.add_argument("--only", default="", help="comma-separated beginnings of names")
    parser.add_argument("--peers", default="eager,ort", help="of eager,ort,openvino,compile,static")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each engine and case")
    parser.add_argument("--turn", type=float, default=0.02, help="seconds of a turn")
    parser.add_argument("--at-once", type=int, default=1, help="cases at a time, each on as many cores as it has threads")
    parser.add_argument("--cpu", default="native", help="what tcc compiles for; x86-64-v3 limits PyTorch as well")
    parser.add_argument("--flags", default="", help="more options for tcc")
    parser.add_argument("--note", help="what the page says of the machine's load")
    parser.add_argument("--write", action="store_true", help="merge the rows into docs/performance-operators.md")
    parser.add_argument("--list", action="store_true", help="names, and nothing else")
    options = parser.parse_args(argv)
    if options.at_once * options.threads > len(os.sched_getaffinity(0)):
        parser.error(f"--at-once {options.at_once} needs {options.at_once * options.threads} cores")
    options.note = options.note or ("nothing else ran" if options.at_once == 1 else
                                    f"{options.at_once} cases at a time, on cores of their own")
    if options.cpu in LIMITS:
        options.peers = ",".join(peer for peer in options.peers.split(",") if peer != "ort")
    return options


def chosen(options):
    from opcases import CASES
    only = tuple(filter(None, options.only.split(",")))
    return [name for name, case in CASES.items()
            if (not options.quick or case.quick) and (name.startswith(only) if only else not name.startswith("wide/"))]


def apart(function, *arguments):
    """What the function returns (as JSON carries it), run in a fork: what it starts, holds or breaks stays there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            with os.fdopen(writer, "w") as pipe:
                json.dump(function(*arguments), pipe)
            status = 0
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if status == 0 else f"ended with {status}"


def pin(free, count):
    """Keeps the process and what it starts on the next `count` cores that are free."""
    os.sched_setaffinity(0, [free.get() for _ in range(count)])


def row_of(name, options):
    from opcases import CASES
    return name, apart(measure, CASES[name], options)


def rows_of(names, options):
    """The names and rows of the cases as they are measured, `options.at_once` of them at a time."""
    if options.at_once == 1:
        yield from (row_of(name, options) for name in names)
        return
    context = multiprocessing.get_context("fork")
    free = context.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:options.at_once * options.threads]:
        free.put(core)
    with context.Pool(options.at_once, pin, (free, options.threads)) as pool:
        yield from pool.imap_unordered(functools.partial(row_of, options=options), names)


def load(options):
    """Loads what every case needs, once: more than half of a case's time otherwise. What this loads on first use, a
    first export brings. No thread may start here, which a fork would not have: each case asks for its own."""
    # Read when PyTorch is loaded.
    os.environ.update(LIMITS.get(options.cpu, {}), OMP_NUM_THREADS=str(options.threads))
    import onnxruntime  # noqa: F401
    import torch
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(2, 3),))
    with tempfile.TemporaryDirectory(prefix="tcc-ops-") as folder:
        torch.export.save(program, pathlib.Path(folder) / "model.pt2")
        export_onnx(program, pathlib.Path(folder) / "model.onnx")


def store(rows, roof, options):
    """Merges the rows into the page's data and writes the page: after every case, for a sweep takes long."""
    from bench import machine, versions
    from report import processor
    data = PAGE.with_suffix(".json")
    stored = json.loads(data.read_text()) if data.exists() else {}
    part = stored.setdefault(section_title(processor(machine()), options.threads, options.cpu), {"rows": {}})
    part["rows"].update({row["case"]: row for row in rows})
    part.update(roof=roof, machine=machine(), note=options.note, torch=versions()["torch"])
    data.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page_text(stored))


def main(argv):
    options = parse(argv)
    load(options)
    if options.list:
        print("\n".join(chosen(options)))
        return 0
    roof, failed = apart(roofline, options), False
    print(f"{'case':44}" + "".join(f"{name:>12}" for name in ENGINES) + "   ratio   roof   (microseconds)")
    for name, row in rows_of(chosen(options), options):
        if isinstance(row, str):
            print(f"{name}: {row}", file=sys.stderr)
            continue
        show(row, roof)
        failed |= "tcc" in row["failed"]
        if options.write:
            store([row], roof, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
