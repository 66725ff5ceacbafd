"""Folders in the form of ONNX's backend tests: a model and its inputs and outputs.

    NAME/model.onnx (and model.onnx.data) or NAME/model.pt2
    NAME/test_data_set_K/input_N.pb, output_N.pb     outputs of ONNX Runtime
    NAME/test_data_set_K/output64_N.npy              the same computed in float64, where known
"""
import contextlib
import fcntl
import pathlib
import shutil

import numpy as np
import onnx
from onnx import numpy_helper


@contextlib.contextmanager
def alone(root, name):
    """While one process makes a folder another that wants the same waits."""
    root.mkdir(parents=True, exist_ok=True)
    with open(root / f".{name}.lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_tensor(path, name, array):
    path.write_bytes(numpy_helper.from_array(np.asarray(array, order="C"), name).SerializeToString())


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(pathlib.Path(path).read_bytes())
    return tensor.name, numpy_helper.to_array(tensor)


def write_data_set(folder, index, inputs, outputs, outputs64=()):
    """inputs and outputs are lists of (name, array) in the model's order."""
    data = pathlib.Path(folder) / f"test_data_set_{index}"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    for number, (name, array) in enumerate(inputs):
        write_tensor(data / f"input_{number}.pb", name, array)
    for number, (name, array) in enumerate(outputs):
        write_tensor(data / f"output_{number}.pb", name, array)
    for number, array in enumerate(outputs64):
        if array is not None:
            np.save(data / f"output64_{number}.npy", array)


def read_data_set(data):
    """The inputs, outputs (lists of (name, array)) and float64 outputs (list, None where absent)."""
    data = pathlib.Path(data)
    count = lambda stem: len(list(data.glob(f"{stem}_*.pb")))
    inputs = [read_tensor(data / f"input_{n}.pb") for n in range(count("input"))]
    outputs = [read_tensor(data / f"output_{n}.pb") for n in range(count("output"))]
    exact = [np.load(path) if (path := data / f"output64_{n}.npy").exists() else None
             for n in range(len(outputs))]
    return inputs, outputs, exact


def exact_byte_products(options):
    """On CPUs without VNNI, ONNX Runtime adds pairs of byte products in 16 bits, which overflow, unless asked not to."""
    options.add_session_config_entry("session.x64quantprecision", "1")


def onnx_session(model, threads=2, spin=False):
    """Of a file or of a model's bytes. Without `spin` threads that wait sleep: another test could use the core."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
    exact_byte_products(options)
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def write_onnx_data_sets(folder, cases, exact=()):
    """Runs ONNX Runtime on each case (a dict of arrays by input name) and stores the results.

    exact[k], if given, holds the float64 outputs of case k."""
    session = onnx_session(pathlib.Path(folder) / "model.onnx")
    names = [value.name for value in session.get_outputs()]
    for index, case in enumerate(cases):
        inputs = [(value.name, case[value.name]) for value in session.get_inputs()]
        outputs = session.run(names, dict(inputs))
        write_data_set(folder, index, inputs, list(zip(names, outputs)), exact[index] if exact else ())
