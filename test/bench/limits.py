"""What holds products of `scripts/bench ops` below the multiply-add peak, by a program of its own (limits.c).

    chrt -f 5 scripts/bench limits --only linear/512x768x768,matmul/2048x64x2048 --threads 2

For each case, in microseconds, the least of turns: its multiply-adds at the peak of registers; the same number of tiles
whose operands L1 holds (`near`, of 256 steps at most); the product with nothing around its tiles, operands and results
where they lie (`bare`, which cuts no k); a copy of the right matrix to panels (`copies`, where a run brings it); and what
tcc takes. What tcc takes beside `near` and `copies` is what comes from beyond L1 and goes to memory, a call, tasks and
what is done with sums. Where other programs use the cores, `chrt` as above keeps them out for the few seconds of a case:
wall-clock times of two threads are worth nothing otherwise. Convolutions (`--only conv`) are taken apart by convlimits.py.
"""
import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

NEAR_STEPS, ROWS_OF_TASK, PANELS_OF_TASK, COPIES = 256, 64, 9, 20
WORK = 4e9  # operations of a turn, beside which waking a thread is nothing
MOST_WORK, LEAST_ROWS = 1e10, 16
CASE = re.compile(r"(linear|matmul|matmul_transposed|bmm)/(?:(\d+)x)??(\d+)x(\d+)x(\d+)$")


def library(cpu):
    with tempfile.TemporaryDirectory(prefix="tcc-limits-") as folder:
        path = pathlib.Path(folder) / "limits.so"
        sources = [pathlib.Path(__file__).with_name(name) for name in ("limits.c", "peak.c")]
        for source in sources:
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-ffp-contract=fast", f"-march={cpu}", "-fPIC", "-c", source,
                            "-o", path.with_name(source.stem + ".o")], check=True)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", *(path.with_name(s.stem + ".o") for s in sources), "-o", path],
                       check=True)
        return ctypes.CDLL(str(path))


def aligned(*shape):
    """Small numbers, on a line of the cache."""
    count = int(np.prod(shape))
    memory = np.resize(np.linspace(-0.1, 0.1, 997, dtype=np.float32), count + 16)
    start = -(memory.ctypes.data // 4) % 16
    return memory[start:start + count].reshape(shape)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


class Bare:
    """One product (or batch of them) in tiles, by threads that each have a part of the rows, or of the panels."""

    def __init__(self, lib, entries, m, k, n, threads):
        self.lib, self.threads, self.entries, self.k = lib, threads, entries, k
        rows, width = lib.rows_of_tile(), lib.columns_of_panel()
        self.tiles, self.panels = -(-m // rows), -(-n // width)
        self.a, self.b = aligned(entries, self.tiles * rows, k), aligned(entries, k, self.panels * width)
        self.packed, self.c = aligned(entries, self.panels, k, width), aligned(entries, self.tiles * rows, self.panels * width)
        self.scratch = [aligned(1 << 14) for _ in range(threads)]
        self.flops = 2 * entries * m * k * n
        self.repeats = max(1, int(WORK / self.flops))

    def parts(self, count):
        """`count` of each entry in equal parts for the threads; whole entries where there are enough."""
        entries = range(self.entries)
        if self.entries >= self.threads:
            return [[(e, 0, count) for e in entries if e % self.threads == t] for t in range(self.threads)]
        return [[(e, count * t // self.threads, count * (t + 1) // self.threads) for e in entries]
                for t in range(self.threads)]

    def multiply(self, part, thread, near=0):
        steps = min(self.k, NEAR_STEPS) if near else self.k
        times = self.k // steps if near else 1
        beside = PANELS_OF_TASK if self.k <= NEAR_STEPS else 1
        for entry, first, last in part:
            self.lib.product(pointer(self.a[entry]), pointer(self.packed[entry]), pointer(self.c[entry]), first, last,
                             self.panels, steps, beside, ROWS_OF_TASK // self.lib.rows_of_tile(), near, times * self.repeats)

    def copy(self, part, thread):
        for entry, first, last in part:
            self.lib.copy_panels(pointer(self.b[entry]), pointer(self.scratch[thread]), self.panels * self.lib.columns_of_panel(),
                                 self.k, first, last, COPIES)


def microseconds(pool, function, parts):
    begin = time.perf_counter_ns()
    list(pool.map(function, parts, range(len(parts))))
    return (time.perf_counter_ns() - begin) / 1e3


def measure(lib, name, options, run):
    kind, entries, m, k, n = CASE.match(name).groups()
    bare = Bare(lib, int(entries or 1), int(m), int(k), int(n), options.threads)
    rows, panels = bare.parts(bare.tiles), bare.parts(bare.panels)
    ways = {"peak": lambda part, thread: lib.multiply_adds(2000000, 0.5, ctypes.byref(ctypes.c_float())),
            "near": lambda part, thread: bare.multiply(part, thread, near=1), "bare": bare.multiply}
    if kind != "linear":
        ways["copies"] = bare.copy
    least = dict.fromkeys([*ways, "tcc"], float("inf"))
    with ThreadPoolExecutor(options.threads) as pool:
        for _ in range(options.turns):
            for way, function in ways.items():
                repeats = {"near": bare.repeats, "bare": bare.repeats, "copies": COPIES}.get(way, 1)
                took = microseconds(pool, function, panels if way == "copies" else rows)
                least[way] = min(least[way], took / repeats)
            for _ in range(2):
                begin = time.perf_counter_ns()
                run()
                least["tcc"] = min(least["tcc"], (time.perf_counter_ns() - begin) / 1e3)
    # `peak` did a number of operations of its own on each thread.
    done = lib.multiply_adds(1, 0.5, ctypes.byref(ctypes.c_float())) * 2000000 * options.threads
    least["peak"] *= bare.flops / done
    return least


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="linear,matmul,matmul_transposed,bmm", help="comma-separated beginnings of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--cpu", default="native")
    options = parser.parse_args(argv)
    import convlimits
    from ops import Tcc, build, load
    load(argparse.Namespace(cpu=options.cpu, threads=options.threads))
    from opcases import CASES
    lib = library(options.cpu)
    lib.multiply_adds.restype = ctypes.c_double
    lib.multiply_adds.argtypes = [ctypes.c_long, ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
    lib.product.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 8
    lib.copy_panels.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long] * 5
    options.flags = ""
    if any(name.startswith(tuple(options.only.split(","))) and convlimits.known(name) for name in CASES):
        return convlimits.tell(CASES, options)
    print(f"{'case':36}{'peak':>10}{'near':>10}{'bare':>10}{'copies':>10}{'tcc':>10}   peak ÷ tcc, near and copies ÷ tcc")
    for name in CASES:
        match = CASE.match(name)
        if not match or not name.startswith(tuple(options.only.split(","))):
            continue
        if int(match[3]) < LEAST_ROWS or CASES[name].flops > MOST_WORK:
            continue
        module, arguments = build(CASES[name])
        times = measure(lib, name, options, Tcc(CASES[name], module, arguments, options).run)
        figures = "".join(f"{times.get(way, float('nan')):10.1f}" for way in ("peak", "near", "bare", "copies", "tcc"))
        known = times["near"] + times.get("copies", 0)
        print(f"{name:36}{figures}{times['peak'] / times['tcc']:9.0%}{known / times['tcc']:9.0%}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
