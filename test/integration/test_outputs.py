"""What tcc writes and where: no output over another or over what the model reads, no folder left by a signal."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiled import tool
from toolrun import SOURCE, ToolTest

SINCOS = SOURCE / "samples/sincos/sincos.onnx"


class Outputs(ToolTest):
    def refused(self, *arguments, says):
        result = self.tcc(*arguments)
        self.assertEqual(result.code, 2, result.text)
        self.assertEqual(result.text.count("error:"), 1, result.text)
        self.assertIn(says, result.text)

    def test_two_of_one_name(self):
        (self.work / "net.onnx").write_bytes(SINCOS.read_bytes())
        (self.work / "here").symlink_to(".")
        for name in ("model.so", "./model.so", "here/model.so", "model.so.json"):
            self.refused("net.onnx", "-o", "model.so", "--depfile", name, says=f"two outputs are to be '")
        self.refused("net.onnx", "-o", "model.so", "--depfile", "net.onnx", says="is the model itself")
        self.assertEqual(self.left_behind(), ["work/here", "work/net.onnx"])

    def test_weights_of_the_model_are_not_replaced(self):
        weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
        graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])], [weight])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "net.onnx",
                  save_as_external_data=True, location="net.data", size_threshold=0)
        before = (self.work / "net.data").read_bytes()
        for arguments in (("-o", "net.data"), ("-o", "model.so", "--depfile", "./net.data")):
            self.refused("net.onnx", *arguments, says="is a file that the model reads")
            self.assertEqual((self.work / "net.data").read_bytes(), before)
            self.assertEqual(self.left_behind(), ["work/net.data", "work/net.onnx"])

    def test_dependencies_of_ir(self):
        self.compiles(SOURCE / "samples/linear/linear.onnx", "--stop-after", "import", "-o", "half.mlir")
        self.compiles("half.mlir", "--start-from", "decompose", "-o", "model.so", "--depfile", "model.d")
        self.assertEqual((self.work / "model.d").read_text().split(), ["model.so:", "\\", "half.mlir", "\\", "half.mlir.weights"])
        self.refused("half.mlir", "--start-from", "decompose", "-o", "half.mlir.weights", says="is a file that the model reads")

    def test_a_pipe(self):
        run = subprocess.run([tool("tcc"), SINCOS, "--emit", "llvm", "-o", "/dev/stdout"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("define ", run.stdout)

    def test_kinds_that_do_not_go_together(self):
        self.refused(SINCOS, "--stop-after", "fuse", "--emit", "obj", "-o", "out", says="leave out --emit obj")
        self.refused(SINCOS, "--jobs", "99999999", "-o", "out", says="--jobs")
        for arguments, word in ((("--tune-budget", "3"), "--tune-budget without"), (("--ptxas", "/bin/true"), "--ptxas without")):
            result = self.compiles(SINCOS, "-o", "model.so", *arguments)
            self.assertRegex(result.text, f"note: {word} .* changes nothing")

    def test_ir_of_another_phase(self):
        """Never a fault of ours, whatever is said to have been done."""
        phases = ("decompose", "simplify", "differentiate", "layout", "fuse", "schedule", "plan", "codegen", "emit")
        for stopped in ("import", "decompose", "fuse", "plan"):
            self.compiles(SINCOS, "--stop-after", stopped, "-o", "half.mlir")
            for start in phases:
                with self.subTest(stopped=stopped, start=start):
                    result = self.tcc("half.mlir", "--start-from", start, "-o", "model.so")
                    self.assertIn(result.code, (0, 2), result.text)
                    self.assertEqual(result.text.count("error:"), 1 if result.code else 0, result.text)
                    if result.code and start != "emit":
                        self.assertRegex(result.text, "it is not what phase '[a-z]+' leaves")

    def test_text_that_the_parser_does_not_survive(self):
        """MLIR's own has faults: an array of `index`, and nesting without end."""
        for text in ("func.func @main() attributes {a = array<index: 1>} { return }",
                     "func.func @main(%a: " + "tuple<" * 1_000_000):
            (self.work / "odd.mlir").write_text(text)
            self.refused("odd.mlir", "--start-from", "differentiate", "-o", "model.so", says="not IR that --stop-after wrote")

    def test_damaged_weights_beside_ir(self):
        self.compiles(SOURCE / "samples/linear/linear.onnx", "--stop-after", "import", "-o", "half.mlir")
        for head, says in ((b"[" * 3_000_000, "JSON nested more than 256 deep"), (b"{", "not valid JSON"), (b"[]", "no object")):
            (self.work / "half.mlir.weights").write_bytes(len(head).to_bytes(8, "little") + head)
            with self.subTest(says):
                self.refused("half.mlir", "--start-from", "decompose", "-o", "model.so", says=says)

    def test_a_kernel_of_a_kind_that_does_not_compute_it(self):
        (self.work / "odd.mlir").write_text("""
            func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
              %0 = kernel.launch special "k" ins(%x : tensor<4xf32>) sizes() {
              ^bb0(%a: tensor<4xf32>):
                %1 = prim.sin %a : (tensor<4xf32>) -> tensor<4xf32>
                kernel.yield %1 : tensor<4xf32>
              } -> tensor<4xf32>
              return %0 : tensor<4xf32>
            }""")
        self.refused("odd.mlir", "--start-from", "schedule", "-o", "model.so",
                     says="of kind 'special' computes none of what the kind is about")

    def test_ir_that_is_no_model(self):
        tensor = "tensor<2xf32>"
        for text in ("func.func private @main()", "func.func @main(%a: tensor<*xf32>) -> tensor<*xf32> { return %a : tensor<*xf32> }",
                     "func.func @main(%a: i32) -> i32 { return %a : i32 }",
                     "func.func @main(%a: tensor<2xindex>) -> tensor<2xindex> { return %a : tensor<2xindex> }",
                     "func.func @main(%a: tensor<2xf80>) -> tensor<2xf80> { return %a : tensor<2xf80> }",
                     "func.func @main(%a: tensor<4611686018427387904x4xf32>) { return }",
                     f"func.func @main(%a: {tensor}) -> {tensor} {{ %0 = func.call @main(%a) : ({tensor}) -> {tensor} return %0 : {tensor} }}"):
            (self.work / "odd.mlir").write_text(text)
            with self.subTest(text):
                self.refused("odd.mlir", "--start-from", "differentiate", "-o", "model.so", says="odd.mlir")

    def test_a_signal_leaves_no_folder(self):
        """Tuning builds its candidates in one."""
        weights = numpy_helper.from_array(np.ones((64, 96), np.float32), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 96])], [weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "net.onnx")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = subprocess.Popen([tool("tcc"), "net.onnx", "-o", "model.so", "--mode", "max-autotune"], cwd=self.work,
                                     stderr=subprocess.DEVNULL, env={**os.environ, **self.env})
            folder, deadline = pathlib.Path(self.env["TMPDIR"]), time.monotonic() + 60
            while not list(folder.glob("tcc-tune*/*")) and time.monotonic() < deadline:
                time.sleep(0.005)
            self.assertTrue(list(folder.glob("tcc-tune*")))
            child.send_signal(number)
            self.assertEqual(child.wait(60), -number)
            self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
