"""tcc-run on the runtime tests' program: files of every type, comparison, errors, other machines."""
import json
import os
import pathlib
import platform
import random
import struct
import subprocess
import tempfile
import unittest

import ml_dtypes
import numpy as np
from onnx import OptionalProto, TensorProto, helper, numpy_helper

BIN = pathlib.Path(os.environ["TCC_BIN"])
MACHINE = platform.machine()
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples/linear-relu/linear-relu.onnx"


def model(machine=MACHINE):
    return BIN / f"../test/runtime/{machine}-linux-gnu/model.so"


def run(*args, program=(BIN / "tcc-run",)):
    result = subprocess.run([*program, *map(str, args)], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class TccRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = np.random.default_rng(1)
        self.x = rng.random((4, 2), np.float32)
        self.y = rng.random((4, 3), np.float32)
        self.nibbles = np.array([-8, 7, 3], ml_dtypes.int4)
        self.acc = np.zeros(2, np.float32)

    def tensors(self):
        inputs = [numpy_helper.from_array(self.x, "x"), numpy_helper.from_array(self.y, "y"),
                  numpy_helper.from_array(self.nibbles, "nibbles"), numpy_helper.from_array(np.int32(0), "command"),
                  numpy_helper.from_array(self.acc, "acc")]
        outputs = [numpy_helper.from_array(self.x * np.float32(2.5), "scaled"),
                   numpy_helper.from_array(self.x.sum(1) + self.y.sum(1), "rows"),
                   numpy_helper.from_array(np.array([-4, 3, 1], ml_dtypes.int4), "halves"),
                   numpy_helper.from_array(np.int64(1), "count")]
        return inputs, outputs

    def write(self, inputs, outputs, folder=None):
        folder = folder or self.folder
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for index, tensor in enumerate(tensors):
                (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())

    def test_matching_data(self):
        self.write(*self.tensors())
        code, out, err = run(model(), "--data", self.folder)
        self.assertEqual((code, out, err), (0, "4 outputs match (rtol 0.001, atol 1e-07)\n", ""))

    def test_outputs_that_nobody_knows(self):
        """Missing ones are an error, unless they are not asked for."""
        inputs, outputs = self.tensors()
        for known, missing in ((outputs[:2], "2 ('halves'), 3 ('count')"), ([], "0 ('scaled'), 1 ('rows'), 2 ")):
            for path in self.folder.glob("output_*"):
                path.unlink()
            self.write(inputs, known)
            code, out, err = run(model(), "--data", self.folder)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(f"has no file for output {missing}", err)
            self.assertIn("--run-only", err)
            code, out, _ = run(model(), "--data", self.folder, "--run-only")
            self.assertEqual(code, 0)
            self.assertIn("2 outputs match" if known else "nothing to compare", out)
        self.assertEqual(run(model(), "--data", self.folder, "--bench", "--seconds", "0.01")[0], 0)

    def test_a_file_of_no_output(self):
        inputs, outputs = self.tensors()
        self.write(inputs, [*outputs, numpy_helper.from_array(np.int64(1), "another")])
        code, out, err = run(model(), "--data", self.folder)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("output_4.pb': the model has 4 outputs", err)

    def test_typed_fields_and_file_order(self):
        inputs, outputs = self.tensors()
        inputs[0] = helper.make_tensor("x", TensorProto.FLOAT, self.x.shape, self.x.ravel().tolist())
        inputs[2] = helper.make_tensor("nibbles", TensorProto.INT4, [3], [-8, 7, 3])
        inputs[3] = helper.make_tensor("command", TensorProto.INT32, [], [0])
        outputs[3] = helper.make_tensor("count", TensorProto.INT64, [], [1])
        self.write(inputs[::-1], outputs[::-1])
        self.assertEqual(run(model(), "--data", self.folder)[0], 0)

    def test_the_worst_element_is_named(self):
        inputs, outputs = self.tensors()
        wrong = self.x * np.float32(2.5)
        wrong[1, 0] += 0.01
        wrong[3, 1] += 1
        outputs[0] = numpy_helper.from_array(wrong, "scaled")
        self.write(inputs, outputs)
        code, out, _ = run(model(), "--data", self.folder)
        self.assertEqual(code, 3)
        self.assertIn("output 'scaled': 2 of 8 elements differ, worst at [3, 1]: expected ", out)
        self.assertEqual(run(model(), "--data", self.folder, "--atol", "1.1")[0], 0)

    def test_integers_are_not_nearly_equal(self):
        """The relative tolerance is of floats: 50001 is another token than 50000."""
        inputs, outputs = self.tensors()
        inputs[3] = numpy_helper.from_array(np.int32(9), "command")  # count is the seed
        for count, options, wanted in ((50000, (), 0), (50001, (), 3), (50001, ("--atol", "1"), 0)):
            outputs[3] = numpy_helper.from_array(np.int64(count), "count")
            self.write(inputs, outputs)
            code, out, err = run(model(), "--data", self.folder, "--seed", "50000", *options)
            self.assertEqual(code, wanted, out + err)

    def test_shape_dtype_nan_and_infinity(self):
        inputs, outputs = self.tensors()
        for change, message in ((np.zeros((4, 3), np.float32), "expected float32[4, 3], got float32[4, 2]"),
                                (np.zeros((4, 2)), "expected float64[4, 2], got float32[4, 2]"),
                                (np.full((4, 2), np.nan, np.float32), "8 of 8 elements differ"),
                                (np.full((4, 2), np.inf, np.float32), "expected inf, got ")):
            outputs[0] = numpy_helper.from_array(change, "scaled")
            self.write(inputs, outputs)
            code, out, _ = run(model(), "--data", self.folder)
            self.assertEqual(code, 3)
            self.assertIn(message, out)
        self.x[0] = [np.nan, np.inf]
        self.write(*self.tensors())
        self.assertEqual(run(model(), "--data", self.folder)[0], 0)

    def test_several_sets(self):
        for index in range(2):
            (self.folder / f"test_data_set_{index}").mkdir()
            inputs, outputs = self.tensors()
            outputs[3] = numpy_helper.from_array(np.int64(index + 1), "count")
            self.write(inputs, outputs, self.folder / f"test_data_set_{index}")
        self.assertEqual(run(model(), "--data", self.folder)[1], "8 outputs match (rtol 0.001, atol 1e-07)\n")

    def test_npy_in_and_out(self):
        np.save(self.folder / "x.npy", np.asfortranarray(self.x))
        np.save(self.folder / "y.npy", self.y)
        np.save(self.folder / "n.npy", self.nibbles.astype(np.int8))
        code, _, err = run(model(), "--input", f"x={self.folder}/x.npy", "--input", f"y={self.folder}/y.npy",
                           "--input", f"nibbles={self.folder}/n.npy", "--dim", "K=3", "--shape", "acc=2",
                           "--output-dir", self.folder / "out")
        self.assertEqual((code, err), (0, ""))
        np.testing.assert_array_equal(np.load(self.folder / "out/scaled.npy"), self.x * np.float32(2.5))
        np.testing.assert_array_equal(np.load(self.folder / "out/halves.npy"), [-4, 3, 1])
        self.assertEqual(np.load(self.folder / "out/count.npy").shape, ())

    def test_what_would_not_be_looked_at(self):
        """Options of which one would be passed over, and inputs that are given twice."""
        self.write(*self.tensors())
        np.save(self.folder / "x.npy", self.x)
        x, data = f"x={self.folder}/x.npy", ("--data", self.folder)
        for options in ((*data, "--input", x), (*data, "--shape", "x=4x2"), (*data, "--dim", "N=4"), (*data, "--output-dir", "o"),
                        ("--describe", "--bench"), ("--describe", *data), ("--run-only",), ("--bench", "--output-dir", "o"),
                        ("--input", x, "--input", x), ("--input", x, "--shape", "x=4x2"), ("--input", x, "--dim", "N=5"),
                        ("--dim", "N=4", "--dim", "N=5"), ("--dim", "Q=4"), (*data, "--rtol", "-1"), (*data, "--atol", "nan"),
                        ("--bench", "--seconds", "inf")):
            with self.subTest(options):
                code, out, err = run(model(), *options)
                self.assertEqual((code, out), (2, ""), err)
                self.assertEqual(err.count("error:"), 1, err)

    def test_two_files_of_one_name(self):
        inputs, outputs = self.tensors()
        self.write([*inputs, inputs[0]], outputs)
        code, out, err = run(model(), "--data", self.folder)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("has two files for 'x'", err)

    def test_a_library_that_is_cut_short(self):
        """The loader would map it, and end by a signal."""
        library = model().read_bytes()
        for size in (100, len(library) // 4, len(library) // 2):
            (self.folder / "cut.so").write_bytes(library[:size])
            code, _, err = run(self.folder / "cut.so", "--describe")
            self.assertEqual(code, 2, err)
            self.assertEqual(err.count("error:"), 1, err)

    def test_a_library_that_is_damaged(self):
        """Random bytes in place of others: one error, never a signal."""
        subprocess.run([BIN / "tcc", SAMPLE, "-o", self.folder / "damaged.so"], check=True, capture_output=True)
        library = (self.folder / "damaged.so").read_bytes()
        for seed in range(40):
            draw, damaged = random.Random(seed), bytearray(library)
            for _ in range(draw.choice([1, 20, 100])):
                damaged[draw.randrange(len(damaged))] ^= draw.randrange(1, 256)
            (self.folder / "damaged.so").write_bytes(damaged)
            code, _, err = run(self.folder / "damaged.so", "--describe")
            self.assertEqual(code, 2, err)
            self.assertIn("is damaged: its checksum is not that of its content", err)
        (self.folder / "damaged.so").write_bytes(library[:-32])  # of an older compiler
        self.assertEqual(run(self.folder / "damaged.so", "--describe")[0], 0)

    def test_bench(self):
        shapes = ["--dim", "N=9", "--dim", "K=3", "--shape", "x=9x2", "--shape", "acc=2"]
        code, out, _ = run(model(), "--bench", "--seconds", "0.05", "--json", "--threads", "2", *shapes)
        self.assertEqual(code, 0)
        timing = json.loads(out)
        self.assertLessEqual(timing["min_ms"], timing["median_ms"])
        self.assertLessEqual(timing["median_ms"], timing["max_ms"])
        self.assertGreaterEqual(timing["runs"], 3)
        self.assertGreater(timing["peak_bytes"], 4096)
        opened = timing["open_ms"]
        for _ in range(20):  # a busy machine may stop one for long
            if opened >= 100:
                opened = json.loads(run(model(), "--bench", "--seconds", "0", "--json", *shapes)[1])["open_ms"]
        self.assertLess(opened, 100)
        self.assertEqual(timing["threads"], 2)
        self.assertIn("median", run(model(), "--bench", "--seconds", "0.05", *shapes)[1])

    def test_random_inputs_are_repeatable(self):
        shapes = ["--dim", "N=3", "--dim", "K=3", "--shape", "x=3x2", "--shape", "acc=2"]
        first = run(model(), *shapes)
        self.assertEqual(first, run(model(), *shapes))
        self.assertNotEqual(first, run(model(), *shapes, "--seed", "1"))

    def test_wrong_use(self):
        good = ["--dim", "N=3", "--dim", "K=3", "--shape", "x=3x2", "--shape", "acc=2"]
        for args, message in (
                ([], "model is required"),
                (["nothing.so"], "cannot read 'nothing.so': there is no such file"),
                ([self.folder], "it is no regular file"),
                ([__file__], "cannot load"),
                ([model(), "--what"], "--what"),
                ([model()], "dimension 0 is open: pass --shape x=... or --dim N=..."),
                ([model(), *good, "--shape", "z=3"], "the model has no input 'z', it has: x, y"),
                ([model(), *good, "--shape", "x=3xa"], "'a' is not a size"),
                ([model(), *good[2:4], *good[6:], "--shape", "x=999999999999x999999999999"], "is too large"),
                ([model(), "--dim", "N=0", "--dim", "K=3", "--shape", "x=0x2", "--shape", "acc=2"],
                 "input 'x': dimension 0 (N) is 0, this model takes 1 to 1000"),
                ([model(), "--data", "/nonexistent"], "is not a folder"),
                ([model(), "--data", self.folder], "has no file for input 0, 'x'"),
                ([model(), *good, "--input", f"x={self.folder}/no.npy"], "cannot read")):
            code, out, err = run(*args)
            self.assertEqual(code, 2, (args, err))
            self.assertIn(message, err)
            self.assertEqual(err.count("error:"), 1)

    def test_optional_inputs(self):
        """ONNX stores an input that may be absent as an OptionalProto; one without a value is no tensor."""
        inputs, outputs = self.tensors()
        self.write(inputs, outputs)
        optional = OptionalProto(name=inputs[0].name, elem_type=OptionalProto.TENSOR, tensor_value=inputs[0])
        (self.folder / "input_0.pb").write_bytes(optional.SerializeToString())
        code, out, err = run(model(), "--data", self.folder)
        self.assertEqual((code, out), (0, "4 outputs match (rtol 0.001, atol 1e-07)\n"), err)
        empty = OptionalProto(name=inputs[0].name, elem_type=OptionalProto.UNDEFINED)
        (self.folder / "input_0.pb").write_bytes(empty.SerializeToString())
        code, _, err = run(model(), "--data", self.folder)
        self.assertEqual(code, 2)
        self.assertIn("an optional without a value", err)

    def test_malformed_files(self):
        inputs, outputs = self.tensors()
        good = inputs[0].SerializeToString()
        cases = [good[:cut] for cut in range(len(good))]
        cases += [bytes([byte]) * 40 for byte in (0x00, 0x07, 0xff)]
        cases.append(helper.make_tensor("x", TensorProto.STRING, [1], [b"s"]).SerializeToString())
        huge = TensorProto(data_type=1, dims=[1 << 40, 1 << 40])
        cases.append(huge.SerializeToString())
        cases.append(TensorProto(data_type=1, dims=[-1]).SerializeToString())
        self.write(inputs, outputs)
        for content in cases:
            (self.folder / "input_0.pb").write_bytes(content)
            code, _, err = run(model(), "--data", self.folder)
            self.assertEqual(code, 2, content)
            self.assertEqual(err.count("error:"), 1)

    def test_malformed_npy(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }"
        def npy(header, data=b"\0" * 32, length=None):
            return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) if length is None else length) + header + data
        path = self.folder / "x.npy"
        for content in (b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00" + b"\0" * 50, npy(header, b"\0" * 31),
                        npy(header, length=60000), npy(b"{}"), npy(header.replace(b"<f4", b">f4")),
                        npy(header.replace(b"'<f4'", b"[('a', '<f4')]")), npy(header.replace(b"(4, 2)", b"(4, -2)")),
                        npy(b"{'shape': (4, 2), 'fortran_order': False, 'descr':"), npy(b"{'descr':   "),
                        npy(header.replace(b"False", b"Maybe")), npy(header.replace(b"False", b"Falsehood")),
                        npy(header.replace(b"(4, 2)", b"(4, x)")), npy(header.replace(b"(4, 2)", b"4")),
                        npy(header.replace(b"(4, 2)", b"(99999999999999999999,)"))):
            path.write_bytes(content)
            code, _, err = run(model(), "--input", f"x={path}")
            self.assertEqual(code, 2, content)
            self.assertEqual(err.count("error:"), 1)
        path.write_bytes(npy(header))
        self.assertEqual(run(model(), "--input", f"x={path}", "--dim", "K=1", "--shape", "acc=2")[0], 0)

    def test_a_pipe_is_not_waited_for(self):
        path = self.folder / "x.npy"
        os.mkfifo(path)
        code, _, err = run(model(), "--input", f"x={path}")
        self.assertEqual((code, err.count("cannot read")), (2, 1), err)

    def test_names_cannot_disguise_a_message(self):
        for name in (b"a\xe2\x80\xaeb", b"a\x1b[31mb", b"a\xc2\x9bb", b"a\xffb", b"a\xe2\x80", b"a\xe2\x80\x8bb"):
            code, _, err = run(model(), "--input", f"x={os.fsdecode(name)}.npy")
            self.assertEqual(code, 2)
            self.assertRegex(err, r"cannot read 'a\\x")
            self.assertTrue(err.rstrip("\n").isprintable(), repr(err))
        self.assertIn("é.npy", run(model(), "--input", "x=é.npy")[2])

    def test_other_machine(self):
        other = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", BIN / "tcc-run-aarch64"]
        if MACHINE == "aarch64":
            self.skipTest("this is one")
        self.write(*self.tensors())
        code, out, err = run(model("aarch64"), "--data", self.folder, program=other)
        self.assertEqual((code, out, err), (0, "4 outputs match (rtol 0.001, atol 1e-07)\n", ""))


if __name__ == "__main__":
    unittest.main()
