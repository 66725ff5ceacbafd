"""Kernels for GPUs in a library, made on a machine that has none: what is in the file, and what is refused."""
import ctypes.util
import json
import shutil
import unittest

from toolrun import SOURCE, ToolTest

SAMPLES = ("sincos", "linear-relu", "conv-bn-silu")
DRIVER = ctypes.util.find_library("cuda")
PTXAS = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


def sample(name):
    return SOURCE / "samples" / name / f"{name}.onnx"


class GpuArtefact(ToolTest):
    def library(self, name, *arguments):
        output = self.fresh_name()
        self.compiles(sample(name), "-o", output, *arguments)
        return (self.work / output).read_bytes(), json.loads((self.work / f"{output}.json").read_text())

    def test_a_cpu_model_carries_nothing_for_gpus(self):
        data, manifest = self.library("conv-bn-silu")
        for word in (b"libcuda", b"cuInit", b"sm_90a", b"tcc_rt_launch"):
            self.assertNotIn(word, data)
        self.assertNotIn("archs", manifest["target"])
        self.assertTrue(all(kernel["target"] == "cpu" for kernel in manifest["kernels"]))

    def test_the_host_is_another_machine(self):
        """One with a GPU, whose CPU may lack what this one has, unless --cpu says that it does not."""
        for arguments, cpu in [(("--target", "x86_64-linux", "--arch", "sm_90a"), "x86-64-v3"),
                               (("--target", "x86_64-linux", "--arch", "sm_90a", "--cpu", "v2"), "x86-64-v2"),
                               (("--target", "aarch64-linux", "--arch", "sm_90a"), "generic"),
                               (("--target", "x86_64-linux", "--arch", "sim"), "x86-64-v2")]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.library("sincos", *arguments)[1]["target"]["cpu"], cpu)

    @unittest.skipUnless(PTXAS, "no ptxas on this machine")
    def test_every_kernel_for_every_architecture(self):
        for name in SAMPLES:
            with self.subTest(name):
                data, manifest = self.library(name, "--arch", "sm_80,sm_90a,sm_100+ptx")
                self.assertIn(b"libcuda.so.1", data)
                self.assertEqual(manifest["target"]["archs"], ["sm_80", "sm_90a", "sm_100+ptx"])
                self.assertTrue(any(kernel["sources"] for kernel in manifest["kernels"]))
                for kernel in manifest["kernels"]:
                    self.assertEqual([(code["arch"], code["kinds"]) for code in kernel["code"]],
                                     [("sm_80", ["cubin"]), ("sm_90a", ["cubin"]), ("sm_100", ["cubin", "ptx"])])
                    for code in kernel["code"]:
                        self.assertGreater(code["registers"], 0)
                        self.assertGreater(code["threads"], 0)
                        self.assertEqual(code["spill_store_bytes"] + code["spill_load_bytes"], 0, kernel["name"])

    def test_texts(self):
        self.compiles(sample("sincos"), "--arch", "sm_90a", "--emit", "ptx", "-o", "model.ptx")
        text = (self.work / "model.ptx").read_text()
        self.assertEqual(text.count(".target sm_90a"), 1)
        self.assertIn(".visible .entry", text)
        self.compiles(sample("sincos"), "--arch", "sm_80", "--emit", "llvm", "-o", "model.ll")
        self.assertIn("nvptx64-nvidia-cuda", (self.work / "model.ll").read_text())
        self.compiles(sample("linear-relu"), "--arch", "sm_80,sm_90a", "-o", "model.so", "--dump-ir", "ir")
        names = [path.name for path in (self.work / "ir" / "8-codegen").iterdir()]
        for end in (".sm_80.ptx", ".sm_90a.ptx", ".sm_90a.ll", ".sm_80.mlir"):
            self.assertTrue(any(name.endswith(end) for name in names), (end, names))

    @unittest.skipUnless(PTXAS, "no ptxas on this machine")
    def test_object(self):
        """The host's code, and the kernels as data."""
        self.compiles(sample("linear-relu"), "--arch", "sm_80+ptx", "--emit", "obj", "-o", "model.o")
        data = (self.work / "model.o").read_bytes()
        for word in (b"tcc_entry", b".sm_80.cubin\0", b".sm_80.ptx\0", b".target sm_80"):
            self.assertIn(word, data)

    @unittest.skipUnless(PTXAS, "no ptxas on this machine")
    def test_cubin(self):
        self.compiles(sample("conv-bn-silu"), "--arch", "sm_90a", "--emit", "cubin", "-o", "model.cubin")
        self.assertEqual((self.work / "model.cubin").read_bytes()[:4], b"\x7fELF")

    @unittest.skipIf(DRIVER, "this machine may have a GPU")
    def test_what_needs_a_gpu_says_so(self):
        result = self.compiles(sample("linear-relu"), "--arch", "sm_80,sm_90a", "--mode", "max-autotune", "-o", "model.so")
        self.assertIn("max-autotune: no GPU of this machine runs code for sm_80,sm_90a; schedules are those that the model "
                      "of the GPU prefers", result.out + result.text)
        plain = self.compiles(sample("linear-relu"), "--arch", "sim", "--mode", "max-autotune", "-o", "sim.so")
        self.assertIn("nothing is measured on the simulated device", plain.out + plain.text)
        for name in ("linear-relu", "conv-bn-silu"):
            result = self.compiles(sample(name), "--arch", "sm_90a", "--verify", "-o", f"{name}.so")
            self.assertIn("on the simulated device, since no GPU of this machine runs code for sm_90a: agrees with",
                          result.out + result.text)
            manifest = json.loads((self.work / f"{name}.so.json").read_text())
            self.assertEqual(manifest["target"]["archs"], ["sm_90a"])

    def test_wrong_use(self):
        model = sample("sincos")
        for arguments, message in (
                (["--arch", "sm_70"], "--arch: unknown GPU architecture 'sm_70'"),
                (["--arch", "sim,sm_80"], "stands alone"),
                (["--arch", "sm_80", "--backend", "cpu"], "--backend cpu makes no code for the GPUs"),
                (["--backend", "cuda"], "--backend cuda needs --arch"),
                (["--emit", "ptx"], "--emit ptx needs --arch"),
                (["--emit", "cubin", "--arch", "sm_80,sm_90a"], "--emit cubin writes the kernels for one GPU"),
                (["--arch", "sm_80", "--ptxas", "/nowhere/ptxas"], "--ptxas: /nowhere/ptxas is no program"),
                (["--no-fallback"], "--no-fallback is for models that run on a GPU")):
            with self.subTest(arguments):
                result = self.tcc(model, "-o", "model.so", *arguments)
                self.assertEqual(result.code, 2, result.text)
                self.assertIn(message, result.text)
                self.assertFalse((self.work / "model.so").exists())

    def test_a_plan_for_other_architectures(self):
        self.compiles(sample("sincos"), "--arch", "sm_80", "--stop-after", "plan", "-o", "plan.mlir")
        result = self.tcc("plan.mlir", "--start-from", "codegen", "--arch", "sm_90a", "-o", "model.so")
        self.assertEqual(result.code, 2, result.text)
        self.assertIn("it was not scheduled for sm_90a", result.text)

    def test_the_cache_knows_architectures(self):
        first, _ = self.library("linear-relu", "--arch", "sm_80")
        other, _ = self.library("linear-relu", "--arch", "sm_90a")
        again = self.compiles(sample("linear-relu"), "--arch", "sm_80", "-o", "again.so", "--logs", "cache")
        self.assertIn("hit ", again.text)
        self.assertNotIn("miss ", again.text)
        self.assertNotEqual(first, other)


if __name__ == "__main__":
    unittest.main()
