"""ONNX files that are wrong or odd, by class (test/models/malformed.py): each is compiled or refused as promised."""
import os
import re
import unittest

import malformed
from toolrun import ToolTest


class Malformed(ToolTest):
    def setUp(self):
        super().setUp()
        (self.work / "w.bin").write_bytes(bytes(24))
        (self.work / "dir").mkdir()
        os.mkfifo(self.work / "fifo")

    def check(self, expect, data):
        (self.work / "model.onnx").write_bytes(data)
        before = self.left_behind()
        result = self.tcc("model.onnx", "-o", "model.so", timeout=20)
        self.assertEqual(result.code, 2 if expect == malformed.BAD else 0, result.text[:1000])
        self.assertLess(result.peak_bytes, 4 << 30)
        if result.code == 0:
            (self.work / "model.so").unlink()
            (self.work / "model.json").unlink()
            return
        text = result.err.decode("utf-8")  # strictly
        self.assertEqual(len(re.findall(r"\berror:", text)), 1, text[:1000])
        self.assertLessEqual(len(result.err), 4096)
        self.assertIsNone(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), "control characters")
        self.assertIn("model.onnx", text)
        self.assertEqual(self.left_behind(), before, "left something behind")


def add(family):
    def test(self):
        for name, (expect, data) in malformed.cases(family).items():
            with self.subTest(name):
                self.check(expect, data)
    setattr(Malformed, "test_" + family.__name__, test)


for family in malformed.FAMILIES:
    add(family)

if __name__ == "__main__":
    unittest.main()
