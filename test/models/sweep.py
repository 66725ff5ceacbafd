"""Compiles the model folders of the cache and checks every data set: one line a model (scripts/check-models)."""
import argparse
import pathlib
import sys
import time

from agreement import disagreement
from compiled import Compiled, CompileError
from testfolder import read_data_set


def first_problem(folder, compiled):
    for data in sorted(folder.glob("test_data_set_*")):
        inputs, outputs, exact = read_data_set(data)
        results = compiled(*[array for _, array in inputs])
        for (name, stored), actual, yardstick in zip(outputs, results, exact, strict=True):
            if wrong := disagreement(actual, stored, yardstick):
                return f"{data.name} {[list(a.shape) for _, a in inputs]}: {name}: {wrong}"
    return None


def check(folder, model, flags):
    """How it went, in one word, and the details."""
    start = time.monotonic()
    try:
        with Compiled.build(model, *flags) as compiled:
            seconds = time.monotonic() - start
            problem = first_problem(folder, compiled)
            return ("wrong", problem) if problem else ("good", f"compiled in {seconds:.1f} s")
    except CompileError as error:
        return "refused" if error.code == 2 else "failed", str(error)[:600]
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:600]}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/check-models", description=__doc__)
    parser.add_argument("names", nargs="*", help="folders (all of the cache if none is named)")
    parser.add_argument("--flags", default="", help="options for tcc")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    counts = {}
    for name in options.names or sorted(path.name for path in options.cache.iterdir()):
        folder = options.cache / name
        for model in sorted([*folder.glob("*.onnx"), *folder.glob("*.pt2")]):
            verdict, details = check(folder, model, options.flags.split())
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict:8} {name}/{model.name}: {details}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 0 if set(counts) <= {"good"} else 1


sys.exit(main())
