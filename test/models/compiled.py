"""Compiling a model with tcc and running the model.so from Python: ctypes over the C interface.

    with Compiled.build("model.onnx", "--cpu", "native") as model:
        outputs = model.run({"x": array})

The structures repeat include/tcc/Runtime/tcc.h and dlpack.h.
"""
import ctypes
import os
import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy as np

P = ctypes.POINTER


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", P(ctypes.c_int64)), ("strides", P(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, P(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("ndim", ctypes.c_int32),
                ("flags", ctypes.c_uint32), ("shape", P(ctypes.c_int64)), ("symbols", P(ctypes.c_char_p))]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint32), ("profile", ctypes.c_uint32),
                ("allocator", ctypes.c_void_p * 3), ("pool", ctypes.c_void_p * 2), ("concurrency", ctypes.c_uint32)]


class ContextStats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("runs", ctypes.c_uint64), ("static_bytes", ctypes.c_uint64),
                ("peak_bytes", ctypes.c_uint64), ("held_bytes", ctypes.c_uint64), ("threads", ctypes.c_uint32)]


DTYPES = {(0, 8): np.int8, (0, 16): np.int16, (0, 32): np.int32, (0, 64): np.int64,
          (1, 8): np.uint8, (1, 16): np.uint16, (1, 32): np.uint32, (1, 64): np.uint64,
          (2, 16): np.float16, (2, 32): np.float32, (2, 64): np.float64, (6, 8): np.bool_,
          (4, 16): ml_dtypes.bfloat16, (5, 64): np.complex64, (5, 128): np.complex128,
          (10, 8): ml_dtypes.float8_e4m3fn, (11, 8): ml_dtypes.float8_e4m3fnuz,
          (12, 8): ml_dtypes.float8_e5m2, (13, 8): ml_dtypes.float8_e5m2fnuz}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


class TccError(Exception):
    def __init__(self, code, message):
        super().__init__(f"[{code}] {message}")
        self.code, self.message = code, message


class CompileError(Exception):
    """tcc ended with this exit code and these diagnostics."""

    def __init__(self, code, message):
        super().__init__(f"exit code {code}: {message}")
        self.code, self.message = code, message


def tool(name):
    """The tool in $TCC_BIN, the development build or the release build."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for folder in [os.environ.get("TCC_BIN"), root / "build/dev/bin", root / "build/release/bin"]:
        if folder and (pathlib.Path(folder) / name).exists():
            return str(pathlib.Path(folder) / name)
    raise FileNotFoundError(f"{name}: build it first (scripts/test)")


def compile_model(model, output, *flags, timeout=600):
    command = [tool("tcc"), str(model), "-o", str(output), *flags]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    if result.returncode:
        raise CompileError(result.returncode, result.stderr.strip())
    return result


class Compiled:
    """An opened model.so with one context."""

    def __init__(self, path, threads=2):
        self.library = ctypes.CDLL(os.path.abspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        for name in ("tcc_model_open", "tcc_context_create", "tcc_run", "tcc_model_input", "tcc_model_output"):
            getattr(self.library, name).restype = ctypes.c_int32
        for name in ("tcc_model_num_inputs", "tcc_model_num_outputs"):
            getattr(self.library, name).restype = ctypes.c_uint32
        self.library.tcc_model_manifest.restype = ctypes.c_char_p
        error = Error()
        self.check(self.library.tcc_model_open(None, ctypes.byref(self.model), ctypes.byref(error)), error)
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), threads=threads)
        self.check(self.library.tcc_context_create(self.model, ctypes.byref(options), ctypes.byref(self.context),
                                                   ctypes.byref(error)), error)
        self.inputs = self.describe("input")
        self.outputs = self.describe("output")

    @classmethod
    def build(cls, model, *flags, threads=2):
        folder = tempfile.TemporaryDirectory(prefix="tcc-")
        path = pathlib.Path(folder.name) / "model.so"
        compile_model(model, path, *flags)
        compiled = cls(path, threads)
        compiled.folder = folder
        return compiled

    def check(self, status, error):
        if status:
            raise TccError(status, error.message.decode(errors="replace"))

    def describe(self, kind):
        infos = []
        for index in range(getattr(self.library, f"tcc_model_num_{kind}s")(self.model)):
            info = TensorInfo(struct_size=ctypes.sizeof(TensorInfo))
            getattr(self.library, f"tcc_model_{kind}")(self.model, index, ctypes.byref(info))
            infos.append(info)
        return infos

    def manifest(self):
        return self.library.tcc_model_manifest(self.model, None).decode()

    def stats(self):
        stats = ContextStats(struct_size=ctypes.sizeof(ContextStats))
        self.library.tcc_context_get_stats(self.context, ctypes.byref(stats))
        return stats

    def prepare(self, arrays):
        """A function that runs once on these arrays (a list in order, or a dict by name) and
        returns the raw outputs, to be given to take() or release()."""
        if isinstance(arrays, dict):
            arrays = [arrays[info.name.decode()] for info in self.inputs]
        arrays = [np.asarray(array) for array in arrays]
        tensors = [to_dlpack(array) for array in arrays]
        pointers = (P(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors))
        count, error = len(self.outputs), Error()
        run, context, byref_error = self.library.tcc_run, self.context, ctypes.byref(error)

        def once(keep=(arrays, tensors)):
            outputs = (P(DLManagedTensor) * count)()
            status = run(context, pointers, len(tensors), outputs, count, byref_error)
            if status:
                self.check(status, error)
            return outputs
        return once

    def run(self, arrays):
        outputs = self.prepare(arrays)()
        result = [to_array(output.contents.tensor) for output in outputs]
        release(outputs)
        return result

    def close(self):
        self.library.tcc_context_destroy(self.context)
        self.library.tcc_model_close(self.model)
        self.context = self.model = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def release(outputs):
    for output in outputs:
        output.contents.deleter(output)


def to_dlpack(array):
    code, bits = CODES[array.dtype]
    tensor = DLTensor(data=array.ctypes.data, device_type=1, ndim=array.ndim, code=code, bits=bits, lanes=1)
    tensor.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor.strides = (ctypes.c_int64 * array.ndim)(*[stride // array.itemsize for stride in array.strides])
    return tensor


def to_array(tensor):
    """A copy of a contiguous tensor."""
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    dtype = np.dtype(DTYPES[tensor.code, tensor.bits])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not size:
        return np.zeros(shape, dtype)
    data = ctypes.string_at(tensor.data + tensor.byte_offset, size)
    return np.frombuffer(data, dtype).reshape(shape)
