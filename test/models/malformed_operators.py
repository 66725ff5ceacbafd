"""ONNX files whose operators are given what they do not take: attributes, operands, inputs that no rule reads."""
import numpy as np
from onnx import numpy_helper

from onnxparts import BAD, ODD, HUGE, INT64, LOWEST, array, folded, ints, model, node, one, value
from tokensearch import decoder, encoded, greedy, translated


def attributes():
    image, signal = (1, 4, 8, 8), (1, 128, 1)
    kernel = array("k", np.ones((4, 4, 3, 3), np.float32))
    for name, given in (("strides", [0, 1]), ("strides", [-1, 1]), ("dilations", [0, 1]), ("dilations", [HUGE, 1]), ("pads", [HUGE] * 4),
                        ("pads", [-9] * 4), ("pads", [1]), ("group", 0), ("group", 3), ("group", 2**40), ("kernel_shape", [5, 5]),
                        ("auto_pad", "FULL")):
        yield f"Conv-{name}-{given}", BAD, one("Conv", ["x", "k"], [kernel], image, **{name: given})
        yield f"ConvTranspose-{name}-{given}", BAD, one("ConvTranspose", ["x", "k"], [kernel], image, **{name: given})
    for name, given in (("kernel_shape", [0, 1]), ("kernel_shape", [HUGE, HUGE]), ("strides", [0, 0]), ("pads", [9] * 4),
                        ("dilations", [2**40, 1])):
        for op in ("MaxPool", "AveragePool", "LpPool"):
            yield f"{op}-{name}-{given}", ODD if name == "pads" else BAD, one(op, shape=image, **{"kernel_shape": [2, 2], name: given})
    for op, inputs in (("Softmax", "x"), ("ArgMax", "x"), ("Flatten", "x"), ("Concat", "xx"), ("Gather", "xs"), ("Compress", "xs"), ("Hardmax", "x")):
        for axis in (5, 2**31, LOWEST):
            yield f"{op}-axis-{axis}", BAD, one(op, inputs, [ints("s", 0)], axis=axis)
    for op in ("DepthToSpace", "SpaceToDepth"):
        for block in (0, -1, 3, HUGE, LOWEST):
            yield f"{op}-{block}", BAD, one(op, shape=(1, 4, 4, 4), blocksize=block)
    for count in (0, -1, 3, HUGE):
        yield f"GroupNormalization-{count}", BAD, one("GroupNormalization", "xww", [array("w", np.ones(4, np.float32))], image, opset=21, num_groups=count)
    for size in (0, -3, HUGE):
        yield f"LRN-{size}", BAD, one("LRN", shape=image, size=size)
    for code in (99, 0, LOWEST):
        yield f"Cast-{code}", BAD, one("Cast", to=code)
    for count in (0, 2**31, HUGE):
        yield f"Split-{count}", BAD, one("Split", num_outputs=count)
    for perm in ([0], [0, 2], [HUGE, 0]):
        yield f"Transpose-{perm}", BAD, one("Transpose", perm=perm)
    for equation in ("ij->", "->", "ii->i", "ij->k", "é", "ij" * 3000, "ij-->j", "", "...,...->...", "1j->j"):
        yield f"Einsum-{equation[:12]}", ODD if equation == "ij->" else BAD, one("Einsum", equation=equation)
    yield "QuantizeLinear-block", BAD, one("QuantizeLinear", "xc", [array("c", np.float32([1, 1, 1]))], opset=21, block_size=-3)
    for pairs in (9, -1):
        yield f"RotaryEmbedding-interleaved-{pairs}", BAD, one("RotaryEmbedding", "xcc", [array("c", np.ones((1, 3, 2), np.float32))], (1, 2, 3, 4),
                                                               opset=23, interleaved=pairs)
    yield "Mod-of-floats", BAD, one("Mod", "xx", fmod=0)
    scalar = {name: array(name, np.int64(size)) for name, size in (("zero", 0), ("some", 16), ("more", 129))}
    yield "STFT-without-step", BAD, one("STFT", ["x", "zero", "", "some"], scalar.values(), signal)
    yield "STFT-of-less-than-a-frame", BAD, one("STFT", ["x", "some", "", "more"], scalar.values(), signal)
    for ratio in (-0.5, 1.5, np.nan):
        given = [array("r", np.float32(ratio)), array("t", np.bool_(True))]
        yield f"Dropout-{ratio}", BAD, one("Dropout", "xrt", given)
    yield "RandomUniform-from-more-to-less", BAD, model([node("RandomUniform", [], ["u"], shape=[2, 3], low=3.0, high=1.0), node("Add", ["x", "u"], ["y"])])
    yield "DFT-of-triples", BAD, one("DFT", shape=(1, 8, 3))


# Integers of ONNX's operators that are 0 or 1, and those that are numbers, as their schemas say in prose.
FLAGS = set("""align_corners allowzero antialias broadcast ceil_mode center_point_box count_include_pad detect_negative detect_positive
exclude_outside exclusive fmod input_forget interleaved inverse is_case_sensitive is_causal is_test keepdims largest layout
linear_before_reset multi_class new_axis noop_with_empty_axes one_class onesided output_sequence periodic reverse saturate
select_last_index sorted spatial storage_order training_mode transA transB upper zeros""".split())
NUMBERS = set("""aggregate_function axis batch_axis batch_dims block_size blocksize chunk_size default_int64 dtype end group hidden_size
ignore_index k kv_num_heads left_window_size max_gram_length max_map max_skip_count maxsplit min_gram_length n_supports n_targets
num_groups num_heads num_outputs num_scan_inputs offset_group output_datatype output_dtype output_height output_width p post_transform
precision q_num_heads qk_matmul_output_mode replaced_value_int64 right_window_size rotary_embedding_dim sample_size sampling_ratio
seed size softmax_precision start stash_type targets time_axis to value_int""".split())


def flags():
    """A flag that is neither 0 nor 1: runtimes differ in what they make of it."""
    image, cube = (1, 4, 8, 8), (5, 2, 4)
    gates = [array("w", np.ones((1, 9, 4), np.float32)), array("r", np.ones((1, 9, 3), np.float32))]
    scalar = [array("a", np.int64(0))]
    for op, inputs, weights, shape, needed, name in (
            ("ReduceSum", "x", [], (2, 3), {}, "keepdims"), ("ReduceSum", "x", [], (2, 3), {}, "noop_with_empty_axes"),
            ("ArgMax", "x", [], (2, 3), {}, "select_last_index"), ("MaxPool", "x", [], image, {"kernel_shape": [3, 3]}, "ceil_mode"),
            ("MaxPool", "x", [], image, {"kernel_shape": [3, 3]}, "storage_order"),
            ("AveragePool", "x", [], image, {"kernel_shape": [3, 3]}, "count_include_pad"), ("CumSum", "xa", scalar, (2, 3), {}, "exclusive"),
            ("CumSum", "xa", scalar, (2, 3), {}, "reverse"), ("GRU", "xwr", gates, cube, {"hidden_size": 3}, "linear_before_reset"),
            ("GRU", "xwr", gates, cube, {"hidden_size": 3}, "layout"), ("Gemm", "xx", [], (3, 3), {}, "transB"),
            ("Trilu", "x", [], (3, 3), {}, "upper"), ("Mod", "xx", [], (2, 3), {}, "fmod"), ("Cast", "x", [], (2, 3), {"to": INT64}, "saturate"),
            ("TopK", "xk", [ints("k", 1)], (2, 3), {}, "largest"), ("TopK", "xk", [ints("k", 1)], (2, 3), {}, "sorted")):
        outputs = ["y", "at"] if op == "TopK" else ["", "y"] if op == "GRU" else ["y"]
        for number in (0, 1, 2, -1, 2**32):
            fine = number == 1 or (number == 0 and name != "fmod")
            if (name, number) == ("layout", 1):
                continue  # other shapes
            yield f"{op}-{name}-{number}", ODD if fine else BAD, model([node(op, list(inputs), outputs, **needed, **{name: number})],
                                                                      [value("x", shape)], None, weights)


def words():
    scales = [array("c", np.float32([1, 2]))]
    for op, attribute, inputs, weights, shape in (
            ("Resize", "mode", ["x", "", "c"], scales, (2, 3)), ("Resize", "nearest_mode", ["x", "", "c"], scales, (2, 3)),
            ("Resize", "coordinate_transformation_mode", ["x", "", "c"], scales, (2, 3)),
            ("Pad", "mode", ["x", "p"], [ints("p", 1, 1, 1, 1)], (2, 3)), ("DepthToSpace", "mode", ["x"], [], (1, 4, 4, 4)),
            ("Gelu", "approximate", ["x"], [], (2, 3)), ("MaxPool", "auto_pad", ["x"], [], (1, 4, 4, 4)),
            ("GridSample", "mode", ["x", "g"], [array("g", np.zeros((1, 2, 2, 2), np.float32))], (1, 4, 4, 4)),
            ("GridSample", "padding_mode", ["x", "g"], [array("g", np.zeros((1, 2, 2, 2), np.float32))], (1, 4, 4, 4))):
        needed = {"DepthToSpace": {"blocksize": 2}, "MaxPool": {"kernel_shape": [2, 2]}}.get(op, {})
        yield f"{op}-{attribute}", BAD, one(op, inputs, weights, shape, **needed, **{attribute: "sideways"})


def contrib():
    """Operators of ONNX Runtime: what their rules do not know is named, not passed over."""
    three = array("w", np.ones((3, 3), np.float32))
    cube, ids = (1, 4, 6), ints("i", 0)

    def given(op, inputs, weights=(), shape=cube, outputs=("y",), **attributes):
        nodes = [node(op, list(inputs), list(outputs), domain="com.microsoft", **attributes)]
        return model(nodes, [value("x", shape)], None, weights, domains=["com.microsoft"])
    yield "fine", ODD, given("Gelu", "x")
    for name, proto in (("frob", given("Gelu", "x", frob=1)), ("alpha", given("Gelu", "x", alpha=1.0))):
        yield f"attribute-{name}", BAD, proto
    yield "input-more", BAD, given("Gelu", "xx")
    yield "input-less", BAD, given("BiasGelu", "x")
    yield "output-more", BAD, given("Gelu", "x", outputs=["y", "z"])
    yield "attribute-of-another-type", BAD, given("QuickGelu", "x", alpha=1)
    yield "attribute-of-text", BAD, given("QuickGelu", "x", alpha="much")
    yield "attribute-missing", BAD, given("MultiHeadAttention", "xxx")
    attention = {"num_heads": 2}
    yield "attention", ODD, given("MultiHeadAttention", "xxx", **attention)
    for place in (8, 9, 10):
        inputs = ["x"] * 3 + [""] * (place - 3) + ["i"]
        yield f"attention-input-{place}", BAD, given("MultiHeadAttention", inputs, [ids], **attention)
    yield "attention-output-4", BAD, given("MultiHeadAttention", "xxx", outputs=["y", "", "", "", "z"], **attention)
    for length in (2, 3, 6):  # of one sequence: its length alone, or 5
        lengths = array("m", np.ones(length, np.int32))
        yield f"attention-mask-of-{length}", BAD, given("MultiHeadAttention", ["x", "x", "x", "", "m"], [lengths], **attention)
    yield "attention-past-of-rank-3", BAD, given("MultiHeadAttention", ["x", "x", "x", "", "", "", "x", "x"], **attention)
    cache = [array("f", np.ones((1, 2, 2), np.float32)), array("c", np.ones((1, 2, 4, 3), np.float32)), array("t", np.ones((1, 1, 6), np.float32)),
             array("n", np.int32([2]))]
    yield "attention-flat-cache-of-a-token", BAD, given("DecoderMaskedMultiHeadAttention", ["t", "t", "t", "", "", "c", "f", "n"], cache,
                                                        past_present_share_buffer=1, **attention)
    yield "named-numbers-of-no-block", BAD, given("MatMulBnb4", "xwl", [array("w", np.ones(9, np.uint8)), array("l", np.ones(0, np.float32))],
                                                  K=6, N=3, block_size=16, quant_type=1)
    yield "branches-mixed-by-a-line", BAD, given("HyperConnectionPostMix", "xbgm", [
        array("b", np.ones((1, 6), np.float32)), array("g", np.ones((1, 1, 4), np.float32)), array("m", np.ones(2, np.float32))], num_branches=4)
    yield "attention-half-a-past", BAD, given("MultiHeadAttention", ["x", "x", "x", "", "", "", "x"], **attention)
    for name in ("do_rotary", "past_present_share_buffer"):
        yield name, BAD, given("Attention", ["x", "v"], [array("v", np.ones((6, 18), np.float32))], **attention, **{name: 1})
    flat = array("f", np.ones(6, np.float32))
    for place, given_to in enumerate(("query", "key", "value")):
        inputs = ["x"] * place + ["f"] + ["x"] * (2 - place)
        yield f"attention-flat-{given_to}", BAD, given("MultiHeadAttention", inputs, [flat], **attention)
    for place in (3, 4):
        inputs = ["x"] * 3 + ["c" if place == 4 else "f", "f" if place == 4 else "c", "i", "i"]
        yield f"attention-flat-cache-{place}", BAD, given(
            "GroupQueryAttention", inputs, [flat, array("c", np.ones((1, 2, 4, 3), np.float32)), array("i", np.int32([4]))], kv_num_heads=2, **attention)
    projected = [array("v", np.ones((6, 18), np.float32)), array("b", np.ones(18, np.float32))]
    yield "attention-flat-past", BAD, given("Attention", ["x", "v", "b", "", "b"], projected, **attention)
    yield "weight_prepacked", BAD, given("MatMulNBits", ["x", "q", "w"], [array("q", np.ones((3, 3, 8), np.uint8)), three],
                                         K=6, N=3, block_size=16, weight_prepacked=1)
    for name, numbers in (("of-negative-width", {"rotary_embedding_dim": -4, "num_heads": 2}), ("without-heads", {"rotary_embedding_dim": 2})):
        yield f"rotary-{name}", BAD, given("RotaryEmbedding", ["r", "p", "c", "c"], [array("r", np.ones((1, 2, 8), np.float32)),
                                           ints("p", 0), array("c", np.ones((4, 2), np.float32))], **numbers)
    tables = [array("r", np.ones((1, 2, 4), np.float32)), ints("p", 0), array("c", np.ones((4, 2), np.float32))]
    for pairs, expect in ((1, ODD), (9, BAD), (-1, BAD)):
        yield f"rotary-interleaved-{pairs}", expect, given("RotaryEmbedding", ["r", "p", "c", "c"], tables, interleaved=pairs)
        yield f"attention-unidirectional-{pairs}", expect, given("MultiHeadAttention", "xxx", num_heads=2, unidirectional=pairs)
    yield "unknown-operator", BAD, given("FrobnicateNBits", "x")
    angle = [array("r", np.ones((1, 2, 4, 8), np.float32)), array("a", np.float32(1)), ints("p", 0, 1, 2, 3)]
    tables = [array("r", np.ones((1, 2, 8), np.float32)), array("p", np.zeros((1, 2), np.float32)), array("c", np.ones((4, 4), np.float32))]
    yield "rotary-at-real-places", BAD, given("RotaryEmbedding", ["r", "p", "c", "c"], tables)
    yield "rotary-of-one-angle", BAD, model([node("RotaryEmbedding", ["r", "a", "a", "p"], ["y"])], [value("x")], None, angle, opset=23)
    yield from contrib_mixtures(given)
    yield from contrib_states(given)
    yield from contrib_parts(given)
    yield from contrib_blocks(given)
    yield from contrib_searches()


def contrib_mixtures(given):
    """Of four tokens of six features, two experts of three units."""
    def mixture(router=(4, 2), fc1=(2, 3, 6), fc2=(2, 6, 3), third=None, **attributes):
        weights = [array(name, np.ones(shape, np.float32)) for name, shape in (("p", router), ("a", fc1), ("b", fc2), ("t", third)) if shape]
        inputs = ["x", "p", "a", "", "b"] + (["", "t"] if third else [])
        return given("MoE", inputs, weights, **{"k": 1, **attributes})
    yield "experts", ODD, mixture()
    for name, more in {"too-many": dict(k=3), "none": dict(k=0), "sparse": dict(use_sparse_mixer=1), "unknown": dict(activation_type="what"),
                       "router": dict(router=(5, 2)), "more-experts": dict(fc1=(3, 3, 6)), "rows": dict(fc1=(2, 4, 6)),
                       "columns": dict(fc2=(2, 5, 3)), "normal": dict(normalize_routing_weights=2), "no-gate": dict(activation_type="swiglu"),
                       "two-gates": dict(activation_type="swiglu", swiglu_fusion=1, third=(2, 3, 6))}.items():
        yield f"experts-{name}", BAD, mixture(**more)

    def small(bits=4, scales=(2, 4), bytes_of=np.uint8, **attributes):
        weights = [array("p", np.ones((4, 2), np.float32)), array("a", np.ones((2, 4, 3), bytes_of)), array("s", np.ones(scales, np.float32)),
                   array("b", np.ones((2, 6, 2), bytes_of)), array("r", np.ones((2, 6), np.float32))]
        return given("QMoE", ["x", "p", "a", "s", "", "b", "r"], weights, expert_weight_bits=bits, **attributes)
    yield "small-experts", ODD, small()
    for name, more in {"bits": dict(bits=3), "blocks": dict(block_size=16), "scales": dict(scales=(2, 4, 1)), "floats": dict(bytes_of=np.float32),
                       "fp4": dict(quant_type="fp4"), "packed": dict(weights_prepacked=1)}.items():
        yield f"small-experts-{name}", BAD, small(**more)


def contrib_states(given):
    """Layers that carry a state."""
    def attention(decay=(1, 4, 2), past=(1, 2, 3, 3), **attributes):
        weights = [array(name, np.ones(shape, np.float32)) for name, shape in (("d", decay), ("s", past)) if shape]
        return given("LinearAttention", ["x", "x", "x", "s", "d" if decay else ""], weights, **{"q_num_heads": 2, "kv_num_heads": 2,
                     "update_rule": "gated", **attributes})
    yield "linear-attention", ODD, attention()
    for name, more in {"rule": dict(update_rule="what"), "heads": dict(q_num_heads=3), "no-decay": dict(decay=None), "no-beta": dict(update_rule="delta"),
                       "tokens": dict(decay=(1, 3, 2)), "past": dict(past=(1, 2, 3, 4)), "window": dict(state_window=9)}.items():
        yield f"linear-attention-{name}", BAD, attention(**more)

    def convolution(past=(1, 4, 2), weight=(4, 1, 3), **attributes):
        weights = [array(name, np.ones(shape, np.float32)) for name, shape in (("w", weight), ("s", past))]
        return given("CausalConvWithState", ["x", "w", "", "s"], weights, **attributes)
    yield "causal-convolution", ODD, convolution()
    for name, more in {"planes": dict(ndim=2), "dilation": dict(dilation=0), "activation": dict(activation="relu"), "past": dict(past=(1, 4, 3)),
                       "channels": dict(weight=(5, 1, 3)), "last": dict(channels_last=1), "window": dict(state_window=2)}.items():
        yield f"causal-convolution-{name}", BAD, convolution(**more)


def contrib_parts(given):
    def rotated(ids=(3, 1, 4), sections=(1, 0, 0), **attributes):
        weights = [array("r", np.ones((1, 2, 4, 2), np.float32)), array("p", np.zeros(ids, np.int64)), array("c", np.ones((4, 1), np.float32))]
        return given("MRotaryEmbedding", ["r", "p", "c", "c"], weights, mrope_section=list(sections), **attributes)
    yield "three-positions", ODD, rotated()
    for name, more in {"two": dict(ids=(2, 1, 4)), "flat": dict(ids=(1, 4)), "sections": dict(sections=(1, 1, 0)), "negative": dict(sections=(2, -1, 0)),
                       "few": dict(sections=(1, 0)), "layout": dict(mrope_layout=2), "pairs": dict(interleaved=2)}.items():
        yield f"three-positions-{name}", BAD, rotated(**more)

    def named(kind=np.uint8, **attributes):
        weights = [array("w", np.ones(9, kind)), array("m", np.ones(2, np.float32))]
        return given("MatMulBnb4", "xwm", weights, **{"K": 6, "N": 3, "block_size": 16, "quant_type": 1, **attributes})
    yield "named-numbers", ODD, named()
    for name, more in {"type": dict(quant_type=2), "block": dict(block_size=0), "floats": dict(kind=np.float32), "size": dict(N=4),
                       "turned": dict(transB=0)}.items():
        yield f"named-numbers-{name}", BAD, named(**more)

    def blocks(numbers=(3, 1, 8), scales=3, zeros=3, **attributes):
        weights = [array("q", np.ones(numbers, np.uint8)), array("w", np.ones(scales, np.float32)), array("z", np.ones(zeros, np.uint8))]
        return given("MatMulNBits", "xqwz", weights, **{"K": 6, "N": 3, "block_size": 16, **attributes})
    yield "blocks", ODD, blocks()
    for name, more in {"numbers": dict(numbers=(3, 3, 8)), "few": dict(numbers=(3, 1, 7)), "scales": dict(scales=4), "zeros": dict(zeros=2),
                       "columns": dict(N=2 ** 62), "size": dict(block_size=2 ** 62), "bits": dict(bits=3)}.items():
        yield f"blocks-{name}", BAD, blocks(**more)

    def decoder(cache="", shape=(1, 1, 6), **attributes):
        return given("DecoderMaskedMultiHeadAttention", ["x", "x", "x", "", "", *cache], [array("c", np.ones((1, 2, 5, 3), np.float32)), ints("i", 0)],
                     shape, **{"num_heads": 2, **attributes})
    yield "decoder", ODD, decoder("cc")
    for name, more in {"half-a-cache": dict(cache="c"), "length": dict(cache="cci"), "tokens": dict(shape=(1, 2, 6)),
                       "shared": dict(past_present_share_buffer=1), "heads": dict(num_heads=0)}.items():
        yield f"decoder-{name}", BAD, decoder(**more)
    scale = array("s", np.ones(6, np.float32))
    for shape, expect in ((6, ODD), (5, BAD)):
        yield f"skip-of-{shape}", expect, given("SkipGroupNorm", "xssk", [scale, array("k", np.ones((1, shape), np.float32))], groups=2, activation=0)


def contrib_blocks(given):
    """Rows of a table in blocks of small numbers."""
    def gathered(table=(3, 4, 8), scales=(3, 4, 1), kind=np.uint8, **attributes):
        weights = [array("t", np.ones(table, kind)), ints("i", 0), array("s", np.ones(scales, np.float32))]
        return given("GatherBlockQuantized", "tis", weights, **{"gather_axis": 0, "quantize_axis": 2, "block_size": 16, **attributes})
    def hashed(ids=(1, 4), sizes=4, multipliers=3, past=None, **attributes):
        weights = [array("i", np.ones(ids, np.int64)), array("m", np.ones(multipliers, np.int64)), array("s", np.ones(sizes, np.int64)),
                   *([array("p", np.ones(past, np.int64))] if past else [])]
        return given("NGramHashMapping", "imsp"[:len(weights)], weights, **{"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 0, **attributes})
    yield "hashes", ODD, hashed()
    for name, expect, costs in (("", ODD, (3, 2)), ("-of-none", BAD, (0, 2)), ("-flat", BAD, (4,)), ("-of-two", BAD, (2, 3, 4))):
        yield f"way{name}", expect, given("DynamicTimeWarping", "c", [array("c", np.ones(costs, np.float32))])
    for name, more in {"flat": dict(ids=(4,)), "sizes": dict(sizes=3), "multipliers": dict(multipliers=2), "past": dict(past=(1, 3)),
                       "one": dict(max_ngram_size=1), "many": dict(max_ngram_size=2**40), "heads": dict(n_head_per_ngram=-1)}.items():
        yield f"hashes-{name}", BAD, hashed(**more)
    yield "gather-blocks", ODD, gathered()
    for name, more in {"floats": dict(kind=np.float32), "scales": dict(scales=(3, 4)), "bits": dict(bits=3), "axis": dict(gather_axis=1),
                       "quantize-axis": dict(quantize_axis=3), "block": dict(block_size=0), "same-axis": dict(quantize_axis=0)}.items():
        yield f"gather-blocks-{name}", BAD, gathered(**more)


def contrib_searches():
    """Decoders that do not fit the search."""
    single, short, flat = (decoder(0) for _ in range(3))
    del single.input[1:], single.node[:], single.output[1:]
    single.node.append(node("Cast", ["input_ids"], ["logits"], to=1))
    del short.input[3], short.output[1]
    flat.input[3].type.tensor_type.shape.dim.pop()
    for name, expect, more in (("", ODD, {}), ("-without-past", BAD, dict(body=short)), ("-of-flat-pasts", BAD, dict(body=flat)),
                               ("-with-encoder", BAD, dict(model_type=1)), ("-beside-first", BAD, dict(init_decoder=single)),
                               ("-of-other-words", BAD, dict(vocab_mask=[1] * 4)), ("-of-no-length", BAD, dict(max_length=[2, 3])),
                               ("-that-is-short", BAD, dict(max_length=[3], static=True)), ("-named", BAD, dict(no_repeat_ngram_size="two")),
                               ("-unknown", BAD, dict(beams=2))):
        static = more.pop("static", False)
        search = greedy(0, [[[1, 2, 3]]], **more)[0]
        if static:
            for dim, extent in zip(search.graph.input[0].type.tensor_type.shape.dim, (1, 3)):
                dim.dim_value = extent
        yield f"search{name}", expect, search
    for name, of, part in (("-of-few-keys", 0, "output"), ("-of-no-first-token", 0, "input"), ("-that-reads-few-keys", 1, "input"),
                           ("-of-few-presents", 1, "output")):
        bodies = dict(zip(("encoder", "decoder"), encoded(0)))
        del getattr(list(bodies.values())[of], part)[-1]
        yield f"search-with-encoder{name}", BAD, translated(0, 2, **bodies)[0]
    yield "search-with-encoder-of-no-start", BAD, translated(0, 2, decoder_start_token_id=-1)[0]


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        def network(w=(1, 4, 3), r=(1, 4, 4), **given):
            weights = [array(name, np.ones((d, gates * rows, columns), np.float32)) for name, (d, rows, columns) in (("w", w), ("r", r))]
            return one(op, ["x", "w", "r"], weights, (5, 2, 3), **{"hidden_size": 4, **given})
        for name, given in (("hidden_size", 0), ("hidden_size", -4), ("hidden_size", HUGE), ("direction", "sideways"),
                            ("direction", "bidirectional"), ("activations", ["What"])):
            yield f"{op}-{name}-{given}", BAD, network(**{name: given})
        yield f"{op}-w", BAD, network(w=(1, 4, 9))
        weights = [array("w", np.ones((1, gates * 4, 3), np.float32)), array("r", np.ones((1, gates * 4, 4), np.float32)), array("l", np.int32(2))]
        yield f"{op}-length-of-all", BAD, one(op, ["x", "w", "r", "", "l"], weights, (5, 2, 3), hidden_size=4)
        yield f"{op}-r", BAD, network(r=(2, 4, 4))


def operands():
    for shape in ([-1, -1], [0, 0, 0], [-2, 3], [7], [HUGE, 4, 6], [0, 2**63 - 1]):
        yield f"Reshape-{shape}", BAD, one("Reshape", "xs", [ints("s", *shape)])
    for op in ("Squeeze", "Unsqueeze", "ReduceSum"):
        for axis in (7, LOWEST):
            yield f"{op}-{axis}", BAD, one(op, "xs", [ints("s", axis)], (1, 3))
    yield "ReduceProd-axes-without-axis", BAD, model([node("ReduceProd", ["x", "s"], ["y"])], [value("x"), value("s", (), INT64)])
    for axis, step in ((0, 0), (9, 1), (LOWEST, 1)):
        yield f"Slice-{axis}-{step}", BAD, one("Slice", "xabcd", [ints(*pair) for pair in zip("abcd", (0, 2, axis, step))])
    two = array("s", np.array([[3, 2]]))
    for op, inputs in (("Reshape", "xs"), ("Expand", "xs"), ("Tile", "xs"), ("ConstantOfShape", "s"), ("Unsqueeze", "xs"), ("Squeeze", "xs"),
                       ("ReduceSum", "xs"), ("Pad", "xs"), ("Resize", ["x", "", "", "s"]), ("Split", "xs"), ("TopK", "xs"), ("Upsample", "xs"),
                       ("CenterCropPad", "xs")):
        yield f"{op}-by-a-matrix", BAD, one(op, inputs, [two], opset=9 if op == "Upsample" else 20)
    for op, inputs in (("Reshape", "xs"), ("Expand", "xs"), ("Tile", "xs"), ("ConstantOfShape", "s"), ("Pad", "xs")):
        yield f"{op}-by-a-scalar", BAD, one(op, inputs, [array("s", np.int64(6))])
        for shape in ((), (1, 2), (1, 1, 2)):
            yield f"{op}-by-an-input-of-{shape}", BAD, model([node(op, list(inputs), ["y"])], [value("x"), value("s", shape, INT64)])
    for i in range(1, 5):
        pairs = [ints(*pair) for pair in zip("abcd", (0, 2, 0, 1))]
        pairs[i - 1] = array("abcd"[i - 1], np.array([[1]]))
        yield f"Slice-by-a-matrix-{i}", BAD, one("Slice", "xabcd", pairs)
    for name, (start, limit, delta) in {"infinity": (0, np.inf, 1), "-infinity": (0, -np.inf, -1), "nan": (0, np.nan, 1), "from-nan": (np.nan, 1, 1),
                                        "by-nan": (0, 1, np.nan), "by-0": (0, 1, 0), "by-infinity": (0, np.inf, np.inf), "by-1e-300": (0, 1, 1e-300),
                                        "1e300": (0, 1e300, 1), "from-infinity": (-np.inf, 0, 1)}.items():
        numbers = [array(n, np.float64(v)) for n, v in zip("abd", (start, limit, delta))]
        yield f"Range-to-{name}", BAD, folded("Range", "abd", numbers)
    yield "Range-of-vectors", BAD, folded("Range", "abd", [ints("a", 0, 1), ints("b", 3), ints("d", 1)])
    yield "Range-of-no-numbers", BAD, folded("Range", "abd", [array(n, np.zeros(0, np.int64)) for n in "abd"])
    for scale in (1e30, 1e18, 3e38):
        yield f"Resize-by-{scale}", BAD, one("Resize", ["x", "", "c"], [array("c", np.float32([1, scale]))])
        yield f"Upsample-by-{scale}", BAD, one("Upsample", "xc", [array("c", np.float32([1, scale]))], opset=9)
    for sizes in ([2, HUGE], [2, -1], [LOWEST, 3], [2**40, 2**40]):
        yield f"Resize-to-{sizes}", BAD, one("Resize", ["x", "", "", "s"], [ints("s", *sizes)])
    for scales in ([1, np.nan], [1, -1], [1, np.inf], [1, 2, 3], [1, 0]):
        yield f"Resize-{scales}", BAD, one("Resize", ["x", "", "c"], [array("c", np.float32(scales))])
    for op, inputs, tensor in (("Tile", "xs", ints("s", 2)), ("Tile", "xs", ints("s", 2, -2)), ("Expand", "xs", ints("s", 5, 5)),
                               ("TopK", "xs", ints("s", 9)), ("TopK", "xs", ints("s", -1)), ("Gather", "xs", ints("s", 5)),
                               ("Split", "xs", ints("s", 5)), ("Split", "xs", ints("s", -2)), ("Pad", "xs", ints("s", 1, 1, 1)),
                               ("Pad", "xs", ints("s", -2, -2, -2, -2)), ("CumSum", "xs", array("s", np.int64(4)))):
        yield f"{op}-{tensor.name}-{numpy_helper.to_array(tensor).tolist()}", BAD, one(op, inputs, [tensor])
    for name, shape in (("MatMul", (3, 2**40)), ("Conv", (2**40, 3, 1))):
        x = value("x", (1, 2, 3) if name == "MatMul" else (1, 3, 5))
        yield f"{name}-by-an-input-of-2^40", ODD, model([node(name, ["x", "w"], ["y"])], [x, value("w", shape)])
        yield f"{name}-by-2^40-ones", ODD, model([node("ConstantOfShape", ["s"], ["w"]), node(name, ["x", "w"], ["y"])], [x], None, [ints("s", *shape)])
