"""The loop of work: scripts/check finds the tests of every source, scripts/test-needs what tests need."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from toolrun import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import source_groups  # noqa: E402

BUILD = pathlib.Path(os.environ["TCC_BIN"]).parent


def script(name, *arguments):
    return subprocess.run([SOURCE / "scripts" / name, *map(str, arguments)], check=True, capture_output=True,
                          text=True, cwd=SOURCE).stdout.split()


def known_tests():
    listing = subprocess.run(["ctest", "--test-dir", BUILD, "-N"], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if " Test " in line}


class Check(unittest.TestCase):
    def test_some(self):
        self.assertIn("lit.Fusion", script("check", "--list", "lib/Fusion/Groups.cpp"))
        self.assertIn("unit.SupportTest", script("check", "--list", "include/tcc/Support/DiskCache.h"))
        self.assertEqual(script("check", "--list", "test/unit/Support/Sha256Test.cpp"), ["unit.SupportTest"])
        self.assertEqual(script("check", "--list", "test/integration/test_manifest.py"), ["integration.manifest"])
        self.assertEqual(script("check", "--list", "samples/linear/command.sh"), ["samples.linear"])
        self.assertEqual(script("check", "--list", "README.md"), [])

    def test_every_folder_has_tests_and_they_exist(self):
        known = known_tests()
        for folder in sorted((SOURCE / "lib").iterdir()):
            source = next((path for path in sorted(folder.rglob("*")) if path.suffix in (".cpp", ".c", ".py")), None)
            if source:
                with self.subTest(folder.name):
                    tests = script("check", "--list", source)
                    self.assertTrue(tests)
                    self.assertEqual([test for test in tests if test not in known], [])
        named = subprocess.run(["git", "ls-files", "tools", "test/bench", "test/runtime", "test/conformance", "scripts"],
                               check=True, capture_output=True, text=True, cwd=SOURCE).stdout.split()
        self.assertEqual([test for test in script("check", "--list", *named) if test not in known], [])


class Needs(unittest.TestCase):
    def needs(self, regex):
        python, *targets = script("test-needs", "--build", BUILD, "-R", regex)
        return python == "python", set(targets)

    def test_no_python_where_none_is_needed(self):
        self.assertEqual(self.needs("^unit.SupportTest$"), (False, {"SupportTest"}))
        self.assertEqual(self.needs("^lit.Fusion$"), (False, {"tcc", "tcc-opt"}))
        self.assertEqual(self.needs("^style.(layers|format)$"), (False, set()))
        self.assertFalse(self.needs("^docs.references$")[0])

    def test_tools(self):
        self.assertEqual(self.needs("^integration.tcc_run$"),
                         (True, {"tcc", "tcc-run", "RuntimeTestModels", "tcc-run-aarch64"}))
        self.assertEqual(self.needs("^integration.cmake_package$"), (True, {"all"}))
        self.assertEqual(self.needs("^integration.bench_report$"), (True, set()))
        self.assertEqual(script("test-needs", "--build", BUILD, "-R", "^integration.(precision|manifest)$")[0], "models")
        python, targets = self.needs("^(unit.SupportTest|samples.sincos)$")
        self.assertTrue(python)
        self.assertLessEqual({"SupportTest", "tcc", "tcc-run"}, targets)


class Groups(unittest.TestCase):
    """What may be compiled as one (scripts/source_groups.py)."""

    def together(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, f"{number}.cpp") for number in range(len(texts))]
            for path, text in zip(paths, texts):
                path.write_text(text)
            return len(source_groups.groups(map(str, paths))) == 1

    def test_names_of_their_own(self):
        self.assertTrue(self.together("static int f() {\n  return 1;\n}\n", "int g() {\n  return 2;\n}\n"))
        self.assertTrue(self.together("using Row = int;\nRow f();\n", "using Row = int;\nRow g();\n"))
        self.assertTrue(self.together("static int f() { return 1; }\n", "// Unlike f.\nint g() { return 2; }\n"))

    def test_a_name_of_two_meanings(self):
        for first, second in [("static int f(int x) {\n}\n", "static int f(long x) {\n}\n"),
                              ("namespace {\nstruct Row {\n};\n} // namespace\n", "struct Row {\n};\n"),
                              ("static const int rows = 1;\n", "static const int rows = 2;\n"),
                              ("using Row = int;\n", "using Row = long;\n"), ("#define ROWS 1\n", "#define ROWS 2\n")]:
            self.assertFalse(self.together(first, second), first)

    def test_what_another_keeps_to_itself(self):
        for own in ("static int f(int x) {\n}\n", "namespace {\nint f(int x) {\n}\n} // namespace\n", "struct f {\n};\n",
                    "using library::f;\n", "#define f 1\n", "constexpr int f = 1;\n"):
            self.assertFalse(self.together(own, "int g() {\n  return library::f(2.5);\n}\n"), own)
            self.assertFalse(self.together("int g() {\n  return f(2.5);\n}\n", own), own)

    def test_directives(self):
        self.assertFalse(self.together("using namespace one;\n", "using namespace two;\n"))
        self.assertTrue(self.together("using namespace one;\n", "using namespace one;\n"))
        with tempfile.TemporaryDirectory() as folder:  # what has more comes later
            more, fewer = pathlib.Path(folder, "a.cpp"), pathlib.Path(folder, "b.cpp")
            more.write_text("using namespace one;\nusing namespace two;\n")
            fewer.write_text("using namespace one;\n")
            self.assertEqual(source_groups.groups([str(more), str(fewer)]), [[str(fewer), str(more)]])

    def test_every_source_is_compiled(self):
        commands = [entry["file"] for entry in source_groups.compile_commands(BUILD)]
        self.assertIn(str(SOURCE / "lib/Plan/PlanMemory.cpp"), commands)
        self.assertEqual([file for file in commands if "/groups/" in file], [])


if __name__ == "__main__":
    unittest.main()
