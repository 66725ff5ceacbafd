"""--backend reference: the plan, the host program and the runtime of a model, with kernels that the interpreter runs."""
import json
import os
import pathlib
import unittest

import onnx

from agreement import disagreement
from compiled import Compiled, tool
from graphs import GRAPHS
from testfolder import read_data_set
from toolrun import MODELS, SOURCE, ToolTest, export_models, fetch_models

SAMPLES = ("sincos", "linear", "linear-relu", "conv-bn-silu")
# A recurrent model, one with branches and state, and a convolution net.
EXPORTED = ("lstm-tagger",)
TRAINED = ("silero-vad-16k", "rapidocr-cls")
CONV = SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx"


class ReferenceBackend(ToolTest):
    def setUp(self):
        super().setUp()
        # This program is Python, which has no interpreter beside it.
        os.environ["TCC_INTERPRETER"] = str(pathlib.Path(tool("tcc")).parent / "libtcc-interpreter.so")
        self.addCleanup(os.environ.pop, "TCC_INTERPRETER")

    def manifest(self, *flags):
        self.compiles(CONV, "-o", "m.so", *flags)
        return json.loads((self.work / "m.so.json").read_text())

    def test_samples(self):
        for name in SAMPLES:
            inputs, outputs, _ = read_data_set(SOURCE / "samples" / name / "data")
            for suffix in ("onnx", "pt2"):
                with self.subTest(name, suffix=suffix), Compiled.build(
                        SOURCE / "samples" / name / f"{name}.{suffix}", "--backend", "reference") as compiled:
                    (result,) = compiled(*[array for _, array in inputs])
                    self.assertIsNone(disagreement(result, outputs[0][1]))

    def test_small_graphs(self):
        """Control flow, state of loops, shapes that the run finds, 8 bits: as with code for the CPU."""
        for name in GRAPHS:
            model, cases = GRAPHS[name]()
            path = self.work / f"{name}.onnx"
            onnx.save(model, path)
            names = [entry.name for entry in model.graph.input]
            with (self.subTest(name), Compiled.build(path) as own,
                  Compiled.build(path, "--backend", "reference") as reference):
                for case in cases:
                    arguments = [case[name] for name in names if name in case]
                    for stored, result in zip(own(*arguments), reference(*arguments), strict=True):
                        self.assertIsNone(disagreement(result, stored))

    def test_models(self):
        export_models(*EXPORTED)
        fetch_models(*TRAINED)
        for name in EXPORTED + TRAINED:
            folder = MODELS / name
            with self.subTest(name):
                self.compiles(folder / "model.onnx", "--backend", "reference", "-o", f"{name}.so")
                result = self.tcc_run(f"{name}.so", "--data", folder, timeout=600)
                self.assertEqual(result.code, 0, result.out + result.text)

    def test_the_plan_is_that_of_the_target(self):
        """Only the kernels' code differs: names, nodes and memory do not."""
        own, reference = self.manifest(), self.manifest("--backend", "reference")
        for part in ("kernels", "memory", "weights", "inputs", "outputs"):
            self.assertEqual(own[part], reference[part])
        self.assertIn("--backend=reference", reference["tool"]["flags"])

    def test_what_runs_are_the_texts(self):
        """A kernel that is another one, of the same length, in the file gives what it says."""
        name = "sincos"
        inputs, outputs, _ = read_data_set(SOURCE / "samples" / name / "data")
        self.compiles(SOURCE / "samples" / name / f"{name}.onnx", "--backend", "reference", "-o", "m.so")
        library = (self.work / "m.so").read_bytes()
        self.assertEqual(library.count(b'"prim.sin"'), 1)
        changed = self.work / self.fresh_name()
        # Without the seal at its end, which a loader would hold the file against.
        changed.write_bytes(library[:-32].replace(b'"prim.sin"', b'"prim.cos"'))
        with Compiled(changed) as compiled:
            (result,) = compiled(*[array for _, array in inputs])
        self.assertIsNotNone(disagreement(result, outputs[0][1]))

    def test_verify_and_profile(self):
        result = self.compiles(CONV, "--backend", "reference", "--verify", "-o", "m.so")
        self.assertIn("agrees with the reference interpreter", result.out + result.text)
        result = self.tcc_run("m.so", "--profile", "--data", SOURCE / "samples/conv-bn-silu/data")
        self.assertEqual(result.code, 0, result.text)
        self.assertIn("conv", result.out + result.text)

    def test_without_an_interpreter(self):
        self.compiles(CONV, "--backend", "reference", "-o", "m.so")
        self.env["TCC_INTERPRETER"] = "/nowhere/libtcc-interpreter.so"
        result = self.tcc_run("m.so", "--data", SOURCE / "samples/conv-bn-silu/data")
        self.assertEqual(result.code, 2, result.text)
        self.assertIn("--backend reference", result.text)
        self.assertEqual(result.text.count("error:"), 1, result.text)

    def test_code_for_cpus_carries_nothing_of_it(self):
        self.compiles(CONV, "-o", "m.so")
        library = (self.work / "m.so").read_bytes()
        for text in (b"dlopen", b"TCC_INTERPRETER", b"kernel.launch"):
            self.assertNotIn(text, library)


if __name__ == "__main__":
    unittest.main()
