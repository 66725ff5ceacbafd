"""Graphs of com.microsoft's operators that run a decoder token by token."""
import numpy as np
from onnx import helper

from graphs import FLOAT, INT32, constant, model, node, unknown, value

WORDS, HEADS, FEATURES = 11, 2, 4


def decoder(seed, words=WORDS, shared=False):
    """One layer of attention with a cache, as ONNX Runtime wants it: [2, batch, heads, past, features]; in places or not."""
    rng = np.random.default_rng(seed)
    width = HEADS * FEATURES
    weight = lambda name, *shape: constant(name, rng.standard_normal(shape) / np.sqrt(shape[0]) * 2, np.float32)
    initializers = [weight("words", words, width), weight("places", 40, width), weight("wqkv", width, 3 * width),
                    weight("wout", width, words), constant("split", [0, 0, 3, HEADS, FEATURES], np.int64),
                    constant("joined", [0, 0, width], np.int64), constant("scale", 0.5, np.float32),
                    constant("one", 1, np.float32), constant("low", -1e4, np.float32),
                    constant("axes", [1, 2], np.int64), constant("first", [0], np.int64)]
    nodes = [node("Gather", ["words", "input_ids"], ["e"]), node("Gather", ["places", "position_ids"], ["p"]),
             node("Add", ["e", "p"], ["x"]), node("MatMul", ["x", "wqkv"], ["all"]), node("Reshape", ["all", "split"], ["parts"]),
             node("Transpose", ["parts"], ["qkv"], perm=[2, 0, 3, 1, 4]),
             node("Split", ["qkv"], ["q1", "k1", "v1"], axis=0, num_outputs=3), node("Concat", ["k1", "v1"], ["kv"], axis=0),
             node("Concat", ["past_0", "kv"], ["present_0"], axis=3),
             node("Split", ["present_0"], ["k2", "v2"], axis=0, num_outputs=2), node("Squeeze", ["q1", "first"], ["q"]),
             node("Squeeze", ["k2", "first"], ["k"]), node("Squeeze", ["v2", "first"], ["v"]),
             node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], ["s"]), node("Mul", ["s", "scale"], ["t"]),
             node("Cast", ["attention_mask"], ["m"], to=FLOAT), node("Unsqueeze", ["m", "axes"], ["n"]), node("Sub", ["one", "n"], ["hidden"]),
             node("Mul", ["hidden", "low"], ["bias"]), node("Add", ["t", "bias"], ["u"]), node("Softmax", ["u"], ["a"], axis=-1),
             node("MatMul", ["a", "v"], ["o"]), node("Transpose", ["o"], ["turned"], perm=[0, 2, 1, 3]),
             node("Reshape", ["turned", "joined"], ["flat"]), node("Add", ["flat", "x"], ["y"]), node("MatMul", ["y", "wout"], ["logits"])]
    cache = lambda name, length: value(name, FLOAT, [2, "B", HEADS, length, FEATURES])
    if shared:
        names = ["x", "wqkv", "", "attention_mask", "past_0", "", "past_sequence_length"]
        nodes = nodes[:3] + [node("Attention", names, ["flat", "present_0"], domain="com.microsoft", num_heads=HEADS,
                                  past_present_share_buffer=1)] + nodes[-2:]
        return helper.make_graph(nodes, "decoder", [value("input_ids", INT32, ["B", "S"]), value("position_ids", INT32, ["B", "S"]),
                                                    value("attention_mask", INT32, ["B", "T"]), cache("past_0", "P"),
                                                    value("past_sequence_length", INT32, [1])],
                                 [value("logits", FLOAT, ["B", "S", words]), cache("present_0", "P")], initializers)
    return helper.make_graph(nodes, "decoder", [value("input_ids", INT32, ["B", "S"]), value("position_ids", INT32, ["B", "S"]),
                                                value("attention_mask", INT32, ["B", "T"]), cache("past_0", "P")],
                             [value("logits", FLOAT, ["B", "S", words]), cache("present_0", "T")], initializers)


class Weighted:
    """Nodes and their constants, named in order."""

    def __init__(self, seed):
        self.rng, self.nodes, self.initializers, self.made = np.random.default_rng(seed), [], [], 0

    def op(self, kind, *inputs, output=None, **attributes):
        self.made += 1
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(node(kind, names, [output or f"v{self.made}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, array):
        self.made += 1
        self.initializers.append(constant(f"c{self.made}", array, np.asarray(array).dtype))
        return f"c{self.made}"

    def weight(self, *shape):
        return (self.rng.standard_normal(shape) / np.sqrt(shape[0]) * 2).astype(np.float32)

    def heads(self, x, width, output=None):
        y = self.op("Reshape", self.op("MatMul", x, self.weight(width, HEADS * FEATURES)), np.array([0, 0, HEADS, FEATURES]))
        return self.op("Transpose", y, perm=[0, 2, 1, 3], output=output)

    def attention(self, q, k, v, bias=None):
        scores = self.op("Mul", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])), np.float32(0.5))
        weights = self.op("Softmax", self.op("Add", scores, bias) if bias else scores, axis=-1)
        y = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.op("Reshape", y, np.array([0, 0, HEADS * FEATURES]))

    def over_places(self, x, past, width):
        """Attention of a token over a cache that is shared, which says of each place which beam's it is."""
        parts = [self.op("MatMul", x, self.weight(width, width)) for _ in range(3)]
        names = [*parts, "", "", *past, "past_sequence_length", "beam_width", "cache_indirection"]
        self.made += 1
        self.nodes.append(node("DecoderMaskedMultiHeadAttention", names, [f"v{self.made}", *(f"present_{name}_self_0" for name in ("key", "value"))],
                               domain="com.microsoft", num_heads=HEADS, scale=0.5, past_present_share_buffer=1))
        return f"v{self.made}"

    def layer(self, ids, past, cross, mask, words, shared=False):
        """Tokens attend to those before them and to the prompt's: logits, and the keys and values of the tokens."""
        width = HEADS * FEATURES
        x = self.op("Gather", self.weight(words, width), ids)
        if shared:
            own = self.over_places(x, past, width)
            return self.joined(x, own, cross, mask, words)
        q = self.heads(x, width)
        k, v = (self.op("Concat", past[i], self.heads(x, width), axis=2, output=f"present_{name}_self_0") if past else
                self.heads(x, width, output=f"present_{name}_self_0") for i, name in enumerate(("key", "value")))
        self.joined(x, self.attention(q, k, v), cross, mask, words)

    def joined(self, x, own, cross, mask, words):
        width = HEADS * FEATURES
        hidden = mask and self.op("Mul", self.op("Sub", np.float32(1), self.op("Cast", mask, to=FLOAT)), np.float32(-1e4))
        bias = mask and self.op("Unsqueeze", hidden, np.array([1, 2]))
        y = self.op("Add", self.op("Add", x, own), self.attention(self.heads(x, width), *cross, bias))
        self.op("MatMul", y, self.weight(width, words), output="logits")


def encoded(seed, whisper=False, older=True, hidden=True, shared=False, words=WORDS):
    """An encoder and its decoder of one layer; the older form of an encoder runs the decoder's first turn."""
    width, pair = HEADS * FEATURES, ("key", "value")
    of = lambda kind, length, source: [value(f"{source}_{name}_{kind}_0", FLOAT, ["B", HEADS, length, FEATURES]) for name in pair]
    e = Weighted(seed)
    x = e.op("MatMul", e.op("Transpose", "encoder_input_ids", perm=[0, 2, 1]), e.weight(3, width)) if whisper else e.op(
        "Gather", e.weight(words, width), "encoder_input_ids")
    states = e.op("Tanh", x, output="encoder_hidden_states")
    for name in pair:
        e.heads(states, width, output=f"present_{name}_cross_0")
    mask = None if whisper else "encoder_attention_mask"
    inputs = [value("encoder_input_ids", FLOAT, ["B", 3, "E"]) if whisper else value("encoder_input_ids", INT32, ["B", "E"])]
    inputs += [value(mask, INT32, ["B", "E"])] if mask else []
    outputs = of("cross", "E", "present")
    if older:
        e.rng = np.random.default_rng(seed + 1)
        e.layer("decoder_input_ids", None, [f"present_{name}_cross_0" for name in pair], mask, words)
        inputs.append(value("decoder_input_ids", INT32, ["B", "S" if whisper else 1]))
        outputs = [value("logits", FLOAT, ["B", "S", words]), value("encoder_hidden_states", FLOAT, ["B", "E", width]),
                   *of("self", "S", "present"), *outputs]
    d = Weighted(seed + 1)
    d.layer("input_ids", [f"past_{name}_self_0" for name in pair], [f"past_{name}_cross_0" for name in pair], mask, words, shared)
    taken = [value("input_ids", INT32, ["B", 1])] + ([value(mask, INT32, ["B", "E"])] if mask else [])
    taken += [value("encoder_hidden_states", FLOAT, ["B", "E", width])] if hidden else []
    cache = [value("past_sequence_length", INT32, [1]), value("beam_width", INT32, [1]),
             value("cache_indirection", INT32, ["B", "N", "P"])] if shared else []
    return (helper.make_graph(e.nodes, "encoder", inputs, outputs, e.initializers),
            helper.make_graph(d.nodes, "decoder", taken + of("self", "P", "past") + of("cross", "E", "past") + cache,
                              [value("logits", FLOAT, ["B", 1, words]), *of("self", "T", "present")], d.initializers))


OPERANDS = ("input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask",
            "presence_mask", "seed")


def greedy(seed, prompts, /, mask=False, body=None, eos=5, op="GreedySearch", **settings):
    """The graph, and the prompts as its inputs; settings of the operator's operands are constants, the others attributes."""
    settings = {"max_length": [12]} | {name: setting for name, setting in settings.items() if setting != []}
    kinds = {"repetition_penalty": np.float32}
    operands = {name: constant(name, settings.pop(name), kinds.get(name, np.int32)) for name in OPERANDS if name in settings}
    given = {"input_ids", *operands, *(["attention_mask"] if mask else [])}
    names = [name if name in given else "" for name in OPERANDS]
    while not names[-1]:
        names.pop()
    search = node(op, names, ["sequences"], domain="com.microsoft", eos_token_id=eos, pad_token_id=0,
                  decoder=body or decoder(seed), **({"model_type": 0} | settings))
    inputs = [value(name, INT32, ["B", "S"]) for name in ("input_ids", "attention_mask")[:1 + mask]]
    cases = [{"input_ids": np.array(prompt, np.int32)} | ({"attention_mask": (np.array(prompt) != 0).astype(np.int32)} if mask else {})
             for prompt in prompts]
    return model([search], inputs, [unknown("sequences", INT32)], operands.values(), opset=18), cases


def sampled(seed, prompts, /, **settings):
    """As greedy, of tokens that are drawn; so small a `top_p` leaves one token."""
    return greedy(seed, prompts, op="Sampling", **({"top_p": 1e-5, "seed": [1]} | settings))


BEAM_OPERANDS = ("input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
                 "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids", "logits_processor",
                 "", "", "temperature")


def beams(seed, prompts, count, returned=1, mask=False, eos=5, op="BeamSearch", scores=False, **settings):
    """As greedy, of `count` beams, with the scores of the sequences."""
    settings = {"max_length": [12], "min_length": [1], "num_beams": [count], "num_return_sequences": [returned],
                "length_penalty": [1.0]} | settings
    kinds = {"repetition_penalty": np.float32, "length_penalty": np.float32, "temperature": np.float32}
    operands = {name: constant(name, settings.pop(name), kinds.get(name, np.int32)) for name in BEAM_OPERANDS if name in settings}
    given = {"input_ids", *operands, *(["attention_mask"] if mask else [])}
    names = [name if name in given else "" for name in BEAM_OPERANDS]
    while not names[-1]:
        names.pop()
    outputs = ["sequences", "sequences_scores", "scores"][:3 if scores else 2]
    search = node(op, names, outputs, domain="com.microsoft", eos_token_id=eos, pad_token_id=0,
                  **({"model_type": 0} | ({} if "decoder" in settings else {"decoder": decoder(seed)}) | settings))
    features = isinstance(prompts[0], np.ndarray)
    inputs = [value(name, INT32, ["B", "S"]) for name in ("input_ids", "attention_mask")[:1 + mask]]
    inputs = [value("input_ids", FLOAT, ["B", 3, "E"])] if features else inputs
    cases = [{"input_ids": np.array(prompt, np.float32 if features else np.int32)}
             | ({"attention_mask": (np.array(prompt) != 0).astype(np.int32)} if mask else {}) for prompt in prompts]
    return model([search], inputs, [unknown(name, INT32 if name == "sequences" else FLOAT) for name in outputs], operands.values(), opset=18), cases


def translated(seed, count, returned=1, older=True, hidden=True, shared=False, **settings):
    """Beams of an encoder's prompts, as T5 is exported."""
    encoder, body = encoded(seed, older=older, hidden=hidden, shared=shared)
    return beams(seed, PROMPTS, count, returned,
                 **({"model_type": 1, "decoder_start_token_id": 0, "encoder": encoder, "decoder": body} | settings))


def heard(seed, count, returned=1, hidden=True, op="WhisperBeamSearch", words=WORDS, **settings):
    """Beams of features, as Whisper is exported; the first tokens are operands."""
    encoder, body = encoded(seed, whisper=True, hidden=hidden, words=words)
    rng = np.random.default_rng(seed)
    sounds = [rng.standard_normal((2, 3, 6)).astype(np.float32), rng.standard_normal((2, 3, 4)).astype(np.float32)]
    return beams(seed, sounds, count, returned, op=op, encoder=encoder, decoder=body,
                 **({"model_type": 2, "decoder_input_ids": [[1, 3, 8], [1, 4, 8]]} | settings))


PROMPTS = ([[1, 2, 3], [4, 7, 8]], [[0, 0, 3, 4], [1, 2, 9, 10], [0, 6, 6, 6]], [[7]])
# Where all sequences end before max_length, ONNX Runtime leaves memory as it was: so the end token comes late, or not at all.
SEARCHES = {
    "greedy": lambda: greedy(5, PROMPTS, eos=7, min_length=[12]),
    "greedy-ends": lambda: greedy(0, PROMPTS[:1]),
    "greedy-masked": lambda: greedy(2, PROMPTS, mask=True, eos=7, min_length=[11]),
    "greedy-without-repeats": lambda: greedy(4, PROMPTS, eos=7, min_length=[12], no_repeat_ngram_size=2),
    "greedy-with-first": lambda: greedy(6, PROMPTS, eos=7, min_length=[12], init_decoder=decoder(3)),
    "greedy-penalty": lambda: greedy(8, PROMPTS, eos=7, min_length=[12], repetition_penalty=[1.4]),
    "sampled": lambda: sampled(5, PROMPTS, eos=7, min_length=[12], temperature=0.7),
    "sampled-custom": lambda: sampled(4, PROMPTS, eos=7, min_length=[12], custom=1, no_repeat_ngram_size=2, repetition_penalty=[1.3]),
    "sampled-vocabulary": lambda: sampled(9, PROMPTS[:1], eos=7, min_length=[12], vocab_mask=[1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1],
                                          min_tokens_to_keep=1, prefix_vocab_mask=[[1, 1, 0, 1] + [0] * 7, [0] * 6 + [1, 0, 0, 1, 0]]),
    "beams": lambda: beams(5, PROMPTS, 3, 2),
    "beams-ends": lambda: beams(0, PROMPTS, 4, 4, eos=7, length_penalty=[0.5]),
    "beams-early": lambda: beams(2, PROMPTS, 2, 2, eos=3, early_stopping=1),
    "beams-scores": lambda: beams(5, PROMPTS, 3, 2, scores=True, eos=7, min_length=[12], repetition_penalty=[1.2]),
    "translated-scores": lambda: translated(5, 2, 1, older=False, hidden=False, scores=True, eos=7, min_length=[12]),
    "beams-of-one": lambda: beams(3, PROMPTS, 1, eos=3),
    "beams-masked": lambda: beams(2, PROMPTS, 3, 1, mask=True, eos=7, min_length=[8], length_penalty=[2.0]),
    "beams-without-repeats": lambda: beams(4, PROMPTS, 3, 3, eos=7, no_repeat_ngram_size=2),
    "beams-penalty": lambda: beams(8, PROMPTS, 3, 2, eos=7, repetition_penalty=[1.4]),
    "beams-vocabulary": lambda: beams(9, PROMPTS[:1], 2, 2, eos=7, vocab_mask=[1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1],
                                      prefix_vocab_mask=[[1, 1, 0, 1] + [0] * 7, [0] * 6 + [1, 0, 0, 1, 0]]),
    "translated": lambda: translated(5, 3, 2, eos=7),
    "translated-without-states": lambda: translated(1, 2, 2, eos=7, hidden=False, no_repeat_ngram_size=2, length_penalty=[0.5]),
    "translated-newer": lambda: translated(2, 3, 1, eos=4, older=False, hidden=False, min_length=[5]),
    "translated-masked": lambda: translated(3, 2, 2, mask=True, eos=7, early_stopping=1),
    "translated-by-one": lambda: translated(4, 1, eos=7, repetition_penalty=[1.4]),
    "heard": lambda: heard(5, 3, 2, eos=7),
    **{f"heard-times-{seed}": lambda s=seed: heard(
        s, 2, 2, words=90, eos=20, max_length=[16], decoder_input_ids=[[21, 22], [21, 23]], logits_processor=[1], decoder_start_token_id=21,
        translate_token_id=22, transcribe_token_id=23, start_of_lm_token_id=24, no_timestamps_token_id=25, beginning_timestamp_token_id=26,
        **more) for seed, more in ((1, {}), (2, {"min_length": [16]}), (3, {"temperature": [2.0], "min_length": [16]}))},
    "heard-warm": lambda: heard(6, 2, eos=7, hidden=False, temperature=[0.6], logits_processor=[0], min_length=[8]),
    "greedy-vocabulary": lambda: greedy(9, PROMPTS[:1], eos=7, min_length=[12], vocab_mask=[1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1],
                                        prefix_vocab_mask=[[1, 1, 0, 1] + [0] * 7, [0] * 6 + [1, 0, 0, 1, 0]]),
}
