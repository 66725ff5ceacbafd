"""Compiling a model with tcc and running it through the Python loader.

    with Compiled.build("model.onnx", "--cpu", "native") as model:
        outputs = model(x)
"""
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/Bindings/Python"))
import tcc  # noqa: E402

# Python looks for cycles after 700 new objects; an import or an export of PyTorch's makes millions that live on.
gc.set_threshold(100_000, 50, 100)


class CompileError(Exception):
    """tcc ended with this exit code and these diagnostics."""

    def __init__(self, code, message):
        super().__init__(f"exit code {code}: {message}")
        self.code, self.message = code, message


def tool(name):
    """The tool in $TCC_BIN, the development build or the release build."""
    for folder in [os.environ.get("TCC_BIN"), ROOT / "build/dev/bin", ROOT / "build/release/bin"]:
        if folder and (pathlib.Path(folder) / name).exists():
            return str(pathlib.Path(folder) / name)
    raise FileNotFoundError(f"{name}: build it first (scripts/test)")


def compile_model(model, output, *flags, timeout=600):
    command = [tool("tcc"), str(model), "-o", str(output), *flags]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    if result.returncode:
        raise CompileError(result.returncode, result.stderr.strip())
    return result


class Compiled(tcc.Model):
    @classmethod
    def build(cls, model, *flags, threads=2):
        with tempfile.TemporaryDirectory(prefix="tcc-") as folder:
            path = pathlib.Path(folder) / "model.so"
            compile_model(model, path, *flags)
            return cls(path, threads)  # what is opened stays mapped

    def prepare(self, arrays):
        """A function that runs once on these arrays and frees the outputs: for timing, without the
        loader's conversions."""
        borrowed = [tcc._borrow(array, tensor) for array, tensor in zip(arrays, self.inputs, strict=True)]
        pointers = (tcc._P(tcc._DLTensor) * len(borrowed))(*[ctypes.pointer(tensor) for tensor, _ in borrowed])
        count, error, run = len(self.outputs), ctypes.byref(self._error), self._library.tcc_run
        results, context = (tcc._P(tcc._DLManagedTensor) * count)(), self._context

        def once(keep=borrowed):
            for index in range(count):
                results[index] = None
            self._check(run(context, pointers, len(keep), results, count, error))
            for output in results:
                output.contents.deleter(output)
        return once
