"""What attention of heads of some length can reach at most: its products from L1 and its exponentials.

    chrt -f 5 build/python-models/bin/python test/bench/attentionlimits.py

Shares of the multiply-add peak of one thread, the least of turns: `scores`, tiles whose sums have a head's length; `values`,
tiles of as many columns, sums of 256 terms; `both`, the one after the other; and with an exponential for each score between
them, whose nanoseconds come last.
"""
import argparse
import ctypes
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from convlimits import CHANNELS, Form, Shape, aligned, library, timed

ROWS, KEYS, SCORES, TIMES, STEPS = 240, 240, 2048, 4000, 12000000


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", default="32,40,64,128")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--cpu", default="native")
    options = parser.parse_args(argv)
    lib = library(options.cpu)
    lib.exponentials.restype, lib.exponentials.argtypes = ctypes.c_float, [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    scores, sum_ = aligned(SCORES), ctypes.c_float()
    done = lib.multiply_adds(1, 0.5, ctypes.byref(sum_)) * STEPS
    print(f"{'length':>8}{'scores':>9}{'values':>9}{'both':>9}{'with exponentials':>19}")
    for length in map(int, options.lengths.split(",")):
        shapes = {"scores": Shape(1, length, (ROWS,), KEYS, (1,), (1,)), "values": Shape(1, 256, (ROWS,), length, (1,), (1,))}
        forms = {(kind, form): Form(lib, shape, *form, False, 1) for kind, shape in shapes.items() for form in CHANNELS}
        least = dict.fromkeys([*forms, "peak", "exponentials"], float("inf"))
        with ThreadPoolExecutor(1) as pool:
            for _ in range(options.turns):
                took = timed(pool, lambda _: lib.multiply_adds(STEPS, 0.5, ctypes.byref(sum_)), [0])
                least["peak"] = min(least["peak"], took / done)  # of an operation
                took = timed(pool, lambda _: lib.exponentials(scores.ctypes.data, SCORES, TIMES), [0])
                least["exponentials"] = min(least["exponentials"], took / (SCORES * TIMES))
                for key, form in forms.items():
                    took = timed(pool, lambda part, f=form: f.work(part, 1), form.parts)
                    least[key] = min(least[key], took / form.repeats / shapes[key[0]].flops)
        one, other = (min(least[kind, form] for form in CHANNELS) for kind in shapes)
        powers = least["exponentials"] / (4 * length)  # of each operation: a score has two for each of its head's numbers, twice
        peak = least["peak"]
        print(f"{length:8}{peak / one:9.0%}{peak / other:9.0%}{2 * peak / (one + other):9.0%}"
              f"{peak / ((one + other) / 2 + powers):19.0%}{1e3 * least['exponentials']:10.3f} ns a score", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
