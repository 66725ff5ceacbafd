"""scripts/bench: what it takes for a correct output, and what its page says of engines, versions and classes."""
import json
import pathlib
import sys
import tempfile
import types
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib/Bindings/Python"))
import bench  # noqa: E402
import gpu  # noqa: E402
import ops  # noqa: E402
import report  # noqa: E402
import tcc  # noqa: E402


def row(model, date="2026-01-02", machine="M", failed=(), not_run=(), **results):
    """`results`: an engine's milliseconds and version."""
    figures = {name: {"median_ms": ms, "version": version, "preallocated": True}
               for name, (ms, version) in results.items()}
    return {"model": model, "date": date, "machine": machine, "failed": dict.fromkeys(failed, "why"),
            "not_run": dict.fromkeys(not_run, "why"), "results": figures}


class Outputs(unittest.TestCase):
    def error(self, actual, expected):
        case = types.SimpleNamespace(expected=[np.array(expected)])
        return bench.worst_error(case, [np.array(actual)])

    def test_good(self):
        self.assertEqual(self.error([1.0, 2.0], [1.0, 2.0]), 0)
        self.assertAlmostEqual(self.error([1.0, 2.2], [1.0, 2.0]), 0.1)
        self.assertEqual(self.error([np.nan, np.inf, 4], [np.nan, np.inf, 4]), 0)
        self.assertAlmostEqual(self.error([1 + 1j, 2j], [1 + 1j, 1j]), 1 / np.sqrt(2))

    def test_what_is_not_finite_is_wrong(self):
        for actual, expected in (([np.nan, 2.0], [1.0, 2.0]), ([np.inf, 2.0], [1.0, 2.0]), ([1.0, 2.0], [np.nan, 2.0]),
                                 ([-np.inf], [np.inf]), ([np.nan], [np.inf])):
            self.assertEqual(self.error(actual, expected), float("inf"), (actual, expected))


class ManyModels(unittest.TestCase):
    def test_summary(self):
        rows = [{"model": f"m{i}", "seconds": 0.1 * i, "cpu_seconds": 0.2 * i, "kernels": 2 * i, "version": "v", "date": "2026-01-02", "machine": "M"}
                for i in range(1, 12)]
        text, = report.cold_summary(rows)
        for part in ("11 models", "median 0.60 s", "most 1.10 s", "median 1.20 s, most 2.20 s, 132 kernels, median 100 ms", "Slowest: m11 1.10 s (22 kernels)",
                     "tcc v (2026-01-02)."):
            self.assertIn(part, text)


class OnGpu(unittest.TestCase):
    def test_what_is_compared(self):
        """Whatever a contestant gives, its tensors of floats are seen; no row is timed without a comparison."""
        leaf = types.SimpleNamespace(is_floating_point=lambda: True)
        count = types.SimpleNamespace(is_floating_point=lambda: False)
        for result in (leaf, [leaf], (leaf, None), {"logits": leaf, "count": count}, tcc.Results([leaf]), [[leaf], count]):
            self.assertEqual(gpu.tensors(result), [leaf])
        self.assertEqual(gpu.tensors(tcc.Results([count])), [])

    def test_table(self):
        figures = {"wall_ms": 2.0, "device_ms": 1.5}
        rows = [{"row": "resnet50 b32", "date": "2026-01-02", "machine": "G", "torch": "2", "failed": {"max-autotune": "why"},
                 "start_s": 0.75, "driver_s": 0.5, "results": {
                     "tcc": {"wall_ms": 1.0, "device_ms": 0.75, "prepared_in_s": 3.0}, "eager": figures,
                     "reduce-overhead": figures}}]
        lines = report.gpu_table(rows)
        self.assertIn("| resnet50 b32 | 1.000 (0.750) | 2.000 (1.500) | 2.000 (1.500) | 2.00 | 3.0 | 0.25 | G, torch 2 | "
                      "2026-01-02 |", lines[-1])


class Page(unittest.TestCase):
    def write(self, rows, stored=None, compile_rows=()):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            if stored:
                page.with_suffix(".json").write_text(json.dumps(stored))
            report.write(page, rows, list(compile_rows), 2)
            return page.read_text(), json.loads(page.with_suffix(".json").read_text())

    def line(self, text, model):
        return next(line for line in text.splitlines() if line.startswith(f"| {model} |"))

    def test_failed_is_not_the_same_as_not_run(self):
        text, _ = self.write([row("resnet50", tcc=(1, "a"), ort=(2, "1"), failed=["openvino"], not_run=["eager"]),
                              row("gpt2", tcc=(1, "a"), openvino=(3, "1"), eager=(4, "1"))])
        self.assertIn("| resnet50 | 1 | 2 | fails | not run | 2.00 |", text)
        self.assertIn("| gpt2 | 1 | not run | 3 | 4 |", text)

    def test_a_version_a_row(self):
        text, data = self.write([row("gpt2", tcc=(1, "new"), ort=(2, "1.9"))],
                                {"rows": [row("resnet50", tcc=(1, "old"), ort=(2, "1.8")),
                                          row("bert-base", tcc=(1, "old"), ort=(2, "1.8"))]})
        self.assertIn("say another: ONNX Runtime 1.8", text)
        self.assertRegex(self.line(text, "resnet50"), r"\| old \| 2026-01-02 \|$")
        self.assertRegex(self.line(text, "gpt2"), r"\| new, ONNX Runtime 1.9 \| 2026-01-02 \|$")
        text, _ = self.write([], data)  # writing it again changes no stamp
        self.assertRegex(self.line(text, "resnet50"), r"\| old \| 2026-01-02 \|$")

    def test_rows_of_one_day_and_machine_are_one(self):
        old = row("gpt2", tcc=(1, "a"), openvino=(3, "1"), failed=["ort"])
        new = row("gpt2", ort=(2, "1"), failed=["openvino"])
        merged, = report.merge([old], [new])
        self.assertEqual(set(merged["results"]), {"tcc", "ort"})
        self.assertEqual(set(merged["failed"]), {"openvino"})
        for other in ({"machine": "M, Linux 2"}, {"date": "2026-01-03"}):
            merged, = report.merge([old], [{**new, **other}])
            self.assertEqual(set(merged["results"]), {"ort"})

    def test_another_processor_has_its_own_tables(self):
        wide, narrow = "P, 2 cores, AVX-512, Linux 6", "P, 2 cores, AVX2, Linux 6"
        text, data = self.write([row("gpt2", machine=narrow, tcc=(1, "a"), ort=(3, "1"))],
                                {"rows": [row("gpt2", machine=wide, tcc=(1, "a"), ort=(2, "1"))]},
                                [{"model": "gpt2", "machine": narrow, "version": "a", "date": "d",
                                  **dict.fromkeys(report.COMPILE, 1.0)}])
        self.assertEqual(len(data["rows"]), 2)
        first, second = text.split("## On P, 2 cores, AVX2\n")
        self.assertIn("## On P, 2 cores, AVX-512\n", first)
        self.assertIn("| all | 1 | 2.00 | 2.00 |", first)
        self.assertIn("| all | 1 | 3.00 | 3.00 |", second)
        self.assertNotIn("### Compiling", first)
        self.assertIn("### Compiling", second)

    def test_old_data(self):
        stored = {"machine": "M", "versions": {"tcc": "a", "onnxruntime": "1"}, "compile_versions": {"tcc": "b"},
                  "rows": [{"model": "silero-vad", "date": "d", "results": {"tcc": {"median_ms": 1}, "ort": {"median_ms": 2}},
                            "failed": {"openvino": "RuntimeError: x", "eager": "NotImplementedError: no PyTorch module"}}],
                  "compile": [{"model": "gpt2", **dict.fromkeys(report.COMPILE, 1.0)}]}
        text, data = self.write([], stored)
        self.assertIn("ONNX Runtime 1", text)
        self.assertRegex(self.line(text, "silero-vad"), r"\| a \| d \|$")
        self.assertRegex(self.line(text, "gpt2"), r"\| b \|  \|$")
        self.assertEqual(list(data["rows"][0]["not_run"]), ["eager"])
        self.assertEqual(list(data["rows"][0]["failed"]), ["openvino"])

    def test_means_by_class(self):
        text, _ = self.write([row("resnet50", tcc=(1, "a"), ort=(2, "1"), openvino=(4, "1")),
                              row("efficientnet_b0", tcc=(1, "a"), ort=(8, "1")),
                              row("gpt2", tcc=(2, "a"), ort=(2, "1")), row("no-class", tcc=(1, "a"), ort=(1, "1"))])
        self.assertIn("| convolution | 2 | 4.00 | 4.00 |", text)
        self.assertIn("| transformer | 1 | 1.00 | 1.00 |", text)
        self.assertNotIn("| recurrent |", text)
        self.assertIn("| all | 4 | 2.00 | 2.00 |", text)


class Operators(unittest.TestCase):
    ROOF = {"bytes": 1000.0, "flops": 100.0}  # a microsecond

    def row(self, name, moved=0, flops=0, failed=(), **us):
        return {"case": name, "bytes": moved, "flops": flops, "us": us, "failed": dict.fromkeys(failed, "why")}

    def test_ratio_is_to_the_fastest_peer(self):
        self.assertEqual(ops.ratio(self.row("a", tcc=2.0, eager=3.0, ort=1.0)), 0.5)
        self.assertIsNone(ops.ratio(self.row("a", tcc=2.0)))
        self.assertIsNone(ops.ratio(self.row("a", eager=2.0)))

    def test_share_is_of_what_holds_it(self):
        self.assertEqual(ops.share(self.row("copy", moved=1000, flops=1, tcc=2.0), self.ROOF), 0.5)
        self.assertEqual(ops.share(self.row("product", moved=1000, flops=400, tcc=5.0), self.ROOF), 0.8)

    def test_page(self):
        rows = [self.row("good", 1000, tcc=1.0, eager=2.0), self.row("bad", 1000, tcc=4.0, eager=1.0),
                self.row("none", failed=["tcc"], eager=1.0)]
        part = {"rows": {r["case"]: r for r in rows}, "roof": self.ROOF, "machine": "M", "torch": "2.0", "note": "quiet"}
        text = ops.page_text({"M, 2 threads": part, "M, 1 thread": {**part, "rows": {"alone": self.row("alone", tcc=1.0, eager=1.0)}}})
        self.assertLess(text.index("## M, 1 thread\n"), text.index("| alone |"))
        self.assertLess(text.index("| alone |"), text.index("## M, 2 threads\n"))
        self.assertLess(text.index("| bad |"), text.index("| good |"))
        self.assertIn("2 cases; the fastest peer's time by tcc's: median 1.12, 1 below 0.95, least 0.25", text)
        self.assertIn("| bad | 4.0 | 1.0 | 0.25 | 25% |", text)
        self.assertIn("| none | why |", text)


if __name__ == "__main__":
    unittest.main()
