"""What compiling costs without any cache: CPU seconds, kernels, and where the time goes.

    scripts/bench cold [--models resnet50,yolov8] [--flags "--cpu x86-64-v4"] [--folder DIR] [--attempts 3] [--clock]

Without --models every model in the folder: the model cache, or what `test/models/zoo.py --keep DIR` left.
CPU seconds of one thread, the least of the attempts: seconds on a clock say more of what else the machine does. With
--clock they are those, on all cores; --write keeps them in docs/performance.json, for the page's summary of the zoo.
"""
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from compiled import tool


def model_file(folder):
    files = (folder / name for name in ("model.onnx", "model.pt2"))
    return next((file for file in files if file.exists()), None)


def compile_once(model, flags, clock=False):
    """Seconds that count (of CPU, or by the clock), those of CPU, and what --timing printed with the last line."""
    with tempfile.TemporaryDirectory(prefix="tcc-cold-") as scratch:
        command = [tool("tcc"), model, "-o", pathlib.Path(scratch) / "model.so", "--cache", "", "--timing",
                   *([] if clock else ["--jobs", "1"]), *flags]
        start = time.monotonic()
        child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(text.strip()[-300:])
    cpu = usage.ru_utime + usage.ru_stime
    return took if clock else cpu, cpu, text


def measure(name, model, flags, attempts, clock=False):
    seconds, cpu, text = min((compile_once(model, flags, clock) for _ in range(attempts)), key=lambda run: run[0])
    phases = {phase: float(share) for phase, share in re.findall(r"^(\w+) +[\d.]+ +([\d.]+)%$", text, re.M)}
    slowest = re.findall(r"^ +([\d.]+)  (\S+)$", text.partition("slowest kernels")[2], re.M)
    return {"model": name, "seconds": seconds, "cpu_seconds": cpu, "kernels": int(re.search(r": (\d+) kernels", text)[1]),
            "phases": phases, "slowest": [(kernel, float(took)) for took, kernel in slowest]}


def show(row):
    each = 1e3 * row["seconds"] / max(1, row["kernels"])
    others = ", ".join(f"{phase} {share:.0f} %" for phase, share in row["phases"].items()
                       if share >= 5 and phase != "codegen")
    slowest = ", ".join(f"{kernel} {1e3 * took:.0f}" for kernel, took in row["slowest"][:2])
    print(f"{row['model']:32} {row['seconds']:7.2f} s {row['kernels']:5} kernels {each:6.1f} ms each;"
          f" slowest, ms: {slowest or 'none'}{'; ' + others if others else ''}", flush=True)


def measure_all(folder, names, flags, attempts, clock=False):
    """The rows, and how many models did not compile."""
    rows, failed = [], 0
    for name in names or sorted(path.name for path in folder.iterdir() if model_file(path)):
        try:
            rows.append(measure(name, model_file(folder / name), flags, attempts, clock))
            show(rows[-1])
        except RuntimeError as error:
            failed += 1
            print(f"{name:32} fails: {error}", flush=True)
    if rows:
        seconds = [row["seconds"] for row in rows]
        print(f"{len(rows)} models: median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s,"
              f" together {sum(seconds):.1f} s and {sum(row['kernels'] for row in rows)} kernels")
    return rows, failed
