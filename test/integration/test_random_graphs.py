"""Random graphs agree with ONNX Runtime; more of them: test/models/randomgraph.py --seeds FROM:TO."""
import unittest

import randomgraph


class RandomGraphs(unittest.TestCase):
    def test_graphs(self):
        for seed in range(60):
            with self.subTest(seed=seed):
                self.assertIsNone(randomgraph.check(seed))


if __name__ == "__main__":
    unittest.main()
