"""Files that are wrong or odd, by class: each is compiled or refused as promised.

ONNX: test/models/malformed.py; `.pt2`: test/models/malformed_export.py.
"""
import os
import re
import unittest

import malformed
import malformed_export
from toolrun import UNSAFE, ToolTest


class Malformed(ToolTest):
    def setUp(self):
        super().setUp()
        (self.work / "w.bin").write_bytes(bytes(24))
        (self.work / "dir").mkdir()
        os.mkfifo(self.work / "fifo")

    def check(self, name, expect, data):
        (self.work / name).write_bytes(data)
        before = self.left_behind()
        result = self.tcc(name, "-o", "model.so", timeout=20)
        self.assertEqual(result.code, 2 if expect == malformed.BAD else 0, result.text[:1000])
        self.assertLess(result.peak_bytes, 4 << 30)
        if result.code == 0:
            (self.work / "model.so").unlink()
            (self.work / "model.so.json").unlink()
            return
        text = result.err.decode("utf-8")  # strictly
        self.assertEqual(len(re.findall(r"\berror:", text)), 1, text[:1000])
        self.assertLessEqual(len(result.err), 4096)
        self.assertIsNone(UNSAFE.search(text), "control characters")
        self.assertIn(name, text)
        self.assertEqual(self.left_behind(), before, "left something behind")


def add(kind, suffix, cases, family):
    def test(self):
        for name, (expect, data) in cases(family).items():
            with self.subTest(name):
                self.check("model" + suffix, expect, data)
    setattr(Malformed, f"test_{kind}_{family.__name__}", test)


for each in malformed.FAMILIES:
    add("onnx", ".onnx", malformed.cases, each)
for each in malformed_export.FAMILIES:
    add("export", ".pt2", malformed_export.cases, each)

if __name__ == "__main__":
    unittest.main()
