"""Files that are wrong or odd, by class: each is compiled or refused as promised.

ONNX: test/models/malformed.py; `.pt2`: test/models/malformed_export.py.
"""
import os
import re
import unittest

import onnx

import malformed
import malformed_export
import malformed_operators
from toolrun import SOURCE, UNSAFE, ToolTest


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

    def test_every_integer_of_a_schema_is_a_flag_or_a_number(self):
        """As the importer has it (NodeCheck.cpp), which the schemas do not say in a form that a program reads."""
        integers = {attribute.name for schema in onnx.defs.get_all_schemas_with_history()
                    for attribute in schema.attributes.values() if attribute.type == onnx.defs.OpSchema.AttrType.INT}
        self.assertEqual(integers, malformed_operators.FLAGS | malformed_operators.NUMBERS)
        text = (SOURCE / "lib/Import/Onnx/NodeCheck.cpp").read_text()
        listed = re.search(r"flags = \{(.*?)\};", text, re.S).group(1)
        self.assertEqual(set(re.findall(r'"(\w+)"', listed)), malformed_operators.FLAGS)


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
