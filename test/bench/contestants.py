"""The engines scripts/bench compares: each prepares a model once and gives a function that runs it once.

A contestant is made from a Case and the number of threads. `run()` is what is
timed; `outputs()` gives what it computed as arrays, so that conversions stay
outside the timed part. An engine that can write into outputs which are there
already does (`preallocated`). Engines are imported when asked for; one that has
nothing to run raises NotRun.
"""
import pathlib
import tempfile
import time

import numpy as np


class NotRun(Exception):
    """Why a contestant was not tried on a model; that is no failure of it."""


class Tcc:
    title, package = "tcc", "tcc"
    preallocated = False  # allocates its outputs and frees them, every run

    def __init__(self, case, threads, flags=()):
        from compiled import Compiled, compile_model
        self.folder = tempfile.TemporaryDirectory(prefix="tcc-bench-")
        path = pathlib.Path(self.folder.name) / "model.so"
        start = time.perf_counter()
        compile_model(case.model, path, "--cpu", "native", *flags)
        self.prepared_in = time.perf_counter() - start
        self.model = Compiled(path, threads)
        self.arrays = [array for _, array in case.inputs]
        self.run = self.model.prepare(self.arrays)

    def outputs(self):
        return self.model(*self.arrays)


class TccTuned(Tcc):
    """With what max-autotune finds here, in the time that it takes when nobody says how long."""
    title = "tcc, max-autotune"

    def __init__(self, case, threads, flags=()):
        super().__init__(case, threads, (*flags, "--mode", "max-autotune"))


class OnnxRuntime:
    title, package = "ONNX Runtime", "onnxruntime"
    preallocated = True

    def __init__(self, case, threads):
        from testfolder import onnx_session
        start = time.perf_counter()
        session = onnx_session(case.model, threads, spin=True)
        self.prepared_in = time.perf_counter() - start
        from onnxruntime import OrtValue
        feed = dict(zip([value.name for value in session.get_inputs()], [array for _, array in case.inputs]))
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(array))
        # What a first run gives is where the timed ones write.
        self.results = [OrtValue.ortvalue_from_numpy(array) for array in session.run(None, feed)]
        for value, result in zip(session.get_outputs(), self.results):
            binding.bind_ortvalue_output(value.name, result)
        self.run = lambda: session.run_with_iobinding(binding)

    def outputs(self):
        for result in self.results:  # so that what is checked is what this run wrote
            result.update_inplace(np.zeros_like(result.numpy()))
        self.run()
        return [result.numpy() for result in self.results]


class OpenVino:
    title, package = "OpenVINO", "openvino"
    preallocated = True

    def __init__(self, case, threads):
        import openvino
        start = time.perf_counter()
        model = openvino.Core().compile_model(str(case.model), "CPU", {
            "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
        self.prepared_in = time.perf_counter() - start
        request = model.create_infer_request()
        for index, (_, array) in enumerate(case.inputs):
            request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))
        request.infer()
        # What a first run gives is where the timed ones write.
        self.results = [np.array(request.get_output_tensor(index).data) for index in range(len(model.outputs))]
        for index, result in enumerate(self.results):
            request.set_output_tensor(index, openvino.Tensor(result, shared_memory=True))
        self.run = request.infer

    def outputs(self):
        for result in self.results:  # so that what is checked is what this run wrote
            result.fill(0)
        self.run()
        return [result.copy() for result in self.results]


class Torch:
    """PyTorch on the module itself: eager, or through torch.compile in a mode, with the weights
    frozen (torch._inductor.config.freezing), since every other engine here has them constant."""
    package, preallocated, mode = "torch", False, None

    def __init__(self, case, threads):
        from architectures import ARCHITECTURES
        if case.name not in ARCHITECTURES:
            raise NotRun("no PyTorch module")
        import torch
        import torch._inductor.config
        torch.set_num_threads(threads)
        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        self.torch = torch
        module = ARCHITECTURES[case.name].build()
        arguments = [torch.from_numpy(array) for _, array in case.inputs]
        start = time.perf_counter()
        if self.mode:
            module = torch.compile(module, mode=self.mode)

        def run():
            with torch.no_grad():
                return module(*arguments)
        self.run = run
        run()
        self.prepared_in = time.perf_counter() - start

    def outputs(self):
        leaves, _ = self.torch.utils._pytree.tree_flatten(self.run())
        return [leaf.numpy() for leaf in leaves]


class TorchEager(Torch):
    title = "eager"


class TorchCompile(Torch):
    title, mode = "torch.compile", "default"


class TorchMaxAutotune(Torch):
    title, mode = "max-autotune", "max-autotune"


CONTESTANTS = {"tcc": Tcc, "tuned": TccTuned, "ort": OnnxRuntime, "openvino": OpenVino, "eager": TorchEager,
               "compile": TorchCompile, "max-autotune": TorchMaxAutotune}
