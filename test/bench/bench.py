"""scripts/bench: tcc beside its peers, in turns in one process.

    scripts/bench cpu [--models resnet50,bert-base] [--peers ort,openvino]
    scripts/bench compile [--models resnet50]      seconds and memory a compile takes
    scripts/bench cold [--models resnet50]         CPU seconds a compile takes, and the slowest kernels; with --clock
                                                   --write those of a folder of many models, for the page
    scripts/bench page                             docs/performance.md anew from its data
    scripts/bench ops [--quick]                    operators and blocks: ops.py
    scripts/bench gpu [--rows 'resnet50 b32']      models beside PyTorch on a GPU: gpu.py
    scripts/bench kernels FOLDER                   kernels beside NVIDIA's libraries on a GPU: gpu_kernels.py

Each round gives every contestant, in turn, a pause, one run that does not
count and then its timed runs; the figure is the median over all rounds. In
turns, because a machine's speed drifts; in one process, with the same number
of threads. Every contestant's outputs are checked before it is timed, and where
an engine can write into outputs that are there already, it does.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "models"))
PAGE = SOURCE / "docs" / "performance.md"

# float32 against float64 or another engine's float32, relative to the largest output.
TOLERANCE = 2e-3


@dataclasses.dataclass
class Case:
    name: str
    model: pathlib.Path
    inputs: list
    expected: list


def make(name):
    from architectures import ARCHITECTURES
    script = "export-models" if name in ARCHITECTURES else "fetch-models"
    subprocess.run([SOURCE / "scripts" / script, name], check=True, stdout=sys.stderr)


def load_case(name, models):
    from testfolder import read_data_set
    if not (models / name).exists():
        make(name)
    inputs, outputs, exact = read_data_set(models / name / "test_data_set_0")
    expected = [stored if yardstick is None else yardstick for (_, stored), yardstick in zip(outputs, exact)]
    inputs = [(label, array.copy()) for label, array in inputs]  # PyTorch wants them writable
    return Case(name, models / name / "model.onnx", inputs, expected)


def worst_error(case, outputs):
    """The largest difference, relative to the largest expected value of that output: infinite where one is not
    finite and the other is not the same (a NaN is as good as another)."""
    import numpy as np
    worst = 0.0
    for actual, expected in zip(outputs, case.expected, strict=True):
        if actual.shape != expected.shape:
            return float("inf")
        wide = np.complex128 if np.iscomplexobj(expected) else np.float64
        actual, expected = actual.astype(wide), expected.astype(wide)
        with np.errstate(invalid="ignore"):
            differs = np.where((actual == expected) | (np.isnan(actual) & np.isnan(expected)), 0,
                               np.abs(actual - expected))
        if not np.isfinite(differs).all():
            return float("inf")
        scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0)), 1e-30)
        worst = max(worst, float(differs.max(initial=0)) / scale)
    return worst


def prepare(case, names, options):
    """The contestants that can run the model correctly, the failures of others, and why the rest was not tried."""
    from contestants import CONTESTANTS, NotRun
    ready, failures, absent = {}, {}, {}
    for name in names:
        try:
            extra = {"flags": options.flags.split()} if name == "tcc" else {}
            contestant = CONTESTANTS[name](case, options.threads, **extra)
            error = worst_error(case, contestant.outputs())
            if not error <= TOLERANCE:
                raise ValueError(f"wrong output, relative error {error:.2g}")
            contestant.error = error
            ready[name] = contestant
        except (NotRun, ModuleNotFoundError) as reason:
            absent[name] = str(reason)
        except Exception as failure:  # a peer that cannot run a model is a result
            failures[name] = f"{type(failure).__name__}: {str(failure).strip()[:300]}"
    return ready, failures, absent


def measure(ready, options):
    """Milliseconds of every timed run of each contestant."""
    times = {name: [] for name in ready}
    start = time.perf_counter()
    rounds = 0
    while rounds < options.rounds or time.perf_counter() - start < options.seconds * len(ready):
        for name, contestant in ready.items():
            time.sleep(0.02)  # the thread pools of the one before stop spinning
            begin = time.perf_counter()
            contestant.run()
            first = time.perf_counter() - begin
            for _ in range(max(1, min(50, int(options.turn / max(first, 1e-6))))):
                begin = time.perf_counter_ns()
                contestant.run()
                times[name].append((time.perf_counter_ns() - begin) / 1e6)
        rounds += 1
    return times


def bench_model(name, options):
    from contestants import CONTESTANTS
    case = load_case(name, options.cache)
    ready, failures, absent = prepare(case, options.contestants, options)
    row = {"model": name, "date": datetime.date.today().isoformat(), "machine": machine(),
           "failed": failures, "not_run": absent, "results": {}}
    known = versions()
    for contestant, samples in measure(ready, options).items():
        row["results"][contestant] = {
            "version": known.get(CONTESTANTS[contestant].package, "?"),
            "preallocated": CONTESTANTS[contestant].preallocated,
            "median_ms": statistics.median(samples), "min_ms": min(samples), "max_ms": max(samples),
            "runs": len(samples), "prepared_in_s": ready[contestant].prepared_in, "error": ready[contestant].error}
    return row


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    wide = "AVX-512" if "avx512f" in open("/proc/cpuinfo").read() else "AVX2"
    return f"{model}, {os.cpu_count()} cores, {wide}, Linux {platform.release().split('-')[0]}"


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = {}
    for package in ("onnxruntime", "openvino", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    # What is measured is the compiler: that the page was just written is no change of it.
    git = ["git", "-C", SOURCE]
    commit = subprocess.run([*git, "describe", "--always"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "lib", "include", "tools"]).returncode
    return {"tcc": commit + ("-dirty" if changed else ""), **found}


def one_row_at_a_time(options):
    """Each model in a process of its own (the contestants still share it): memory is given back in between."""
    for name in options.models:
        command = [sys.executable, __file__, "cpu", "--models", name, "--one", *options.passed]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(options.threads))
        if result.returncode:
            print(f"{name}: the benchmark ended with {result.returncode}", file=sys.stderr)
            continue
        row = json.loads(result.stdout.splitlines()[-1])
        report.show(row, options.contestants)
        yield row


def environment(threads):
    # numpy, torch and others each read theirs when they are loaded.
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **{name: str(threads) for name in names}}


def parse(argv):
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["cpu", "compile", "cold", "page"])
    parser.add_argument("--models", help="comma-separated folders of the model cache")
    parser.add_argument("--peers", default="ort,openvino", help="of ort,openvino,eager,compile,max-autotune, and tuned "
                        "(tcc itself in its mode max-autotune); or none")
    parser.add_argument("--without-tcc", action="store_true", help="peers alone")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="at least this many turns each")
    parser.add_argument("--seconds", type=float, default=4, help="at least this long for each contestant")
    parser.add_argument("--turn", type=float, default=0.4, help="seconds of timed runs a turn")
    parser.add_argument("--flags", default="", help="more options for tcc, e.g. '--mode max-autotune'")
    parser.add_argument("--write", action="store_true", help="merge the rows into docs/performance.md")
    parser.add_argument("--folder", type=pathlib.Path, help="of cold: where the models lie, if not in the model cache")
    parser.add_argument("--attempts", type=int, default=3, help="of cold: the fastest of so many compiles")
    parser.add_argument("--clock", action="store_true", help="of cold: seconds by the clock, on all cores")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    defaults = {"cpu": MODELS, "compile": compile_cost.MODELS}.get(options.what)
    options.models = options.models.split(",") if options.models else defaults
    peers = [] if options.peers == "none" else options.peers.split(",")
    options.contestants = ([] if options.without_tcc else ["tcc"]) + peers
    return options


def bench_compile(options):
    rows = []
    for name in options.models:
        if not (options.cache / name).exists():
            make(name)
        rows.append({**compile_cost.measure(name, options.cache / name, options.flags.split()),
                     "version": versions()["tcc"], "date": datetime.date.today().isoformat(), "machine": machine()})
        report.show_compile(rows[-1], first=len(rows) == 1)
    if options.write:
        report.write(PAGE, [], rows, options.threads)
    return 0


def bench_cold(options):
    if options.write and not options.clock:
        raise SystemExit("cold: --write is for seconds by the clock: --clock")
    rows, failed = cold.measure_all(options.folder or options.cache, options.models, options.flags.split(),
                                    options.attempts, options.clock)
    if options.write:
        stamp = {"version": versions()["tcc"], "date": datetime.date.today().isoformat(), "machine": machine()}
        report.write(PAGE, [], [], options.threads, cold=[
            {"model": row["model"], "seconds": round(row["seconds"], 3), "cpu_seconds": round(row["cpu_seconds"], 3),
             "kernels": row["kernels"], **stamp} for row in rows])
    return 1 if failed else 0


def main():
    options = parse(sys.argv[1:])
    if options.what == "page":
        report.write(PAGE, [], [], options.threads)
        return 0
    if options.what == "cold":
        return bench_cold(options)
    if options.what == "compile":
        return bench_compile(options)
    if options.one:
        print(json.dumps(bench_model(options.models[0], options)))
        return 0
    options.passed = [f"--{key}={getattr(options, key)}" for key in
                      ("peers", "threads", "rounds", "seconds", "turn", "flags", "cache")]
    options.passed += ["--without-tcc"] if options.without_tcc else []
    report.head(options.contestants)
    rows = list(one_row_at_a_time(options))
    if options.write:
        report.write(PAGE, rows, [], options.threads)
    return 1 if any("tcc" in row["failed"] for row in rows) else 0


import cold  # noqa: E402
import compile_cost  # noqa: E402  (beside this file)
import report  # noqa: E402
from rows import MODELS  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
