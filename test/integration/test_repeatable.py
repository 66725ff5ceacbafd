"""The same model, options and tool give the same bytes: in another folder, with other --jobs, cold or warm."""
import hashlib
import shutil
import unittest

from toolrun import SOURCE, ToolTest

SAMPLES = SOURCE / "samples"


class Repeatable(ToolTest):
    def digest(self, folder, model, *arguments, cache="cache"):
        folder = self.folder / folder
        folder.mkdir(exist_ok=True)
        shutil.copy(model, folder)
        self.env["TCC_CACHE_DIR"] = str(self.folder / cache)
        self.work = folder
        self.compiles(model.name, "-o", "model.so", *arguments)
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(folder.iterdir()) if path.name != model.name}

    def check(self, model, *arguments):
        first = self.digest("one", model, *arguments, "--jobs", "1")
        self.assertEqual(first, self.digest("another folder", model, *arguments, "--jobs", "2", cache="cold"))
        self.assertEqual(first, self.digest("warm", model, *arguments))

    def test_onnx(self):
        for name in ("sincos", "linear-relu", "conv-bn-silu"):
            with self.subTest(name):
                self.check(SAMPLES / name / f"{name}.onnx", "--cpu", "x86-64-v3")

    def test_pt2(self):
        self.check(SAMPLES / "conv-bn-silu" / "conv-bn-silu.pt2", "--cpu", "x86-64-v3")

    def test_object(self):
        self.check(SAMPLES / "linear" / "linear.onnx", "--cpu", "x86-64-v3", "--emit", "obj")

    def test_gpu(self):
        for archs in ("sm_80,sm_90a", "sim"):
            with self.subTest(archs):
                self.check(SAMPLES / "linear-relu" / "linear-relu.onnx", "--cpu", "x86-64-v3", "--arch", archs)


if __name__ == "__main__":
    unittest.main()
