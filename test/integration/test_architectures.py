"""Architectures with seeded weights, against float64: tcc's error is at most twice ONNX Runtime's.

By default all but the EXPENSIVE are checked from ONNX, in static and dynamic form,
and those of AFFORDABLE_PT2 from torch.export files too. A fresh machine exports the
models first, at about 40 s each. Names in $TCC_ARCHITECTURES (comma-separated, or "all") choose others, in all
their forms.
"""
import os
import unittest

from agreement import check_folder
from toolrun import MODELS, export_models

# The longest to export and compile; what they are made of is in the others.
EXPENSIVE = {"resnext101_32x8d", "vit_b_16", "mixer_b16_224", "convnext_tiny", "distilbert"}
# The families that share least with each other.
AFFORDABLE_PT2 = {"conv-bn-silu", "resnet50", "bert-base"}
WITH_PT2 = {"sincos", "linear", "linear-relu", "conv-bn-silu", "resnet50", "bert-base", "gpt2", "vit_b_16",
            "mobilenet_v3_large"}
ALL = [*sorted(WITH_PT2), "resnext101_32x8d", "efficientnet_b0", "convnext_tiny", "mixer_b16_224", "distilbert",
       "t5-small-encoder", "lstm-tagger"]


def chosen():
    names = os.environ.get("TCC_ARCHITECTURES")
    if not names:
        return [name for name in ALL if name not in EXPENSIVE]
    return ALL if names == "all" else names.split(",")


class Architectures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        export_models(*chosen())


def add(name, form):
    def test(self):
        folder = MODELS / (name + form)
        models = sorted(folder.glob("*.pt2")) if form.endswith("pt2") else [folder / "model.onnx"]
        for model in models:
            with self.subTest(model.name):
                check_folder(self, folder, model.name)
    setattr(Architectures, f"test_{name}{form}", test)


for name in chosen():
    pt2 = WITH_PT2 if os.environ.get("TCC_ARCHITECTURES") else AFFORDABLE_PT2
    for form in ["", "-dynamic"] + (["-pt2", "-dynamic-pt2"] if name in pt2 else []):
        add(name, form)

if __name__ == "__main__":
    unittest.main()
