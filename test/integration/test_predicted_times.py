"""The CPU time model against measured times: what docs/performance-operators.json stores, of the machine it names."""
import pathlib
import re
import sys
import unittest

import numpy as np

from toolrun import SOURCE, tool

sys.path.insert(0, str(SOURCE / "test/bench"))
import predicted  # noqa: E402

CPU = "znver4"  # of the machine whose times are stored:
MACHINE = "AMD EPYC, 2 cores, AVX-512"
THREADS = 2
FEWEST = 100


def stored_prices():
    """Of CPU, from the table that the compiler is built with."""
    table = pathlib.Path(SOURCE / "lib/Target/CpuCosts.inc").read_text()
    return [float(price) for price in re.search(rf'"{CPU}", {{{{(.*?)}}}}', table)[1].split(",")]


class PredictedTimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names, cls.counts, cls.times = predicted.measured_cases(predicted.stored_times(MACHINE, THREADS), tool("tcc"), CPU)

    def test_ranks(self):
        """Predictions order the cases of the sweep nearly as measuring does."""
        self.assertGreaterEqual(len(self.times), FEWEST)
        predictions = self.counts @ np.array(stored_prices())
        self.assertGreaterEqual(predicted.rank_correlation(predictions, self.times), 0.9)

    def test_ranks_of_what_was_not_fitted(self):
        """And so do those of each half by prices that were fitted to the other."""
        predictions = predicted.held_out(self.counts, self.times)
        self.assertGreaterEqual(predicted.rank_correlation(predictions, self.times), 0.9)

    def test_ranks_within_a_family(self):
        """Cases of one kind of kernel are ordered as well: what all of them agree in says less of each."""
        families = {}
        for i, name in enumerate(self.names):
            families.setdefault(name.split("/")[0], []).append(i)
        predictions, times = self.counts @ np.array(stored_prices()), np.array(self.times)
        large = {family: cases for family, cases in families.items() if len(cases) >= 8}
        self.assertGreaterEqual(set(large), {"attention", "cast", "conv", "image", "index", "linear", "math", "order", "reduce", "shape"})
        for family, cases in large.items():
            with self.subTest(family):
                self.assertGreaterEqual(predicted.rank_correlation(predictions[cases], times[cases]), 0.65)

    def test_what_the_compiler_says(self):
        """Counts times the table's prices."""
        name = "reduce/sum/4096x1024/1"
        counts, nanoseconds = predicted.predicted(name, tool("tcc"), CPU)
        prices = dict(zip(predicted.COSTS, stored_prices()))
        self.assertAlmostEqual(nanoseconds, sum(counts[what] * prices[what] for what in counts), delta=len(counts))


if __name__ == "__main__":
    unittest.main()
