"""Trained models from Python packages: compiled by tcc, run on real inputs of several sizes, against ONNX Runtime."""
import unittest

from agreement import check_folder
from toolrun import MODELS, fetch_models
from trained import TRAINED


class TrainedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fetch_models()


def add(name):
    def test(self):
        check_folder(self, MODELS / name)
    setattr(TrainedModels, f"test_{name}", test)


for name in TRAINED:
    add(name)

if __name__ == "__main__":
    unittest.main()
