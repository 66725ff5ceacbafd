"""Trained models from Python packages: compiled by tcc, run on real inputs of several sizes, against ONNX Runtime."""
import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "models"))
from agreement import check_folder
from trained import TRAINED

CACHE = pathlib.Path(os.environ.get("TCC_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tcc")


class TrainedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([SOURCE / "scripts/fetch-models"], check=True)


def add(name):
    def test(self):
        check_folder(self, CACHE / "models" / name)
    setattr(TrainedModels, f"test_{name}", test)


for name in TRAINED:
    add(name)

if __name__ == "__main__":
    unittest.main()
