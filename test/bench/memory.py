"""What holds memory-bound cases of `scripts/bench ops` below a copy, by a program of its own (memory.c).

    scripts/bench memory --machine                               what a copy, reads and stores reach, by size
    scripts/bench memory --only math/gelu,reduce/argmax --exclusive

For each case, in microseconds, the least of turns: its bytes at the rate of a copy of 64 MB (`copy`, the roofline of
the page); as many bytes read and written, in buffers of that size, by threads that spin for each other (`moved`, the
better of stores that fetch their lines and such that go past the caches); tcc's own code for the same case in a shape
that L2 holds, times what is left out (`near`: its operations, no memory); a call that does nothing (`call`); a loop as
plain as it can be of what is no stream (`bare`); and what tcc takes. Nothing but turns of one burst is compared.

With --exclusive the turns are taken at a priority that keeps other programs off the cores, in bursts of a few seconds
with pauses; --lock names a file that is locked meanwhile, for several such programs.
"""
import argparse
import contextlib
import ctypes
import dataclasses
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import memorycases
import torch
from opcases import CASES
from ops import build, exported, tensors  # also finds what follows
from compiled import Compiled, compile_model  # isort: skip

NOTHING, CACHED, PAST, SCATTER = range(4)
LARGE, ROOM, HUGE_PAGE, MADV_HUGEPAGE = 64 << 20, 192 << 20, 2 << 20, 14
SIZES = [1 << k for k in range(15, 27)]
PRIORITY = 5


def library(cpu):
    with tempfile.TemporaryDirectory(prefix="tcc-memory-") as folder:
        path = pathlib.Path(folder) / "memory.so"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", f"-march={cpu}", "-shared", "-fPIC", "-pthread",
                        pathlib.Path(__file__).with_suffix(".c"), "-o", path], check=True)
        lib = ctypes.CDLL(str(path))
    lib.least.restype = ctypes.c_double
    lib.least.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 3, *[ctypes.c_long] * 6]
    return lib


def buffer(size):
    """Written bytes on huge pages, as tcc's results lie."""
    import mmap
    memory = mmap.mmap(-1, size + 2 * HUGE_PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    start += -start % HUGE_PAGE
    ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), MADV_HUGEPAGE)
    ctypes.memset(start, 0, size)
    return start, memory


@contextlib.contextmanager
def alone(options):
    """The cores for what happens inside, where that is wanted."""
    if not options.exclusive:
        yield
        return
    with open(options.lock or os.devnull) as lock:
        if options.lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        try:
            yield
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    time.sleep(options.pause)


class Ready:
    """One case, compiled, with its arguments and the number of bytes that it reads and writes."""

    def __init__(self, case, options, folder):
        self.case, self.scale = case, 1
        self.module, self.arguments = build(case)
        with torch.no_grad():
            results = tensors(self.module(*self.arguments))
        sizes = [[t.numel() * t.element_size() for t in some]
                 for some in ([*self.arguments, *self.module.parameters(), *self.module.buffers()], results)]
        self.reads, self.writes = sum(sizes[0]), sum(sizes[1])
        self.path = folder / (case.name.replace("/", ".") + f".{options.threads}.so")
        if not self.path.exists():
            program = self.path.with_suffix(".pt2")
            torch.export.save(exported(self.module, self.arguments, case), program)
            compile_model(program, self.path, "--cpu", options.cpu)
            program.unlink()

    def start(self, threads):
        self.model = Compiled(self.path, threads)
        self.run = self.model.prepare(self.arguments)
        self.run()

    def stop(self):
        del self.run, self.model

    def least(self, seconds, best=float("inf")):
        end = time.perf_counter() + seconds
        while True:
            begin = time.perf_counter_ns()
            self.run()
            best = min(best, (time.perf_counter_ns() - begin) / 1e3)
            if time.perf_counter() > end:
                return best


def moved(lib, ready, to, spare, ways=(CACHED, PAST)):
    """Microseconds of the case's bytes, read from its largest argument and written to memory of this size, as streams."""
    largest = max(ready.arguments, key=lambda a: a.numel() * a.element_size())
    reads = min(ready.reads, ROOM)
    source = largest.data_ptr() if largest.numel() * largest.element_size() >= reads else spare
    repeats = max(1, int(2e6 / (reads + ready.writes)))
    return min(lib.least(way, source, None, to, reads, ready.writes, 0, 0, 3, repeats) for way in ways)


def bare(lib, ready, to):
    """The loop of what is no stream, where memorycases knows it."""
    if ready.case.name in memorycases.BARE:
        _, places, updates = ready.arguments
        return lib.least(SCATTER, updates.data_ptr(), places.data_ptr(), to, 0, 0, updates.shape[0], updates.shape[1], 3, 1)
    return float("inf")


def burst(lib, group, calls, options, to):
    """Rows of figures of the cases of `group`, each with the one that is `near` it."""
    nan, rows = float("nan"), []
    with alone(options):
        for ready, near in group:
            for one in filter(None, (ready, near, calls)):
                one.start(options.threads)
            tcc = call = inner = copy = transfer = alike = float("inf")
            for _ in range(options.turns):
                tcc = ready.least(options.seconds, tcc)
                call = calls.least(options.seconds / 8, call)
                inner = near.least(options.seconds / 2, inner) if near else nan
                lib.begin(options.threads)
                copy = min(copy, lib.least(PAST, to[1], None, to[0], LARGE, LARGE, 0, 0, 1, 1))
                transfer = min(transfer, moved(lib, ready, *to))
                alike = min(alike, bare(lib, ready, to[0]))
                lib.end()
            rows.append((ready, {"copy": copy * (ready.reads + ready.writes) / (2 * LARGE), "moved": transfer, "call": call,
                                 "near": max(inner - call, 0) * near.scale if near else nan, "bare": alike if alike < 1e12 else nan,
                                 "tcc": tcc}))
            for one in filter(None, (ready, near, calls)):
                one.stop()
    return rows


def machine(lib, options, to):
    """Bytes a nanosecond of streams, by the bytes of each operand."""
    with alone(options):
        for threads in range(1, options.threads + 1):
            lib.begin(threads)
            print(f"{threads} thread(s), empty hand-over {lib.least(NOTHING, None, None, None, 0, 0, 0, 0, 20, 1000):.3f} us")
            print(f"{'KiB of each':>12}{'copy':>10}{'past':>10}{'reads':>10}{'stores':>10}{'past':>10}   (GB/s)")
            for size in SIZES:
                figures = []
                for way, reads, writes in ((CACHED, size, size), (PAST, size, size), (CACHED, size, 0), (CACHED, 0, size),
                                           (PAST, 0, size)):
                    repeats = max(1, (4 << 20) // size)
                    us = lib.least(way, to[1], None, to[0], reads, writes, 0, 0, 15 if size < 1 << 24 else 5, repeats)
                    figures.append((reads + writes) / us / 1e3)
                print(f"{size >> 10:12}" + "".join(f"{figure:10.1f}" for figure in figures), flush=True)
            lib.end()


def groups(names, options, folder):
    """The cases, compiled, as many as a burst of some seconds takes."""
    made = []
    for name in names:
        ready, near = Ready(CASES[name], options, folder), None
        if name in memorycases.NEAR:
            scale, changes = memorycases.NEAR[name]
            near = Ready(dataclasses.replace(CASES[name], name=name + ".near", **changes), options, folder)
            near.scale = scale
        made.append((ready, near))
        if len(made) == options.beside or sum(r.reads for r, _ in made) > 300e6:
            yield made
            made = []
    if made:
        yield made


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="comma-separated beginnings of names; all that have a near case otherwise")
    parser.add_argument("--machine", action="store_true", help="what streams reach, and nothing else")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.04, help="of a turn of tcc's")
    parser.add_argument("--beside", type=int, default=8, help="cases of a burst")
    parser.add_argument("--pause", type=float, default=15, help="seconds between bursts")
    parser.add_argument("--exclusive", action="store_true", help="other programs wait while a burst runs (SCHED_FIFO)")
    parser.add_argument("--lock", default="", help="a file to lock meanwhile")
    parser.add_argument("--folder", default="", help="where compiled cases are kept; a temporary one otherwise")
    parser.add_argument("--compile", action="store_true", help="into the folder, and nothing else")
    parser.add_argument("--cpu", default="native")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    lib, kept = library(options.cpu), [buffer(ROOM), buffer(ROOM)]
    to = [start for start, _ in kept]
    if options.machine:
        machine(lib, options, to)
        return 0
    only = tuple(filter(None, options.only.split(",")))
    known = [*memorycases.NEAR, *memorycases.PLAIN]
    names = [name for name in CASES if (name.startswith(only) if only else name in known)]
    with tempfile.TemporaryDirectory(prefix="tcc-memory-") as folder:
        folder = pathlib.Path(options.folder or folder)
        calls = Ready(memorycases.CALL, options, folder)
        print(f"{'case':44}" + "".join(f"{w:>10}" for w in ("copy", "moved", "near", "call", "bare", "tcc")) + "  copy, moved,"
              " near+call, moved+near+call ÷ tcc")
        for group in groups(names, options, folder):
            if options.compile:
                continue
            for ready, us in burst(lib, group, calls, options, to):
                near = us["near"] if us["near"] == us["near"] else 0
                print(f"{ready.case.name:44}" + "".join(f"{us[w]:10.1f}" for w in ("copy", "moved", "near", "call", "bare", "tcc"))
                      + "".join(f"{part / us['tcc']:7.0%}" for part in (us["copy"], us["moved"], near + us["call"],
                                                                      us["moved"] + near + us["call"])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
