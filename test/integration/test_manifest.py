"""Manifests follow docs/manifest.schema.json: an example that has every field, and a compiled model's."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import jsonschema
import onnx
from onnx import TensorProto, helper

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TCC = pathlib.Path(os.environ["TCC_BIN"]) / "tcc"
TCC_RUN = pathlib.Path(os.environ["TCC_BIN"]) / "tcc-run"


class Manifest(unittest.TestCase):
    def setUp(self):
        schema = json.loads((SOURCE / "docs/manifest.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validator = jsonschema.Draft202012Validator(schema)
        self.example = json.loads((SOURCE / "test/unit/Emit/manifest.json").read_text())

    def test_example(self):
        self.validator.validate(self.example)

    def test_the_schema_is_strict(self):
        for change in ({"extra": 1}, {"manifest_version": 2}, {"kernels": [{"name": "k"}]}):
            with self.assertRaises(jsonschema.ValidationError):
                self.validator.validate({**self.example, **change})
        without_file = {**self.example, "weights": {**self.example["weights"], "placement": "embedded"}}
        with self.assertRaises(jsonschema.ValidationError):
            self.validator.validate(without_file)

    @unittest.skipUnless(TCC.exists(), "tcc is not built")
    def test_compiled_model(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
        graph = helper.make_graph([helper.make_node("Cos", ["x"], ["c"]), helper.make_node("Sin", ["c"], ["y"])],
                                  "g", [x], [y])
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), model)
            subprocess.run([TCC, model, "-o", pathlib.Path(folder) / "model.so"], check=True)
            beside = (pathlib.Path(folder) / "model.so.json").read_text()
            embedded = subprocess.run([TCC_RUN, pathlib.Path(folder) / "model.so", "--describe", "--json"],
                                      check=True, capture_output=True, text=True).stdout
        self.assertEqual(beside.strip(), embedded.strip())
        manifest = json.loads(beside)
        self.validator.validate(manifest)
        self.assertEqual([t["shape"] for t in manifest["inputs"]], [["N", 4]])
        self.assertEqual(sorted(s for k in manifest["kernels"] for s in k["sources"]), ["c", "y"])
        self.assertTrue(manifest["target"]["features"])

    @unittest.skipUnless(TCC.exists(), "tcc is not built")
    def test_format_is_told_by_content(self):
        """And by content alone: the names lie."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copy(SOURCE / "samples/sincos/sincos.onnx", folder / "onnx.pt2")
            shutil.copy(SOURCE / "samples/linear/linear.pt2", folder / "pt2.onnx")
            subprocess.run([TCC, folder / "onnx.pt2", "--stop-after", "simplify", "-o", folder / "mlir.onnx"], check=True)
            for name, *flags in (("onnx.pt2",), ("pt2.onnx",), ("mlir.onnx", "--start-from", "differentiate")):
                subprocess.run([TCC, folder / name, *flags, "-o", folder / "model.so"], check=True)
                manifest = json.loads((folder / "model.so.json").read_text())
                self.assertEqual(manifest["input"]["format"], name.split(".")[0])


if __name__ == "__main__":
    unittest.main()
