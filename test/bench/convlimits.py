"""What holds convolutions of `scripts/bench ops` below the multiply-add peak, by a program of its own (convlimits.c).

    chrt -f 5 scripts/bench limits --only conv/1x64x56x56-64,conv/depthwise --threads 2

For each case, in microseconds, the least of turns, of the fastest of several forms of register tiles: its multiply-adds
at the peak of registers (`peak`, all that are counted, and `inside` the share of them that no padding makes needless);
the tiles whose operands L1 holds (`tiles`, sums as long as the case's); the convolution with nothing around its tiles
(`bare`), over an image with its channels together (NxV: pixels by vectors of filters) or over planes (NxV in planes:
filters by vectors of pixels) that has its padding already; turning the image and the result (`turned`, planes but for the
order that the forms over channels want); and what tcc takes.
"""
import ctypes
import math
import re
import subprocess
import os
import pathlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

NEAR_STEPS, LONG, CUT = 256, 1536, 768
SECONDS = 0.04  # of tcc in a turn
WORK = 3e9  # operations of a turn, beside which waking a thread is nothing
FLAT = re.compile(r"conv/(\d+)x(\d+)x(\d+)x\d+-(\d+)-(\d+)x\d+s(\d+)$")
LINE = re.compile(r"conv/1d/(\d+)x(\d+)-(\d+)-(\d+)$")
UP = re.compile(r"conv/transposed/(\d+)x(\d+)x\d+-(\d+)-(\d+)x\d+s2$")
OWN = re.compile(r"conv/depthwise/(\d+)x(\d+)x\d+-(5x5|7x7)$")
CHANNELS, PLANES = ((4, 3), (5, 2), (6, 2), (12, 1)), ((4, 2), (4, 3))


class Operands(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("image", "filters", "result", "pixels", "starts")] + [
        (name, ctypes.c_long) for name in ("taps", "run", "stride")]


def library(cpu):
    with tempfile.TemporaryDirectory(prefix="tcc-limits-") as folder:
        path = pathlib.Path(folder) / "limits.so"
        sources = [pathlib.Path(__file__).with_name(name) for name in ("convlimits.c", "peak.c")]
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-ffp-contract=fast", f"-march={cpu}", "-fPIC", "-shared", *sources,
                        "-o", path], check=True)
        lib = ctypes.CDLL(str(path))
    for rows, vectors in CHANNELS:
        getattr(lib, f"convolve_{rows}x{vectors}").argtypes = [ctypes.c_void_p] + [ctypes.c_long] * 7
    for rows, vectors in PLANES:
        getattr(lib, f"strips_{rows}x{vectors}").argtypes = [ctypes.c_void_p] + [ctypes.c_long] * 7
    for extent in (5, 7):
        getattr(lib, f"depthwise_{extent}").argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 6
    lib.turn.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long] * 5
    lib.multiply_adds.restype = ctypes.c_double
    lib.multiply_adds.argtypes = [ctypes.c_long, ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
    return lib


class Shape:
    """A convolution of images of `space` with the same extent, step and padding along every axis but those of one point."""

    def __init__(self, batch, channels, space, filters, window, step):
        self.batch, self.channels, self.space, self.filters, self.window, self.step = batch, channels, space, filters, window, step
        self.padding = [w // 2 for w in window]
        self.out = [(s + 2 * p - w) // t + 1 for s, w, t, p in zip(space, window, step, self.padding)]
        self.padded = [s + 2 * p for s, p in zip(space, self.padding)]
        self.terms = channels * math.prod(window)
        self.flops = 2 * batch * math.prod(self.out) * filters * self.terms

    def inside(self):
        """The share of pixels' taps that are in the image."""
        shares = [sum(p <= o * t + k < p + s for o in range(out) for k in range(w)) / (out * w)
                  for out, w, t, p, s in zip(self.out, self.window, self.step, self.padding, self.space)]
        return math.prod(shares)

    @staticmethod
    def of(name):
        if match := FLAT.match(name):
            b, c, s, f, w, t = map(int, match.groups())
            return Shape(b, c, (s, s), f, (w, w), (t, t))
        if match := LINE.match(name):
            c, s, f, w = map(int, match.groups())
            return Shape(1, c, (s,), f, (w,), (5 if w == 10 else 1,))
        if match := UP.match(name):  # the products of all taps, which are not added up
            c, s, f, w = map(int, match.groups())
            return Shape(1, c, (s, s), f * w * w, (1, 1), (1, 1))
        if name == "conv/3d/3x8x112x112-64-3x7x7":
            return Shape(1, 3, (8, 112, 112), 64, (3, 7, 7), (1, 2, 2))
        return None


def aligned(count):
    """Small numbers, on a line of the cache, with a few behind them that a last tile may read and write."""
    memory = np.resize(np.linspace(-0.1, 0.1, 997, dtype=np.float32), count + 8192)
    start = -(memory.ctypes.data // 4) % 16
    return memory[start:]


def places(extents, steps, strides):
    """The sums of one place of each axis times its stride."""
    grid = np.zeros(1, np.int64)
    for extent, step, stride in zip(extents, steps, strides):
        grid = (grid[:, None] + np.arange(extent) * step * stride).ravel()
    return grid


def parts(shares, threads):
    return [(shares * t // threads, shares * (t + 1) // threads) for t in range(threads)]


class Form:
    """A convolution in one form of tiles; threads have tiles of their own, or panels where filters weigh more."""

    def __init__(self, lib, shape, rows, vectors, planes, threads):
        lanes = lib.lanes_of_vector()
        self.name = f"{rows}x{vectors}" + " in planes" * planes
        self.run = getattr(lib, f"{'strips' if planes else 'convolve'}_{rows}x{vectors}")
        c, padded = shape.channels, shape.padded
        strides = [math.prod(padded[i + 1:]) * (1 if planes else c) for i in range(len(padded))]
        ones = [1] * len(padded)
        image = math.prod(padded) * c
        if planes:
            beside = lanes * vectors
            columns = -(-shape.out[-1] // beside)  # of a line; the last one's lanes behind the line are for nothing
            pixels = places([shape.batch, *shape.out[:-1], columns], [1] * len(padded) + [beside], [image, *strides])
            starts = places([c, *shape.window], [1, *ones], [math.prod(padded), *strides])
            self.tiles, self.panels, run = len(pixels), -(-shape.filters // rows), 1
            stride, size = self.tiles * beside, self.panels * rows * self.tiles * beside
        else:
            pixels = places([shape.batch, *shape.out], [1, *shape.step], [image, *strides])
            alone = shape.terms > LONG  # each tap a run, so that sums may be cut
            axes = len(padded) if alone else len(padded) - 1
            starts = places(shape.window[:axes], ones[:axes], strides[:axes])
            self.tiles, self.panels, run = -(-len(pixels) // rows), -(-shape.filters // (lanes * vectors)), shape.terms // len(starts)
            pixels = np.resize(pixels, self.tiles * rows)
            stride = self.panels * lanes * vectors
            size = self.tiles * rows * stride
        filters = self.panels * (rows if planes else lanes * vectors) * shape.terms
        self.kept = [aligned(image * shape.batch), aligned(filters), aligned(size), pixels, np.ascontiguousarray(starts)]
        self.operands = Operands(*(a.ctypes.data for a in self.kept), len(starts), run, stride)
        self.cut = max(1, CUT // run) if shape.terms > LONG and not planes else len(starts)
        steps = min(NEAR_STEPS, shape.terms)
        near_run = min(run, steps)
        self.near = Operands(*(a.ctypes.data for a in self.kept), max(1, steps // near_run), near_run, stride)
        self.times = shape.terms / (self.near.taps * near_run)
        self.filled = shape.flops / (2 * shape.terms * self.tiles * self.panels * rows * lanes * vectors)
        self.repeats = max(1, int(WORK / shape.flops))
        whole = filters > image * shape.batch
        self.parts = [(0, self.tiles, *p) if whole else (*p, 0, self.panels)
                      for p in parts(self.panels if whole else self.tiles, threads)]

    def work(self, part, near):
        repeats = max(1, round(self.repeats * self.times)) if near else self.repeats
        self.run(ctypes.addressof(self.near if near else self.operands), *part, self.cut if not near else self.near.taps, near, repeats)


class Own:
    """A filter for each channel."""

    def __init__(self, lib, channels, space, extent, threads):
        self.name, self.run, self.size = f"{7 if extent == 5 else 8} pixels", getattr(lib, f"depthwise_{extent}"), (space, channels)
        self.flops = 2 * channels * space**2 * extent**2
        side = space + extent - 1
        self.kept = [aligned(channels * side**2), aligned(channels * extent**2), aligned(channels * space**2)]
        self.filled, self.repeats = 1, max(1, int(WORK / self.flops))
        self.parts = parts(space, threads)

    def work(self, part, near):
        self.run(*(a.ctypes.data for a in self.kept), *self.size, *part, near, self.repeats)


def timed(pool, function, given):
    begin = time.perf_counter_ns()
    list(pool.map(function, given))
    return (time.perf_counter_ns() - begin) / 1e3


def forms_of(lib, name, threads):
    """Forms, operations, the share inside of the image, and the (rows, columns) that are turned to and back."""
    if match := OWN.match(name):
        c, s, extent = int(match[1]), int(match[2]), int(match[3][0])
        own = Own(lib, c, s, extent, threads)
        return [own], own.flops, Shape(1, c, (s, s), c, (extent, extent), (1, 1)).inside(), [(1, c, s * s), (1, s * s, c)]
    shape = Shape.of(name)
    forms = [Form(lib, shape, *form, False, threads) for form in CHANNELS if form[1] > 1 or shape.filters <= lib.lanes_of_vector()]
    if set(shape.step) == {1} and shape.out[-1] >= 16:
        forms += [Form(lib, shape, *form, True, threads) for form in PLANES]
    image, result = math.prod(shape.space), math.prod(shape.out)
    turns = [(shape.batch, shape.channels, image), (shape.batch, result, shape.filters)]
    return forms, shape.flops, shape.inside(), turns


def turner(lib, pool, batch, rows, columns, threads):
    start, end = aligned(batch * rows * columns), aligned(batch * rows * columns)
    bounds = [(a * 8, min(b * 8, columns)) for a, b in parts(-(-columns // 8), threads)]
    repeats = max(1, 20000000 // (batch * rows * columns))

    def one(bound):
        for entry in range(batch):
            lib.turn(start[entry * rows * columns:].ctypes.data, end[entry * rows * columns:].ctypes.data, rows, columns, *bound, repeats)
    return lambda: timed(pool, one, bounds) / repeats


def measure(lib, name, options, run):
    forms, flops, inside, turns = forms_of(lib, name, options.threads)
    steps = 3000000
    with ThreadPoolExecutor(options.threads) as pool:
        ways = {"peak": lambda: timed(pool, lambda _: lib.multiply_adds(steps, 0.5, ctypes.byref(ctypes.c_float())),
                                      range(options.threads))}
        for form in forms:
            ways["tiles", form] = lambda f=form: timed(pool, lambda part: f.work(part, 1), f.parts) / f.repeats
            ways["bare", form] = lambda f=form: timed(pool, lambda part: f.work(part, 0), f.parts) / f.repeats
        for index, shape in enumerate(turns):
            ways["turned", index] = turner(lib, pool, *shape, options.threads)
        least = dict.fromkeys([*ways, "tcc"], float("inf"))
        for _ in range(options.turns):
            for way, function in ways.items():
                least[way] = min(least[way], function())
            stop = time.perf_counter() + SECONDS
            while time.perf_counter() < stop:
                begin = time.perf_counter_ns()
                run()
                least["tcc"] = min(least["tcc"], (time.perf_counter_ns() - begin) / 1e3)
    done = lib.multiply_adds(1, 0.5, ctypes.byref(ctypes.c_float())) * steps * options.threads
    return {"peak": least["peak"] * flops / done, "inside": inside, "tcc": least["tcc"],
            "turned": [least["turned", i] for i in range(len(turns))],
            "forms": [(f.name, least["tiles", f], least["bare", f], f.filled) for f in forms]}


def known(name):
    return bool(OWN.match(name) or Shape.of(name))


HEAD = (f"{'case':34}{'peak':>8}{'inside':>8}{'tiles':>9}{'bare':>9}  {'form':14}{'filled':>7}{'turned':>16}{'tcc':>9}   "
        "peak ÷ tcc, bare ÷ tcc")


def line(name, times, form, tiles, bare, filled):
    turned = " + ".join(f"{t:.0f}" for t in times["turned"])
    return (f"{name:34}{times['peak']:8.0f}{times['inside']:8.0%}{tiles:9.1f}{bare:9.1f}  {form:14}{filled:7.0%}{turned:>16}"
            f"{times['tcc']:9.1f}{times['peak'] / times['tcc']:8.0%}{bare / times['tcc']:8.0%}")


def tell(cases, options):
    from ops import Tcc, build
    lib = library(options.cpu)
    print(HEAD)
    for name in cases:
        if not name.startswith(tuple(options.only.split(","))) or not known(name):
            continue
        times = measure(lib, name, options, Tcc(cases[name], *build(cases[name]), options).run)
        print("\n".join(line(name, times, *form) for form in times["forms"]), flush=True)
    return 0
