"""Launches that pack-launches wrote, on the GPU of this process: read, given tensors of PyTorch and launched on its
stream, so that they can be compared with PyTorch's own kernels and timed beside them.
"""
import ctypes
import dataclasses
import pathlib

# CUtensorMapDataType of 16 bits; CUtensorMapL2promotion 256 bytes; CUfunction_attribute.
UNIT_BYTES, UNIT_TYPE = 2, 1
PROMOTE_256, SWIZZLES, MOST_DYNAMIC_SHARED = 3, {0: 0, 32: 1, 64: 2, 128: 3}, 8
# A kernel gets more dynamic shared memory than this only if it was asked for.
USUAL_SHARED = 48 << 10


@dataclasses.dataclass
class Launch:
    name: str
    cubin: str
    blocks: int
    threads: int
    shared: int
    flops: float
    bytes: float
    scratch: int
    maps: list = dataclasses.field(default_factory=list)
    arguments: list = dataclasses.field(default_factory=list)  # ("word", value), ("input", type, count), ("output", type, count)

    def of(self, kind):
        return [argument for argument in self.arguments if argument[0] == kind]


def read(folder):
    """The launches listed in `folder`, by name."""
    found, current = {}, None
    for line in (pathlib.Path(folder) / "launches").read_text(encoding="utf-8").splitlines():
        key, *words = line.split()
        if key == "launch":
            name, cubin, *numbers = words
            current = Launch(name, cubin, *(int(n) for n in numbers[:3]), *(float(n) for n in numbers[3:5]), int(numbers[5]))
            found[name] = current
        elif key == "map":
            current.maps.append([int(word) for word in words])
        elif key == "word":
            current.arguments.append(("word", int(words[0])))
        elif key in ("random", "input"):
            current.arguments.append(("input", words[0], int(words[1])))
        elif key == "output":
            current.arguments.append(("output", words[0], int(words[1])))
    return found


class Driver:
    """libcuda, with errors as exceptions."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            code = function(*arguments)
            if code:
                raise RuntimeError(f"{name}: CUDA error {code}")
        return call


class Loaded:
    """A kernel of `folder` in the context of PyTorch, which is current."""

    def __init__(self, driver, folder, launch):
        self.driver, self.launch = driver, launch
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        driver.cuModuleLoadData(ctypes.byref(self.module), (pathlib.Path(folder) / launch.cubin).read_bytes())
        driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, b"k")
        if launch.shared > USUAL_SHARED:
            driver.cuFuncSetAttribute(self.function, MOST_DYNAMIC_SHARED, launch.shared)

    def bound(self, torch, inputs, outputs):
        """A function that launches on PyTorch's current stream, with these contiguous tensors."""
        given, made, keep = iter(inputs), iter(outputs), []
        words = []
        for argument in self.launch.arguments:
            words.append(argument[1] if argument[0] == "word" else
                         next(given if argument[0] == "input" else made).data_ptr())
        if self.launch.scratch:
            keep.append(torch.zeros(self.launch.scratch, dtype=torch.uint8, device="cuda"))
            words.append(keep[-1].data_ptr())
        values = [ctypes.c_uint64(word) for word in words]
        maps = [self._encoded(numbers, inputs, outputs) for numbers in self.launch.maps]
        parameters = (ctypes.c_void_p * (len(values) + len(maps)))(
            *(ctypes.addressof(value) for value in values), *(address for _, address in maps))
        keep += [values, maps]

        def call():
            assert keep
            self.driver.cuLaunchKernel(self.function, self.launch.blocks, 1, 1, self.launch.threads, 1, 1, self.launch.shared,
                                       ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), parameters, None)
        return call

    def _encoded(self, numbers, inputs, outputs):
        """A tensor map of what RunLaunches.cpp's readMap says, in units of 16 bits whatever the type; axes are listed
        outermost first, and encoded last first."""
        of_result, index, rank, *rest = numbers
        extents, box, rest = rest[0:2 * rank:2][::-1], rest[1:2 * rank:2][::-1], rest[2 * rank:]
        tensor = (outputs if of_result else inputs)[index]
        pitches = []
        for extent in extents:
            pitches.append(extent * (pitches[-1] if pitches else UNIT_BYTES))
        storage = ctypes.create_string_buffer(128 + 64)
        address = (ctypes.addressof(storage) + 63) // 64 * 64
        wide, narrow, places = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank, ctypes.c_int * 3
        steps = [1] * rank
        head = (ctypes.c_void_p(address), UNIT_TYPE, rank, ctypes.c_void_p(tensor.data_ptr()), wide(*extents),
                wide(*pitches))
        tail = (0, SWIZZLES[UNIT_BYTES * box[0]], PROMOTE_256, 0)
        pixels, spatial = rest[0], rank - 2
        if pixels:
            strides, low, high = (rest[1 + i * spatial:1 + (i + 1) * spatial][::-1] for i in range(3))
            steps[1:-1] = strides
            self.driver.cuTensorMapEncodeIm2col(*head, places(*low), places(*high), box[0], pixels, narrow(*steps), *tail)
        else:
            self.driver.cuTensorMapEncodeTiled(*head, narrow(*box), narrow(*steps), *tail)
        return storage, address
