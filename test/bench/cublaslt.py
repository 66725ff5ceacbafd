"""cuBLASLt, the library that PyTorch loads, called directly: a product by each algorithm that its heuristic proposes,
so that a bench can take the fastest (PyTorch takes the first).
"""
import ctypes
import glob
import pathlib

# cublas_api.h, cublasLt.h and library_types.h.
REAL_F32, REAL_F16, REAL_BF16, REAL_I8, REAL_I32 = 0, 2, 14, 3, 10
COMPUTE_F32, COMPUTE_I32, COMPUTE_TF32 = 68, 72, 77
TRANSPOSED, TRANSPOSE_A, MOST_WORKSPACE = 1, 3, 1
WORKSPACE_BYTES, ALGORITHMS = 64 << 20, 24


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def library():
    import torch
    folder = pathlib.Path(torch.__file__).parent.parent
    names = [*glob.glob(str(folder / "nvidia/*/lib/libcublasLt.so*")), *glob.glob(str(folder / "torch/lib/libcublasLt.so*")),
             "libcublasLt.so.13", "libcublasLt.so.12"]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("no libcublasLt beside PyTorch")


class CublasLt:
    def __init__(self, torch):
        self.torch, self.library, self.handle = torch, library(), ctypes.c_void_p()
        self._need("cublasLtCreate", ctypes.byref(self.handle))
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def _need(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def products(self, x, w, y, tf32=False):
        """Functions that do y [m, n] = x [m, k] w [n, k]^T, rows contiguous, one for each algorithm proposed. `tf32`:
        operands of f32 may be rounded."""
        torch = self.torch
        types = {torch.float32: REAL_F32, torch.float16: REAL_F16, torch.bfloat16: REAL_BF16, torch.int8: REAL_I8,
                 torch.int32: REAL_I32}
        (m, k), n = x.shape, w.shape[0]
        exact = x.dtype == torch.int8
        compute = COMPUTE_I32 if exact else COMPUTE_TF32 if tf32 else COMPUTE_F32
        work, preference = ctypes.c_void_p(), ctypes.c_void_p()
        self._need("cublasLtMatmulDescCreate", ctypes.byref(work), compute, REAL_I32 if exact else REAL_F32)
        self._set("cublasLtMatmulDescSetAttribute", work, TRANSPOSE_A, ctypes.c_int32(TRANSPOSED))
        self._need("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        self._set("cublasLtMatmulPreferenceSetAttribute", preference, MOST_WORKSPACE, ctypes.c_uint64(WORKSPACE_BYTES))
        # It counts by columns: y^T [n, m] = (w^T)^T x^T.
        layouts = []
        for tensor, rows, columns in ((w, k, n), (x, k, m), (y, n, m)):
            layouts.append(ctypes.c_void_p())
            self._need("cublasLtMatrixLayoutCreate", ctypes.byref(layouts[-1]), types[tensor.dtype], ctypes.c_uint64(rows),
                       ctypes.c_uint64(columns), ctypes.c_int64(rows))
        a, b, c = layouts
        found, count = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        self._need("cublasLtMatmulAlgoGetHeuristic", self.handle, work, a, b, c, c, preference, ALGORITHMS, found,
                   ctypes.byref(count))
        number = ctypes.c_int32 if exact else ctypes.c_float
        one, zero = number(1), number(0)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (w, x, y)]

        def function(one_found):
            def call():
                self._need("cublasLtMatmul", self.handle, work, ctypes.byref(one), pointers[0], a, pointers[1], b,
                           ctypes.byref(zero), pointers[2], c, pointers[2], c, ctypes.byref(one_found.algorithm),
                           ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(one_found.workspace),
                           ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            return call
        return [function(one_found) for one_found in found[:count.value] if one_found.state == 0]

    def _set(self, name, of, attribute, value):
        self._need(name, of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))
