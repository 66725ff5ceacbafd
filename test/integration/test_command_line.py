"""The command line of tcc: its options, exit codes, what it prints where, and the files it writes."""
import os
import pathlib
import re
import resource
import shlex
import signal
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compiled import Compiled
from testfolder import read_data_set
from toolrun import SOURCE, ToolTest, run

SINCOS = SOURCE / "samples/sincos/sincos.onnx"
CONV = SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx"
MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
PHASES = ("import", "decompose", "simplify", "layout", "fuse", "schedule", "plan")


class CommandLine(ToolTest):
    def check_runs(self, path):
        inputs, outputs, _ = read_data_set(SOURCE / "samples/conv-bn-silu/data")
        library = self.work / self.fresh_name()
        path.rename(library)
        with Compiled(library) as model:
            np.testing.assert_allclose(model(inputs[0][1])[0], outputs[0][1], rtol=1e-4, atol=1e-5)

    def test_help(self):
        result = self.tcc("--help")
        self.assertEqual(result.code, 0)
        for option in ("-o", "--mode", "--backend", "--dynamic", "--fullgraph", "--disable", "--options", "--cpu",
                       "--target", "--precision", "--shape", "--dim", "--emit", "--dump-ir", "--stop-after", "--start-from",
                       "--timing", "--print-plan", "--depfile", "--jobs", "--verify", "--logs", "--reproducer",
                       "--cache", "--list-mode-options", "--list-options", "--list-backends"):
            self.assertIn(option, result.out)

    def test_version(self):
        self.assertRegex(self.tcc("--version").out, r"\d+\.\d+\.\d+")

    def test_lists(self):
        self.assertIn("max_autotune", self.tcc("--list-mode-options").out)
        self.assertIn("epilogue_fusion", self.tcc("--list-options", "--all").out)
        backends = [line.split()[0] for line in self.tcc("--list-backends").out.splitlines()]
        self.assertEqual(backends[:2], ["inductor", "cpu"])
        self.assertEqual(self.tcc("--all").code, 2)

    def test_what_changes_nothing_says_so(self):
        """Before it is used as after it: --help and the lists name exactly what a compile notes."""
        idle = "change nothing on this target yet"
        words = " ".join(self.tcc("--help").out.split())
        working = self.tcc("--list-options").out
        every = self.tcc("--list-options", "--all").out
        for flag, value in (("--dynamic", "true"), ("--disable", None), *(("--mode", mode) for mode in MODES),
                            ("--options", "epilogue_fusion=true"), ("--options", "triton.cudagraphs=true")):
            text = self.compiles(SINCOS, "-o", "model.so", *filter(None, (flag, value))).text
            noted = "changes nothing on this target yet" in text
            with self.subTest(flag, value=value):
                if flag == "--mode":
                    line = next(line for line in self.tcc("--list-mode-options").out.splitlines()
                                if line.split()[0] == value)
                    self.assertEqual("changes nothing" in line, noted)
                elif flag == "--options":
                    name = value.split("=")[0]
                    self.assertEqual(name not in working, noted)
                    self.assertIn(name, every)
                else:
                    self.assertTrue(noted)
        self.assertRegex(words, f"--mode .*reduce-overhead are accepted and {idle}")
        self.assertRegex(words, f"--dynamic .*accepted and {idle}")
        self.assertRegex(words, f"--disable .*{idle.replace('change ', 'changes ')}")
        self.assertIn(f"those that --list-options leaves out are accepted and {idle}", words)

    def test_wrong_use(self):
        for arguments in ((), ("--frobnicate",), (SINCOS, "--mode", "fast"), (SINCOS, "--emit", "pdf"),
                          (SINCOS, "--cpu", "z80"), (SINCOS, "--target", "pdp11-unknown"), (SINCOS, "--jobs", "-1"),
                          (SINCOS, "--shape", "x"), (SINCOS, "--shape", "nothing=1x2"), (SINCOS, "--shape", "x=1x2x3"),
                          (SINCOS, "--dim", "batch=9..2"), (SINCOS, "--stop-after", "lunch"),
                          (SINCOS, "--stop-after", "codegen"), (SINCOS, "--tune-budget", "nan"),
                          (SINCOS, "--logs", "weather"), (SINCOS, "--verify", "--emit", "obj"),
                          (SINCOS, "--target", "aarch64-linux", "--verify"), (SINCOS, "--dynamic", "maybe"),
                          (SINCOS, "--backend", "eager"), (SINCOS, "--dump-ir", "dumps=lunch"),
                          (SINCOS, "--options", "no_such_option=1"), (SINCOS, "--options", "max_autotune=perhaps")):
            with self.subTest(arguments):
                result = self.tcc(*arguments, "-o", "model.so")
                self.assertEqual(result.code, 2, result.text)
                self.assertEqual(len(re.findall(r"\berror:", result.text)), 1, result.text)
                self.assertEqual(self.left_behind(), [])

    def test_one_summary_line(self):
        result = self.compiles(SINCOS, "-o", "model.so")
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.text.splitlines()), 1, result.text)
        self.assertIn("model.so", result.text)

    def test_modes(self):
        for mode in MODES:
            with self.subTest(mode):
                self.compiles(CONV, "--mode", mode, "-o", "out.so")
                self.check_runs(self.work / "out.so")

    def test_the_back_end_of_the_target_has_a_name(self):
        """inductor is what fits the target, here the CPU: the same code comes out."""
        objects = []
        for backend in ("inductor", "cpu"):
            self.compiles(CONV, "--backend", backend, "--emit", "obj", "-o", "out.o")
            objects.append((self.work / "out.o").read_bytes())
        self.assertEqual(*objects)

    def test_option_without_effect_says_so_once(self):
        result = self.compiles(CONV, "--options", "triton.cudagraphs=true", "-o", "model.so")
        self.assertEqual(len(re.findall("cudagraphs", result.text)), 1, result.text)

    def test_emit(self):
        starts = {"so": b"\x7fELF", "obj": b"\x7fELF"}
        for kind in ("so", "obj", "llvm", "asm", "mlir"):
            with self.subTest(kind):
                self.compiles(CONV, "--emit", kind, "-o", "out")
                data = (self.work / "out").read_bytes()
                self.assertTrue(data.startswith(starts.get(kind, b"")) and len(data) > 100)
                if kind == "llvm":
                    self.assertIn(b"define ", data)
                if kind == "asm":
                    self.assertIn(b".text", data)
                if kind == "mlir":
                    self.assertIn(b"func.func @main", data)

    def test_dump_ir(self):
        self.compiles(CONV, "--cpu", "x86-64-v3", "-o", "model.so", "--dump-ir", "all")
        files = {path.name for path in (self.work / "all").iterdir()}
        ir = {f"{i}-{phase}.mlir" for i, phase in enumerate(("import", "decompose", "simplify",
                                                             "differentiate", "layout", "fuse", "schedule", "plan"))}
        self.assertEqual(files, ir | {"8-codegen", "9-emit.json"})
        code = {path.name for path in (self.work / "all/8-codegen").iterdir()}
        names = {path.rsplit(".", 1)[0] for path in code}
        self.assertEqual(code, {name + suffix for name in names for suffix in (".mlir", ".ll", ".s")})
        self.assertEqual(len(names), 3)  # the host function and two kernels
        for name in names:
            self.assertIn("func.func", (self.work / f"all/8-codegen/{name}.mlir").read_text())
            self.assertIn("define ", (self.work / f"all/8-codegen/{name}.ll").read_text())
            self.assertIn(".text", (self.work / f"all/8-codegen/{name}.s").read_text())
        self.compiles(CONV, "-o", "model.so", "--dump-ir", "some=import,fuse")
        self.assertEqual(len(list((self.work / "some").glob("*.mlir"))), 2)

    def test_stop_and_resume(self):
        for phase, after in zip(PHASES, PHASES[1:]):
            with self.subTest(phase):
                self.compiles(CONV, "--stop-after", phase, "-o", "half.mlir")
                self.compiles("half.mlir", "--start-from", after, "-o", "out.so")
                self.check_runs(self.work / "out.so")

    def test_ir_needs_a_phase(self):
        for phase in ("import", "simplify", "schedule", "plan"):
            self.compiles(CONV, "--stop-after", phase, "-o", "half.mlir")
            result = self.tcc("half.mlir", "-o", "out.so")
            self.assertEqual((result.code, result.text), (2, "error: 'half.mlir' is IR: --start-from names the phase to go on with\n"))

    def test_shapes_are_fixed_at_import(self):
        self.compiles(SINCOS, "--stop-after", "import", "-o", "half.mlir")
        for option in ("--shape", "--dim"):
            result = self.tcc("half.mlir", "--start-from", "decompose", option, "x=4", "-o", "out.so")
            self.assertEqual(result.code, 2, result.text)
            self.assertIn("--shape and --dim are for the phase import", result.text)

    def test_verify_needs_values(self):
        """The plan leaves memory only: nothing to compare a compiled model with."""
        self.compiles(CONV, "--stop-after", "plan", "-o", "half.mlir")
        result = self.tcc("half.mlir", "--start-from", "codegen", "--verify", "-o", "out.so")
        self.assertEqual(result.code, 2, result.text)
        self.assertIn("start from plan or an earlier phase", result.text)

    def test_timing(self):
        result = self.compiles(CONV, "--cpu", "x86-64-v3", "-o", "model.so", "--timing")
        for phase in PHASES:
            self.assertIn(phase, result.out + result.text)
        kernels = result.out.split("slowest kernels")[1].splitlines()[1:]
        seconds = [float(line.split()[0]) for line in kernels]
        self.assertEqual(len(kernels), 2)
        self.assertTrue(0 < seconds[1] <= seconds[0], kernels)
        self.assertTrue(any("conv_add_logistic_mul" in line for line in kernels), kernels)

    def test_timing_without_compiling(self):
        """What comes from the cache took no time to compile."""
        self.compiles(CONV, "-o", "model.so", "--cache", self.work / "cache")
        result = self.compiles(CONV, "-o", "model.so", "--cache", self.work / "cache", "--timing")
        self.assertNotIn("slowest kernels", result.out)

    def test_print_plan(self):
        result = self.compiles(CONV, "-o", "model.so", "--print-plan")
        for word in ("arena", "peak", "FLOP"):
            self.assertIn(word.lower(), (result.out + result.text).lower())

    def test_depfile(self):
        self.compiles(CONV, "-o", "model.so", "--depfile", "model.d")
        target, _, sources = (self.work / "model.d").read_text().partition(":")
        self.assertEqual(target.strip(), "model.so")
        self.assertIn("conv-bn-silu.onnx", sources)

    def test_verify(self):
        for model in (SINCOS, CONV):
            result = self.compiles(model, "--verify", "-o", "model.so")
            self.assertIn("agrees with the reference interpreter", result.text)
            self.assertEqual(len(result.text.splitlines()), 1, result.text)
        self.compiles(SINCOS, "--verify", "--shape", "x=3x8", "-o", "model.so")

    def test_verify_that_fails_writes_nothing(self):
        """Here for want of an input that the model takes."""
        shape = numpy_helper.from_array(np.array([17, 19], np.int64), "s")
        graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", 1, ["N"])],
                                  [helper.make_tensor_value_info("y", 1, [17, 19])], [shape])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "odd.onnx")
        self.compiles("odd.onnx", "-o", "model.so", "--verify", "--dim", "N=323")
        before = (self.work / "model.so").read_bytes()
        manifest = (self.work / "model.so.json").read_text()
        result = self.tcc("odd.onnx", "-o", "model.so", "--verify", "--depfile", "model.d")
        self.assertEqual(result.code, 2, result.text)
        self.assertRegex(result.text, r"^error: --verify found no input.*odd.onnx")
        self.assertEqual((self.work / "model.so").read_bytes(), before)
        self.assertEqual((self.work / "model.so.json").read_text(), manifest)
        self.assertEqual(self.left_behind(), ["work/model.so", "work/model.so.json", "work/odd.onnx"])

    def test_logs(self):
        self.assertIn("fusion", self.tcc("--logs", "help").out)
        result = self.compiles(CONV, "-o", "model.so", "--logs", "phases,+fusion,guards,-cache")
        for topic in ("phases", "fusion", "guards"):
            self.assertIn(f"[{topic}] ", result.text)
        self.assertNotIn("[cache]", result.text)
        self.env["TCC_LOGS"] = "+codegen"
        self.assertIn("kernel.launch", self.compiles(SINCOS, "-o", "model.so", "--cache", "").text)

    def test_reproducer(self):
        self.compiles(CONV, "-o", "model.so", "--reproducer", "repro")
        text = (self.work / "repro/repeat.txt").read_text()
        self.assertIn("--reproducer repro", text)
        self.assertIn("--start-from decompose", text)
        self.compiles("repro/model.mlir", "--start-from", "decompose", "-o", "out.so")
        self.check_runs(self.work / "out.so")

    def test_reproducer_repeats_what_was_asked_for(self):
        flags = "--arch=sim --precision=bf16 --dim=batch=3 --mode=max-autotune-no-cudagraphs --verify"
        self.compiles(CONV, *flags.split(), "-o", "model.so", "--reproducer", "it's repro")
        text = (self.work / "it's repro/repeat.txt").read_text()
        self.assertIn(r"""--reproducer 'it'\''s repro'""", text)
        command = shlex.split(text.splitlines()[-1])
        for flag in flags.split():
            self.assertEqual(flag in command, "--dim" not in flag, text)
        result = run("tcc", *command[1:], cwd=self.work / "it's repro", env=self.env)
        self.assertEqual(result.code, 0, result.text)
        self.assertIn("agrees with the reference interpreter", result.text)

    def test_reproducer_of_a_fault(self):
        # IR that no phase makes: a kernel of points that orders a line.
        (self.work / "bad.mlir").write_text("""
            func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
              %0 = "kernel.launch"(%x) ({
              ^bb0(%a: tensor<4xf32>):
                %1 = prim.cumulative sum %a 0 : (tensor<4xf32>) -> tensor<4xf32>
                "kernel.yield"(%1) : (tensor<4xf32>) -> ()
              }) {name = "k", kind = #kernel<kind loop>, operandSegmentSizes = array<i32: 1, 0>} : (tensor<4xf32>) -> tensor<4xf32>
              return %0 : tensor<4xf32>
            }""")
        result = self.tcc("bad.mlir", "--start-from", "schedule", "-o", "model.so", "--reproducer", "repro")
        self.assertEqual(result.code, 1, result.text)
        self.assertEqual(len(re.findall(r"\berror:", result.text)), 1, result.text)
        self.assertIn("--start-from codegen", (self.work / "repro/repeat.txt").read_text())
        again = self.tcc("repro/model.mlir", "--start-from", "codegen", "-o", "model.so")
        self.assertEqual(again.code, 1, again.text)
        self.assertFalse((self.work / "model.so").exists())

    def crash(self, number, *arguments):
        """tcc on a model that takes a while, when the signal `number` hits it in codegen: its end."""
        import os
        import subprocess
        import time
        from compiled import tool
        compiler = subprocess.Popen([tool("tcc"), CONV, "-o", "model.so", "--cache", "", "--logs", "phases", *arguments],
                                    cwd=self.work, stderr=subprocess.PIPE, text=True, env={**os.environ, **self.env})
        text = ""
        while "codegen starts" not in text:
            text += compiler.stderr.readline()
        children = pathlib.Path(f"/proc/{compiler.pid}/task/{compiler.pid}/children").read_text().split()
        os.kill(int((children or [compiler.pid])[0]), number)
        text += compiler.communicate()[1]
        return compiler.returncode, text

    def test_crash(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE):
            code, text = self.crash(number)
            self.assertEqual(code, 1, text)
            self.assertRegex(text, r"error: tcc crashed in phase 'codegen': .*--reproducer")
            self.assertEqual(len(re.findall(r"\berror:", text)), 1, text)
            self.assertEqual(self.left_behind(), [])

    def test_reproducer_of_a_crash(self):
        code, text = self.crash(signal.SIGSEGV, "--reproducer", "repro")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"error: tcc crashed \(.*\) in phase 'codegen': .* \(reproducer in repro\)")
        self.assertFalse((self.work / "model.so").exists())
        repeat = (self.work / "repro/repeat.txt").read_text()
        self.assertIn("--start-from codegen model.mlir", repeat)
        self.compiles("repro/model.mlir", "--start-from", "codegen", "-o", "out.so")
        self.check_runs(self.work / "out.so")

    def test_full_disk(self):
        """A limit on file sizes is as good: for weights in the library and those beside IR."""
        weight = numpy_helper.from_array(np.ones((1 << 20, 5), np.float32) * np.arange(5, dtype=np.float32), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", 1, [2, 1 << 20])],
                                  [helper.make_tensor_value_info("y", 1, [2, 5])], [weight])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.work / "big.onnx")
        (self.work / "model.so").write_text("as before")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731
        for arguments in ((), ("--emit", "mlir"), ("--stop-after", "simplify")):
            with self.subTest(arguments):
                result = self.tcc("big.onnx", "-o", "model.so", *arguments, before=limit)
                self.assertIn(result.code, (1, 2), result.text)
                self.assertRegex(result.text, r"^error: .*(File too large|cannot write|no room|linking failed)")
                self.assertEqual(len(result.text.splitlines()), 1, result.text)
                self.assertEqual((self.work / "model.so").read_text(), "as before")
                names = [name for name in self.left_behind() if name not in ("work/big.onnx", "work/model.so")]
                self.assertEqual(names, [])

    def test_full_disk_for_all_outputs(self):
        """Every file that was asked for, or none: at each size that a file may reach."""
        outputs = {"--depfile": ("model.d",), "--reproducer": ("repro",), "--dump-ir": ("dump",), "--emit": ("obj",),
                   "--print-plan": ()}
        for option, value in outputs.items():
            whole = None
            for size in [1 << n for n in range(9, 20)]:
                (self.work / "model.so").write_text("as before")
                limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731, B023
                result = self.tcc(CONV, "-o", "model.so", option, *value, before=limit)
                with self.subTest(option, size=size):
                    files = [name for name in self.left_behind() if (self.folder / name).is_file()]
                    if result.code == 0:
                        whole = whole or files
                        self.assertEqual(files, whole)
                    else:
                        self.assertIsNone(whole)
                        self.assertEqual(result.code, 2, result.text)
                        self.assertRegex(result.text, r"^error: .*File too large[^\n]*\n$")
                        self.assertEqual((self.work / "model.so").read_text(), "as before")
                        inside = [name for name in files if not name.startswith(("work/repro/", "work/dump/"))]
                        self.assertEqual(inside, ["work/model.so"])
                for name in files:
                    (self.folder / name).unlink()
            self.assertIsNotNone(whole, option)

    def test_full_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = self.tcc("--help", before=lambda: os.dup2(full.fileno(), 1))
        self.assertEqual((result.code, result.text), (2, "error: cannot write standard output: No space left on device\n"))

    def test_closed_standard_streams(self):
        result = self.tcc(CONV, "-o", "model.so", before=lambda: os.closerange(0, 3))
        self.assertEqual(result.code, 0)
        self.check_runs(self.work / "model.so")

    def test_jobs_and_cache(self):
        self.compiles(CONV, "-o", "model.so", "--jobs", "1", "--cache", "kernels")
        self.assertTrue(list((self.work / "kernels").iterdir()))
        self.assertIn("from cache", self.compiles(CONV, "-o", "model.so", "--cache", "kernels").text)

    def test_profile(self):
        self.compiles(CONV, "-o", "model.so")
        result = self.tcc_run("model.so", "--bench", "--seconds", "0.1", "--profile", "--dim", "batch=2")
        self.assertEqual(result.code, 0, result.text)
        self.assertRegex(result.out, r"k\d+_\w*conv\w*: \w+")

    def test_idle_words(self):
        result = self.compiles(CONV, "-o", "model.so", "--dynamic", "true", "--disable", "--fullgraph", "--backend",
                               "inductor", "--mode", "reduce-overhead")
        for word in ("--dynamic", "--disable", "--mode reduce-overhead"):
            self.assertEqual(len(re.findall(f"note: {word} changes nothing", result.text)), 1, result.text)

    def test_precision(self):
        """Fewer bits inside, the same types outside; what cannot be is said."""
        inputs, outputs, _ = read_data_set(SOURCE / "samples/conv-bn-silu/data")
        for precision, tolerance in (("bf16", 2e-2), ("f16", 2e-3)):
            library = self.fresh_name()
            text = self.compiles(CONV, "-o", library, "--precision", precision, "--verify").text
            self.assertRegex(text, "agrees with the reference interpreter|amplifies roundings")
            self.assertIn(f'"--precision={precision}"', (self.work / f"{library}.json").read_text())
            self.compiles(CONV, "-o", "model.mlir", "--precision", precision, "--stop-after", "layout")
            self.assertRegex((self.work / "model.mlir").read_text(), f"prim.weight .*x{precision}[,>]")
            with Compiled(self.work / library) as model:
                actual = model(inputs[0][1])[0]
            self.assertEqual(actual.dtype, outputs[0][1].dtype)
            np.testing.assert_allclose(actual, outputs[0][1], rtol=tolerance, atol=tolerance)
            self.assertGreater(abs(actual - outputs[0][1]).max(), 1e-5)
        for flags in ([], ["--precision", "f32"]):
            self.compiles(CONV, "-o", "model.mlir", "--stop-after", "layout", *flags)
            self.assertNotRegex((self.work / "model.mlir").read_text(), "f16[,>]")
        self.assertIn("--precision tf32 changes nothing", self.compiles(CONV, "-o", "model.so", "--precision", "tf32").text)
        for precision, form in (("f32", "product"), ("tf32", "mma")):
            text = self.compiles(CONV, "-o", "model.mlir", "--precision", precision, "--arch", "sm_80",
                                 "--stop-after", "schedule").text
            self.assertNotIn("changes nothing", text)
            self.assertIn(f"form = {form}", (self.work / "model.mlir").read_text())
        for why, arguments in (("none of f32, tf32, bf16, f16", [CONV, "--precision", "f8"]),
                               ("phase layout", ["model.mlir", "--start-from", "fuse", "--precision", "bf16"])):
            result = self.tcc(*arguments, "-o", "model.so")
            self.assertEqual(result.code, 2, result.text)
            self.assertIn(why, result.text)

    def test_target(self):
        self.compiles(CONV, "-o", "model.so", "--target", "aarch64-linux")
        self.assertEqual((self.work / "model.so").read_bytes()[18:20], b"\xb7\x00")  # EM_AARCH64
        self.compiles(CONV, "-o", "model.so", "--cpu", "x86-64-v3")

    def test_progress_is_for_terminals(self):
        import os
        import pty
        import subprocess
        from compiled import tool
        try:
            main, terminal = pty.openpty()
        except OSError:
            self.skipTest("this machine has no pseudo-terminals")
        subprocess.run([tool("tcc"), CONV, "-o", "model.so"], cwd=self.work, stderr=terminal, check=True,
                       env={**os.environ, **self.env, "TERM": "xterm"})
        os.close(terminal)
        text = b""
        try:
            while part := os.read(main, 1 << 16):  # what was written may come in parts
                text += part
        except OSError:  # the other end is closed
            pass
        os.close(main)
        text = text.decode()
        self.assertIn("\rtcc: codegen", text)
        self.assertRegex(text.strip().split("\n")[-1], r"\r\x1b\[Kmodel.so: \d+ kernels")

    def test_default_output(self):
        """The file's name without its last extension, which no folder's name takes part in."""
        (self.work / "dir.v1").mkdir()
        for name, flags, output in (("net.onnx", (), "net.so"), ("dir.v1/model", (), "dir.v1/model.so"),
                                    ("dir.v1/../plain", (), "plain.so"), ("a.b.onnx", ("--emit", "asm"), "a.b.s"),
                                    (".hidden", ("--stop-after", "fuse"), ".hidden.mlir")):
            with self.subTest(name):
                (self.work / name).write_bytes(SINCOS.read_bytes())
                self.compiles(name, *flags)
                self.assertTrue((self.work / output).exists(), self.left_behind())

    def test_only_named_files_are_replaced(self):
        """Beside them only what tcc wrote: a tokenizer.json is not its manifest."""
        (self.work / "tokenizer.onnx").write_bytes(SINCOS.read_bytes())
        (self.work / "tokenizer.json").write_text("{}")
        for _ in range(2):
            self.compiles("tokenizer.onnx")
        self.assertEqual((self.work / "tokenizer.json").read_text(), "{}")
        self.assertIn('"manifest_version"', (self.work / "tokenizer.so.json").read_text())
        for name, flags in (("net.so", ()), ("net.so.json", ()), ("net.so.json", ("-o", "net.so")),
                            ("net.so.safetensors", ("--cpu", "x86-64-v2", "-o", "net.so")), ("net.s", ("--emit", "asm")),
                            ("net.mlir.weights", ("--emit", "mlir"))):
            with self.subTest(name, flags=flags):
                (self.work / "net.onnx").write_bytes(CONV.read_bytes())
                (self.work / name).write_text("something else")
                result = self.tcc("net.onnx", *flags)
                if name == "net.so.safetensors":  # small weights lie in the library
                    self.assertEqual(result.code, 0, result.text)
                else:
                    self.assertEqual(result.code, 2, result.text)
                    self.assertRegex(result.text, rf"^error: .*'{name}' exists")
                self.assertEqual((self.work / name).read_text(), "something else")
                for path in self.work.glob("net.*"):
                    path.unlink()

    def test_the_model_is_not_replaced(self):
        (self.work / "net.onnx").write_bytes(SINCOS.read_bytes())
        result = self.tcc("net.onnx", "-o", "./net.onnx")
        self.assertEqual((result.code, "is the model itself" in result.text), (2, True), result.text)
        self.assertEqual((self.work / "net.onnx").read_bytes(), SINCOS.read_bytes())

    def test_a_dump_has_no_weights(self):
        self.compiles(CONV, "-o", "model.so", "--dump-ir", "ir")
        result = self.tcc("ir/2-simplify.mlir", "--start-from", "differentiate", "-o", "again.so")
        self.assertEqual(result.code, 2, result.text)
        self.assertRegex(result.text, "its weights are missing: 'ir/2-simplify.mlir.weights' .*--stop-after")

    def test_leaves_only_its_output(self):
        self.compiles(SINCOS, "-o", "model.so")
        names = [name for name in self.left_behind() if not name.endswith(".json")]  # the manifest lies beside
        self.assertEqual(names, ["work/model.so"])

    def test_dim_range_is_a_guard(self):
        self.compiles(SINCOS, "--dim", "batch=1..4", "-o", "model.so")
        with Compiled(self.work / "model.so") as model:
            model(np.zeros((4, 8), np.float32))
            with self.assertRaises(Exception) as caught:
                model(np.zeros((5, 8), np.float32))
            self.assertIn("x", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
