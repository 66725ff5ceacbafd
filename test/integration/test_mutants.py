"""Damaged models are refused as promised (test/models/mutate.py; run that for longer by hand)."""
import subprocess
import sys
import tempfile
import unittest

import onnx

from graphs import GRAPHS
from toolrun import SOURCE


class Mutants(unittest.TestCase):
    def run_on(self, models, count):
        with tempfile.TemporaryDirectory() as keep:
            result = subprocess.run(
                [sys.executable, SOURCE / "test/models/mutate.py", "--count", str(count), "--keep", keep, *models],
                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr)[-4000:])

    def test_samples(self):
        self.run_on([*sorted(SOURCE.glob("samples/*/*.onnx")), *sorted(SOURCE.glob("samples/*/*.pt2"))], 6)

    def test_graphs(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name in ("if-nested", "loop-until", "scan-backwards", "suppression-corners", "lstm-reverse"):
                paths.append(f"{folder}/{name}.onnx")
                onnx.save(GRAPHS[name]()[0], paths[-1])
            self.run_on(paths, 8)


if __name__ == "__main__":
    unittest.main()
