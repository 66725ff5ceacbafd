"""The kernel cache: what it believes, how much it holds, and what a kernel's key depends on."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import unittest.mock

from compiled import tool
from toolrun import SOURCE, ToolTest

CONV = SOURCE / "samples/conv-bn-silu/conv-bn-silu.onnx"


def shared_library(name):
    """Where the built tcc finds the shared library, or None where it is linked statically."""
    listing = subprocess.run(["ldd", tool("tcc")], capture_output=True, text=True).stdout
    found = re.search(rf"{name}\S* => (\S+)", listing)
    return pathlib.Path(found[1]).resolve() if found else None


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", text)[1])


def copy_of_another_build(program, copy):
    """With another build id."""
    shutil.copy(program, copy)
    identity = build_id(copy)
    with open(copy, "r+b") as file:
        file.seek(file.read(1 << 20).index(identity))
        file.write(bytes(byte ^ 1 for byte in identity))


class Cache(ToolTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def hits(self, **options):
        """The kernels of a compile, and how many of them were in the cache."""
        text = self.compiles(CONV, "--cpu", "x86-64-v3", "-o", "model.so", **options).text  # which has two kernels
        found = re.search(r"(\d+) kernels \((\d+) from cache\)", text)
        return int(found[1]), int(found[2]), text

    def test_second_compile_hits(self):
        self.assertEqual(self.hits()[:2], (2, 0))
        self.assertEqual(self.hits()[:2], (2, 2))
        self.assertEqual(self.cache.stat().st_mode & 0o777, 0o700)

    def test_what_others_could_have_written_is_not_linked(self):
        self.hits()
        self.cache.chmod(0o777)
        kernels, cached, text = self.hits()
        self.assertEqual((kernels, cached), (2, 0))
        self.assertRegex(text, "note: the cache '.*cache' is not used: others may write it")
        result = self.tcc("cache", "--stats")
        self.assertEqual(result.code, 2)
        self.cache.chmod(0o700)
        for path in self.cache.iterdir():
            path.chmod(0o666)
        self.assertEqual(self.hits()[:2], (2, 0))
        self.assertEqual(self.hits()[:2], (2, 2))  # written anew

    def test_damage_is_seen(self):
        self.hits()
        before = (self.work / "model.so").read_bytes()
        for path in self.cache.glob("?" * 64):
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        self.assertEqual(self.hits()[:2], (2, 0))
        self.assertEqual((self.work / "model.so").read_bytes(), before)

    def test_entries_under_each_others_names(self):
        self.hits()
        before = (self.work / "model.so").read_bytes()
        entries = sorted(self.cache.glob("?" * 64))
        contents = [path.read_bytes() for path in entries]
        for path, content in zip(entries, contents[1:] + contents[:1]):
            path.write_bytes(content)
        self.assertEqual(self.hits()[:2], (2, 0))
        self.assertEqual((self.work / "model.so").read_bytes(), before)

    def test_a_folder_that_is_none(self):
        self.cache.write_text("")
        self.assertRegex(self.hits()[2], "note: the cache '.*cache' is not used: Not a directory")

    def test_another_llvm_is_another_key(self):
        """Upgraded under the same name: here a copy whose build id is another."""
        library = shared_library("libLLVM")
        if not library:
            self.skipTest("LLVM is linked statically")
        self.assertEqual(self.hits()[:2], (2, 0))
        other = self.folder / "other"
        other.mkdir()
        copy = other / shared_name(library)
        copy_of_another_build(library, copy)
        self.env["LD_LIBRARY_PATH"] = str(other)
        listing = subprocess.run(["ldd", tool("tcc")], capture_output=True, text=True, env={**os.environ, **self.env})
        self.assertIn(str(copy), listing.stdout)
        self.assertEqual(self.hits()[:2], (2, 0))
        self.assertEqual(self.hits()[:2], (2, 2))
        del self.env["LD_LIBRARY_PATH"]
        self.assertEqual(self.hits()[:2], (2, 2))

    def test_another_compiler_is_another_key(self):
        """Built of other sources: here a copy whose build id is another."""
        self.assertEqual(self.hits()[:2], (2, 0))
        other = self.folder / "other"
        other.mkdir()
        copy_of_another_build(tool("tcc"), other / "tcc")
        with unittest.mock.patch.dict(os.environ, TCC_BIN=str(other)):
            self.assertEqual(self.hits()[:2], (2, 0))
            self.assertEqual(self.hits()[:2], (2, 2))
        self.assertEqual(self.hits()[:2], (2, 2))

    def test_command(self):
        self.hits()
        text = self.tcc("cache", "--stats").out
        entries = int(re.search(r"entries +(\d+)", text)[1])
        self.assertEqual(entries, len(list(self.cache.glob("?" * 64))))
        self.assertIn(str(self.cache), text)
        self.assertRegex(text, r"size +\d+\.\d of 1000 MB")
        self.assertRegex(self.tcc("cache", "--prune").out, "removed +0 entries")
        self.assertRegex(self.tcc("cache", "--prune", "--limit", "0", "--stats").out,
                         rf"removed +{entries} entries.*\n(.*\n)*entries +0\n")
        self.assertEqual(self.hits()[:2], (2, 0))
        for wrong in ((), ("--limit", "1"), ("--stats", "model.onnx"), ("--prune", "--limit", "much")):
            result = self.tcc("cache", *wrong)
            self.assertEqual(result.code, 2, wrong)
            self.assertEqual(result.text.count("error:"), 1)
        self.assertIn("--prune", self.tcc("cache", "--help").out)
        self.assertIn("tcc cache", self.tcc("--help").out)

    def test_a_limit_that_is_no_number(self):
        for limit in ("abc", "-1", "1.5", "1e3", "9" * 18):
            self.env["TCC_CACHE_LIMIT"] = limit
            for result in (self.tcc(CONV, "-o", "model.so"), self.tcc("cache", "--stats")):
                self.assertEqual(result.code, 2)
                self.assertIn(f"TCC_CACHE_LIMIT is '{limit}': it must be a number of megabytes", result.text)

    def test_bound(self):
        self.env["TCC_CACHE_LIMIT"] = "0"
        self.hits()
        self.assertEqual(list(self.cache.glob("?" * 64)), [])


def shared_name(library):
    text = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.search(r"SONAME.*\[(.*)\]", text)[1]


if __name__ == "__main__":
    unittest.main()
