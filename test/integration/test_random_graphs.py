"""Random graphs agree with ONNX Runtime; more of them: test/models/randomgraph.py --seeds FROM:TO, typedgraph.py."""
import unittest

import randomgraph
import typedgraph


class RandomGraphs(unittest.TestCase):
    def check(self, seeds, *flags, kind):
        for seed in seeds:
            with self.subTest(seed=seed, flags=flags):
                self.assertIsNone(randomgraph.check(seed, *flags, kind=kind))

    def test_graphs(self):
        self.check(range(60), kind=randomgraph.RandomGraph)

    def test_typed_graphs(self):
        self.check(range(30), kind=typedgraph.TypedGraph)

    def test_typed_graphs_on_a_device(self):
        self.check(range(30, 40), "--arch=sim", kind=typedgraph.TypedGraph)


if __name__ == "__main__":
    unittest.main()
