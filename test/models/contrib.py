"""Graphs of one operator of ONNX Runtime's own (com.microsoft), with seeded inputs: those that its CPU provider has."""
import numpy as np
from onnx import TensorProto, numpy_helper

from graphs import INT32, INT64, drawn, heads, microsoft, model, node, unknown, value


def gated_delta(rule, query_heads=2, key_heads=2, value_heads=2, past=True, beta=None, per_key=False, window=0, **attributes):
    """Tokens of two sequences, keys of four features and values of three."""
    gated, corrects = rule.startswith("gated"), rule.endswith("delta")
    slots = [window] if window else []
    operands = {"q": ["B", "T", query_heads * 4], "k": ["B", "T", key_heads * 4], "v": ["B", "T", value_heads * 3],
                "past": [*slots, "B", value_heads, 4, 3] if past else None,
                "decay": ["B", "T", value_heads * (4 if per_key else 1)] if gated else None,
                "beta": ["B", "T", beta or value_heads] if corrects else None}
    graph = microsoft("LinearAttention", operands, ["y", "present"], q_num_heads=query_heads, kv_num_heads=value_heads,
                      update_rule=rule, **attributes, **({"state_window": window} if window else {}))
    cases = [{name: [{"B": batch, "T": tokens}.get(e, e) for e in shape] for name, shape in operands.items() if shape}
             for batch, tokens in ((2, 5), (1, 1), (3, 2))]
    return graph, [{name: array * 0.3 for name, array in case.items()} for case in drawn(*cases)]


def causal_convolution(last=False, bias=True, past=True, dilation=1, taps=3, **attributes):
    width, held = 6, (taps - 1) * dilation
    form = lambda length: ["B", length, 2, 3] if last else ["B", width, length]
    operands = {"x": form("L"), "w": heads(width, 1, taps), "bias": heads(width) if bias else None,
                "past": form(held) if past else None}
    graph = microsoft("CausalConvWithState", operands, ["y", "present"], dilation=dilation, channels_last=int(last), **attributes)
    cases = [{name: [{"B": batch, "L": length}.get(e, e) for e in shape] for name, shape in operands.items() if isinstance(shape, list)}
             for batch, length in ((2, 7), (1, 1), (3, 2))]
    return graph, drawn(*cases)


def delta_gate():
    operands = {"a": ["B", "T", 4], "dt": heads(4), "scale": -np.abs(heads(4)), "b": ["B", "T", 4]}
    return microsoft("LinearAttentionGate", operands, ["decay", "beta"]), drawn({"a": (2, 3, 4), "b": (2, 3, 4)})


def gated_norm(**attributes):
    operands = {"x": ["B", "T", 12], "scale": heads(4), "gate": ["B", "T", 12]}
    return microsoft("GatedRMSNorm", operands, ["y"], **attributes), drawn({"x": (2, 3, 12), "gate": (2, 3, 12)})


def mixture(activation, rank=3, bias=True, **attributes):
    """Five experts of eight units; more tokens than experts, fewer, and one."""
    first = 16 if activation == "swiglu" else 8
    operands = {"x": ["B", "T", 12] if rank == 3 else ["N", 12], "router": ["N", 5], "fc1": heads(5, first, 12) / 3,
                "bias1": heads(5, first) if bias else None, "fc2": heads(5, 12, 8) / 3, "bias2": heads(5, 12) if bias else None}
    graph = microsoft("MoE", operands, ["y"], activation_type=activation, **attributes)
    return graph, drawn(*({"x": (1, rows, 12)[3 - rank:], "router": (rows, 5)} for rows in (9, 2, 1)))


def packed(numbers, bits):
    """The low bits first, as many bytes as hold a row."""
    count = 8 // bits
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % count)])
    parts = padded.reshape(*padded.shape[:-1], -1, count)
    return sum(parts[..., i] << (bits * i) for i in range(count)).astype(np.uint8)


def small_integers(experts, rows, columns, bits, block, zeros):
    """Packed matrices of experts, their scales and their zero points."""
    rng = np.random.default_rng(rows)
    blocks = [columns // block] if block else []
    scales = (rng.random((experts, rows, *blocks)) + 0.5).astype(np.float32) / 2 ** bits / 3
    points = rng.integers(0, 1 << bits, (experts, rows, *blocks))
    return (packed(rng.integers(0, 1 << bits, (experts, rows, columns)), bits), scales, packed(points, bits) if zeros else None)


def quantized_mixture(activation, bits, block=0, zeros=False, weights=False, **attributes):
    first = 64 if activation == "swiglu" else 32
    w1, w2 = (small_integers(5, *shape, bits, block, zeros) for shape in ((first, 48), (48, 32)))
    operands = {"x": ["N", 48], "router": ["N", 5], "fc1": w1[0], "scales1": w1[1], "bias1": heads(5, first), "fc2": w2[0],
                "scales2": w2[1], "bias2": None, "fc3": None, "scales3": None, "bias3": None, "zeros1": w1[2], "zeros2": w2[2],
                "zeros3": None, "weights": ["N", 5] if weights else None}
    attributes |= {"block_size": block} if block else {}
    graph = microsoft("QMoE", operands, ["y"], activation_type=activation, expert_weight_bits=bits, weights_prepacked=0, **attributes)
    cases = drawn(*({"x": (rows, 48), "router": (rows, 5)} | ({"weights": (rows, 5)} if weights else {}) for rows in (9, 1)))
    return graph, [{name: np.abs(array) if name == "weights" else array for name, array in case.items()} for case in cases]


def small_product(columns, bits, block, zeros=False, bias=False, mixed=False):
    """A last block that the matrix fills in part."""
    rng, rows, blocks = np.random.default_rng(5), 7, -(-columns // block)
    numbers = rng.integers(0, 1 << bits, (rows, blocks, block))
    points = rng.integers(0, 1 << bits, (rows, blocks))
    operands = {"x": ["N", columns], "w": packed(numbers, bits), "scales": heads(rows, blocks) / 2 ** bits,
                "zeros": packed(points, bits) if zeros else None,
                "groups": rng.permutation(np.arange(columns) // block).astype(np.int32) if mixed else None, "bias": heads(rows) if bias else None}
    graph = microsoft("MatMulNBits", operands, ["y"], K=columns, N=rows, bits=bits, block_size=block)
    return graph, drawn({"x": (3, columns)}, {"x": (1, columns)})


def named_numbers(kind, columns=24, block=16):
    """Four bits name one of 16 numbers; blocks of the flat matrix, the last one filled in part."""
    rng, rows = np.random.default_rng(7), 6
    operands = {"x": ["N", columns], "w": rng.integers(0, 256, (rows * columns + 1) // 2, np.uint8),
                "largest": np.abs(heads(-(-rows * columns // block)))}
    graph = microsoft("MatMulBnb4", operands, ["y"], K=columns, N=rows, block_size=block, quant_type=kind)
    return graph, drawn({"x": (3, columns)}, {"x": (1, columns)})


def rotated_by_three(layout, sections, flat=False, **attributes):
    """Positions of time, height and width."""
    width = 2 * sum(sections)
    ids = np.random.default_rng(3).integers(0, 16, (3, 2, 5))
    operands = {"x": [2, "S", 3 * width] if flat else [2, 3, "S", width], "ids": ids, "cos": heads(16, width // 2), "sin": heads(16, width // 2)}
    graph = microsoft("MRotaryEmbedding", operands, ["y"], mrope_section=sections, mrope_layout=layout, **attributes)
    return graph, drawn({"x": (2, 5, 3 * width) if flat else (2, 3, 5, width)})


def sampled(mode, padding, corners):
    operands = {"x": ["N", 2, "H", "W"], "grid": ["N", "h", "w", 2]}
    graph = microsoft("GridSample", operands, ["y"], mode=mode, padding_mode=padding, align_corners=corners)
    return graph, drawn({"x": (2, 2, 5, 4), "grid": (2, 3, 3, 2)})


def triangle(upper, k):
    operands = {"x": ["B", "M", "N"], "k": np.array(k, np.int64)}
    return microsoft("Trilu", operands, ["y"], upper=upper), drawn({"x": (2, 4, 5)}, {"x": (1, 3, 2)})


def last_channels(op, kind=np.uint8, **attributes):
    """Images [N, H, W, C] of bytes, as ONNX Runtime's optimiser leaves them."""
    rng = np.random.default_rng(9)
    number = lambda *shape: rng.integers(0, 250, shape).astype(np.uint8).astype(kind)
    scale = lambda *shape: (rng.random(shape) / 100 + 0.01).astype(np.float32)
    if op == "QLinearConv":
        operands = {"x": None, "xs": scale(), "xz": number(), "w": number(6, 4, 3, 3), "ws": scale(6), "wz": number(6) * 0, "ys": scale() * 30,
                    "yz": number(), "b": rng.integers(-900, 900, 6, np.int32)}
    elif op == "QLinearAveragePool":
        operands = {"x": None, "xs": scale(), "xz": number(), "ys": scale(), "yz": number()}
    else:
        operands = {"x": None}
    kinds = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
    if op != "NhwcMaxPool":
        attributes["channels_last"] = 1
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in operands.items() if array is not None]
    graph = model([node(op, list(operands), ["y"], domain="com.microsoft", **attributes)], [value("x", kinds[kind], ["N", "H", "W", 4])],
                  [unknown("y", kinds[kind])], weights)
    return graph, [{"x": number(*shape)} for shape in ((2, 7, 6, 4), (1, 5, 5, 4))]


def decoder_attention(cross=False, past=True, mask=False, op="DecoderMaskedMultiHeadAttention", **attributes):
    """One token of two sequences, two heads of four. What MultiHeadAttention calls by other places is the same."""
    keys = ["B", 2, "T", 4]
    operands = {"q": ["B", 1, 8], "k": keys if cross else ["B", 1, 8], "v": keys if cross else ["B", 1, 8], "mask": None,
                "added": None if cross else [1, 2, 1, "T"], "past_key": keys[:2] + ["P", 4] if past and not cross else None,
                "past_value": keys[:2] + ["P", 4] if past and not cross else None, "length": None, "width": None, "indirection": None,
                "bias": heads(24)}
    if mask:
        operands["mask"] = np.array([[1, 1, 0, 1, 1, 1], [0, 1, 1, 1, 0, 1]], np.int32)
    shapes = {name: [{"B": 2, "T": 6 if past else 1, "P": 5}.get(e, e) for e in shape] for name, shape in operands.items() if isinstance(shape, list)}
    if op == "MultiHeadAttention":
        operands = {name: operands[name] for name in ("q", "k", "v", "bias", "mask", "added", "past_key", "past_value")}
    graph = microsoft(op, operands, ["y"] if cross else ["y", "keys", "values"], num_heads=2, **attributes)
    return graph, drawn(shapes, shapes)


def shared_cache(op, tokens=1, held=3, beams=0, mask=True, packed=False):
    """New tokens over a cache of 8 places, of which `held` are taken, for four sequences or two of two beams."""
    cache = ["B", 2, 8, 4]
    tokenwise = lambda width: ["B", tokens, width]
    operands = {"q": tokenwise(24 if packed else 8), "k": None if packed else tokenwise(8), "v": None if packed else tokenwise(8)}
    rest = {"mask": np.random.default_rng(3).integers(0, 2, (4, held + tokens)).astype(np.int32) | (np.arange(held + tokens) == held).astype(np.int32)
            if mask else None, "added": heads(1, 2, tokens, held + tokens), "past_key": cache, "past_value": cache}
    lengths = {"length": np.array([held], np.int32)}
    indirection = {"indirection": np.random.default_rng(4).integers(0, beams, (2, beams, 8)).astype(np.int32) if beams else None}
    if op == "MultiHeadAttention":
        operands |= {"bias": heads(24)} | rest | lengths | indirection
    else:
        operands |= rest | lengths | {"width": np.array([beams], np.int32) if beams else None} | indirection | {"bias": None if packed else heads(24)}
    more = {} if op == "MultiHeadAttention" else {"past_present_share_buffer": 1}
    graph = microsoft(op, operands, ["y", "present_key", "present_value"], num_heads=2, **more)
    # How much is held is data.
    length = next(each for each in graph.graph.initializer if each.name == "length")
    graph.graph.initializer.remove(length)
    graph.graph.input.append(value("length", INT32, [1]))
    shapes = {name: [4 if extent == "B" else extent for extent in shape] for name, shape in operands.items() if isinstance(shape, list)}
    return graph, [case | {"length": np.array([held], np.int32)} for case in drawn(shapes)]


def counted(step):
    operands = {"a": [], "b": [], "d": np.array(step, np.float32) if step else None}
    return microsoft("Range", operands, ["y"]), [{"a": np.array(1, np.float32), "b": np.array(7.5, np.float32)}]


def blocks_of_keys(tokens=1, held=33, layouts=2, turned=False, together=False):
    """Queries of two sequences over a cache of 64 places in blocks of 16; ONNX Runtime takes heads of 16 and equal lengths."""
    rng, rows = np.random.default_rng(11), np.zeros((layouts, 5), np.int32)
    seen = np.tril(rng.integers(0, 2, (layouts, 4, 4))) | np.eye(4, dtype=int)
    columns = np.full((layouts, seen.sum((1, 2)).max()), -1, np.int32)
    for layout in range(layouts):
        rows[layout, 1:] = np.cumsum(seen[layout].sum(1))
        columns[layout, :rows[layout, -1]] = np.nonzero(seen[layout])[1]
    operands = {"q": ["B", "S", 128 if together else 64], "k": None if together else ["B", "S", 32], "v": None if together else ["B", "S", 32],
                "past_key": ["B", 2, 64, 16], "past_value": ["B", 2, 64, 16], "rows": rows, "columns": columns,
                "longest": np.array([held], np.int32), "lengths": np.array([held, held], np.int32),
                "cos": heads(64, 8) if turned else None, "sin": heads(64, 8) if turned else None}
    graph = microsoft("SparseAttention", operands, ["y", "present_key", "present_value"], num_heads=4, kv_num_heads=2, sparse_block_size=16, do_rotary=int(turned))
    return graph, drawn({name: [{"B": 2, "S": tokens}.get(e, e) for e in shape] for name, shape in operands.items() if isinstance(shape, list)})


def repeated(n):
    ids = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]], np.int64)
    return microsoft("NGramRepeatBlock", {"ids": ids, "scores": ["B", "V"]}, ["y"], ngram_size=n), drawn({"scores": (2, 6)})


def hashed(longest=3, heads_of_each=2, kind=np.int64, past=False, offsets=False, end=None, segments=False, low=1):
    """Numbers of n-grams; multipliers from `low` on, so that products wrap and may be negative."""
    rng = np.random.default_rng(longest)
    count = (longest - 1) * heads_of_each
    lists = {"multipliers": rng.integers(low, 10**9, longest), "sizes": rng.integers(3, 97, count),
             "offsets": rng.integers(0, 100, count) if offsets else None, "end": np.array(end) if end is not None else None}
    lists = {name: array.astype(kind) for name, array in lists.items() if array is not None}
    type_ = INT64 if kind is np.int64 else INT32
    inputs = {"ids": (type_, ["B", "L"])} | ({"past": (type_, ["B", longest - 1])} if past else {}) | (
        {"segments": (INT32, ["B", "L"])} if segments else {})
    names = [name if name in lists or name in inputs else "" for name in
             ("ids", "multipliers", "sizes", "past", "offsets", "end", "segments")]
    hashes = node("NGramHashMapping", names, ["y", "present"], domain="com.microsoft", max_ngram_size=longest,
                  n_head_per_ngram=heads_of_each, pad_id=1, reset_on_eos=int(end is not None))
    cases = [{"ids": rng.integers(0, 6, (batch, length)).astype(kind)}
             | ({"past": rng.integers(0, 6, (batch, longest - 1)).astype(kind)} if past else {})
             | ({"segments": np.sort(rng.integers(0, 3, (batch, length)), 1).astype(np.int32)} if segments else {})
             for batch, length in ((2, 9), (1, 1), (3, 2))]
    return model([hashes], [value(name, *of) for name, of in inputs.items()], [unknown("y", type_), unknown("present", type_)],
                 [numpy_helper.from_array(array, name) for name, array in lists.items()]), cases


def warped(rank=2):
    graph = microsoft("DynamicTimeWarping", {"costs": [1, "M", "N"][3 - rank:]}, ["way"])
    graph.graph.output[0].type.tensor_type.elem_type = INT32
    cases = drawn(*({"costs": (1, *shape)[3 - rank:]} for shape in ((5, 9), (8, 3), (1, 1), (1, 4), (4, 1))))
    # Ways that cost as much as each other.
    return graph, [*cases, {"costs": np.round(cases[0]["costs"])}]


def embedding_of_bytes(segments=True):
    rng = np.random.default_rng(13)
    table = lambda *shape: rng.integers(0, 255, shape).astype(np.uint8)
    scale, zero = (lambda number: np.array(number, np.float32)), (lambda number: np.array(number, np.uint8))
    numbers = lambda *values: np.array(values, np.int32)
    kept = lambda operand: operand if segments else None
    operands = {"ids": numbers([1, 2, 3], [4, 0, 1]), "segments": kept(numbers([0, 1, 1], [0, 0, 1])), "words": table(6, 8), "positions": table(5, 8),
                "parts": kept(table(2, 8)), "gamma": table(8), "beta": table(8), "mask": kept(numbers([1, 1, 0], [1, 1, 1])), "s1": scale(.01),
                "s2": scale(.02), "s3": kept(scale(.03)), "s4": scale(.01), "s5": scale(.02), "z1": zero(3), "z2": zero(120), "z3": kept(zero(5)),
                "z4": zero(7), "z5": zero(9)}
    graph = microsoft("QEmbedLayerNormalization", operands, ["y", "counts"], epsilon=1e-3)
    graph.graph.output[1].type.tensor_type.elem_type = TensorProto.INT32
    return graph, [{}]


def of_vectors(op, operands, outputs=("y",), kinds=(), **attributes):
    """Shapes in numbers are inputs whose extents are open."""
    opened = {name: [f"{name}{axis}" for axis in range(len(shape))] if isinstance(shape, tuple) else shape for name, shape in operands.items()}
    graph = microsoft(op, opened, list(outputs), **attributes)
    for output, kind in zip(graph.graph.output, kinds):
        output.type.tensor_type.elem_type = kind
    return graph, drawn({name: shape for name, shape in operands.items() if isinstance(shape, tuple)})


FLOATS, LONGS, STREAMS = TensorProto.FLOAT, TensorProto.INT64, (2, 3, 4, 8)
FLAT = (2, 3, 32)
BOXES = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], [0.7, 0.8, 0.1, 0.3], [-0.2, 0.1, 0.5, 1.4], [0.33] * 4], np.float32)
SWIGLU = {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 0.7}
CONTRIB = {
    **{f"linear-attention-{rule}": lambda r=rule: gated_delta(r) for rule in ("linear", "gated", "delta", "gated_delta")},
    **{f"linear-attention-{name}": lambda c=case: gated_delta("gated_delta", **c) for name, case in {
        "without-past": dict(past=False), "shared-values": dict(query_heads=4), "shared-queries": dict(value_heads=4),
        "shared-keys": dict(key_heads=1), "one-rate": dict(beta=1), "decay-of-each": dict(per_key=True), "scaled": dict(scale=2.0)}.items()},
    **{f"causal-convolution-{name}": lambda c=case: causal_convolution(**c) for name, case in {
        "plain": dict(), "first": dict(past=False, bias=False), "silu": dict(activation="silu"), "last": dict(last=True),
        "dilated": dict(dilation=2, taps=4), "dilated-last": dict(dilation=3, last=True, activation="swish")}.items()},
    "delta-gate": delta_gate, "gated-norm": gated_norm, "gated-norm-sigmoid": lambda: gated_norm(activation="sigmoid", epsilon=0.1),
    **{f"experts-{kind}": lambda k=kind: mixture(k, k=2) for kind in ("relu", "gelu", "silu", "identity")},
    "experts-swiglu": lambda: mixture("swiglu", k=2, normalize_routing_weights=1, **SWIGLU),
    "experts-packed": lambda: mixture("silu", rank=2, bias=False, k=3, normalize_routing_weights=1),
    **{f"experts-of-{bits}-bits{'-in-blocks' * bool(block)}{'-with-zeros' * zeros}":
       lambda b=bits, n=block, z=zeros: quantized_mixture("relu", b, n, z, k=2)
       for bits, block in ((2, 0), (2, 16), (4, 0), (4, 16), (8, 0)) for zeros in (0, 1)},  # blocks of 8 bits: it rounds the tokens
    "experts-of-4-bits-swiglu": lambda: quantized_mixture("swiglu", 4, 16, k=2, **SWIGLU),
    "experts-of-4-bits-weighted": lambda: quantized_mixture("silu", 4, weights=True, k=2),
    "experts-of-8-bits-normalised": lambda: quantized_mixture("gelu", 8, weights=True, k=2, normalize_routing_weights=1),
    **{f"product-of-{bits}-bits-{columns}-by-{block}": lambda b=bits, c=columns, n=block: small_product(c, b, n, True, True)
       for bits, columns, block in ((4, 40, 32), (4, 24, 16), (8, 40, 16), (2, 100, 64), (4, 8, 16))},
    "product-of-mixed-blocks": lambda: small_product(40, 4, 16, bias=True, mixed=True),
    **{f"named-numbers-{kind}": lambda k=kind: named_numbers(k) for kind in (0, 1)},
    "named-numbers-odd": lambda: named_numbers(1, columns=5, block=32),
    **{f"rotated-by-three-{layout}": lambda n=layout: rotated_by_three(n, [2, 3, 3]) for layout in (0, 1)},
    "rotated-by-three-flat": lambda: rotated_by_three(1, [4, 2, 2], flat=True, interleaved=1, num_heads=3),
    **{f"sampled-{mode}-{padding}": lambda m=mode, p=padding: sampled(m, p, int(p == "border"))
       for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection")},
    "upper-triangle": lambda: triangle(1, 1), "lower-triangle": lambda: triangle(0, -1),
    "counted": lambda: counted(None), "counted-by-two": lambda: counted(2),
    **{f"last-channels-{op}-{kind.__name__}": lambda o=op, k=kind, a=attributes: last_channels(o, k, **a)
       for op, attributes in (("QLinearConv", dict(pads=[1, 0, 1, 2], strides=[2, 1])), ("NhwcMaxPool", dict(kernel_shape=[2, 3], strides=[2, 1])),
                              ("QLinearAveragePool", dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2])))
       for kind in (np.uint8, np.int8)},
    "decoder-attention-cross": lambda: decoder_attention(cross=True),
    "shared-cache": lambda: shared_cache("MultiHeadAttention"),
    "shared-cache-first": lambda: shared_cache("MultiHeadAttention", tokens=3, held=0, mask=False),
    "shared-cache-decoder": lambda: shared_cache("DecoderMaskedMultiHeadAttention"),
    "shared-cache-decoder-beams": lambda: shared_cache("DecoderMaskedMultiHeadAttention", beams=2),
    "shared-cache-beams": lambda: shared_cache("MultiHeadAttention", beams=2),
    **{f"blocks-of-keys-{name}": lambda c=case: blocks_of_keys(**c) for name, case in {
        "one-token": dict(), "one-layout": dict(layouts=1), "turned": dict(turned=True), "together": dict(turned=True, together=True),
        "prompt": dict(tokens=33, turned=True), "chunk": dict(tokens=5, turned=True)}.items()},
    **{f"repeated-{n}": lambda n=n: repeated(n) for n in (1, 2, 3, 6, 8)},
    "warped": warped, "warped-alone": lambda: warped(3), "hashed": hashed, "hashed-chunk": lambda: hashed(4, 1, np.int32, past=True, offsets=True, end=2),
    "hashed-texts": lambda: hashed(3, segments=True, end=2, low=-50), "hashed-pairs": lambda: hashed(2, 3, np.int32, segments=True, low=-10**9),
    "embedding-of-bytes": embedding_of_bytes, "embedding-of-bytes-alone": lambda: embedding_of_bytes(segments=False),
    "gated-sum": lambda: of_vectors("GatedAdd", {"x": FLAT, "z": FLAT, "gate": (2, 3, 1)}),
    "scaled-silu": lambda: of_vectors("ScaledSiLU", {"x": FLAT}, alpha=1.5),
    "scaled-silu-by-operand": lambda: of_vectors("ScaledSiLU", {"x": FLAT, "scale": np.array(0.7, np.float32)}),
    "norm-of-branches": lambda: of_vectors("BranchwiseRMSNorm", {"x": STREAMS, "scale": (4, 8)}),
    **{f"norm-of-flat-branches-by-{width}": lambda w=width: of_vectors("BranchwiseRMSNorm", {"x": FLAT, "scale": (w,)}, num_branches=4, epsilon=0.1)
       for width in (8, 32)},
    **{f"branches-joined-{len(gate)}-{gate[-1]}": lambda x=x, g=gate, n=count: of_vectors(
           "HyperConnectionPreMix", {"x": x, "gate": g}, num_branches=n, reduction_scale=0.3)
       for x, gate, count in ((STREAMS, (2, 3, 4), 0), (STREAMS, STREAMS, 0), (FLAT, FLAT, 4), (FLAT, (2, 3, 4, 1), 4))},
    "branches-mixed": lambda: of_vectors("HyperConnectionPostMix", {"x": STREAMS, "block": (2, 3, 8), "gate": (2, 3, 4)}),
    "flat-branches-mixed": lambda: of_vectors("HyperConnectionPostMix", {"x": FLAT, "block": (2, 3, 8), "gate": STREAMS, "mix": (2, 3, 4, 4)},
                                              num_branches=4),
    "engram-gate": lambda: of_vectors("EngramGate", {"key": STREAMS, "query": STREAMS, "value": (2, 3, 8), "a": (4, 8), "b": (4, 8), "c": (4, 8)},
                                      ("y", "normed")),
    **{f"crops-{mode}-{'-by-'.join(map(str, size))}": lambda m=mode, s=size: of_vectors(
           "CropAndResize", {"x": (2, 3, 7, 9), "boxes": BOXES, "images": np.array([0, 1, 1, 0, 1], np.int32), "size": np.array(s, np.int32)},
           mode=m, extrapolation_value=-2.5) for mode in ("bilinear", "nearest") for size in ((4, 5), (1, 3), (1, 1))},
    **{f"masked-maxima-{len(shape) - 2}": lambda x=shape, a=attributes: of_vectors(
           "MaxpoolWithMask", {"x": x, "mask": (np.random.default_rng(2).random((1, 1, *x[2:])) > 0.25).astype(np.int32)}, **a)
       for shape, attributes in (((2, 3, 11), dict(kernel_shape=[3], strides=[2], pads=[1, 1])),
                                 ((2, 3, 7, 9), dict(kernel_shape=[3, 2], strides=[1, 2], pads=[1, 0, 1, 1])),
                                 ((1, 2, 4, 5, 6), dict(kernel_shape=[2, 2, 3], strides=[2, 1, 1])))},
    **{f"transposed-with-pads-{low}-{high}": lambda p=(low, low, high, high): of_vectors(
           "ConvTransposeWithDynamicPads", {"x": (2, 3, 5, 4), "w": heads(3, 4, 3, 3), "pads": np.array(p, np.int64), "bias": heads(4)},
           strides=[2, 2], output_padding=[1, 0]) for low, high in ((0, 0), (1, 0), (1, 2))},
    **{f"hashed-{kind.__name__}-{seed}": lambda k=kind, s=seed: of_vectors(
           "MurmurHash3", {"x": np.array([0, 1, 7, 2**31 - 1, 12345678], k)}, kinds=(TensorProto.UINT32 if s else TensorProto.INT32,), seed=s,
           positive=int(s > 0)) for kind in (np.int32, np.uint32, np.int64, np.float64) for seed in (0, 42)},
    "embedded-words": lambda: of_vectors("WordConvEmbedding", {
        "words": np.array([[3, 4, 5, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0], [2, 3, 4, 5, 6, 7, 8]], np.int32), "filters": heads(5, 1, 3, 4),
        "bias": heads(5), "characters": heads(10, 4)}),
    "padded": lambda: of_vectors("Pad", {"x": (3, 4), "pads": np.array([1, 0, 2, 1], np.int64), "value": np.array([0.5], np.float32)}),
    "inverse": lambda: of_vectors("Inverse", {"x": (2, 4, 4)}),
    **{f"distances-{metric}": lambda m=metric: of_vectors("CDist", {"a": (5, 3), "b": (4, 3)}, metric=m) for metric in ("sqeuclidean", "euclidean")},
    **{f"expanded-at-{axis}": lambda a=axis: of_vectors("ExpandDims", {"x": (5, 3), "axis": np.array(a, np.int32)}) for axis in (0, -1)},
    "unfolded": lambda: of_vectors("UnfoldTensor", {"x": (2, 7, 3)}, dim=1, size=3, step=2),
    "distinct": lambda: of_vectors("Unique", {"x": np.array([2, 1, 1, 3, 4, 3], np.float32)}, ("y", "from", "counts"), (FLOATS, LONGS, LONGS)),
    "product-of-16-bits": lambda: of_vectors("MatMulInteger16", {"a": np.arange(-9000, 9000, 1500, np.int16).reshape(3, 4),
                                                                 "b": np.arange(-20, 0, dtype=np.int16).reshape(4, 5)}, kinds=(TensorProto.INT32,)),
}
