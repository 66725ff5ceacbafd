"""Small graphs that are easy to get wrong (test/models/graphs.py), on several sizes, against ONNX Runtime."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper

from agreement import disagreement
from compiled import Compiled
from contrib import CONTRIB, causal_convolution, decoder_attention, gated_delta, small_product
from graphs import FLOAT, GRAPHS, INT64, drawn, grouped_attention, heads, microsoft, model, node, unknown, value
from testfolder import onnx_session
from tokensearch import PROMPTS, SEARCHES, decoder, greedy, translated
from toolrun import ToolTest


ALL = GRAPHS | CONTRIB | SEARCHES
DOUBLE = TensorProto.DOUBLE


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

    def test_windows_of_signals_are_as_exact_as_their_type(self):
        weights = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}
        for op, (a, b, c) in weights.items():
            for kind, dtype in ((DOUBLE, np.float64), (FLOAT, np.float32)):
                for periodic in (0, 1):
                    proto = model([node(op, ["n"], ["y"], periodic=periodic, output_datatype=kind)], [value("n", INT64, [])],
                                  [unknown("y", kind)])
                    onnx.save(proto, self.work / "window.onnx")
                    with Compiled.build(self.work / "window.onnx") as compiled:
                        for count in (2, 9, 400, 0):
                            turn = 2 * np.pi * np.arange(count) / (count - 1 + periodic)
                            expected = a - b * np.cos(turn) + c * np.cos(2 * turn)
                            actual = compiled(np.array(count))[0]
                            self.assertEqual(actual.dtype, dtype)
                            np.testing.assert_allclose(actual, expected, rtol=0, atol=max(1e-15, np.finfo(dtype).eps / 2))

    def test_unit_axes_that_move_behind_sums(self):
        """What follows a row's sum has the rows in another shape, of as many axes."""
        for shape, moved in (((5, 1, 4, 16), (1, 5, 4)), ((7, 3, 1, 5), (1, 7, 3)), ((1, 6, 1, 33), (6, 1, 1)), ((2, 1, 3, 1, 8), (1, 2, 1, 3))):
            for extents in (shape, [None, *shape[1:]]):
                nodes = [node("ReduceSum", ["x", "last"], ["s"], keepdims=0), node("Reshape", ["s", "moved"], ["r"]),
                         node("Tanh", ["r"], ["y"])]
                proto = model(nodes,
                              [value("x", FLOAT, extents)], [unknown("y")],
                              [numpy_helper.from_array(np.array([-1]), "last"), numpy_helper.from_array(np.array(moved), "moved")], opset=18)
                onnx.save(proto, self.work / "moved.onnx")
                x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
                with self.subTest(shape=shape, extents=extents), Compiled.build(self.work / "moved.onnx") as compiled:
                    np.testing.assert_allclose(compiled(x)[0], np.tanh(x.sum(-1)).reshape(moved), rtol=1e-4, atol=1e-5)

    def test_functions_of_themselves(self):
        """And of what else is made one function of several operators."""
        functions = {"Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Tanh": np.tanh, "Sin": np.sin, "Cos": np.cos, "Exp": np.exp,
                     "Softplus": lambda x: np.log1p(np.exp(x)), "Gelu": None, "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)}
        functions["Gelu"] = lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
        pairs = [(a, b) for a in functions for b in functions] + [(a,) * 3 for a in functions if a != "Exp"]
        nodes = [node(op, [f"{k}_{i}" if i else "x"], [f"{k}_{i + 1}"], **({"approximate": "tanh"} if op == "Gelu" else {}))
                 for k, ops in enumerate(pairs) for i, op in enumerate(ops)]
        onnx.save(model(nodes, [value("x", FLOAT, [37])], [unknown(f"{k}_{len(ops)}") for k, ops in enumerate(pairs)], opset=20),
                  self.work / "functions.onnx")
        x = np.random.default_rng(0).normal(size=37).astype(np.float32)
        with Compiled.build(self.work / "functions.onnx") as compiled:
            for ops, actual in zip(pairs, compiled(x), strict=True):
                expected = x.astype(np.float64)
                for op in ops:
                    expected = functions[op](expected)
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5, err_msg=str(ops))

    def test_casts_to_powers_of_two(self):
        """Integers are rounded as floats are, and floats of 64 bits before any digit is lost."""
        up = lambda x: 2.0 ** np.ceil(np.log2(x))
        for kind, dtype, x in ((INT64, np.int64, [1, 2, 3, 5, 6, 7, 8, 9, 2**30 + 1]), (TensorProto.UINT8, np.uint8, [1, 3, 127, 129, 255]),
                               (FLOAT, np.float32, [1, 1.5, 0.3, 5, 1e-20]), (DOUBLE, np.float64, [1, 1.5, 1 + 2.0**-40, 1e9 + 1])):
            for mode, expected in (("up", up(np.array(x))), ("down", 2.0 ** np.floor(np.log2(np.array(x))))):
                proto = model([node("Cast", ["x"], ["p"], to=TensorProto.FLOAT8E8M0, round_mode=mode), node("Cast", ["p"], ["y"], to=FLOAT)],
                              [value("x", kind, [len(x)])], [unknown("y")], opset=24)
                proto.ir_version = 11
                onnx.save(proto, self.work / "power.onnx")
                with self.subTest(kind=kind, mode=mode), Compiled.build(self.work / "power.onnx") as compiled:
                    np.testing.assert_array_equal(compiled(np.array(x, dtype))[0], expected.astype(np.float32))

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

    def test_tokens_that_fill_up_a_vocabulary_are_not_chosen(self):
        """ONNX Runtime's GPU kernels read logits in lines of their own length, its CPU kernels in lines of `vocab_size`."""
        settings = dict(eos=7, min_length=[12])
        onnx.save(greedy(4, PROMPTS, vocab_size=9, **settings)[0], self.work / "filled.onnx")
        masked, cases = greedy(4, PROMPTS, vocab_mask=[1] * 9 + [0] * 2, **settings)
        onnx.save(masked, self.work / "masked.onnx")
        session = onnx_session(self.work / "masked.onnx")
        with Compiled.build(self.work / "filled.onnx") as compiled:
            for case in cases:
                np.testing.assert_array_equal(compiled(*case.values())[0], session.run(None, case)[0])

    def test_decoders_that_share_their_caches_choose_the_same(self):
        """ONNX Runtime's CPU kernels fail on the older form of an encoder, and choose other tokens where several beams share."""
        forms = [(translated(5, 3, 2, older=older, hidden=older, eos=7), translated(5, 3, 2, shared=True, older=older, hidden=older, eos=7))
                 for older in (True, False)]
        forms.append([greedy(5, PROMPTS, eos=7, min_length=[12], mask=True, body=decoder(5, shared=shared)) for shared in (False, True)])
        for (plain, cases), (shared, _) in forms:
            onnx.save(plain, self.work / "plain.onnx")
            onnx.save(shared, self.work / "shared.onnx")
            session = onnx_session(self.work / "plain.onnx")
            with Compiled.build(self.work / "shared.onnx") as compiled:
                for case in cases:
                    for actual, stored in zip(compiled(*case.values()), session.run(None, case), strict=True):
                        self.assertIsNone(wrong := disagreement(np.array(actual), stored), wrong)

    def test_heads_are_normalised_before_they_are_turned(self):
        """ONNX Runtime's CPU kernel has no norms in GroupQueryAttention: it is given what is normalised already."""
        case = dict(steps=[(5, [5]), (3, [8])], tables=True, do_rotary=1)
        normed, inputs = grouped_attention(norm=True, qk_norm_epsilon=0.1, **case)
        onnx.save(normed, self.work / "normed.onnx")
        onnx.save(grouped_attention(**case)[0], self.work / "plain.onnx")
        weights = {each.name: numpy_helper.to_array(each) for each in normed.graph.initializer}
        session = onnx_session(self.work / "plain.onnx")
        with Compiled.build(self.work / "normed.onnx") as compiled:
            for values in inputs:
                given = dict(values)
                for name, weight in (("query", weights["norm_q"]), ("key", weights["norm_k"])):
                    x = values[name].reshape(*values[name].shape[:2], -1, 16)
                    given[name] = (x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 0.1) * weight).reshape(values[name].shape).astype(np.float32)
                for actual, stored in zip(compiled(*values.values()), session.run(None, given), strict=True):
                    self.assertIsNone(wrong := disagreement(np.array(actual), stored), wrong)

    def test_mixed_blocks_have_their_zero_points(self):
        """ONNX Runtime leaves out the zero points where there is a g_idx."""
        graph, cases = small_product(40, 4, 16, zeros=True, mixed=True)
        onnx.save(graph, self.work / "mixed.onnx")
        operand = {each.name: numpy_helper.to_array(each) for each in graph.graph.initializer}
        numbers, zeros = (np.stack([operand[name] & 15, operand[name] >> 4], -1).reshape(7, -1).astype(np.float32) for name in ("w", "zeros"))
        groups = operand["groups"]
        weights = (numbers[:, :40] - zeros[:, groups]) * operand["scales"].reshape(7, 3)[:, groups]
        with Compiled.build(self.work / "mixed.onnx") as compiled:
            for case in cases:
                self.assertIsNone(wrong := disagreement(compiled(case["x"])[0], case["x"] @ weights.T), wrong)

    def test_one_token_of_a_beam_is_attention(self):
        """ONNX Runtime has DecoderMaskedSelfAttention on GPUs alone: Attention, over what the indirection gathers."""
        held, weights = 3, {"w": heads(6, 24), "bias": heads(24)}
        beams = np.random.default_rng(4).integers(0, 2, (2, 2, 8)).astype(np.int32)
        number = lambda n: np.array([n], np.int32)
        onnx.save(microsoft("DecoderMaskedSelfAttention", {
            "x": [4, 1, 6], **weights, "mask": None, "past": [2, 4, 2, 8, 4], "added": None, "length": number(held), "width": number(2),
            "beams": beams}, ["y", "present"], num_heads=2, past_present_share_buffer=1), self.work / "decoder.onnx")
        onnx.save(microsoft("Attention", {"x": [4, 1, 6], **weights, "mask": None, "past": [2, 4, 2, held, 4]}, ["y", "present"], num_heads=2),
                  self.work / "attention.onnx")
        (case,) = drawn({"x": (4, 1, 6), "past": (2, 4, 2, 8, 4)})
        rows = np.arange(4)[:, None] // 2 * 2 + beams.reshape(4, 8)[:, :held]
        gathered = np.stack([case["past"][:, rows[:, i]][:, :, :, i] for i in range(held)], 3)
        y, present = onnx_session(self.work / "attention.onnx").run(None, {"x": case["x"], "past": gathered})
        with Compiled.build(self.work / "decoder.onnx") as compiled:
            actual, cache = compiled(case["x"], case["past"])
        self.assertIsNone(wrong := disagreement(actual, y), wrong)
        case["past"][:, :, :, held] = present[:, :, :, held]
        self.assertIsNone(wrong := disagreement(cache, case["past"]), wrong)

    def test_one_token_over_a_cache_is_attention(self):
        """ONNX Runtime has it on CPUs only where the old and the new cache share their memory."""
        for case in (dict(), dict(past=False), dict(mask=True, scale=0.3)):
            graph, inputs = decoder_attention(**case)
            onnx.save(graph, self.work / "decoder.onnx")
            onnx.save(decoder_attention(op="MultiHeadAttention", **case)[0], self.work / "attention.onnx")
            session = onnx_session(self.work / "attention.onnx")
            with Compiled.build(self.work / "decoder.onnx") as compiled:
                for values in inputs:
                    for actual, stored in zip(compiled(*values.values()), session.run(None, values), strict=True):
                        self.assertIsNone(wrong := disagreement(np.array(actual), stored), f"{case}: {wrong}")

    def test_operators_without_a_kernel_of_its_cpu_provider(self):
        """What ONNX Runtime has on GPUs alone, against NumPy."""
        x, skip, bias, scale = (np.random.default_rng(i).normal(size=shape).astype(np.float32)
                                for i, shape in enumerate([(2, 3, 5, 8), (2, 8), (8,), (8,)]))
        total = x + skip[:, None, None] + bias
        groups = total.reshape(2, 15, 2, 4)
        mean, spread = groups.mean((1, 3), keepdims=True), groups.var((1, 3), keepdims=True)
        normal = ((groups - mean) / np.sqrt(spread + 1e-5)).reshape(x.shape) * scale + bias
        a, b, c = x[0], x[1].swapaxes(1, 2)[:, :, :4].copy(), bias[:4]
        product = np.float32(0.5) * (a @ b)
        sums = a @ b[0] + c
        gelu = 0.5 * sums * (1 + np.tanh(np.sqrt(2 / np.pi) * (sums + 0.044715 * sums ** 3)))
        cases = {
            "GemmaRotaryEmbedding": (dict(angles=x[0], q=x[0, :, None], turned_q=x[1, :, None], k=x[1, :, None], turned_k=-x[0, :, None]),
                                     [one * np.cos(x[0, :, None]) + other * np.sin(x[0, :, None]) for one, other in
                                      ((x[0, :, None], x[1, :, None]), (x[1, :, None], -x[0, :, None]))], {}),
            "SkipGroupNorm": (dict(x=x, scale=scale, shift=bias, skip=skip, bias=bias), [normal / (1 + np.exp(-normal)), total],
                              dict(groups=2, activation=1)),
            "FusedMatMulActivation": (dict(a=a, b=b.swapaxes(1, 2).copy()), [np.where(product < 0, 0.3 * product, product)],
                                      dict(transB=1, alpha=0.5, activation="LeakyRelu", activation_alpha=0.3)),
            "GemmFastGelu": (dict(a=a, b=b[0], c=c), [gelu], {})}
        for op, (inputs, expected, attributes) in cases.items():
            path = self.work / f"{op}.onnx"
            onnx.save(microsoft(op, {name: list(array.shape) for name, array in inputs.items()}, [f"y{i}" for i in range(len(expected))],
                                **attributes), path)
            with Compiled.build(path) as compiled:
                for actual, stored in zip(compiled(*inputs.values()), expected, strict=True):
                    self.assertIsNone(wrong := disagreement(np.array(actual), stored.astype(np.float32)), f"{op}: {wrong}")


def run_with_shared_caches(session, case):
    """ONNX Runtime wants the old and the new cache in one place where they are shared."""
    binding, caches = session.io_binding(), {}
    memory = {name: array.copy() for name, array in case.items()}  # which the values below do not keep
    for name, array in memory.items():
        if name.startswith("past_"):
            caches[name.replace("past", "present")] = held = onnxruntime.OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(name, held)
        else:
            binding.bind_cpu_input(name, array)
    for entry in session.get_outputs():
        binding.bind_ortvalue_output(entry.name, caches[entry.name]) if entry.name in caches else binding.bind_output(entry.name)
    session.run_with_iobinding(binding)
    return [output.numpy().copy() for output in binding.get_outputs()]


def add(name):
    def test(self):
        path, cases = self.build(name)
        session = onnx_session(path)
        with Compiled.build(path) as compiled:
            for case in cases:
                expected = run_with_shared_caches(session, case) if name.startswith(("blocks-of-keys", "shared-cache")) else session.run(None, case)
                actual = compiled(*[case[entry.name] for entry in session.get_inputs()])
                for entry, stored, result in zip(session.get_outputs(), expected, actual, strict=True):
                    self.assertIsNone(wrong := disagreement(result, stored), f"{entry.name}: {wrong}")
    setattr(Graphs, "test_" + name.replace("-", "_"), test)


for name in ALL:
    add(name)

if __name__ == "__main__":
    unittest.main()
