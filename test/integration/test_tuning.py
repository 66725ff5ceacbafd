"""--mode max-autotune measures and records; with the record the same bytes come out, without measuring."""
import json
import os
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from toolrun import ToolTest


class Tuning(ToolTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        weights = [numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32), name)
                   for name, shape in (("w", (64, 96)), ("filter", (24, 16, 3, 3)), ("tiled", (24, 24, 3, 3)))]
        nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"]),
                 helper.make_node("Conv", ["image", "filter"], ["halved"], strides=[2, 2]),
                 helper.make_node("Conv", ["halved", "tiled"], ["z"])]
        graph = helper.make_graph(
            nodes, "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64]),
             helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 16, 20, 20])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 96]),
             helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 24, 7, 7])], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.work / "m.onnx")
        self.record = self.work / "record.jsonl"

    def tune(self, folder, *more):
        (self.work / folder).mkdir()
        run = self.tcc("m.onnx", "--mode", "max-autotune", "--tuning", "record.jsonl", "-o", f"{folder}/m.so", *more)
        self.assertEqual(run.code, 0, run.text)
        return run.text

    def after(self, phase):
        """The model after `phase`, with the record."""
        self.compiles("m.onnx", "--tuning", "record.jsonl", "-o", "a.mlir", "--stop-after", phase)
        return (self.work / "a.mlir").read_text()

    def refused(self, text, *words):
        self.record.write_text(text)
        run = self.tcc("m.onnx", "--tuning", "record.jsonl", "-o", "refused.so")
        self.assertEqual(run.code, 2, run.text)
        self.assertEqual(run.text.count("\n"), 1, run.text)
        for word in words:
            self.assertIn(word, run.text)
        self.assertFalse((self.work / "refused.so").exists())

    def test_a_record_replays(self):
        self.assertIn("tuned ", self.tune("first", "--tune-budget", "100"))
        entries = [json.loads(line) for line in self.record.read_text().splitlines()]
        for kind in "layout", "cut", "schedule":
            names = [entry["kernel"].split("_")[0] for entry in entries if kind in entry]
            products = ["dot"] if kind == "cut" else ["conv", "conv", "dot"]
            self.assertEqual(sorted(name for name in names if name in products), products, kind)
        kept = self.record.read_bytes()
        self.assertIn("nothing left to tune", self.tune("second"))
        self.assertEqual(self.record.read_bytes(), kept)
        files = sorted(file.name for file in (self.work / "first").iterdir())
        self.assertIn("m.so", files)
        for file in files:
            self.assertEqual((self.work / "first" / file).read_bytes(), (self.work / "second" / file).read_bytes())

        # What the record says is what the launches say, and how their weights lie.
        text = self.after("schedule")
        for entry in entries:
            if "cut" not in entry:
                self.assertIn(entry.get("schedule") or entry["layout"], text)

        # Damage is one clear error.
        entries = [entry for entry in entries if "schedule" in entry]
        line = json.dumps(entries[0])
        self.refused("{", "record.jsonl, line 1: not valid JSON")
        self.refused("[" * 3_000_000, "record.jsonl, line 1: JSON nested more than 256 deep")
        self.refused(line + "\n" + line, "record.jsonl, line 2: the same problem as line 1")
        self.refused(json.dumps({**entries[0], "schedule": "fast"}), "record.jsonl, line 1: kernel '",
                     "cannot run by 'fast'")

    def test_weights_lie_as_the_record_says(self):
        self.tune("first", "--tune-budget", "100")
        entries = [entry for entry in map(json.loads, self.record.read_text().splitlines()) if "layout" in entry]
        panels = re.search(r"#cpu\.panels<k = \[2, 3, 1\][^>]*>", self.after("layout"))[0]
        tiles = f"#cpu.winograd<{re.search('width = [0-9]+', panels)[0]}>"
        rng = np.random.default_rng(2)
        np.save(self.work / "x.npy", rng.standard_normal((3, 64), dtype=np.float32))
        np.save(self.work / "image.npy", rng.standard_normal((1, 16, 20, 20), dtype=np.float32))

        def results(entry, layout, schedule):
            """The outputs with weights that lie so; None where they cannot."""
            self.record.write_text(json.dumps({**entry, "layout": layout}))
            run = self.tcc("m.onnx", "--tuning", "record.jsonl", "-o", f"{schedule}.so")
            if run.code:
                self.assertIn(f"record.jsonl, line 1: kernel 'conv' cannot run by '{layout}'", run.text)
                return None
            text = self.after("schedule")
            self.assertIn(layout, text)
            self.assertIn(f"#cpu.{schedule}_schedule", text)
            run = self.tcc_run(f"{schedule}.so", "--input", "x=x.npy", "--input", "image=image.npy",
                               "--output-dir", schedule)
            self.assertEqual(run.code, 0, run.text)
            return [np.load(file) for file in sorted((self.work / schedule).glob("*.npy"))]

        found = []
        for entry in entries:
            if entry["kernel"] == "conv" and (in_tiles := results(entry, tiles, "winograd")):
                found.append((in_tiles, results(entry, panels, "contraction")))
        self.assertEqual(len(found), 1)  # tiles have no stride
        for in_tiles, in_panels in zip(*found[0]):
            np.testing.assert_allclose(in_tiles, in_panels, rtol=1e-4, atol=1e-4)

    def test_a_kernel_is_cut_as_the_record_says(self):
        self.tune("first", "--tune-budget", "100")
        entries = [entry for entry in map(json.loads, self.record.read_text().splitlines()) if "cut" in entry]
        entry, = (entry for entry in entries if entry["kernel"].startswith("dot"))
        np.save(self.work / "x.npy", np.random.default_rng(2).standard_normal((3, 64), dtype=np.float32))
        np.save(self.work / "image.npy", np.zeros((1, 16, 20, 20), np.float32))
        results = {}
        for place in range(-1, 8):
            cut = "array<i64>" if place < 0 else f"array<i64: {place}>"
            self.record.write_text(json.dumps({**entry, "cut": cut}))
            run = self.tcc("m.onnx", "--tuning", "record.jsonl", "-o", "cut.so")
            if run.code:
                self.assertIn(f"kernel '{entry['kernel']}' cannot run by '{cut}'", run.text)
                continue
            kernels = re.findall(r'kernel.launch \w+ "(dot\w*|max\w*)"', self.after("fuse"))
            run = self.tcc_run("cut.so", "--input", "x=x.npy", "--input", "image=image.npy", "--output-dir", cut)
            self.assertEqual(run.code, 0, run.text)
            results[tuple(kernels)] = np.load(self.work / cut / "y.npy")
        self.assertEqual(sorted(len(kernels) for kernels in results), [1, 2])
        whole, parts = results.values()
        np.testing.assert_array_equal(whole, parts)

    def test_what_the_budget_left_out_is_measured_next_time(self):
        self.assertIn("--tune-budget is used up", self.tune("short", "--tune-budget", "0.001"))
        known = self.record.read_text().count('"layout"')  # what was faster already
        self.assertIn(f" of {3 - known} weights" if known < 3 else " kernels",
                      self.tune("long", "--tune-budget", "100"))
        self.assertIn("nothing left to tune", self.tune("again"))

    def test_candidates_in_bf16_may_round_apart(self):
        """What one schedule rounds up, another rounds down, and the next kernels amplify it."""
        rng = np.random.default_rng(3)
        bf16 = TensorProto.BFLOAT16
        weights = [helper.make_tensor(name, bf16, shape, rng.standard_normal(shape).astype(np.float32) / 8)
                   for name, shape in (("up", (64, 256)), ("down", (256, 64)), ("keys", (64, 300)),
                                       ("values", (300, 64)))]
        nodes = [helper.make_node("MatMul", ["x", "up"], ["wide"]), helper.make_node("Tanh", ["wide"], ["active"]),
                 helper.make_node("MatMul", ["active", "down"], ["narrow"]),
                 helper.make_node("Add", ["x", "narrow"], ["a"]),
                 helper.make_node("MatMul", ["a", "keys"], ["scores"]), helper.make_node("Softmax", ["scores"], ["p"]),
                 helper.make_node("MatMul", ["p", "values"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", bf16, [128, 64])],
                                  [helper.make_tensor_value_info("y", bf16, [128, 64])], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.work / "m.onnx")
        self.assertNotIn("is dropped", self.tune("narrow", "--tune-budget", "40", "--logs", "+tuning"))

    def test_no_record(self):
        run = self.tcc("m.onnx", "--tuning", "none.jsonl", "-o", "m.so")
        self.assertEqual(run.code, 2)
        self.assertIn("there is no --tuning none.jsonl", run.text)

    def test_what_is_no_file(self):
        os.mkfifo(self.work / "fifo")
        for name in ("fifo", "/dev/zero", "."):
            run = self.tcc("m.onnx", "--tuning", name, "-o", "m.so", timeout=20)
            self.assertEqual(run.code, 2, run.text)
            self.assertIn(f"--tuning {name} is no regular file", run.text)

    def test_a_model_that_takes_no_seeded_inputs_is_built_untuned(self):
        """Its indices are some that no seeded ones are."""
        nodes = [helper.make_node("Sub", ["i", "nine"], ["far"]), helper.make_node("Gather", ["table", "far"], ["row"]),
                 helper.make_node("MatMul", ["row", "w"], ["y"])]
        rng = np.random.default_rng(1)
        weights = [numpy_helper.from_array(np.array([90000], np.int64), "nine"),
                   numpy_helper.from_array(rng.standard_normal((5, 64), dtype=np.float32), "table"),
                   numpy_helper.from_array(rng.standard_normal((64, 96), dtype=np.float32), "w")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("i", TensorProto.INT64, [3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 96])], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.work / "m.onnx")
        text = self.tune("untuned")
        self.assertIn("not tuned: no seeded inputs that the model takes", text)
        self.assertTrue((self.work / "untuned/m.so").exists())

    def test_a_foreign_target_cannot_be_measured(self):
        run = self.tcc("m.onnx", "--mode", "max-autotune", "--target", "aarch64-linux", "-o", "m.so")
        self.assertEqual(run.code, 2)
        self.assertIn("cannot run code for the target", run.text)


unittest.main()
