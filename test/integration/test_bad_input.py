"""Bad input: exit code 2, one clear error that names the file, nothing left behind, and quickly."""
import io
import json
import os
import re
import unittest
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxparts import model, node, value
from toolrun import SOURCE, UNSAFE, ToolTest

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def external(location, offset=0, length=24, dims=(2, 3)):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=text)
    return model([node("Add", ["x", "w"], ["y"])], weights=[tensor])


def key_and_length(number, size):
    """What stands before a message of this size in field `number` (protobuf's wire format)."""
    out = bytearray([number << 3 | 2])
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size])


def field(number, payload):
    return key_and_length(number, len(payload)) + payload


def nested_ifs(depth):
    """An If in an If in an If. Written as bytes: protobuf's Python classes copy at every level."""
    graph_kind = b"\xa0\x01\x05"  # AttributeProto.type = GRAPH
    output = field(12, value("z").SerializeToString())
    flat = helper.make_graph([node("Identity", ["x"], ["z"])], "inner", [], [value("z")]).SerializeToString()
    head = field(1, b"c") + field(2, b"z") + field(4, b"If")
    other = field(5, field(1, b"else_branch") + field(6, flat) + graph_kind)
    name, size, heads, tail = field(1, b"then_branch"), len(flat), [], graph_kind + other + field(2, b"inner") + output
    for _ in range(depth):
        inner = name + key_and_length(6, size)
        attribute = key_and_length(5, len(inner) + size + len(graph_kind)) + inner
        nodes = len(head) + len(attribute) + size + len(graph_kind) + len(other)
        heads.append(key_and_length(1, nodes) + head + attribute)
        size += len(heads[-1]) + len(tail)
    graph = b"".join(reversed(heads)) + flat + tail * depth
    inputs = b"".join(field(11, v.SerializeToString()) for v in (value("x"), value("c", (), TensorProto.BOOL)))
    shell = model([])
    shell.ClearField("graph")
    return shell.SerializeToString() + field(7, graph + inputs)


class BadInput(ToolTest):
    def rejects(self, data, *words, name="model.onnx", arguments=()):
        """The whole contract, on one file."""
        (self.work / name).write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
        before = self.left_behind()
        result = self.tcc(name, "-o", "model.so", *arguments, timeout=20)
        self.check_rejected(result, name, *words)
        self.assertEqual(self.left_behind(), before, "left something behind")
        return result

    def check_rejected(self, result, name, *words):
        self.assertEqual(result.code, 2, result.text[:2000])
        text = result.err.decode("utf-8")  # strictly
        self.assertEqual(len(re.findall(r"\berror:", text)), 1, text[:2000])
        self.assertLessEqual(len(result.err), 4096)
        self.assertIsNone(UNSAFE.search(text), "control characters")
        self.assertIn(name, text)
        for word in words:
            self.assertIn(word, text)
        self.assertLess(result.peak_bytes, 4 << 30)
        self.assertLess(result.seconds, 20)

    def test_no_such_file(self):
        self.check_rejected(self.tcc("absent.onnx", "-o", "model.so"), "absent.onnx")

    def test_folder(self):
        (self.work / "model.onnx").mkdir()
        self.check_rejected(self.tcc("model.onnx", "-o", "model.so"), "model.onnx")

    def test_weights_beside_ir_are_where_they_were_written(self):
        self.compiles(SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx", "--stop-after", "simplify", "-o", "half.mlir")
        weights = self.work / "half.mlir.weights"
        data = weights.read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:end])
        # The range next to the right one, of the same size.
        name, entry = max(((n, e) for n, e in head.items() if n != "__metadata__"), key=lambda item: item[1]["data_offsets"])
        head[name]["data_offsets"] = [place - 4 for place in entry["data_offsets"]]
        weights.write_bytes(data[:8] + json.dumps(head, separators=(",", ":")).encode().ljust(end - 8) + data[end:])
        result = self.tcc("half.mlir", "--start-from", "layout", "-o", "out.so")
        self.assertEqual(result.code, 2, result.text)
        self.assertIn("'half.mlir.weights' is damaged", result.text)
        # A file of another program says nothing about it.
        head[name]["data_offsets"] = [place + 4 for place in entry["data_offsets"]]
        del head["__metadata__"]["seal"]
        weights.write_bytes(data[:8] + json.dumps(head, separators=(",", ":")).encode().ljust(end - 8) + data[end:])
        self.compiles("half.mlir", "--start-from", "layout", "-o", "out.so")

    def test_no_regular_file(self):
        for name in ("model.onnx", "model.pt2"):
            os.mkfifo(self.work / name)
            for arguments in ((name,), (name, "--start-from", "decompose")):
                with self.subTest(arguments):
                    result = self.tcc(*arguments, "-o", "model.so", timeout=20)
                    self.check_rejected(result, name, "is no regular file")
        for name in ("/dev/null", "/dev/zero"):
            self.check_rejected(self.tcc(name, "-o", "model.so"), name, "is no regular file")

    def test_huge_file(self):
        """Sparse: no byte of it is stored. Past the limit, or within it and no model, it is refused at once."""
        samples = {"model.onnx": "linear-relu/linear-relu.onnx", "model.pt2": "linear/linear.pt2"}
        for name, sample in samples.items():
            for size in (5 << 40, 100 << 30):
                for data in (b"", (SOURCE / "samples" / sample).read_bytes()):
                    path = self.work / name
                    path.write_bytes(data)
                    try:
                        os.truncate(path, size)
                    except OSError:  # no such files here
                        continue
                    with self.subTest(name, size=size, bytes=len(data)):
                        words = ["limit"] if size > 1 << 40 else []
                        self.check_rejected(self.tcc(name, "-o", "model.so", timeout=20), name, *words)
                    path.unlink()

    def test_huge_external_data(self):
        (self.work / "w.bin").write_bytes(b"")
        try:
            os.truncate(self.work / "w.bin", 5 << 40)
        except OSError:
            return
        self.rejects(external("w.bin"), "w.bin", "limit")

    def test_not_a_model(self):
        for data in (b"", b"\0" * 4096, b"Hello, this is a text file.\n" * 50, b"\x7fELF" + b"\1" * 400,
                     bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8))):
            with self.subTest(data[:8]):
                self.rejects(data)

    def test_not_a_torch_export(self):
        sample = (SOURCE / "samples/linear/linear.pt2").read_bytes()
        for data in (b"", b"PK\3\4" + b"\0" * 200, sample[: len(sample) // 2], sample[200:]):
            with self.subTest(data[:8]):
                self.rejects(data, name="model.pt2")

    def test_torch_export_checksums(self):
        """A flipped bit of any entry is told, that of a weight too, whatever is asked for."""
        data = (SOURCE / "samples/linear/linear.pt2").read_bytes()
        archive = zipfile.ZipFile(io.BytesIO(data))
        for info in archive.infolist():
            if not info.file_size:
                continue
            begin = data.index(archive.read(info), info.header_offset)
            flipped = bytearray(data)
            flipped[begin + info.file_size // 2] ^= 1
            (self.work / "model.pt2").write_bytes(flipped)
            for flags in ((), ("--emit", "obj"), ("--stop-after", "import")):
                with self.subTest(info.filename, flags=flags):
                    result = self.tcc("model.pt2", "-o", "model.so", *flags)
                    self.check_rejected(result, "model.pt2")
                    self.assertIn("damaged", result.text)
                    self.assertFalse((self.work / "model.so").exists())

    def test_torch_export_without_checksums(self):
        """torch.serialization.set_crc32_options(False) leaves them 0: nothing to hold against."""
        data = bytearray((SOURCE / "samples/linear/linear.pt2").read_bytes())
        at = data.index(b"PK\1\2")
        while at >= 0:
            data[at + 16 : at + 20] = bytes(4)
            at = data.find(b"PK\1\2", at + 1)
        (self.work / "model.pt2").write_bytes(data)
        self.assertEqual(self.tcc("model.pt2", "-o", "model.so").code, 0)

    def test_truncated(self):
        data = (SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx").read_bytes()
        for length in range(1, len(data), 211):
            with self.subTest(length):
                self.rejects(data[:length])

    def test_bit_flips(self):
        """A flipped bit may still be a model: then it compiles. Nothing else may happen."""
        rng = np.random.default_rng(1)
        for sample in ("linear-relu/linear-relu.onnx", "conv-bn-silu/conv-bn-silu.onnx", "linear/linear.pt2"):
            data = bytearray((SOURCE / "samples" / sample).read_bytes())
            name = "model" + sample[sample.rindex("."):]
            for _ in range(25):
                flipped = bytearray(data)
                flipped[rng.integers(len(data))] ^= 1 << rng.integers(8)
                (self.work / name).write_bytes(flipped)
                result = self.tcc(name, "-o", "model.so")
                self.assertIn(result.code, (0, 2), result.text[:2000])
                if result.code:
                    self.check_rejected(result, name)
                    self.assertFalse((self.work / "model.so").exists())
                (self.work / "model.so").unlink(missing_ok=True)

    def test_external_data_outside(self):
        (self.folder / "secret.bin").write_bytes(bytes(24))
        for location in ("../secret.bin", str(self.folder / "secret.bin"), "a/../../secret.bin", "/dev/zero", ""):
            with self.subTest(location):
                self.rejects(external(location), "w")

    def test_external_data_through_link(self):
        (self.folder / "secret.bin").write_bytes(bytes(24))
        (self.work / "link.bin").symlink_to("../secret.bin")
        self.rejects(external("link.bin"), "w")

    def test_external_data_size(self):
        (self.work / "w.bin").write_bytes(bytes(24))
        for offset, length in ((8, 24), (0, 25), (2 ** 63, 24), (-4, 24), (0, 2 ** 64 - 8), (0, 20)):
            with self.subTest(offset=offset, length=length):
                self.rejects(external("w.bin", offset, length), "w")

    def test_external_data_absent(self):
        self.rejects(external("absent.bin"), "absent.bin")

    def test_sizes_that_overflow(self):
        for dims in ((2 ** 40, 2 ** 40), (2 ** 62, 4, 4), (-5,), (2 ** 31, 2 ** 31, 2 ** 31)):
            with self.subTest(dims):
                tensor = TensorProto(name="w", data_type=FLOAT, dims=dims, raw_data=bytes(24))
                self.rejects(model([node("Add", ["x", "w"], ["y"])], weights=[tensor]), "w")

    def test_tensor_shorter_than_its_shape(self):
        tensor = TensorProto(name="w", data_type=FLOAT, dims=(2, 3), raw_data=bytes(23))
        self.rejects(model([node("Add", ["x", "w"], ["y"])], weights=[tensor]), "w")

    def test_cycle(self):
        self.rejects(model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]),
                            node("Identity", ["a"], ["y"])]), "the_add")

    def test_missing_name(self):
        self.rejects(model([node("Add", ["x", "nowhere"], ["y"])]), "nowhere", "the_add")

    def test_missing_output(self):
        self.rejects(model([node("Relu", ["x"], ["z"])]), "y")

    def test_duplicate_name(self):
        self.rejects(model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]), "y")

    def test_duplicate_input(self):
        self.rejects(model([node("Relu", ["x"], ["y"])], [value("x"), value("x")]), "x")

    def test_unknown_operator(self):
        result = self.rejects(model([node("Frobnicate", ["x"], ["a"]), node("Defrost", ["a"], ["y"])]))
        for word in ("Frobnicate", "the_frobnicate", "Defrost", "the_defrost"):
            self.assertIn(word, result.text)

    def test_unknown_opset(self):
        self.rejects(model([node("Relu", ["x"], ["y"])], opset=9999), "9999")

    def test_operator_newer_than_its_opset(self):
        self.rejects(model([node("SequenceEmpty", [], ["s"]), node("SequenceInsert", ["s"], ["y"])], opset=10),
                     "SequenceEmpty", "opset 11")

    def test_operator_that_was_given_up(self):
        self.rejects(model([node("Upsample", ["x"], ["y"])], opset=11), "Upsample", "inputs")

    def test_wrong_types(self):
        ints = value("i", dtype=INT64)
        self.rejects(model([node("Add", ["x", "i"], ["y"])], [value("x"), ints]), "the_add")
        self.rejects(model([node("Sin", ["i"], ["y"])], [ints], [value("y", dtype=INT64)]), "the_sin")

    def test_wrong_attribute(self):
        self.rejects(model([node("Softmax", ["x"], ["y"], axis="one")]), "axis")
        self.rejects(model([node("Concat", ["x", "x"], ["y"])]), "axis")
        self.rejects(model([node("Transpose", ["x"], ["y"], perm=[0, 0])], outputs=[value("y", (2, 2))]), "the_transpose")

    def test_shapes_that_do_not_fit(self):
        self.rejects(model([node("MatMul", ["x", "x"], ["y"])], outputs=[value("y", (2, 3))]), "the_matmul")
        self.rejects(model([node("Reshape", ["x", "s"], ["y"])], outputs=[value("y", (5, 5))],
                           weights=[numpy_helper.from_array(np.array([5, 5]), "s")]), "the_reshape")

    def test_too_few_inputs(self):
        self.rejects(model([node("Add", ["x"], ["y"])]), "the_add")

    def test_deep_subgraphs(self):
        self.rejects(nested_ifs(10_000))

    def test_text_of_the_file_is_escaped(self):
        self.rejects(model([node("Fro\x1b[31mb\x07nicate%s%n", ["x"], ["y\r\n"])], outputs=[value("y\r\n")]))
        self.rejects(model([node("A" * 100_000, ["x"], ["y"])]))

    def test_existing_output_is_untouched(self):
        (self.work / "model.so").write_bytes(b"precious")
        (self.work / "model.onnx").write_bytes(model([node("Frobnicate", ["x"], ["y"])]).SerializeToString())
        self.assertEqual(self.tcc("model.onnx", "-o", "model.so").code, 2)
        self.assertEqual((self.work / "model.so").read_bytes(), b"precious")

    def test_output_that_cannot_be_written(self):
        (self.work / "model.onnx").write_bytes(model([node("Relu", ["x"], ["y"])]).SerializeToString())
        self.check_rejected(self.tcc("model.onnx", "-o", "absent/model.so"), "absent/model.so")

    def test_outputs_without_a_name(self):
        (self.work / "model.onnx").write_bytes(model([node("Relu", ["x"], ["y"])]).SerializeToString())
        for flags in (["-o", ""], ["-o", "model.so", "--depfile", ""]):
            self.check_rejected(self.tcc("model.onnx", *flags), "'' names no file")

    def test_dependencies_that_cannot_be_written(self):
        (self.work / "model.onnx").write_bytes(model([node("Relu", ["x"], ["y"])]).SerializeToString())
        (self.work / "folder").mkdir()
        for name in ("folder", "absent/model.d", "/proc/self/mem"):
            self.check_rejected(self.tcc("model.onnx", "-o", "model.so", "--depfile", name), name)


if __name__ == "__main__":
    unittest.main()
