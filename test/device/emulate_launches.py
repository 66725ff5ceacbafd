"""Runs packed launches (PackLaunches.cpp) from their PTX, without a GPU, and compares what they give.

    python3 emulate_launches.py FOLDER [NAME...] [--seeds N] [--blocks N]

For templates of sm_90a, which the simulated device does not run. Each seed is another order in which copies end. Blocks
that take tile after tile can be fewer than the launch has. One line a launch; the exit code is 1 if any is wrong.
"""
import argparse
import math
import pathlib
import struct
import sys
from types import SimpleNamespace

import ptx_async
import ptx_machine
import ptx_numbers as numbers

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i32": 4, "i64": 8, "i8": 1, "u8": 1}
GAP = 1 << 32  # between tensors, so that an access past the end of one is nowhere


def elements(dtype, memory):
    if dtype in ("bf16", "f16"):
        table = numbers.BF16 if dtype == "bf16" else numbers.F16
        return [table[bits] for bits in struct.unpack(f"<{len(memory) // 2}H", memory)]
    code = {"f32": "f", "f64": "d", "i32": "i", "i64": "q", "i8": "b", "u8": "B"}[dtype]
    return list(struct.unpack(f"<{len(memory) // BYTES[dtype]}{code}", memory))


def distance(have, want):
    """The furthest element, relative to the largest."""
    largest, furthest = 0.0, 0.0
    for h, w in zip(have, want, strict=True):
        if h == w or (h != h and w != w):
            largest = max(largest, abs(w) if math.isfinite(w) else 0.0)
            continue
        if not math.isfinite(h) or not math.isfinite(w):
            return math.inf
        largest, furthest = max(largest, abs(w)), max(furthest, abs(h - w))
    return furthest / max(largest, 1e-30)


def read_map(words):
    """A line of PackLaunches' "map"."""
    values = [int(word) for word in words]
    rank = values[2]
    both, rest = values[3:3 + 2 * rank], values[3 + 2 * rank:]
    map = SimpleNamespace(of_result=values[0], index=values[1], element_bytes=2, swizzle=2 * both[-1],
                          extents=both[::2], box=both[1::2], pixels=rest[0], steps=[1] * rank, low=[], high=[])
    if map.pixels:
        spatial = rank - 2
        map.steps[1:-1], map.low, map.high = (rest[1 + i * spatial:1 + (i + 1) * spatial] for i in range(3))
    return map


def launches(folder):
    data = (folder / "data").read_bytes()
    for line in (folder / "launches").read_text().splitlines():
        kind, *words = line.split()
        if kind == "launch":
            one = SimpleNamespace(name=words[0], code=words[1], blocks=int(words[2]), threads=int(words[3]),
                                  scratch=int(words[7]), maps=[], parameters=[], inputs=[], outputs=[], memory={})
        elif kind == "map":
            one.maps.append(read_map(words))
        elif kind == "word":
            one.parameters.append(int(words[0]))
        elif kind == "input":
            offset, size = map(int, words)
            one.inputs.append(place(one, bytearray(data[offset:offset + size])))
        elif kind == "output":
            dtype, count, offset, tolerance = words
            size = int(count) * BYTES.get(dtype, 1)
            memory = place(one, bytearray(b"\xa5" * size))
            one.outputs.append((dtype, memory, data[int(offset):int(offset) + size], float(tolerance)))
        elif kind == "end":
            if one.scratch:
                place(one, bytearray(one.scratch))
            for tensor_map in one.maps:
                tensors = [memory for _, memory, _, _ in one.outputs] if tensor_map.of_result else one.inputs
                tensor_map.memory = tensors[tensor_map.index]
                one.parameters.append(tensor_map)
            yield one


def place(launch, memory):
    address = GAP * (len(launch.memory) + 1)
    launch.memory[address] = memory
    launch.parameters.append(address)
    return memory


def run(launch, folder, seed):
    """How far the results are from what they should be, and whether that is too far."""
    text = (folder / launch.code).with_suffix(".ptx").read_text()
    ptx_machine.Machine(text, launch, seed, ptx_async.made).run()
    furthest, wrong = 0.0, False
    for dtype, memory, want, tolerance in launch.outputs:
        far = distance(elements(dtype, memory), elements(dtype, want))
        furthest, wrong = max(furthest, far), wrong or not far <= tolerance
    return furthest, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    count = bad = 0
    for seed in range(options.seeds):
        for launch in launches(options.folder):
            if options.names and not any(name in launch.name for name in options.names):
                continue
            launch.blocks = min(launch.blocks, options.blocks or launch.blocks)
            try:
                far, wrong = run(launch, options.folder, seed)
            except ptx_machine.Fault as fault:
                far, wrong = fault, True
            print(f"{launch.name:44} seed {seed} {'WRONG' if wrong else 'ok':5} off {far}", flush=True)
            count, bad = count + 1, bad + wrong
    print(f"{count} launches, {bad} wrong")
    return bad > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
