"""Whether a compiled model's outputs agree with the stored ones.

Where float64 outputs are stored they are the yardstick: tcc's largest error may
be at most twice that of the peer whose outputs are stored (ONNX Runtime).
Elsewhere the outputs must match the peer's.
"""
import numpy as np

from compiled import Compiled
from testfolder import read_data_set

# Both sides accumulate in float32 in orders of their own.
RELATIVE, ABSOLUTE = 1e-3, 1e-4


def largest(error):
    return float(np.max(error, initial=0.0))


def disagreement(actual, stored, exact=None):
    """None, or what is wrong, in words."""
    if actual.shape != stored.shape or actual.dtype != stored.dtype:
        return f"is {actual.dtype}{list(actual.shape)}, expected {stored.dtype}{list(stored.shape)}"
    if not np.issubdtype(stored.dtype, np.inexact):
        wrong = int((actual != stored).sum())
        return f"{wrong} elements differ" if wrong else None
    if exact is not None:
        error, allowed = largest(np.abs(actual - exact)), 2 * largest(np.abs(stored - exact))
        # Below one unit in the last place of the largest value there is nothing to compare.
        floor = largest(np.abs(exact)) * np.finfo(stored.dtype).eps
        if not error <= max(allowed, floor):
            return f"error {error:.3g} against float64, the peer's is {allowed / 2:.3g}"
        return None
    excess = np.abs(actual - stored) - (RELATIVE * np.abs(stored) + ABSOLUTE)
    same = (actual == stored) | (np.isnan(actual) & np.isnan(stored))
    if np.where(same, -1.0, excess).max(initial=-1.0) <= 0:
        return None
    worst = np.unravel_index(np.argmax(np.where(same, -1.0, excess)), actual.shape)
    return f"at {list(map(int, worst))} is {actual[worst]:.8g}, expected {stored[worst]:.8g}"


def check_folder(test, folder, model="model.onnx", flags=()):
    """Compiles the folder's model once and checks every data set in it, within a unittest case."""
    with Compiled.build(folder / model, *flags) as compiled:
        data_sets = sorted(folder.glob("test_data_set_*"))
        test.assertTrue(data_sets, f"{folder} has no data set")
        for data in data_sets:
            inputs, outputs, exact = read_data_set(data)
            results = compiled(*[array for _, array in inputs])
            test.assertEqual(len(results), len(outputs))
            for (name, stored), actual, yardstick in zip(outputs, results, exact):
                test.assertIsNone(wrong := disagreement(actual, stored, yardstick),
                                  f"{folder.name}/{data.name}: {name}: {wrong}")
