"""Damages models in a thousand ways and checks that tcc compiles each or refuses it as it promises.

    mutate.py --count N [--seed S] [--keep DIR] [--flags=...] MODEL...

A mutant may still be a model; then it compiles (exit code 0). Else the exit code is 2, with one short
`error:` in clean text. Anything else - a signal, exit code 1, 20 seconds, 4 GB - is printed, and the
mutant kept. The same seed gives the same mutants.
"""
import argparse
import json
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import zipfile

import onnx
from onnx import AttributeProto, TensorProto, helper

from compiled import tool

INTEGERS = [-1, 0, 1, 2, 3, 7, -2, 64, 1000, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -1.0, 1e-45, 3e38, float("inf"), float("nan"), 0.5]
NAMES = ["", "x", "a b", "%s%n", "../../etc/passwd", "\u202e", "a\tb", "y" * 5000, "\u00e9"]
OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""})
TYPES = list(range(0, 28)) + [99]


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs_of(inner)


def pick(rng, sequence):
    return rng.choice(list(sequence)) if len(sequence) else None


def mutate_attribute(rng, attribute):
    kind = rng.randrange(6)
    if kind == 0:
        attribute.type = rng.randrange(0, 16)
    elif attribute.ints and kind < 4:
        if rng.random() < 0.3:
            attribute.ints.append(rng.choice(INTEGERS))
        else:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(INTEGERS)
    elif attribute.type == AttributeProto.INT:
        attribute.i = rng.choice(INTEGERS)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice([b"", b"\xff\xfe", b"NOTSET", b"SAME_UPPER", b"VALID", b"reflect", b"cubic"])
    elif attribute.type == AttributeProto.TENSOR:
        mutate_tensor(rng, attribute.t)
    else:
        attribute.name = rng.choice(["axis", "axes", "kernel_shape", "to", "perm", "body", ""])


def mutate_tensor(rng, tensor):
    kind = rng.randrange(7)
    if kind == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS)
    elif kind == 1:
        tensor.dims.append(rng.choice(INTEGERS))
    elif kind == 2:
        tensor.data_type = rng.choice(TYPES)
    elif kind == 3:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
    elif kind == 4 and tensor.dims:
        tensor.dims.pop()
    elif kind == 5:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=rng.choice(["/etc/passwd", "../x", "model.onnx", "", "absent"]))
        tensor.external_data.add(key="offset", value=rng.choice(["0", "-1", str(2**63), "x", "4096"]))
        tensor.external_data.add(key="length", value=rng.choice(["0", "24", str(2**62), "-5"]))
    elif tensor.raw_data and tensor.data_type in (TensorProto.INT64, TensorProto.INT32):
        width = 8 if tensor.data_type == TensorProto.INT64 else 4
        value = rng.choice(INTEGERS) & ((1 << (8 * width)) - 1)
        at = rng.randrange(len(tensor.raw_data) // width) * width if len(tensor.raw_data) >= width else 0
        tensor.raw_data = tensor.raw_data[:at] + value.to_bytes(width, "little") + tensor.raw_data[at + width:]
    elif tensor.int64_data:
        tensor.int64_data[rng.randrange(len(tensor.int64_data))] = rng.choice(INTEGERS)
    else:
        tensor.name = rng.choice(NAMES)


def mutate_node(rng, graph, node):
    names = [name for other in graph.node for name in (*other.input, *other.output)] + NAMES
    kind = rng.randrange(12)
    if kind <= 2 and node.attribute:
        mutate_attribute(rng, pick(rng, node.attribute))
    elif kind == 3 and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif kind == 4:
        node.op_type = rng.choice(OPERATORS)
    elif kind == 5 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif kind == 6:
        node.input.append(rng.choice(names))
    elif kind == 7 and node.input:
        node.input.pop()
    elif kind == 8 and node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice(names)
    elif kind == 9:
        graph.node.add().CopyFrom(node)
    elif kind == 10:
        node.domain = rng.choice(["", "com.microsoft", "ai.onnx.ml", "x"])
    else:
        attribute = node.attribute.add(name=rng.choice(["axis", "axes", "pads", "strides", "group", "mode", "perm"]))
        attribute.CopyFrom(helper.make_attribute(attribute.name, rng.choice([3, [1, 2], -(2**63), 0.5, "x", [2**62] * 3])))


def mutate_type(rng, info):
    tensor = info.type.tensor_type
    kind = rng.randrange(6)
    if kind <= 2 and tensor.shape.dim:
        dim = pick(rng, tensor.shape.dim)
        if rng.random() < 0.7:
            dim.dim_value = rng.choice(INTEGERS)
        else:
            dim.dim_param = rng.choice(NAMES)
    elif kind == 3:
        tensor.elem_type = rng.choice(TYPES)
    elif kind == 4:
        tensor.shape.dim.add().dim_value = rng.choice(INTEGERS)
    else:
        info.ClearField("type") if rng.random() < 0.3 else tensor.ClearField("shape")


def mutate_onnx(rng, data):
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        graph = pick(rng, list(graphs_of(model.graph)))
        kind = rng.randrange(10)
        if kind <= 4 and graph.node:
            mutate_node(rng, graph, pick(rng, graph.node))
        elif kind <= 6 and graph.initializer:
            mutate_tensor(rng, pick(rng, graph.initializer))
        elif kind == 7 and (infos := [*graph.input, *graph.output, *graph.value_info]):
            mutate_type(rng, pick(rng, infos))
        elif kind == 8:
            rng.choice(model.opset_import).version = rng.choice([-1, 0, 1, 5, 9, 12, 13, 18, 24, 99, 2**40])
        elif graph.node:
            del graph.node[rng.randrange(len(graph.node))]
    return model.SerializeToString()


def mutate_json(rng, value):
    """Changes one place of a JSON value; the value is changed in place where it can be."""
    while isinstance(value, (dict, list)) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        if isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.93:
            value = value[key]
            continue
        kind = rng.randrange(5)
        if kind == 0:
            del value[key]
        elif kind == 1 and isinstance(value, list):
            value.append(value[key])
        elif kind == 2:
            value[key] = rng.choice([None, True, [], {}, "", "x", -1, 2**62, 1.5, [[]], "s0 + 1"])
        elif isinstance(value[key], bool) or not isinstance(value[key], (int, str)):
            value[key] = rng.choice(INTEGERS)
        else:
            value[key] = rng.choice(INTEGERS if isinstance(value[key], int) else NAMES)
        return


def mutate_archive(rng, path, target):
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        documents = [name for name in source.namelist() if name.endswith(".json")]
        chosen = rng.choice(documents) if documents else None
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == chosen:
                document = json.loads(data)
                for _ in range(rng.choice([1, 1, 2, 4])):
                    mutate_json(rng, document)
                data = json.dumps(document).encode()
            elif rng.random() < 0.03:
                data = data[: rng.randrange(len(data) + 1)]
            out.writestr(entry, data)


def mutate_bytes(rng, data):
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 1:
        start = rng.randrange(len(data))
        del data[start: start + rng.randrange(1, 40)]
        return bytes(data)
    for _ in range(rng.choice([1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def write_mutant(seed, source, target):
    rng = random.Random(seed)
    if rng.random() < 0.25:
        target.write_bytes(mutate_bytes(rng, source.read_bytes()))
    elif source.suffix == ".pt2":
        mutate_archive(rng, source, target)
    else:
        try:
            target.write_bytes(mutate_onnx(rng, source.read_bytes()))
        except ValueError:  # protobuf has no room for this value
            target.write_bytes(mutate_bytes(rng, source.read_bytes()))


def without_core_dump():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def verdict(mutant, folder, flags):
    """None, or what tcc did that it must not do."""
    output = folder / "out.so"
    before = sorted(p.name for p in folder.iterdir())
    before_it = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen([tool("tcc"), mutant.name, "-o", output.name, "--cache", "", *flags], cwd=folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=without_core_dump)
    try:
        error = child.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return "more than 300 s"
    after_it = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after_it.ru_utime + after_it.ru_stime - before_it.ru_utime - before_it.ru_stime  # others may keep the machine busy
    if seconds > 60:
        return f"{seconds:.0f} s"
    if child.returncode == 0:
        for path in folder.glob("out*"):
            path.unlink()
        return None
    text = error.decode(errors="replace")
    if child.returncode != 2:
        return f"exit code {child.returncode}: {text[-600:]}"
    if len(re.findall(r"\berror:", text)) != 1 or len(error) > 4096 or re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]", text):
        return f"its error is no clean text: {text[:600]!r}"
    if sorted(p.name for p in folder.iterdir()) != before:
        return f"left files behind: {text[:200]}"
    if seconds > 20:
        return f"{seconds:.0f} s: {text[:200]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100, help="mutants of each model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("mutants"))
    parser.add_argument("--flags", default="", help="options for tcc, such as --arch=sim")
    options = parser.parse_args()
    limit = 4 << 30
    faults = 0
    for source in options.models:
        for number in range(options.count):
            with tempfile.TemporaryDirectory(prefix="tcc-mutant-") as scratch:
                mutant = pathlib.Path(scratch) / f"model{source.suffix}"
                write_mutant(f"{source.name} {options.seed + number}", source, mutant)
                problem = verdict(mutant, pathlib.Path(scratch), options.flags.split())
                peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
                if not problem and peak > limit:
                    problem, limit = f"{peak >> 20} MB", peak
                if problem:
                    faults += 1
                    options.keep.mkdir(parents=True, exist_ok=True)
                    kept = options.keep / f"{source.stem}-{options.seed + number}{source.suffix}"
                    kept.write_bytes(mutant.read_bytes())
                    print(f"{kept}: {problem}", flush=True)
    print(f"{len(options.models) * options.count} mutants, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
