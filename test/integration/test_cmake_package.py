"""An installed tcc in somebody's CMake project: find_package, tcc_add_model, and what rebuilds when."""
import os
import pathlib
import shutil
import subprocess
import unittest

import onnx

from toolrun import SOURCE, ToolTest

BUILD = pathlib.Path(os.environ["TCC_BIN"]).parent


class CMakePackage(ToolTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"
        self.execute("cmake", "--install", BUILD, "--prefix", self.prefix)

    def execute(self, *command):
        result = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, **self.env})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def configure(self, *options, generator="Ninja"):
        self.execute("cmake", "-G", generator, "-S", SOURCE / "samples/cmake", "-B", self.work / "build",
                     f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_C_COMPILER=clang-22", *options)

    def build(self):
        """Whether the model was compiled."""
        return "Compiling model" in self.execute("cmake", "--build", self.work / "build")

    def external_model(self):
        """The sample with its weights in a file beside it."""
        model = onnx.load(SOURCE / "samples/linear-relu/linear-relu.onnx")
        onnx.save(model, self.work / "model.onnx", save_as_external_data=True, location="model.data", size_threshold=0)
        return self.work / "model.onnx"

    def test_installed_files(self):
        for name in ("bin/tcc", "bin/tcc-run", "lib/libtcc-interpreter.so", "include/tcc/Runtime/tcc.h", "include/tcc/Runtime/dlpack.h"):
            self.assertTrue((self.prefix / name).exists(), name)

    def test_program_with_a_model(self):
        self.configure()
        self.assertTrue(self.build())
        printed = self.execute("cmake", "--build", self.work / "build", "--target", "run")
        for line in (SOURCE / "samples/c/expected.txt").read_text().splitlines():
            self.assertIn(line, printed)

    def check_rebuilds(self, generator):
        model = self.external_model()
        self.configure(f"-DMODEL={model}", generator=generator)
        self.assertTrue(self.build())
        self.assertFalse(self.build(), "nothing changed")
        (self.work / "unrelated").write_text("x")
        self.configure(f"-DMODEL={model}", generator=generator)
        self.assertFalse(self.build(), "only configured again")
        (self.work / "model.data").touch()
        self.assertTrue(self.build(), "the external data changed")
        self.assertFalse(self.build())
        model.touch()
        self.assertTrue(self.build(), "the model changed")
        self.configure(f"-DMODEL={model}", "-DMODEL_OPTIONS=--cpu;x86-64-v3", generator=generator)
        self.assertTrue(self.build(), "the options changed")
        self.assertFalse(self.build())

    def test_rebuilds_with_ninja(self):
        self.check_rebuilds("Ninja")

    def test_rebuilds_with_make(self):
        if not shutil.which("make"):
            self.skipTest("no make here")
        self.check_rebuilds("Unix Makefiles")

    def test_error_stops_the_build(self):
        model = self.external_model()
        (self.work / "model.data").unlink()
        self.configure(f"-DMODEL={model}")
        result = subprocess.run(["cmake", "--build", str(self.work / "build")], capture_output=True, text=True,
                                env={**os.environ, **self.env})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("model.data", result.stdout + result.stderr)
        self.assertFalse(list((self.work / "build").glob("*.so")))


if __name__ == "__main__":
    unittest.main()
