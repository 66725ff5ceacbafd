"""The loop of work: scripts/check finds the tests of every source, scripts/test-needs what tests need."""
import os
import pathlib
import subprocess
import unittest

from toolrun import SOURCE

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
        python, targets = self.needs("^(unit.SupportTest|samples.sincos)$")
        self.assertTrue(python)
        self.assertLessEqual({"SupportTest", "tcc", "tcc-run"}, targets)


if __name__ == "__main__":
    unittest.main()
