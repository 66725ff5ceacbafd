"""Small graphs that are easy to get wrong (test/models/graphs.py), on several sizes, against ONNX Runtime."""
import unittest

import numpy as np
import onnx

from agreement import disagreement
from compiled import Compiled
from contrib import CONTRIB, causal_convolution, gated_delta
from graphs import GRAPHS
from testfolder import onnx_session
from toolrun import ToolTest


ALL = GRAPHS | CONTRIB


class Graphs(ToolTest):
    def build(self, name):
        model, cases = ALL[name]()
        path = self.work / f"{name}.onnx"
        onnx.save(model, path)
        return path, cases

    def test_refuses_the_illegal_branch(self):
        """Where one branch leads nowhere, a run that takes it ends with an error."""
        path, _ = self.build("if-legal-once")
        with Compiled.build(path) as compiled:
            with self.assertRaisesRegex(Exception, "branch of an If"):
                compiled(np.zeros((3, 4, 2), np.float32))

    def test_windows_of_states_are_those_of_prefixes(self):
        """ONNX Runtime's CPU provider has no windows: slot j has what a call on the tokens before it leaves, or zeros."""
        for name, build, time in (("attention", lambda **w: gated_delta("gated_delta", past=False, **w)[0], 1),
                                  ("convolution", lambda **w: causal_convolution(past=False, **w)[0], 2),
                                  ("convolution-last", lambda **w: causal_convolution(past=False, last=True, **w)[0], 1)):
            window, key = 3, "window" if name == "attention" else "state_window"
            plain, windowed = self.work / f"{name}.onnx", self.work / f"{name}-windowed.onnx"
            onnx.save(build(), plain)
            onnx.save(build(**{key: window}), windowed)
            shapes = {"attention": [(2, 5, 8), (2, 5, 8), (2, 5, 6), (2, 5, 2), (2, 5, 2)], "convolution": [(2, 6, 5)],
                      "convolution-last": [(2, 5, 2, 3)]}[name]
            inputs = [np.random.default_rng(i).normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)]
            cut = lambda n: [np.take(x, range(n), time).copy() for x in inputs]
            with Compiled.build(plain) as each, Compiled.build(windowed) as model:
                for tokens in (5, 2, 1):
                    y, states = model(*cut(tokens))
                    self.assertIsNone(disagreement(np.array(y), np.array(each(*cut(tokens))[0])))
                    for slot in range(window):
                        n = tokens - window + slot + 1
                        expected = np.array(each(*cut(n))[1]) if n > 0 else np.zeros_like(states[slot])
                        self.assertIsNone(wrong := disagreement(np.array(states[slot]), expected), f"{name} {tokens} {slot}: {wrong}")


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


for name in ALL:
    add(name)

if __name__ == "__main__":
    unittest.main()
