"""Runs a model that was compiled for a GPU from Python.

NumPy arrays are copied to the GPU and back. With PyTorch, tensors that lie there are read where they are, the run is
queued in PyTorch's stream, and the output stays there.
"""
import importlib.util
import os

import numpy as np

x = np.arange(30, dtype=np.float32).reshape(3, 10) * np.float32(0.1) - 1


def with_numpy():
    import tcc
    with tcc.Model("model.so") as model:
        (y,) = model(x)
        return np.array(y)


def with_torch():
    import torch
    import tcc_torch
    model = tcc_torch.Model("model.so", device="cuda:0")
    (y,) = model(torch.from_numpy(x).cuda())
    assert y.is_cuda
    return y.cpu().numpy()


on_gpu = os.environ.get("ARCH", "sim") != "sim" and importlib.util.find_spec("torch")
for row in with_torch() if on_gpu else with_numpy():
    print(np.array2string(row, precision=4, floatmode="fixed"))
