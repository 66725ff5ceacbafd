"""The engines scripts/bench compares: each prepares a model once and gives a function that runs it once.

A contestant is made from a Case and the number of threads. `run()` is what is
timed; it returns something that `outputs()` turns into arrays, so that
conversions stay outside the timed part. Engines are imported when asked for.
"""
import pathlib
import tempfile
import time

import numpy as np


class Tcc:
    title = "tcc"

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


class OnnxRuntime:
    title = "ONNX Runtime"

    def __init__(self, case, threads):
        from testfolder import onnx_session
        start = time.perf_counter()
        session = onnx_session(case.model, threads)
        self.prepared_in = time.perf_counter() - start
        feed = dict(zip([value.name for value in session.get_inputs()], [array for _, array in case.inputs]))
        self.run = lambda: session.run(None, feed)

    def outputs(self):
        return self.run()


class OpenVino:
    title = "OpenVINO"

    def __init__(self, case, threads):
        import openvino
        start = time.perf_counter()
        model = openvino.Core().compile_model(str(case.model), "CPU", {
            "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
        self.prepared_in = time.perf_counter() - start
        request = model.create_infer_request()
        feed = {index: array for index, (_, array) in enumerate(case.inputs)}
        self.ports = model.outputs
        self.run = lambda: request.infer(feed, share_inputs=True, share_outputs=True)

    def outputs(self):
        result = self.run()
        return [np.array(result[port]) for port in self.ports]


class Torch:
    """PyTorch on the module itself: eager, or through torch.compile in a mode, with the weights
    frozen (torch._inductor.config.freezing), since every other engine here has them constant."""
    mode = None

    def __init__(self, case, threads):
        import torch
        import torch._inductor.config
        from architectures import ARCHITECTURES
        if case.name not in ARCHITECTURES:
            raise NotImplementedError("no PyTorch module")
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


CONTESTANTS = {"tcc": Tcc, "ort": OnnxRuntime, "openvino": OpenVino, "eager": TorchEager,
               "compile": TorchCompile, "max-autotune": TorchMaxAutotune}
