"""lib/Bindings/Python/tcc.py on the runtime tests' program (test/runtime/Program.c)."""
import _ctypes
import copy
import gc
import os
import pathlib
import pickle
import platform
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = pathlib.Path(os.environ["TCC_BIN"]) / f"../test/runtime/{platform.machine()}-linux-gnu/model.so"
sys.path.insert(0, str(SOURCE / "lib/Bindings/Python"))
import tcc  # noqa: E402


class Foreign:
    """A tensor of another library: DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


class Versioned(Foreign):
    """The same with DLPack 1's structure, where it may be read-only."""

    def __dlpack__(self, *, max_version=None):
        return self.array.__dlpack__(max_version=max_version)


class Negated(Foreign):
    """As PyTorch's views that are the negative of their memory."""

    def is_neg(self):
        return True

    def resolve_neg(self):
        return Negated(-self.array)

    def resolve_conj(self):
        return self


class Loader(unittest.TestCase):
    def setUp(self):
        self.model = tcc.Model(MODEL, threads=2)
        rng = np.random.default_rng(0)
        self.x = rng.random((5, 4), np.float32)
        self.y = rng.random((5, 3), np.float32)
        self.nibbles = np.arange(-8, 7, dtype=np.int8)
        self.acc = np.zeros(4, np.float32)

    def inputs(self, **changes):
        inputs = {"x": self.x, "y": self.y, "nibbles": self.nibbles, "command": np.int32(0), "acc": self.acc}
        return {**inputs, **changes}

    def check(self, outputs):
        np.testing.assert_allclose(outputs["scaled"], self.x * 2.5)
        np.testing.assert_allclose(outputs["rows"], self.x.sum(1) + self.y.sum(1), rtol=1e-6)
        np.testing.assert_array_equal(outputs["halves"], np.trunc(self.nibbles / 2))

    def test_description(self):
        self.assertEqual([repr(t) for t in self.model.inputs[:2]], ["x: float32['N', None]", "y: float32['N', 3]"])
        self.assertEqual(self.model.outputs[3].shape, ())
        self.assertEqual(self.model.manifest, '{"tool": "test"}')

    def test_numpy(self):
        outputs = self.model.run(self.inputs())
        self.check(outputs)
        self.assertEqual(outputs["count"][()], 1)
        np.testing.assert_allclose(self.acc, self.x.sum(0), rtol=1e-6)

    def test_strided_and_read_only(self):
        transposed = np.asfortranarray(self.x)
        transposed.flags.writeable = False
        self.check(self.model.run(self.inputs(x=transposed, y=np.repeat(self.y, 2, 0)[::2])))

    def test_other_libraries(self):
        self.check(self.model.run(self.inputs(x=Foreign(self.x))))
        values = list(self.inputs().values())
        devices = self.model(*values, wrap=lambda output: output.__dlpack_device__())
        self.assertEqual(devices, [(1, 0)] * 4)

    def test_dlpack_1(self):
        read_only = self.x.copy()
        read_only.flags.writeable = False
        self.check(self.model.run(self.inputs(x=Versioned(self.x), acc=Versioned(self.acc))))
        self.check(self.model.run(self.inputs(x=Versioned(read_only))))
        fixed = np.zeros(4, np.float32)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(tcc.Error, "the model writes into input 'acc': it cannot be read-only"):
            self.model.run(self.inputs(acc=Versioned(fixed)))

    def test_outputs_are_writable_and_their_own(self):
        first = self.model.run(self.inputs())
        for name, array in first.items():
            self.assertTrue(array.flags.writeable, name)
            self.assertTrue(array.flags.c_contiguous, name)
        kept = first["scaled"]
        kept[:] = -1
        self.check(self.model.run(self.inputs()))
        self.assertTrue((kept == -1).all())

    def test_outputs_go_back_to_the_model(self):
        address = lambda: self.model.run(self.inputs())["scaled"].ctypes.data  # noqa: E731
        self.assertEqual(address(), address())
        view = self.model.run(self.inputs())["scaled"][1:, 2:]
        self.model.run(self.inputs(x=self.x * 0))
        np.testing.assert_allclose(view, self.x[1:, 2:] * 2.5)

    def test_outputs_by_place_and_name(self):
        results = self.model(**self.inputs())
        self.check(results)
        scaled, rows, halves, count = results
        self.assertIs(results["rows"], results[1])
        self.assertEqual([len(results), results[-1], results[1:3]], [4, count, [rows, halves]])
        self.assertEqual(list(dict(results)), ["scaled", "rows", "halves", "count"])
        with self.assertRaisesRegex(KeyError, "this model gives scaled, rows, halves, count, not 'row'"):
            results["row"]

    def test_shapes_and_layouts_may_change_from_call_to_call(self):
        for rows in (5, 5, 2, 1, 5):
            for order in "CF":
                x, y = np.asarray(self.x[:rows], order=order), self.y[:rows]
                outputs = self.model.run(self.inputs(x=x, y=y))
                np.testing.assert_array_equal(outputs["scaled"], x * np.float32(2.5))
                self.assertEqual(outputs["rows"].shape, (rows,))
        empty = self.model.run(self.inputs(x=self.x[:, :0], acc=self.acc[:0]))
        self.assertEqual(empty["scaled"].shape, (5, 0))

    def test_a_written_input_may_not_be_read_only(self):
        fixed = np.zeros(4, np.float32)
        self.model.run(self.inputs(acc=fixed))
        before = fixed.copy()
        fixed.flags.writeable = False
        with self.assertRaisesRegex(tcc.Error, "the model writes into input 'acc'"):
            self.model.run(self.inputs(acc=fixed))
        np.testing.assert_array_equal(fixed, before)
        self.check(self.model.run(self.inputs()))

    def test_seed(self):
        draw = self.inputs(command=np.int32(9))
        self.model.set_seed(7)
        self.assertEqual([self.model.run(draw)["count"] for _ in range(2)], [7, 7 + 10100])
        self.assertEqual(tcc.Model(MODEL, seed=8).run(draw)["count"], 8)
        for wrong in (-1, 1 << 64):
            with self.assertRaisesRegex(tcc.Error, "is no seed"):
                self.model.set_seed(wrong)

    def test_one_thread_at_a_time(self):
        failures = []

        def work():
            for _ in range(20):
                try:
                    x = np.random.rand(5, 4).astype(np.float32)
                    outputs = self.model.run(self.inputs(x=x, command=np.int32(7), acc=np.zeros(4, np.float32)))
                    failures.append("wrong") if (outputs["scaled"] != x * np.float32(2.5)).any() else None
                except tcc.Error as error:
                    failures.append("other") if error.code != 4 else None
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_outputs_outlive_the_model(self):
        outputs = self.model.run(self.inputs())
        self.model.close()
        del self.model
        gc.collect()
        self.check(outputs)

    def test_errors(self):
        with self.assertRaisesRegex(tcc.Error, r"input 'x': expected float32\[N, \?\], got float64\[5, 4\]"):
            self.model.run(self.inputs(x=self.x.astype(np.float64)))
        with self.assertRaisesRegex(tcc.Error, "this model takes x, y"):
            self.model(self.x)
        for wrong in ({**self.inputs(), "z": 1}, {"x": self.x, "z": 1}):
            with self.assertRaisesRegex(tcc.Error, "this model takes x, y"):
                self.model(**wrong)
        with self.assertRaisesRegex(tcc.Error, "this model takes x, y"):
            self.model(*self.inputs().values(), **self.inputs())
        with self.assertRaisesRegex(tcc.Error, "gather_1") as caught:
            self.model.run(self.inputs(command=np.int32(1)))
        self.assertEqual(caught.exception.code, 6)
        self.check(self.model.run(self.inputs()))

    def test_none_is_no_number(self):
        """To NumPy it is a NaN, which a scalar would take."""
        with self.assertRaisesRegex(tcc.Error, "input 'x' is None"):
            self.model.run(self.inputs(x=None))

    def test_devices(self):
        tcc.Model(MODEL, device="cpu").close()
        with self.assertRaisesRegex(tcc.Error, "this model has no code for GPUs"):
            tcc.Model(MODEL, device="cuda:1")
        with self.assertRaisesRegex(tcc.Error, "'gpu' is not cpu, cuda, cuda:N or sim"):
            tcc.Model(MODEL, device="gpu")

    def test_what_is_no_model(self):
        with self.assertRaisesRegex(tcc.Error, "is not a model made by tcc"):
            tcc.Model(_ctypes.__file__)

    def test_a_file_that_is_cut_short(self):
        """dlopen maps it all the same, and looking at what is missing would end the process by SIGBUS."""
        whole = MODEL.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.so"
            for size in (0, 40, 64, 100, 4096, len(whole) // 4, len(whole) // 2):
                path.write_bytes(whole[:size])
                opened = subprocess.run([sys.executable, "-c", "import sys, tcc; tcc.Model(sys.argv[1])", path],
                                        env={**os.environ, "PYTHONPATH": str(SOURCE / "lib/Bindings/Python")},
                                        capture_output=True, text=True)
                self.assertEqual(opened.returncode, 1, f"{size} bytes: {opened}")
                self.assertRegex(opened.stderr, "is cut short" if size >= 64 else "file too short|cut short")

    def test_a_file_that_is_damaged(self):
        """A library with other bytes would run, and end the process or give anything."""
        with tempfile.TemporaryDirectory() as folder:
            path, damaged = pathlib.Path(folder) / "model.so", pathlib.Path(folder) / "damaged.so"
            subprocess.run([pathlib.Path(os.environ["TCC_BIN"]) / "tcc", "-o", path,
                            SOURCE / "samples/linear-relu/linear-relu.onnx"], check=True, capture_output=True)
            tcc.Model(path).close()
            whole = path.read_bytes()
            for place in (5, 64, len(whole) // 3, len(whole) // 2, *range(len(whole) - 33, len(whole))):
                damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1:])
                with self.assertRaisesRegex(tcc.Error, "is damaged: its checksum is not that of its content"):
                    tcc.Model(damaged)
            damaged.write_bytes(whole + b"0")  # signed or packed by another tool: unknown, as without a seal
            tcc.Model(damaged).close()

    def test_a_model_that_goes_after_the_modules(self):
        """Where Python ends, ctypes' names are None before the last objects go."""
        kept = subprocess.run([sys.executable, "-c", "import ctypes, sys, tcc; ctypes.kept = tcc.Model(sys.argv[1])", MODEL],
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "lib/Bindings/Python")}, capture_output=True, text=True)
        self.assertEqual((kept.returncode, kept.stderr), (0, ""))

    def test_closed(self):
        self.model.close()
        with self.assertRaisesRegex(tcc.Error, "context is NULL"):
            self.model.run(self.inputs())
        with self.assertRaisesRegex(tcc.Error, "this Model is closed"):
            self.model.set_seed(1)

    def test_a_copy_would_end_the_context_twice(self):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "a Model is neither copied nor pickled"):
                copied(self.model)
        self.check(self.model.run(self.inputs()))

    def test_not_closed_while_it_runs(self):
        class Closing(Foreign):
            def __dlpack__(this):
                self.model.close()
        with self.assertRaisesRegex(tcc.Error, "close it when that is done"):
            self.model.run(self.inputs(x=Closing(self.x)))
        self.check(self.model.run(self.inputs()))

    def test_outputs_are_taken_once(self):
        kept = []
        self.model(*self.inputs().values(), wrap=kept.append)
        for take in (kept[0].__dlpack__, kept[0].__dlpack_device__):
            with self.assertRaisesRegex(tcc.Error, "an output is taken once"):
                take()

    def test_negated_views(self):
        self.check(self.model.run(self.inputs(x=Negated(-self.x))))
        with self.assertRaisesRegex(tcc.Error, "input 'acc': it cannot be a negated or conjugated view"):
            self.model.run(self.inputs(acc=Negated(self.acc)))

    def test_what_is_no_array(self):
        for wrong in ("text", {}, [[1, 2], [3]]):
            with self.assertRaisesRegex(tcc.Error, "input 'x' is no array of float32: "):
                self.model.run(self.inputs(x=wrong))

    def test_python_numbers(self):
        self.check(self.model.run(self.inputs(x=self.x.tolist(), command=0)))


if __name__ == "__main__":
    unittest.main()
