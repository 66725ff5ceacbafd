"""Runs models that tcc compiled: one file over the C interface, with ctypes and NumPy.

    import tcc
    model = tcc.Model("model.so")
    y, = model(x)                               # in the model's order
    y = model(x=x)["y"]                         # by name
    y, = model(x, wrap=torch.from_dlpack)       # as another library's tensors

Inputs are anything with __dlpack__ on the CPU (NumPy, PyTorch, JAX, ...) or that numpy.asarray takes;
nothing is copied that is compact. Outputs are writable NumPy arrays over the memory that the model filled,
which goes back to the model for its next runs once they are gone. Types that NumPy lacks become those of
ml_dtypes where it is installed, else raw unsigned integers; types below 8 bits become int8 or uint8. One
Model may be used by one thread at a time; make one for each. A model for GPUs runs the same, with inputs and
outputs copied over; tcc_torch.Model beside this file takes and gives PyTorch's tensors where they are.
"""
import ctypes
import math
import operator
import os
import struct
import threading
import zlib

import numpy as np

_P = ctypes.POINTER
_ABI_VERSION = 1


# ---- the structures of dlpack.h and tcc.h ----

class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", _P(ctypes.c_int64)), ("strides", _P(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_DLManagedTensor = type("_DLManagedTensor", (ctypes.Structure,), {})
_DLManagedTensor._fields_ = [("tensor", _DLTensor), ("manager", ctypes.c_void_p),
                             ("deleter", ctypes.CFUNCTYPE(None, _P(_DLManagedTensor)))]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020)]


class _ModelOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("weights_path", ctypes.c_char_p)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint32), ("profile", ctypes.c_uint32),
                ("allocator", ctypes.c_void_p * 3), ("pool", ctypes.c_void_p * 2), ("concurrency", ctypes.c_uint64),
                ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("device_allocator", ctypes.c_void_p * 3)]


class _TensorInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("ndim", ctypes.c_int32),
                ("flags", ctypes.c_uint32), ("shape", _P(ctypes.c_int64)), ("symbols", _P(ctypes.c_char_p))]


_call = operator.call if hasattr(operator, "call") else lambda function, value: function(value)
_ndarray, _address = np.ndarray, ctypes.addressof
_byte, _words_at = ctypes.c_char.from_buffer, (ctypes.c_uint64 * 4).from_address
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.restype, _capsule_is.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# Types that NumPy has, and for the others how they are called in ml_dtypes.
_NUMPY = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8", (1, 16): "uint16",
          (1, 32): "uint32", (1, 64): "uint64", (2, 16): "float16", (2, 32): "float32", (2, 64): "float64",
          (5, 64): "complex64", (5, 128): "complex128", (6, 8): "bool"}
_ML_DTYPES = {(4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2",
              (13, 8): "float8_e5m2fnuz", (14, 8): "float8_e8m0fnu"}


def _dtype(code, bits):
    if (code, bits) in _NUMPY:
        return np.dtype(_NUMPY[code, bits])
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[code, bits]))
    except (ImportError, KeyError, AttributeError):
        return np.dtype(f"uint{max(bits, 8)}")


class Error(Exception):
    """What the runtime says, with its tcc_status in `code`."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _device(text):
    """DLPack's type and number of "cuda:1"."""
    kind, _, number = str(text).partition(":")
    types = {"None": 0, "cpu": 1, "cuda": 2, "sim": 12}
    if kind not in types or not (number or "0").isdecimal():
        raise Error(1, f"{text!r} is not cpu, cuda, cuda:N or sim")
    return types[kind], int(number or 0)


def _is_cut_short(read, size):
    """Whether an ELF file ends before what it says is mapped of it, where a look is SIGBUS, or before its sections."""
    head = read(0, 64) if read(0, 4) == b"\x7fELF" else b""
    place, sections, count, tables = struct.unpack("=32xQQ8xH2xH2x", head) if len(head) == 64 else (0, 0, 0, 0)
    segments = read(place, place + 56 * count)
    return len(segments) < 56 * count or sections + 64 * tables > size or any(
        kind == 1 and offset + stored > size for kind, offset, stored in struct.iter_unpack("=I4xQ16xQ16x", segments))


def _is_damaged(read, size, seal):
    """Whether the checksum at the file's end is another (model_file.h): of weights it covers samples."""
    place, weights, crc = struct.unpack("=8xQQ4xI", seal)
    last, value = max(weights - 4096, 0), 0
    starts = range(0, weights, 4096) if weights <= 64 * 4096 else (last // 63 * i + last % 63 * i // 63 for i in range(64))
    parts = [(0, place), *((place + at, place + min(at + 4096, weights)) for at in starts), (place + weights, size - 4)]
    for begin, end in parts if place + weights <= size else ():
        value = zlib.crc32(read(begin, end), value)
    return value != crc


def _check_file(path):
    """dlopen runs whatever it maps: a file that is damaged or cut short is found before."""
    size = os.path.getsize(path)
    read = lambda begin, end: np.fromfile(path, np.uint8, max(end - begin, 0), offset=min(begin, size)).tobytes()
    seal = read(max(size - 32, 0), size)
    sealed = len(seal) == 32 and sum(map(operator.eq, seal, b"tcc seal")) >= 4
    if _is_damaged(read, size, seal) if sealed else _is_cut_short(read, size):
        raise Error(5, f"{path} is {'damaged: its checksum is not that of its content' if sealed else 'cut short'}")


class Tensor:
    """An input's or output's name, dtype and shape; a size that changes is its symbol or None."""

    def __init__(self, info):
        self.name = info.name.decode()
        self.code, self.bits = info.code, info.bits
        self.dtype = _dtype(info.code, info.bits)
        self.mutated = bool(info.flags & 1)  # an input that the model writes into
        self.shape = None
        if info.ndim >= 0:
            self.shape = tuple(info.shape[d] if info.shape[d] >= 0 else info.symbols[d].decode() or None
                               for d in range(info.ndim))

    def __repr__(self):
        return f"{self.name}: {self.dtype}{list(self.shape) if self.shape is not None else ''}"


class Results(list):
    """The outputs of one run, in the model's order; results["name"] and dict(results) go by name."""

    names = ()

    def keys(self):
        return list(self.names)

    def __getitem__(self, key):
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"this model gives {', '.join(self.names)}, not {key!r}")
            key = self.names.index(key)
        return super().__getitem__(key)


class _Exported:
    """Hands one tensor of the runtime to whoever asks for DLPack."""

    def __init__(self, address):
        self.pointer = ctypes.cast(address, _P(_DLManagedTensor))

    def __dlpack__(self, stream=None, **_):
        pointer, self.pointer = self._there(), None
        return _new_capsule(ctypes.cast(pointer, ctypes.c_void_p), b"dltensor", None)

    def __dlpack_device__(self):
        return self._there().contents.tensor.device_type, self._there().contents.tensor.device_id

    def _there(self):
        if self.pointer is None:
            raise Error(1, "an output is taken once, while `wrap` runs")
        return self.pointer

    def release(self):
        if self.pointer is not None:
            self.pointer.contents.deleter(self.pointer)
            self.pointer = None


class Model:
    """An opened model with memory and threads for one run at a time.

    threads: 0 for one a core. weights: another safetensors file of the same layout.
    seed: of the model's random numbers, see set_seed. device: "cuda:1"; where its code is for, if it is None.
    """

    def __init__(self, path, threads=0, weights=None, seed=None, device=None):
        _check_file(path)
        library = self._library = ctypes.CDLL(os.path.abspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        if not hasattr(library, "tcc_abi_version"):
            raise Error(5, f"{path} is not a model made by tcc")
        if library.tcc_abi_version() != _ABI_VERSION:
            raise Error(5, f"{path} has another interface version than {_ABI_VERSION}")
        library.tcc_model_manifest.restype = ctypes.c_char_p
        self._model, self._context, self._error = ctypes.c_void_p(), ctypes.c_void_p(), _Error()
        options = _ModelOptions(ctypes.sizeof(_ModelOptions), None if weights is None else os.fsencode(weights))
        self._check(library.tcc_model_open(ctypes.byref(options), ctypes.byref(self._model),
                                           ctypes.byref(self._error)))
        options = _ContextOptions(struct_size=ctypes.sizeof(_ContextOptions), threads=threads)
        options.device_type, options.device_id = _device(device)
        self._check(library.tcc_context_create(self._model, ctypes.byref(options),
                                               ctypes.byref(self._context), ctypes.byref(self._error)))
        self.inputs, self.outputs = self._describe("input"), self._describe("output")
        self._prepare()
        if seed is not None:
            self.set_seed(seed)

    def _prepare(self):
        """The arguments of tcc_run, made once: a call writes only what differs from the call before."""
        self._lock, self._nothing = threading.Lock(), [None] * len(self.outputs)
        count = len(self.inputs)
        self._slots, self._addresses = (_DLTensor * count)(), (ctypes.c_void_p * len(self.outputs))()
        self._pointers = (ctypes.c_void_p * count)(*map(ctypes.addressof, self._slots))
        self._arguments = (self._context, ctypes.addressof(self._pointers), count,
                           ctypes.addressof(self._addresses), len(self.outputs), ctypes.addressof(self._error))
        self._run = self._library.tcc_run
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32,
                              ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
        self._names = [tensor.name for tensor in self.inputs]
        self._known, names = set(self._names), self._names
        self._pick = operator.itemgetter(*names) if count > 1 else lambda named: [named[name] for name in names]
        self._readers = [_Input(tensor, slot).reader() for tensor, slot in zip(self.inputs, self._slots)]
        self._takers = [(_Output if tensor.bits >= 8 else _PackedOutput)(tensor).taker() for tensor in self.outputs]
        self._results = type("Results", (Results,), {"names": tuple(tensor.name for tensor in self.outputs)})

    def __call__(self, *inputs, wrap=None, **named):
        """Runs once. Inputs by position, by name, or both; returns the outputs, a Results."""
        if named or len(inputs) != len(self._readers):
            inputs = self._in_order(inputs, named)
        if not self._lock.acquire(False):
            raise Error(4, "another thread runs this Model: make one for each")
        try:
            kept = list(map(_call, self._readers, inputs))
            self._addresses[:] = self._nothing
            status = self._run(*self._arguments)
            del kept
            if status:
                self._check(status)
            addresses = self._addresses[:]
        finally:
            self._lock.release()
        if wrap:
            return self._results(_wrapped(addresses, wrap))
        return self._results(map(_call, self._takers, addresses))

    def run(self, inputs):
        """The same with dictionaries from names to arrays."""
        return dict(zip(self._results.names, self(*self._pick(inputs))))

    def set_seed(self, seed):
        """Starts the random numbers of a seed from 0 to 2**64 - 1: the same in every process. Without it
        they are others in every process, and in every run, as they go on from run to run."""
        if not 0 <= seed < 1 << 64:
            raise Error(1, f"{seed} is no seed: it needs 64 bits without a sign")
        if not hasattr(self._library, "tcc_context_set_seed"):
            raise Error(5, "this model was made by an older tcc, which knew no seeds: compile it again")
        status = self._library.tcc_context_set_seed(self._context, ctypes.c_uint64(seed))
        if status:
            raise Error(status, "another thread runs this Model" if status == 4 else "this Model is closed")

    @property
    def manifest(self):
        """JSON text, see docs/manifest.schema.json."""
        return self._library.tcc_model_manifest(self._model, None).decode()

    def close(self):
        if not self._lock.acquire(False):
            raise Error(4, "another thread runs this Model: close it when that is done")
        try:
            context, model = self._context, self._model
            self._context, self._model = type(context)(), type(model)()  # modules may be gone where Python ends
            self._arguments = (None, *self._arguments[1:])
            self._library.tcc_context_destroy(context)
            self._library.tcc_model_close(model)
        finally:
            self._lock.release()

    def __reduce_ex__(self, _):
        """Two that share one context would both end it."""
        raise TypeError("a Model is neither copied nor pickled: open its file again, in each process")

    def __del__(self):
        if getattr(self, "_arguments", None) and self._model:
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _in_order(self, inputs, named):
        if not inputs and named.keys() == self._known:
            return self._pick(named)
        inputs = list(inputs) + [named.pop(name) for name in self._names[len(inputs):] if name in named]
        if named or len(inputs) != len(self._names):
            raise Error(1, f"this model takes {', '.join(self._names)}")
        return inputs

    def _check(self, status):
        if status:
            raise Error(status, self._error.message.decode(errors="replace"))

    def _describe(self, kind):
        tensors = []
        for index in range(getattr(self._library, f"tcc_model_num_{kind}s")(self._model)):
            info = _TensorInfo(struct_size=ctypes.sizeof(_TensorInfo))
            getattr(self._library, f"tcc_model_{kind}")(self._model, index, ctypes.byref(info))
            tensors.append(Tensor(info))
        return tensors


# ---- inputs ----

class _Input:
    """Fills one DLTensor from what a caller passes. Compact NumPy arrays of the right type, of one shape
    call after call, cost no more than their address."""

    def __init__(self, tensor, slot):
        self.tensor, self.slot, self.dtype = tensor, slot, tensor.dtype if tensor.bits >= 8 else None
        self.shape, self.extents = None, None  # of the compact array that the slot describes

    def reader(self):
        """A function that fills the slot and returns what keeps its memory alive until the run is over; what it
        looks at in every call are its own variables, which cost less than attributes."""
        slot, dtype, mutated, compact, any_value = self.slot, self.dtype, self.tensor.mutated, self._compact, self._any
        array, byte, address_of = _ndarray, _byte, _address

        def read(value):
            if type(value) is not array or value.dtype != dtype:
                return any_value(value)
            try:
                address = address_of(byte(value))
            except (TypeError, ValueError):  # not compact, read-only or empty
                if not value.flags.c_contiguous or mutated:
                    return any_value(value)
                address = value.__array_interface__["data"][0]
            if value.shape != self.shape:
                compact(value.shape)
            slot.data = address
            return value
        return read

    def _compact(self, shape):
        slot, tensor = self.slot, self.tensor
        self.shape, self.extents = shape, (ctypes.c_int64 * len(shape))(*shape)
        slot.device_type, slot.device_id, slot.ndim = 1, 0, len(shape)
        slot.code, slot.bits, slot.lanes, slot.byte_offset = tensor.code, tensor.bits, 1, 0
        slot.shape, slot.strides = self.extents, None

    def _any(self, value):
        self.shape = None
        described, kept = _borrow(value, self.tensor)
        ctypes.pointer(self.slot)[0] = described
        return described, kept


def _borrow(value, tensor):
    """A DLTensor over the value's memory, and what keeps that alive."""
    if value is None:  # a NaN to NumPy
        raise Error(1, f"input '{tensor.name}' is None")
    if not hasattr(value, "__dlpack__"):
        try:
            value = np.asarray(value, tensor.dtype if tensor.bits >= 8 else None)
        except (TypeError, ValueError, OverflowError) as error:
            raise Error(1, f"input '{tensor.name}' is no array of {tensor.dtype}: {error}") from None
    if isinstance(value, np.ndarray):
        return _borrow_numpy(value, tensor)
    value = _resolved(value, tensor)
    capsule = _capsule_of(value)
    if not _capsule_is(capsule, b"dltensor_versioned"):
        managed = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), _P(_DLManagedTensor))
        return managed.contents.tensor, (capsule, value)
    managed = ctypes.cast(_capsule_pointer(capsule, b"dltensor_versioned"), _P(_DLManagedTensorVersioned)).contents
    if managed.major != 1:
        raise Error(1, f"input '{tensor.name}' is DLPack {managed.major}.{managed.minor}, this loader knows 1")
    if tensor.mutated and managed.flags & 1:
        raise Error(1, f"the model writes into input '{tensor.name}': it cannot be read-only")
    return managed.tensor, (capsule, value)


def _resolved(value, tensor):
    """PyTorch's tensors may be the negative or the conjugate of their memory, of which DLPack says nothing."""
    if not getattr(value, "is_neg", bool)() and not getattr(value, "is_conj", bool)():
        return value
    if tensor.mutated:
        raise Error(1, f"the model writes into input '{tensor.name}': it cannot be a negated or conjugated view")
    return value.resolve_neg().resolve_conj()


def _capsule_of(value):
    """DLPack 1, which may say that a tensor is read-only, from who knows that."""
    try:
        return value.__dlpack__(max_version=(1, 1))
    except TypeError:
        return value.__dlpack__()


def _borrow_numpy(array, tensor):
    """NumPy exports neither read-only arrays nor types that are not its own: built here."""
    code, bits = tensor.code, tensor.bits
    copied = bits < 8 or any(stride % array.itemsize for stride in array.strides)
    if tensor.mutated and (copied or not array.flags.writeable):
        raise Error(1, f"the model writes into input '{tensor.name}': it cannot be read-only or need a copy")
    if bits < 8 and array.dtype.itemsize == 1:
        (array, shape), strides = _pack(array, bits), None
    else:
        if array.dtype != tensor.dtype:
            known = {np.dtype(name): key for key, name in _NUMPY.items()}
            if array.dtype not in known:
                raise Error(1, f"input '{tensor.name}': expected {tensor.dtype}, got {array.dtype}")
            code, bits = known[array.dtype]
        if any(stride % array.itemsize for stride in array.strides):
            array = np.ascontiguousarray(array)
        shape, strides = array.shape, [stride // array.itemsize for stride in array.strides]
    ndim = len(shape)
    result = _DLTensor(data=array.ctypes.data, device_type=1, ndim=ndim, code=code, bits=bits, lanes=1)
    result.shape = (ctypes.c_int64 * ndim)(*shape)
    if strides is not None:
        result.strides = (ctypes.c_int64 * ndim)(*strides)
    return result, array


def _pack(array, bits):
    """One element a byte into DLPack's packed form; returns it and the shape."""
    per_byte = 8 // bits
    flat = array.astype(np.uint8).ravel() & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % per_byte, np.uint8)]).reshape(-1, per_byte)
    return np.bitwise_or.reduce(flat << (np.arange(per_byte, dtype=np.uint8) * bits), axis=1).astype(np.uint8), array.shape


# ---- outputs ----

class _Output:
    """Makes a writable array over an output's memory, which ends with the array. What holds the memory is of a
    type made for the shape; where that changes all the time, which is slow to make, NumPy asks an object."""

    def __init__(self, tensor):
        self.tensor, self.delete, self.shape, self.block = tensor, None, None, None
        self.dims = None if tensor.shape is None else (ctypes.c_int64 * len(tensor.shape)).from_address
        # Types that NumPy lacks travel as integers.
        self.native = (tensor.code, tensor.bits) in _NUMPY
        self.dtype = tensor.dtype if self.native else np.dtype(f"uint{max(tensor.bits, 8)}")

    def taker(self):
        """A function from an output's address to its array; of a known shape it looks at the data alone."""
        known = self.tensor.shape if self.tensor.shape is not None and all(type(d) is int for d in self.tensor.shape) else None
        dims, dtype, native = self.dims, self.dtype, self.native
        array, words_at = _ndarray, _words_at

        def take(address):
            words = words_at(address)  # of a DLTensor: the data, the device, the rank and the type, the shape
            shape = known or (dims or (ctypes.c_int64 * (words[2] & 0xffffffff)).from_address)(words[3])[:]
            if shape != self.shape:
                return self._first(address, words[0], shape)
            block = (self.block or self._make_block())(words[0])
            block.address = address
            result = array(shape, dtype, block)
            return result if native else result.view(self.tensor.dtype)
        return take

    def _first(self, address, data, shape):
        self.shape, self.block = shape, None
        interface = {"data": (data, False), "shape": tuple(shape), "typestr": self.dtype.str, "version": 3}
        array = np.asarray(_Block(address, self.delete or self._ending(address), interface))
        return array if self.native else array.view(self.tensor.dtype)

    def _ending(self, address):
        """What ends a tensor: one function for all outputs of a library."""
        deleter = ctypes.cast(_DLManagedTensor.from_address(address).deleter, ctypes.c_void_p)
        self.delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter.value)
        return self.delete

    def _make_block(self):
        delete, size = self.delete, math.prod(self.shape) * self.dtype.itemsize
        self.block = type("Block", (ctypes.c_char * size,), {"__del__": lambda block: delete(block.address)}).from_address
        return self.block


class _PackedOutput(_Output):
    """The same for elements below 8 bits, which are copied into one byte each."""

    def taker(self):
        return self.take

    def take(self, address):
        words = _words_at(address)
        shape = tuple((ctypes.c_int64 * (words[2] & 0xffffffff)).from_address(words[3]))
        size = -(-math.prod(shape) * self.tensor.bits // 8)
        packed = np.frombuffer(ctypes.string_at(words[0], size), np.uint8)
        self._ending(address)(address)
        return _unpack(packed, shape, self.tensor)


class _Block:
    """What an array over a new shape keeps alive."""

    __slots__ = ("address", "delete", "__array_interface__")

    def __init__(self, address, delete, interface):
        self.address, self.delete, self.__array_interface__ = address, delete, interface

    def __del__(self):
        self.delete(self.address)


def _wrapped(addresses, wrap):
    outputs = [_Exported(address) for address in addresses]
    try:
        return [wrap(output) for output in outputs]
    finally:
        for output in outputs:
            output.release()


def _unpack(packed, shape, tensor):
    values = packed[:, None] >> (np.arange(8 // tensor.bits, dtype=np.uint8) * tensor.bits) & ((1 << tensor.bits) - 1)
    values = values.reshape(-1)[:math.prod(shape)].reshape(shape)
    if tensor.code == 0:
        sign = 1 << (tensor.bits - 1)
        return (values ^ sign).astype(np.int8) - sign
    return values.astype(np.uint8)
