"""Models compiled for aarch64 and run by qemu-user, compared with ONNX Runtime on this machine."""
import os
import platform
import subprocess
import unittest

import onnx

from handmade import NETWORKS, inputs
from integers import PAIRS, integer_model
from testfolder import write_data_set, write_onnx_data_sets
from toolrun import SOURCE, ToolTest

RUN = [os.environ["TCC_BIN"] + "/tcc-run"]
if platform.machine() != "aarch64":
    RUN = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", RUN[0] + "-aarch64"]


class Aarch64(ToolTest):
    """f16 sums of a few products differ in their last bits by the order they are added in."""
    TOLERANCES = {"half": ("2e-3", "2e-3")}

    def check(self, model, data_sets, *flags, tolerances=("1e-4", "1e-5")):
        output = self.fresh_name()
        self.compiles(model, "--target", "aarch64-linux-gnu", "-o", output, *flags)
        for data in data_sets:
            ran = subprocess.run([*RUN, self.work / output, "--data", data, "--rtol", tolerances[0], "--atol",
                                  tolerances[1]], capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def network(self, name, *flags):
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            onnx.save(NETWORKS[name](), folder / "model.onnx")
            write_onnx_data_sets(folder, list(inputs(name)))
        self.check(folder / "model.onnx", sorted(folder.glob("test_data_set_*")), *flags,
                   tolerances=self.TOLERANCES.get(name, ("1e-4", "1e-5")))

    def test_networks(self):
        """`generic` has plain NEON; neoverse-v1 f16 arithmetic, byte products and bf16 as well."""
        for name in NETWORKS:
            for cpu in ("generic", "neoverse-v1"):
                with self.subTest(name, cpu=cpu):
                    self.network(name, "--cpu", cpu)

    def test_integer_products(self):
        for pair in PAIRS:
            model, arrays, expected = integer_model(pair)
            folder = self.folder / pair
            folder.mkdir()
            onnx.save(model, folder / "model.onnx")
            names = lambda values, tensors: [(value.name, tensor) for value, tensor in zip(values, tensors, strict=True)]
            write_data_set(folder, 0, names(model.graph.input, arrays), names(model.graph.output, expected))
            for cpu in ("generic", "neoverse-v1"):
                with self.subTest(pair, cpu=cpu):
                    self.check(folder / "model.onnx", [folder / "test_data_set_0"], "--cpu", cpu, tolerances=("0", "0"))

    def test_default_cpu(self):
        self.network("lstm")

    def test_samples(self):
        for name in ("sincos", "linear", "linear-relu", "conv-bn-silu"):
            for suffix in ("onnx", "pt2"):
                with self.subTest(name, suffix=suffix):
                    sample = SOURCE / "samples" / name
                    self.check(sample / f"{name}.{suffix}", [sample / "data"])


if __name__ == "__main__":
    unittest.main()
