"""Small graphs that are easy to get wrong (test/models/graphs.py), on several sizes, against ONNX Runtime."""
import unittest

import numpy as np
import onnx

from agreement import disagreement
from compiled import Compiled
from graphs import GRAPHS
from testfolder import onnx_session
from toolrun import ToolTest


class Graphs(ToolTest):
    def build(self, name):
        model, cases = GRAPHS[name]()
        path = self.work / f"{name}.onnx"
        onnx.save(model, path)
        return path, cases

    def test_refuses_the_illegal_branch(self):
        """Where one branch leads nowhere, a run that takes it ends with an error."""
        path, _ = self.build("if-legal-once")
        with Compiled.build(path) as compiled:
            with self.assertRaisesRegex(Exception, "branch of an If"):
                compiled(np.zeros((3, 4, 2), np.float32))


def add(name):
    def test(self):
        path, cases = self.build(name)
        session = onnx_session(path)
        with Compiled.build(path) as compiled:
            for case in cases:
                expected = session.run(None, case)
                actual = compiled(*[case[entry.name] for entry in session.get_inputs()])
                for entry, stored, result in zip(session.get_outputs(), expected, actual, strict=True):
                    self.assertIsNone(wrong := disagreement(result, stored), f"{entry.name}: {wrong}")
    setattr(Graphs, "test_" + name.replace("-", "_"), test)


for name in GRAPHS:
    add(name)

if __name__ == "__main__":
    unittest.main()
