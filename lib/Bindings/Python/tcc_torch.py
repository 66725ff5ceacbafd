"""Models on a GPU, with PyTorch's tensors: nothing is copied, and nobody waits.

    import tcc_torch
    model = tcc_torch.Model("model.so", device="cuda:0")
    y, = model(x)                               # x.cuda(): y is on the GPU as well

A call queues the model in PyTorch's current stream and returns. Outputs whose sizes the inputs tell are made
by PyTorch; others by the model. Inputs on the CPU are copied over, and make the call wait for its end.

A call whose inputs lie on the GPU can be captured in a torch.cuda.graph.

What a model refuses, an index out of range, is found on the GPU: a later call raises it, or synchronize().
"""
import ctypes

import torch

import tcc

_ON_STREAM, _OUTPUTS_ON_DEVICE = 1, 2
_TYPES = {(0, 8): torch.int8, (0, 16): torch.int16, (0, 32): torch.int32, (0, 64): torch.int64,
          (1, 8): torch.uint8, (1, 16): torch.uint16, (1, 32): torch.uint32, (1, 64): torch.uint64,
          (2, 16): torch.float16, (2, 32): torch.float32, (2, 64): torch.float64, (4, 16): torch.bfloat16,
          (5, 64): torch.complex64, (5, 128): torch.complex128, (6, 8): torch.bool,
          (10, 8): torch.float8_e4m3fn, (11, 8): torch.float8_e4m3fnuz, (12, 8): torch.float8_e5m2,
          (13, 8): torch.float8_e5m2fnuz}
_ALIGNMENT = 16  # bytes, of an address that kernels take
_stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_empty = torch.empty


class _RunOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("stream", ctypes.c_void_p)]


class Model(tcc.Model):
    """A tcc.Model whose inputs and outputs are torch tensors, on its GPU where they can be."""

    def __init__(self, path, device="cuda", **options):
        device = torch.device(device)
        self._place = torch.device("cuda", device.index or 0) if device.type == "cuda" else device
        super().__init__(path, device=self._place, **options)

    def _prepare(self):
        super()._prepare()
        if not hasattr(self._library, "tcc_run_on"):
            raise tcc.Error(5, "this model was made by an older tcc, which knew no GPUs: compile it again")
        self._run = self._library.tcc_run_on
        self._run.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32,
                                                      ctypes.c_void_p]
        self._options = _RunOptions(ctypes.sizeof(_RunOptions), _ON_STREAM | _OUTPUTS_ON_DEVICE, None)
        self._arguments = (self._context, ctypes.addressof(self._options), *self._arguments[1:])
        self._given = (tcc._DLManagedTensor * len(self.outputs))()
        self._readers = [_Input(tensor, slot).read for tensor, slot in zip(self.inputs, self._slots)]
        self._makers = [_Output(tensor, slot.tensor, self.inputs, self._place).make
                        for tensor, slot in zip(self.outputs, self._given)]
        self._given_at = [ctypes.addressof(slot) for slot in self._given]

    def __call__(self, *inputs, **named):
        """Queues one run. Inputs by position, by name, or both; returns the outputs, tcc.Results."""
        if named or len(inputs) != len(self._readers):
            inputs = self._in_order(inputs, named)
        if not self._lock.acquire(False):
            raise tcc.Error(4, "another thread uses this Model: make one for each")
        try:
            for read, value in zip(self._readers, inputs):
                read(value)
            made = [make(inputs) for make in self._makers]
            self._addresses[:] = [None if tensor is None else at for tensor, at in zip(made, self._given_at)]
            index = self._place.index or 0
            self._options.stream = _stream_of(index) if _stream_of else torch.cuda.current_stream(index).cuda_stream
            status = self._run(*self._arguments)
            if status:
                self._check(status)
            addresses = self._addresses[:]
        finally:
            self._lock.release()
        return self._results([torch.from_dlpack(tcc._Exported(at)) if tensor is None else tensor
                              for tensor, at in zip(made, addresses)])

    def synchronize(self):
        """Waits for the calls that were queued, and raises what one of them refused."""
        if not hasattr(self._library, "tcc_context_synchronize"):
            raise tcc.Error(5, "this model was made by an older tcc, whose calls check indices themselves")
        with self._lock:
            self._check(self._library.tcc_context_synchronize(self._context, ctypes.byref(self._error)))


class _Input:
    """Fills one DLTensor from a torch tensor; of one shape and place call after call, only its address.

    What lies on a GPU in another form than kernels read, strided or off 16 bytes, is copied there, in the stream of
    the call: the library would take it over the host, and wait.
    """

    def __init__(self, tensor, slot):
        self.tensor, self.slot = tensor, slot
        self.dtype = _TYPES.get((tensor.code, tensor.bits))
        self.form, self.copy = None, None

    def read(self, value):
        if value.dtype is not self.dtype:
            raise tcc.Error(1, f"input '{self.tensor.name}': expected {self.dtype}, got {value.dtype}")
        if value.is_neg() or value.is_conj():
            value = self.copy = tcc._resolved(value, self.tensor)
        form = value.shape, value.stride(), value.device
        if form != self.form:
            self._describe(*form)
            self.copies = value.is_cuda and not value.is_contiguous()
            if self.copies:
                self.slot.strides = None
        at = value.data_ptr()
        if self.copies or (at % _ALIGNMENT and value.is_cuda):
            self.copy = value.clone(memory_format=torch.contiguous_format)
            at = self.copy.data_ptr()
        self.slot.data = at

    def _describe(self, shape, strides, device):
        slot, tensor, rank = self.slot, self.tensor, len(shape)
        self.form = shape, strides, device
        self.extents, self.strides = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
        slot.device_type, slot.device_id = (2, device.index) if device.type == "cuda" else (1, 0)
        slot.ndim, slot.code, slot.bits, slot.lanes, slot.byte_offset = rank, tensor.code, tensor.bits, 1, 0
        slot.shape, slot.strides = self.extents, self.strides


class _Output:
    """Makes one output, where the shape is known: each size a number or the name of an input's."""

    def __init__(self, tensor, slot, inputs, place):
        self.tensor, self.slot, self.place, self.shape = tensor, slot, place, None
        self.dtype = _TYPES.get((tensor.code, tensor.bits))
        known = {name: (i, d) for i, given in enumerate(inputs) for d, name in enumerate(given.shape or ())
                 if isinstance(name, str)}
        self.sizes = None
        if self.dtype is not None and tensor.shape is not None:
            self.sizes = [size if isinstance(size, int) else known.get(size) for size in tensor.shape]
        if self.sizes is not None and None in self.sizes:
            self.sizes = None
        self.static = self.sizes is not None and all(isinstance(size, int) for size in self.sizes)

    def make(self, inputs):
        if self.sizes is None:
            return None
        shape = self.shape if self.static and self.shape is not None else tuple(
            size if isinstance(size, int) else inputs[size[0]].shape[size[1]] for size in self.sizes)
        if shape != self.shape:
            self._describe(shape)
        value = _empty(shape, dtype=self.dtype, device=self.place)
        self.slot.data = value.data_ptr()
        return value

    def _describe(self, shape):
        slot, tensor = self.slot, self.tensor
        self.shape, self.extents = shape, (ctypes.c_int64 * len(shape))(*shape)
        slot.device_type, slot.device_id = (2, self.place.index) if self.place.type == "cuda" else (1, 0)
        slot.ndim, slot.code, slot.bits, slot.lanes, slot.byte_offset = len(shape), tensor.code, tensor.bits, 1, 0
        slot.shape, slot.strides = self.extents, None
