"""PyTorch's own operator samples (aten_sweep.py) and small models of real architectures (zoo.py), against PyTorch.

A fixed choice of each, to bound the time; with TCC_SAMPLES=all everything, which takes hours. Models are compiled with
--verify: one of each kind, held against the reference interpreter, too.
"""
import os
import subprocess
import unittest

from toolrun import SOURCE

PYTHON = SOURCE / "build/python-models/bin/python"
WHOLE = os.environ.get("TCC_SAMPLES") == "all"


class TorchSamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([SOURCE / "scripts/setup-python", "--models"], check=True)

    def passes(self, program, *choice, always=()):
        result = subprocess.run([PYTHON, SOURCE / "test/models" / program, *always, *([] if WHOLE else choice)],
                                stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_operators(self):
        self.passes("aten_sweep.py", "--sample", "80")

    def test_models(self):
        self.passes("zoo.py", "--families", always=["--verify"])


if __name__ == "__main__":
    unittest.main()
