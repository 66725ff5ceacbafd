"""Random operators: other numbers in every draw, the same ones for a seed, and the right distributions."""
import collections
import math
import pathlib
import unittest

import numpy as np
from onnx import TensorProto, helper

from compiled import Compiled, compile_model
from graphs import BOOL, FLOAT, INT32, INT64, constant, model, node, unknown, value
from testfolder import onnx_session
from tokensearch import sampled
from toolrun import ToolTest, cpu_levels
import onnx
import tcc

TORCH = pathlib.Path(__file__).resolve().parent / "torch_export" / "random.pt2"
ACCEPTED, PRIMITIVES = TORCH.with_name("accepted.pt2"), TORCH.with_name("primitives.pt2")


def uniform(output, shape=(64,), **attributes):
    return node("RandomUniform", [], [output], shape=shape, **attributes)


def two_nodes():
    return model([uniform("a"), uniform("b")], [], [unknown("a"), unknown("b")])


def seeded():
    """Two nodes of one seed, one of another, one that draws from the context."""
    nodes = [uniform("a", seed=3.0), uniform("b", seed=3.0), uniform("c", seed=4.0), uniform("d")]
    return model(nodes, [], [unknown(name) for name in "abcd"])


def loop():
    """A draw in every turn."""
    body = helper.make_graph([node("Identity", ["c"], ["more"]), uniform("drawn"), uniform("own", seed=1.0)], "body",
                             [value("i", INT64, []), value("c", BOOL, [])],
                             [value("more", BOOL, []), value("drawn", FLOAT, [64]), value("own", FLOAT, [64])])
    return model([node("Loop", ["n", "go"], ["y", "z"], body=body)], [value("n", INT64, [])],
                 [value("y", FLOAT, ["turns", 64]), value("z", FLOAT, ["turns", 64])], [constant("go", True, bool)])


def counted_loop():
    """Three turns, which are compiled one by one because they carry a sequence."""
    body = helper.make_graph([node("Identity", ["c"], ["more"]), uniform("drawn", seed=1.0),
                              node("SequenceInsert", ["s", "drawn"], ["t"])], "body",
                             [value("i", INT64, []), value("c", BOOL, []),
                              helper.make_tensor_sequence_value_info("s", FLOAT, [64])],
                             [value("more", BOOL, []), helper.make_tensor_sequence_value_info("t", FLOAT, [64])])
    nodes = [node("SequenceEmpty", [], ["empty"]), node("Loop", ["n", "go", "empty"], ["all"], body=body),
             node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)]
    return model(nodes, [], [value("y", FLOAT, [3, 64])],
                 [constant("n", 3, np.int64), constant("go", True, bool)])


def function_called_twice():
    made = model([node("Draw", [], ["a"], domain="own"), node("Draw", [], ["b"], domain="own")], [],
                 [unknown("a"), unknown("b")])
    made.opset_import.append(helper.make_opsetid("own", 1))
    made.functions.append(helper.make_function("own", "Draw", [], ["r"], [uniform("r")],
                                               [helper.make_opsetid("", 17)]))
    return made


def many_kinds(*shape):
    """Every way from words to numbers, on a shape that is known only when it runs."""
    double, half = TensorProto.DOUBLE, TensorProto.FLOAT16
    nodes = [node("RandomUniformLike", ["x"], ["u"]), node("RandomUniformLike", ["x"], ["v"], dtype=double),
             node("RandomUniformLike", ["x"], ["h"], dtype=half), node("RandomNormalLike", ["x"], ["n"]),
             node("RandomNormalLike", ["x"], ["m"], dtype=double), node("Bernoulli", ["u"], ["b"]),
             node("Dropout", ["x", "ratio", "yes"], ["d", "mask"]), node("Mul", ["u", "n"], ["product"])]
    outputs = [unknown("u"), unknown("v", double), unknown("h", half), unknown("n"), unknown("m", double),
               unknown("b"), unknown("d"), unknown("mask", BOOL), unknown("product")]
    return model(nodes, [value("x", FLOAT, list(shape))], outputs,
                 [constant("ratio", 0.3, np.float32), constant("yes", True, bool)])


class RandomNumbers(ToolTest):
    def build(self, proto, *flags, threads=2):
        path = self.work / "model.onnx"
        onnx.save(proto, path)
        return Compiled.build(path, *flags, threads=threads)

    def test_draws_differ(self):
        compiled = self.build(two_nodes())
        drawn = np.concatenate([np.stack(compiled()) for _ in range(20)])
        self.assertEqual(len(np.unique(drawn, axis=0)), 40)

    def test_a_seed_repeats_a_sequence(self):
        first, other = self.build(two_nodes()), self.build(two_nodes(), threads=1)
        self.assertFalse(np.array_equal(first()[0], other()[0]))
        for seed in (1, 2 ** 64 - 1, 1):
            first.set_seed(seed)
            other.set_seed(seed)
            for _ in range(3):
                np.testing.assert_array_equal(np.stack(first()), np.stack(other()))
        first.set_seed(1)
        other.set_seed(2)
        self.assertFalse(np.array_equal(first()[0], other()[0]))

    def test_numbers_do_not_depend_on_lanes_or_threads(self):
        x = np.ones((257, 331), np.float32)
        expected = None
        for cpu in cpu_levels():
            for threads in (1, 2):
                compiled = self.build(many_kinds("A", "B"), "--cpu", cpu, threads=threads)
                compiled.set_seed(11)
                outputs = compiled(x)
                expected = expected or outputs
                for got, want, info in zip(outputs, expected, compiled.outputs):
                    if info.name in ("u", "v", "h", "b", "d", "mask"):
                        np.testing.assert_array_equal(got, want, info.name)
                    else:  # a logarithm and a cosine, with and without multiply-add
                        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=info.name)

    def test_an_element_does_not_depend_on_the_shape(self):
        compiled = self.build(many_kinds("A", "B"))
        parts = []
        for shape in ((40, 9), (3, 7), (1, 1)):
            compiled.set_seed(5)
            parts.append([output.ravel() for output in compiled(np.ones(shape, np.float32))])
        for part in parts[1:]:
            for short, long in zip(part, parts[0]):
                np.testing.assert_allclose(short, long[:len(short)], rtol=1e-6, atol=1e-6)

    def test_the_interpreter_draws_the_same(self):
        for name, proto in (("kinds", many_kinds(5, 33)), ("seeded", seeded()), ("function", function_called_twice())):
            onnx.save(proto, self.work / f"{name}.onnx")
            self.compiles(f"{name}.onnx", "-o", f"{name}.so", "--verify")
        for path in (TORCH, ACCEPTED):
            self.compiles(path, "-o", "torch.so", "--verify")

    def test_turns_of_a_loop_differ(self):
        compiled = self.build(loop())
        drawn = np.concatenate([np.concatenate(compiled(np.int64(10))) for _ in range(3)])
        self.assertEqual(len(np.unique(drawn, axis=0)), 60)

    def test_turns_that_are_compiled_one_by_one_differ(self):
        compiled = self.build(counted_loop())
        drawn = np.concatenate([compiled()[0] for _ in range(3)])
        self.assertEqual(len(np.unique(drawn, axis=0)), 9)
        compiled.set_seed(0)
        np.testing.assert_array_equal(np.concatenate([compiled()[0] for _ in range(3)]), drawn)

    def test_calls_of_a_function_differ(self):
        compiled = self.build(function_called_twice())
        drawn = np.concatenate([np.stack(compiled()) for _ in range(3)])
        self.assertEqual(len(np.unique(drawn, axis=0)), 6)

    def test_a_node_with_a_seed_has_a_sequence_of_its_own(self):
        first, other = self.build(seeded()), self.build(seeded())
        other.set_seed(7)
        runs = [(first(), other()) for _ in range(4)]
        for mine, theirs in runs:
            for name in "abc":
                np.testing.assert_array_equal(mine[name], theirs[name])
            np.testing.assert_array_equal(mine["a"], mine["b"])
            self.assertFalse(np.array_equal(mine["a"], mine["c"]))
            self.assertFalse(np.array_equal(mine["d"], theirs["d"]))
        self.assertEqual(len(np.unique([mine["a"] for mine, _ in runs], axis=0)), 4)
        first.set_seed(0)  # starts those anew as well
        np.testing.assert_array_equal(first()["a"], runs[0][0]["a"])
        # Seeds of contexts and of nodes are different things.
        first.set_seed(int(np.float32(3).view(np.uint32)))
        self.assertFalse(np.array_equal(*first()[0::3]))

    def test_onnx_runtime_gives_seeded_nodes_sequences_too(self):
        session = onnx_session(seeded().SerializeToString())
        runs = [session.run(None, {}) for _ in range(2)]
        np.testing.assert_array_equal(runs[0][0], runs[0][1])
        self.assertFalse(np.array_equal(runs[0][0], runs[1][0]))

    def test_tcc_run(self):
        onnx.save(two_nodes(), self.work / "model.onnx")
        self.compiles("model.onnx", "-o", "model.so")
        one, again, other, free, too = (self.tcc_run("model.so", *flags).out for flags in (
            ["--seed", 1], ["--seed", 1], ["--seed", 2], [], []))
        self.assertEqual(one, again)
        self.assertEqual(len({one, other, free, too}), 4)

    def test_a_failed_run_takes_no_numbers(self):
        nodes = [uniform("u"), node("Gather", ["u", "i"], ["y"])]
        compiled = self.build(model(nodes, [value("i", INT64, [1])], [unknown("u"), unknown("y")]))
        compiled.set_seed(1)
        before, after = compiled(np.array([0]))[0], compiled(np.array([0]))[0]
        compiled.set_seed(1)
        np.testing.assert_array_equal(compiled(np.array([0]))[0], before)
        with self.assertRaises(tcc.Error):
            compiled(np.array([64]))
        np.testing.assert_array_equal(compiled(np.array([0]))[0], after)

    def test_tokens_are_drawn_as_onnx_runtime_draws_them(self):
        """Of the likeliest ones that have `top_p` together; a seed that is an input repeats them in every run."""
        rows, runs = 512, 10
        for custom in (0, 1):
            proto, (case,) = sampled(0, [[[1, 2, 3]] * rows], eos=7, min_length=[4], max_length=[4], top_p=0.8, temperature=1.5, custom=custom)
            free = self.build(sampled(0, [[[1, 2, 3]] * 64], max_length=[12], eos=7, min_length=[12], top_p=0.8, seed=[])[0])
            seed = next(each for each in proto.graph.initializer if each.name == "seed")
            proto.graph.initializer.remove(seed)
            proto.graph.input.append(value("seed", INT32, [1]))
            session = onnx_session(proto.SerializeToString())
            ours, theirs = [], []
            with self.build(proto) as compiled:
                for i in range(1, runs + 1):
                    seed = np.array([i], np.int32)
                    ours.append(compiled(case["input_ids"], seed)[0][:, 3])
                    np.testing.assert_array_equal(compiled(case["input_ids"], seed)[0][:, 3], ours[-1])
                    theirs.append(session.run(None, case | {"seed": seed})[0][:, 3])
            self.assertEqual(len(np.unique(ours, axis=0)), runs)
            counts, expected = (np.bincount(np.concatenate(each), minlength=11) for each in (ours, theirs))
            np.testing.assert_array_equal(counts > 0, expected > 0)
            share = expected / (rows * runs)
            self.assertTrue((abs(counts - expected) <= 5 * (2 * rows * runs * share * (1 - share)) ** 0.5).all(), (counts, expected))
            # 64 rows together: one row of nine likely tokens comes twice by chance.
            self.assertEqual(len(np.unique([free(case["input_ids"][:64])[0] for _ in range(8)], axis=0)), 8)


class Statistics(ToolTest):
    """Seeds are fixed; a bound of five deviations lets what is right pass."""

    def moments(self, values, mean, deviation, fourth=3.0):
        values = values.astype(np.float64)
        count = values.size
        self.assertLess(abs(values.mean() - mean), 5 * deviation / count ** 0.5)
        self.assertLess(abs(values.var() / deviation ** 2 - 1), 5 * ((fourth - 1) / count) ** 0.5)

    def frequencies(self, values, probabilities):
        counts = np.bincount(values.ravel(), minlength=len(probabilities))
        self.assertEqual(len(counts), len(probabilities))
        for count, p in zip(counts, probabilities):
            self.assertLessEqual(abs(count - values.size * p), 5 * (values.size * p * (1 - p)) ** 0.5, counts)


class Distributions(Statistics):
    @classmethod
    def setUpClass(cls):
        cls.compiled = Compiled.build(TORCH)
        cls.compiled.set_seed(2)
        cls.x, cls.weights = np.linspace(0, 1, 2000, dtype=np.float32), np.array([0, 1, 2, 0, 5, 0], np.float32)
        names = ("rand rand64 rand16 brain integers dice words permutation small normal normal64 moved bernoulli "
                 "eighth exponential classes pairs dropped kept halved geometric cauchy log_normal "
                 "complex complex_normal").split()
        cls.runs = [dict(zip(names, cls.compiled(cls.x, cls.weights))) for _ in range(40)]
        cls.drawn = cls.runs[0]

    def test_uniform(self):
        for name, digits in (("rand", 24), ("rand64", 53), ("rand16", 11), ("brain", 8)):
            values = self.drawn[name]
            if name == "brain" and values.dtype == np.uint16:  # where NumPy lacks the type
                values = (values.astype(np.uint32) << 16).view(np.float32)
            values = values.astype(np.float64)
            self.assertTrue(((values >= 0) & (values < 1)).all(), name)
            grid = values * 2.0 ** digits
            self.assertTrue((grid == np.floor(grid)).all(), name)
            self.assertTrue((grid % 2 == 1).any(), name)
            self.moments(values + 2.0 ** -digits / 2, 0.5, 12 ** -0.5, 1.8)
            self.frequencies((values * 16).astype(np.int64), [1 / 16] * 16)

    def test_integers_have_all_their_bits(self):
        for name, bits in (("integers", 32), ("words", 64)):
            values = self.drawn[name].view(np.uint64)
            for bit in range(bits):
                ones = int(((values >> np.uint64(bit)) & np.uint64(1)).sum())
                self.assertLess(abs(ones - 10000), 5 * 5000 ** 0.5, f"{name}, bit {bit}")
        self.assertTrue((self.drawn["integers"] >> 32 == 0).all())
        self.frequencies(self.drawn["dice"] + 3, [1 / 7] * 7)

    def test_permutations(self):
        large = self.drawn["permutation"]
        np.testing.assert_array_equal(np.sort(large), np.arange(100000))
        self.assertLess(abs(np.corrcoef(large, np.arange(100000))[0, 1]), 5 / 100000 ** 0.5)
        self.assertEqual(len({tuple(run["small"]) for run in self.runs}), 40)
        for run in self.runs:
            np.testing.assert_array_equal(np.sort(run["small"]), np.arange(8))

    def test_normal(self):
        for name, mean, deviation in (("normal", 0, 1), ("normal64", 0, 1), ("moved", 2, 3)):
            values = np.concatenate([run[name] for run in self.runs])
            self.moments(values, mean, deviation)
            z = np.sort((values.astype(np.float64) - mean) / deviation)
            for quantile, share in ((-1.959964, 0.025), (0.0, 0.5), (0.6744898, 0.75), (3.0902323, 0.999)):
                self.assertLess(abs(np.searchsorted(z, quantile) - share * len(z)),
                                5 * (len(z) * share * (1 - share)) ** 0.5)
            self.assertGreater(abs(z).max(), 4)
            self.assertTrue(np.isfinite(z).all())

    def test_complex(self):
        square, plane = self.drawn["complex"], self.drawn["complex_normal"]
        for part in (square.real, square.imag):
            self.moments(part, 0.5, 12 ** -0.5, 1.8)
        for part in (plane.real, plane.imag):
            self.moments(part, 0, 0.5 ** 0.5)
        for drawn in (square, plane):
            self.assertLess(abs(np.corrcoef(drawn.real, drawn.imag)[0, 1]), 5 / len(drawn) ** 0.5)

    def test_exponential(self):
        values = np.concatenate([run["exponential"] for run in self.runs])
        self.assertTrue((values > 0).all())
        self.moments(values, 0.5, 0.5, 9.0)

    def test_geometric_cauchy_and_log_normal(self):
        trials = self.drawn["geometric"].astype(np.int64)
        np.testing.assert_array_equal(trials, self.drawn["geometric"])
        self.frequencies(np.minimum(trials, 9), [0] + [0.25 * 0.75 ** i for i in range(8)] + [0.75 ** 8])
        quartiles = np.searchsorted([-1.0, 1.0, 3.0], self.drawn["cauchy"])
        self.frequencies(quartiles, [0.25] * 4)
        self.moments(np.log(self.drawn["log_normal"]), 0.5, 0.25)

    def test_bernoulli_and_dropout(self):
        for run in self.runs:
            self.assertEqual((run["bernoulli"][0], run["bernoulli"][-1]), (0, 1))
            np.testing.assert_array_equal(run["dropped"], np.where(run["kept"], self.x * np.float32(1 / 0.75), 0))
            self.assertTrue(((run["halved"] == 0) | (run["halved"] == self.x * 2)).all())
        all_of = {name: np.stack([run[name] for run in self.runs]) for name in ("bernoulli", "eighth", "kept", "halved")}
        variance = (self.x * (1 - self.x)).sum() * len(self.runs)
        self.assertLess(abs(all_of["bernoulli"].sum() - self.x.sum() * len(self.runs)), 5 * variance ** 0.5)
        self.frequencies(all_of["eighth"].astype(np.int64), [0.875, 0.125])
        self.frequencies(all_of["kept"].astype(np.int64), [0.25, 0.75])
        self.frequencies((all_of["halved"][:, 1:] > 0).astype(np.int64), [0.5, 0.5])

    def test_multinomial(self):
        self.frequencies(self.drawn["classes"], self.weights / 8)
        pairs = self.drawn["pairs"]
        counts = collections.Counter(map(tuple, pairs.tolist()))
        expected = {(a, b): self.weights[a] / 8 * self.weights[b] / (8 - self.weights[a])
                    for a in (1, 2, 4) for b in (1, 2, 4) if a != b}
        self.assertEqual(set(counts), set(expected))
        for pair, p in expected.items():
            self.assertLess(abs(counts[pair] - len(pairs) * p), 5 * (len(pairs) * p * (1 - p)) ** 0.5, pair)


def poisson(rate):
    """The probabilities of 0, 1, ... events."""
    return [math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in range(int(rate + 12 * rate ** 0.5 + 20))]


def binomial(count, p):
    return [math.comb(count, k) * p ** k * (1 - p) ** (count - k) for k in range(count + 1)]


class AcceptedNumbers(Statistics):
    @classmethod
    def setUpClass(cls):
        cls.rates, cls.forms = np.float32([0, 0.3, 4, 9.9, 10, 37.5, 1000]), np.float32([0.05, 0.5, 1, 2.5, 100, 0])
        cls.counts, cls.chances = np.float32([20, 20, 100, 100, 40, 5, 5, 0]), np.float32([0.3, 0.9, 0.2, 0.004, 0.5, 0, 1, 0.5])
        names = "poisson poisson16 binomial gamma gamma64 dirichlet floats bytes words dice truths uniform normal six moved".split()
        cls.compiled = Compiled.build(ACCEPTED)
        cls.compiled.set_seed(3)
        cls.runs = [dict(zip(names, cls.compiled(cls.rates, cls.counts, cls.chances, cls.forms))) for _ in range(5)]
        cls.all_of = {name: np.concatenate([np.atleast_1d(run[name]) for run in cls.runs]) for name in names}

    def events(self, values, probabilities):
        """Of each number, those of fewer than 10 expected ones in one class."""
        np.testing.assert_array_equal(values, values.astype(np.int64))
        probabilities = np.array(probabilities)
        likely = probabilities * values.size >= 10
        classes = np.where(likely, np.cumsum(likely), 0)[np.minimum(values.astype(np.int64), len(probabilities) - 1)]
        shares = probabilities[likely]
        self.frequencies(classes, [max(0, 1 - shares.sum()), *shares])

    def test_poisson(self):
        drawn = self.all_of["poisson"]
        self.assertTrue((drawn[:, 0] == 0).all())
        for values, rate in zip(drawn.T[1:], self.rates[1:]):
            self.moments(values, rate, rate ** 0.5, 3 + 1 / rate)
            self.events(values, poisson(float(rate)))
        self.assertEqual(self.all_of["poisson16"].dtype, np.float16)
        with self.assertRaisesRegex(tcc.Error, "a rate of poisson is negative or no number"):
            self.compiled(self.rates * np.float32(np.nan), self.counts, self.chances, self.forms)

    def test_binomial(self):
        for values, count, p in zip(self.all_of["binomial"].T, self.counts, self.chances):
            self.events(values, binomial(int(count), float(p)))

    def test_binomial_without_end(self):
        """Of infinitely many trials no number is ever accepted."""
        counts = self.counts.copy()
        counts[[0, 5, 6]] = np.inf
        drawn = self.compiled(self.rates, counts, self.chances, self.forms)[2]
        self.assertTrue(np.isnan(drawn[:, 0]).all())
        self.assertTrue((drawn[:, 5] == 0).all() and (drawn[:, 6] == np.inf).all())

    def test_gamma(self):
        drawn = self.all_of["gamma"]
        least = np.finfo(np.float32).tiny
        self.assertTrue((drawn[:, 5] == least).all() and (drawn >= least).all())
        for values, form in zip(drawn.T[:5], self.forms):
            self.moments(values, form, form ** 0.5, 3 + 6 / form)
        # Half the square of a normal number, and an exponential one.
        for values, cumulative in ((drawn[:, 1], lambda x: math.erf(x ** 0.5)), (drawn[:, 2], lambda x: 1 - math.exp(-x))):
            shares = np.diff([0, *map(cumulative, (0.01, 0.1, 0.5, 1, 2, 4)), 1])
            self.frequencies(np.searchsorted([0.01, 0.1, 0.5, 1, 2, 4], values), shares)

    def test_dirichlet(self):
        drawn, forms = self.all_of["dirichlet"].astype(np.float64), self.forms[:4].astype(np.float64)
        np.testing.assert_allclose(drawn.sum(1), 1, rtol=1e-5)
        self.assertTrue(((drawn > 0) & (drawn < 1)).all())
        for values, share in zip(drawn.T, forms / forms.sum()):
            deviation = (share * (1 - share) / (forms.sum() + 1)) ** 0.5
            self.assertLess(abs(values.mean() - share), 5 * deviation / len(values) ** 0.5)

    def test_like_with_a_generator(self):
        self.moments(self.all_of["uniform"], 0.5, 12 ** -0.5, 1.8)
        self.moments(self.all_of["normal"], 0, 1)
        for name, low in (("six", 0), ("moved", -1)):
            self.frequencies(self.all_of[name].astype(np.int64) - low, [1 / 6] * 6)

    def test_primitives(self):
        with Compiled.build(PRIMITIVES) as compiled:
            compiled.set_seed(3)
            for rows in (2000, 1, 0):
                drawn = compiled(np.ones(rows, np.float32))
                self.assertEqual([(a.shape, a.dtype.name) for a in drawn], [((rows, 20), kind) for kind in ("float32", "float64")] * 2)
                if rows == 2000:
                    normal, narrow, uniform, high = (a.reshape(-1) for a in drawn)
        self.moments(normal, 2, 3)
        self.moments(narrow, -1, 0.5)
        self.moments(uniform, 2, 8 / 12 ** 0.5, 1.8)
        self.moments(high, 1.5, 12 ** -0.5, 1.8)
        self.assertTrue(((uniform >= -2) & (uniform < 6)).all() and ((high >= 1) & (high < 2)).all())
        self.frequencies((uniform + 2).astype(np.int64), [1 / 8] * 8)

    def test_integers_of_a_type(self):
        self.assertTrue((self.all_of["floats"] == np.floor(self.all_of["floats"])).all())
        self.moments(self.all_of["floats"], 2 ** 23, 2 ** 24 / 12 ** 0.5, 1.8)
        self.frequencies(self.all_of["bytes"].astype(np.int64), [1 / 128] * 128)
        self.frequencies(self.all_of["words"] >> 59, [1 / 16] * 16)
        self.frequencies(self.all_of["dice"], [1 / 7] * 7)
        self.frequencies(self.all_of["truths"].astype(np.int64), [0.5, 0.5])


if __name__ == "__main__":
    unittest.main()
