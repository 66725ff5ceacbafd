"""The samples' models from both front ends, at several sizes, targets and thread counts."""
import subprocess
import unittest

import numpy as np

from agreement import disagreement
from compiled import Compiled
from testfolder import read_data_set
from toolrun import SOURCE, ToolTest

NAMES = ("sincos", "linear", "linear-relu", "conv-bn-silu")


class SmallModels(ToolTest):
    def check(self, name, suffix, *flags, threads=2):
        inputs, outputs, _ = read_data_set(SOURCE / "samples" / name / "data")
        with Compiled.build(SOURCE / "samples" / name / f"{name}.{suffix}", *flags, threads=threads) as compiled:
            (result,) = compiled(*[array for _, array in inputs])
            self.assertIsNone(disagreement(result, outputs[0][1]))
            # A row's result is the same in a batch of any size.
            for rows in (1, 3):
                (part,) = compiled(inputs[0][1][:rows])
                self.assertIsNone(disagreement(part, outputs[0][1][:rows]))

    def test_every_sample(self):
        for name in NAMES:
            for suffix in ("onnx", "pt2"):
                with self.subTest(name, suffix=suffix):
                    self.check(name, suffix)

    def test_cpus(self):
        for cpu in ("native", "x86-64-v2", "x86-64-v3"):
            with self.subTest(cpu):
                self.check("conv-bn-silu", "onnx", "--cpu", cpu)

    def test_one_thread(self):
        self.check("conv-bn-silu", "onnx", threads=1)

    def test_static_shape(self):
        model = SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx"
        inputs, outputs, _ = read_data_set(SOURCE / "samples/conv-bn-silu/data")
        with Compiled.build(model, "--shape", "x=4x3x8x8") as compiled:
            (result,) = compiled(inputs[0][1])
            self.assertIsNone(disagreement(result, outputs[0][1]))
            self.assertEqual(compiled.inputs[0].shape, (4, 3, 8, 8))

    def test_many_rows(self):
        x = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
        with Compiled.build(SOURCE / "samples/sincos/sincos.onnx") as compiled:
            (y,) = compiled(x)
        np.testing.assert_allclose(y, np.sin(np.cos(x.astype(np.float64))), rtol=0, atol=2.5e-7)

    def test_needs_only_the_c_library(self):
        self.compiles(SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx", "-o", "model.so")
        needed = subprocess.run(["readelf", "-d", self.work / "model.so"], capture_output=True, text=True).stdout
        names = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line]
        self.assertLessEqual(set(names), {"libc.so.6", "libm.so.6"}, needed)


if __name__ == "__main__":
    unittest.main()
