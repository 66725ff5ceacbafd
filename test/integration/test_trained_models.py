"""Trained models from Python packages: compiled by tcc, run on real inputs of several sizes, against ONNX Runtime."""
import os
import pathlib
import subprocess
import unittest

from agreement import check_folder
from toolrun import MODELS, SOURCE
from trained import TRAINED



class TrainedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([SOURCE / "scripts/fetch-models"], check=True)


def add(name):
    def test(self):
        check_folder(self, MODELS / name)
    setattr(TrainedModels, f"test_{name}", test)


for name in TRAINED:
    add(name)

if __name__ == "__main__":
    unittest.main()
