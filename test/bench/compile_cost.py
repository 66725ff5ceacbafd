"""What compiling costs: seconds with a cold and a warm cache, memory at its peak, and what comes out.

scripts/bench compile [--models resnet50,bert-base]
"""
import os
import pathlib
import statistics
import tempfile
import time

from compiled import Compiled, tool

MODELS = ["resnet50", "bert-base", "gpt2", "vit_b_16", "mobilenet_v3_large"]


def run(arguments, cache):
    """Seconds and peak bytes of one run of tcc."""
    start = time.monotonic()
    child = os.posix_spawn(tool("tcc"), [tool("tcc"), *map(str, arguments)], {**os.environ, "TCC_CACHE_DIR": str(cache)},
                           file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"tcc ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def open_milliseconds(path):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        Compiled(path).close()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def measure(name, folder, flags):
    """One row: the fastest of three, since a compile can only be disturbed in one direction."""
    cold, warm, peaks = [], [], []
    with tempfile.TemporaryDirectory(prefix="tcc-bench-") as scratch:
        out = pathlib.Path(scratch) / "model.so"
        arguments = [folder / "model.onnx", "-o", out, "--cpu", "native", *flags]
        for attempt in range(3):
            cache = pathlib.Path(scratch) / f"cache{attempt}"
            for times in (cold, warm):
                seconds, peak = run(arguments, cache)
                times.append(seconds)
                peaks.append(peak)
        weights = sum(path.stat().st_size for path in folder.glob("model.onnx*"))
        return {"model": name, "cold_s": min(cold), "warm_s": min(warm), "peak_mb": max(peaks) / 1e6,
                "model_mb": weights / 1e6, "so_mb": sum(p.stat().st_size for p in out.parent.glob("model*")) / 1e6,
                "open_ms": open_milliseconds(out)}
