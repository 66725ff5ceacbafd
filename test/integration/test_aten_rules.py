"""The programs of test/Decompose/Aten/Inputs compiled and run, against PyTorch's outputs beside them.

unit.AtenTest runs the same through the reference interpreter: what both get wrong is the rule's fault, what only this
gets wrong that of a later phase.
"""
import os
import pathlib
import unittest

import ml_dtypes
import numpy as np

from compiled import Compiled
from toolrun import SOURCE

FOLDER = pathlib.Path(os.environ.get("TCC_ATEN_CASES") or SOURCE / "test/Decompose/Aten/Inputs")
DTYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": ml_dtypes.bfloat16, "i64": "i8", "i32": "i4", "i16": "i2",
          "i8": "i1", "u8": "u1", "bool": "?", "c64": "c8"}
TOLERANCES = {"f16": 2e-3, "bf16": 1.6e-2}


def read_data(path):
    """Inputs and outputs, each a list of (dtype's name, array)."""
    data, lists = path.read_bytes(), [[]]
    while data:
        line, _, data = data.partition(b"\n")
        if line == b"=":
            lists.append([])
            continue
        name, *dims = line.decode().split()
        shape = [int(d) for d in dims]
        count = int(np.prod(shape, dtype=np.int64))
        size = count * np.dtype(DTYPES[name]).itemsize
        lists[-1].append((name, np.frombuffer(data, DTYPES[name], count).reshape(shape)))
        data = data[size:]
    return lists


def wide(array):
    return array.astype("c16" if array.dtype.kind == "c" else "f8" if array.dtype.kind not in "iu" else array.dtype)


class AtenRules(unittest.TestCase):
    def check(self, name):
        inputs, outputs = read_data(FOLDER / (name + ".data"))
        # Sums in another order may round a narrow float to its neighbour, which then shows in wider results.
        tolerance = max(TOLERANCES.get(dtype, 2e-5) for dtype, _ in inputs + outputs)
        with Compiled.build(FOLDER / (name + ".pt2")) as model:
            results = model(*[array for _, array in inputs])
        self.assertGreaterEqual(len(results), len(outputs))
        for i, (actual, (_, expected)) in enumerate(zip(results, outputs)):
            self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape), f"output {i}")
            # |actual - expected| <= tolerance (1 + |expected|)
            np.testing.assert_allclose(wide(actual), wide(expected), tolerance, tolerance, err_msg=f"output {i}")


def add(name):
    setattr(AtenRules, f"test_{name}", lambda self: self.check(name))


for path in sorted(FOLDER.glob("*.pt2")):
    add(path.stem)

if __name__ == "__main__":
    unittest.main()
