"""Small graphs of the kinds that trained models hold and that are easy to get wrong, with seeded inputs."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def unknown(name, kind=FLOAT):
    return value(name, kind, None)


def constant(name, array, dtype=None):
    return numpy_helper.from_array(np.array(array, dtype), name)


def weight(name, *shape, seed=0):
    return numpy_helper.from_array((np.random.default_rng(seed).normal(size=shape) * 0.3).astype(np.float32), name)


def branch(*nodes, output):
    return helper.make_graph(list(nodes), output, [], [unknown(output)])


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def normal(*shapes):
    """Inputs called x, one of each shape."""
    return [{"x": np.random.default_rng(seed).normal(size=shape).astype(np.float32)}
            for seed, shape in enumerate(shapes)]


def if_extent():
    """The branches of an If on an extent give different ranks, and both can go on."""
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["d"]), node("Equal", ["d", "one"], ["c"]),
             node("If", ["c"], ["r"], then_branch=branch(node("Squeeze", ["x", "axis"], ["a"]), output="a"),
                  else_branch=branch(node("Identity", ["x"], ["b"]), output="b")),
             node("ReduceSum", ["r"], ["y"], keepdims=0), node("Shape", ["r"], ["rs"]), node("Size", ["rs"], ["rank"])]
    initializers = [constant("one", 1, np.int64), constant("axis", [1], np.int64)]
    return (model(nodes, [value("x", FLOAT, ["A", "B"])], [value("y", FLOAT, []), value("rank", INT64, [])],
                  initializers), normal((3, 1), (3, 4)))


def if_data():
    """Ranks differ by the data; a second If on the rank makes them agree again."""
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
             node("If", ["c"], ["r"], then_branch=branch(node("Unsqueeze", ["x", "axis"], ["a"]), output="a"),
                  else_branch=branch(node("Relu", ["x"], ["b"]), output="b")),
             node("Mul", ["r", "two"], ["r2"]), node("Shape", ["r2"], ["rs"]), node("Size", ["rs"], ["rank"]),
             node("Equal", ["rank", "three"], ["c2"]),
             node("If", ["c2"], ["y"], then_branch=branch(node("Squeeze", ["r2", "axis"], ["d"]), output="d"),
                  else_branch=branch(node("Identity", ["r2"], ["e"]), output="e"))]
    initializers = [constant("zero", 0, np.float32), constant("two", 2, np.float32), constant("three", 3, np.int64),
                    constant("axis", [0], np.int64)]
    shape = [value(name, FLOAT, ["A", "B"]) for name in "xy"]
    return model(nodes, shape[:1], shape[1:], initializers), normal((3, 1), (3, 4), (2, 2), (3, 3))


def if_nested():
    """The rank that an inner If gives leaves the outer one as well."""
    inner = node("If", ["c2"], ["i"], then_branch=branch(node("Unsqueeze", ["x", "axis"], ["a"]), output="a"),
                 else_branch=branch(node("Relu", ["x"], ["b"]), output="b"))
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c1"]),
             node("ReduceMax", ["x"], ["m"], keepdims=0), node("Greater", ["m", "one"], ["c2"]),
             node("If", ["c1"], ["r"], then_branch=branch(inner, output="i"),
                  else_branch=branch(node("Neg", ["x"], ["n"]), output="n")),
             node("Softmax", ["r"], ["r2"], axis=-1), node("Reshape", ["r2", "flat"], ["y"])]
    initializers = [constant("zero", 0, np.float32), constant("one", 1, np.float32), constant("flat", [-1], np.int64),
                    constant("axis", [0], np.int64)]
    return (model(nodes, [value("x", FLOAT, ["A", "B"])], [value("y", FLOAT, ["N"])], initializers),
            normal((3, 1), (3, 4), (2, 2), (3, 3), (1, 5)))


def if_legal_once():
    """What follows is legal for one of the ranks alone: a matrix product of two axes."""
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "last"], ["d"]), node("Equal", ["d", "one"], ["c"]),
             node("If", ["c"], ["r"], then_branch=branch(node("Squeeze", ["x", "axis"], ["a"]), output="a"),
                  else_branch=branch(node("Identity", ["x"], ["b"]), output="b")),
             node("Gemm", ["r", "w"], ["y"])]
    initializers = [constant("last", 2, np.int64), constant("one", 1, np.int64), constant("axis", [2], np.int64),
                    weight("w", 4, 5)]
    return (model(nodes, [value("x", FLOAT, ["A", 4, "B"])], [value("y", FLOAT, ["A", 5])], initializers),
            normal((3, 4, 1), (1, 4, 1)))


def loop_until():
    """A Loop that the data ends, with a list that starts empty and grows, and collected values."""
    body = helper.make_graph(
        [node("Mul", ["s", "half"], ["s2"]), node("ReduceSum", ["s2"], ["t"], keepdims=0),
         node("Greater", ["t", "limit"], ["go"]), node("Unsqueeze", ["t", "axis"], ["t1"]),
         node("Concat", ["list", "t1"], ["list2"], axis=0), node("Identity", ["s2"], ["each"])],
        "body", [value("i", INT64, []), value("c", BOOL, []), value("s", FLOAT, ["N"]), value("list", FLOAT, ["M"])],
        [value("go", BOOL, []), value("s2", FLOAT, ["N"]), value("list2", FLOAT, ["K"]), value("each", FLOAT, ["N"])])
    initializers = [constant("half", 0.5, np.float32), constant("limit", 0.05, np.float32),
                    constant("axis", [0], np.int64), constant("true", True), constant("empty", [], np.float32)]
    return (model([node("Loop", ["", "true", "x", "empty"], ["last", "sums", "all"], body=body)],
                  [value("x", FLOAT, ["N"])], [unknown(name) for name in ("last", "sums", "all")], initializers),
            [{"x": np.abs(case["x"]) + 0.1} for case in normal((5,), (1,))])


def loop_exchange():
    """What a Loop carries changes places, is made anew, stays, and has one row changed a turn."""
    body = helper.make_graph(
        [node("Add", ["a", "b"], ["sum"]), node("Mul", ["sum", "half"], ["c2"]), node("Expand", ["i", "wide"], ["row"]),
         node("ScatterElements", ["table", "row", "sum"], ["table2"], axis=0)],
        "body", [value("i", INT64, []), value("go", BOOL, []), *[value(n, FLOAT, [1, 4]) for n in "abcd"],
                 value("table", FLOAT, [6, 4])],
        [value("go", BOOL, []), *[value(n, FLOAT, [1, 4]) for n in ("b", "a", "c2", "d")], value("table2", FLOAT, [6, 4])])
    initializers = [constant("half", 0.5, np.float32), constant("wide", [1, 4], np.int64), constant("turns", 5, np.int64),
                    constant("true", True)]
    outputs = ("p", "q", "r", "s", "all")
    return (model([node("Relu", ["x"], ["y"]), node("Loop", ["turns", "true", "x", "y", "x", "y", "t"], list(outputs), body=body)],
                  [value("x", FLOAT, [1, 4]), value("t", FLOAT, [6, 4])], [unknown(name) for name in outputs], initializers),
            [{**case, "t": np.ones((6, 4), np.float32)} for case in normal((1, 4), (1, 4))])


def sequence_grown():
    """A Loop appends the first i + 1 rows of x to a sequence, and in some turns a scaled row to another."""
    sequence = helper.make_tensor_sequence_value_info
    append = helper.make_graph([node("Mul", ["head", "limit"], ["m"]), node("SequenceInsert", ["b", "m"], ["b1"])],
                               "append", [], [sequence("b1", FLOAT, None)])
    leave = helper.make_graph([node("Identity", ["b"], ["b2"])], "leave", [], [sequence("b2", FLOAT, None)])
    body = helper.make_graph(
        [node("Add", ["i", "one"], ["end"]), node("Reshape", ["end", "flat"], ["e"]),
         node("Slice", ["x", "zero", "e"], ["head"]), node("SequenceInsert", ["a", "head"], ["aNext"]),
         node("ReduceSum", ["head"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["small"]),
         node("If", ["small"], ["bNext"], then_branch=append, else_branch=leave), node("Identity", ["go"], ["goes"])],
        "body", [value("i", INT64, []), value("go", BOOL, []), sequence("a", FLOAT, None), sequence("b", FLOAT, None)],
        [value("goes", BOOL, []), sequence("aNext", FLOAT, None), sequence("bNext", FLOAT, None)])
    nodes = [node("SequenceEmpty", [], ["none"]), node("SequenceConstruct", ["x"], ["some"]),
             node("Shape", ["x"], ["s"]), node("Gather", ["s", "index"], ["turns"]),
             node("Loop", ["turns", "true", "none", "some"], ["as", "bs"], body=body),
             node("ConcatFromSequence", ["as"], ["all"], axis=0), node("SequenceLength", ["bs"], ["count"]),
             node("SequenceAt", ["as", "minus"], ["last"]), node("ConcatFromSequence", ["bs"], ["chosen"], axis=0)]
    initializers = [constant("one", 1, np.int64), constant("flat", [1], np.int64), constant("zero", [0], np.int64),
                    constant("limit", 0.5, np.float32), constant("true", True), constant("index", 0, np.int64),
                    constant("minus", -1, np.int64)]
    outputs = [unknown("all"), unknown("count", INT64), unknown("last"), unknown("chosen")]
    return model(nodes, [value("x", FLOAT, ["N", 3])], outputs, initializers), normal((4, 3), (1, 3), (9, 3))


def sequence_split(axis, size, keep):
    """An axis of unknown extent cut in parts, which a Loop reads one by one."""
    body = helper.make_graph(
        [node("SequenceAt", ["parts", "i"], ["part"]), node("ReduceSum", ["part"], ["sum"], keepdims=0),
         node("Identity", ["go"], ["goes"])],
        "body", [value("i", INT64, []), value("go", BOOL, [])], [value("goes", BOOL, []), value("sum", FLOAT, [])])
    nodes = [node("SplitToSequence", ["x", "size"] if size else ["x"], ["parts"], axis=axis, keepdims=keep),
             node("SequenceLength", ["parts"], ["count"]), node("Loop", ["count", "true"], ["sums"], body=body),
             node("ConcatFromSequence", ["parts"], ["all"], axis=axis, new_axis=0 if size or keep else 1)]
    return (model(nodes, [value("x", FLOAT, ["A", "B"])], [unknown("count", INT64), unknown("sums"), unknown("all")],
                  [constant("size", size or 1, np.int64), constant("true", True)]), normal((9, 5), (4, 8), (1, 1)))


def sequence_changed():
    """Rows, as many as a run has: one goes, others come to the front, in between and, from the end, before the last."""
    nodes = [node("SplitToSequence", ["x"], ["a"], axis=0), node("SequenceErase", ["a", "one"], ["b"]), node("SequenceErase", ["b"], ["c"]),
             node("SequenceInsert", ["c", "x", "zero"], ["d"]), node("SequenceInsert", ["d", "more", "minus"], ["e"]),
             node("SequenceInsert", ["e", "x", "one"], ["f"]), node("SequenceLength", ["f"], ["count"]),
             node("SequenceAt", ["f", "minus"], ["last"]), node("ConcatFromSequence", ["f"], ["all"], axis=0)]
    return (model(nodes, [value("x", FLOAT, ["A", 3])], [unknown("count", INT64), unknown("last"), unknown("all")],
                  [constant("one", 1, np.int64), constant("zero", 0, np.int64), constant("minus", -1, np.int64), weight("more", 2, 3)]),
            normal((3, 3), (9, 3)))


def resized_integers(kind):
    """What is interpolated along two axes is cut to an integer once."""
    nodes = [node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
    shape = value("x", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [1, 2, "H", "W"])
    rng = np.random.default_rng(0)
    cases = [{"x": rng.integers(0, 100, (1, 2, *size)).astype(kind)} for size in [(5, 4), (1, 7)]]
    return (model(nodes, [shape], [unknown("y", shape.type.tensor_type.elem_type)],
                  [constant("scales", [1, 1, 2.5, 1.7], np.float32)]), cases)


def cropping_border(mode):
    """A negative pad crops first; the border repeats what is left."""
    return (model([node("Pad", ["x", "pads"], ["y"], mode=mode)],
                  [value("x", FLOAT, ["A", "B"]), value("pads", INT64, [4])], [unknown("y")], opset=19),
            [{**case, "pads": np.array(pads)} for case, pads in
             zip(normal((4, 5), (4, 5), (6, 3)), [[0, -2, 0, 2], [-1, 2, 1, -1], [-2, 1, 2, 0]])])


def log_sum_exp_of_integers():
    return (model([node("ReduceLogSumExp", ["x"], ["y"], axes=[1])], [value("x", INT64, ["A", "B"])],
                  [unknown("y", INT64)]), [{"x": np.array([[30, 2, 3], [7, 7, 7]])}, {"x": np.array([[5]])}])


def scan_backwards():
    body = helper.make_graph(
        [node("MatMul", ["h", "w"], ["a"]), node("Add", ["a", "row"], ["b"]), node("Tanh", ["b"], ["h2"]),
         node("Identity", ["h2"], ["out"])],
        "body", [value("h", FLOAT, ["B", 4]), value("row", FLOAT, ["B", 4])],
        [value("h2", FLOAT, ["B", 4]), value("out", FLOAT, ["B", 4])])
    nodes = [node("ReduceMean", ["x"], ["h0"], axes=[1], keepdims=0),
             node("Scan", ["h0", "x"], ["last", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1],
                  scan_output_axes=[1], scan_input_directions=[1])]
    return (model(nodes, [value("x", FLOAT, ["B", "T", 4])], [unknown("last"), unknown("all")], [weight("w", 4, 4)]),
            normal((2, 5, 4), (1, 1, 4)))


def suppression(center_point):
    """Detections as a YOLO export ends: the best boxes, and their scores gathered."""
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["chosen"],
                  center_point_box=center_point),
             node("Gather", ["chosen", "imageAndBox"], ["at"], axis=1), node("GatherND", ["boxes", "at"], ["kept"]),
             node("GatherND", ["scores", "chosen"], ["best"])]
    initializers = [constant("most", [20], np.int64), constant("overlap", [0.45], np.float32),
                    constant("least", [0.6], np.float32), constant("imageAndBox", [0, 2], np.int64)]
    cases = []
    for seed, (batch, count) in enumerate([(1, 40), (3, 100), (1, 1)]):
        rng = np.random.default_rng(seed)
        boxes = np.concatenate([rng.uniform(0, 10, (batch, count, 2)), rng.uniform(1, 4, (batch, count, 2))], -1)
        if not center_point:
            boxes[..., 2:] += boxes[..., :2]
        scores = rng.uniform(0, 1, (batch, 3, count))
        cases.append({"boxes": boxes.astype(np.float32), "scores": scores.astype(np.float32)})
    return (model(nodes, [value("boxes", FLOAT, ["B", "N", 4]), value("scores", FLOAT, ["B", 3, "N"])],
                  [unknown("chosen", INT64), unknown("kept"), unknown("best")], initializers), cases)


def recurrent(kind, direction):
    """With the length of each sequence, and states to begin with."""
    gates, axes = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 2 if direction == "bidirectional" else 1
    inputs, names = [value("x", FLOAT, ["T", "B", 4]), value("lengths", TensorProto.INT32, ["B"]),
                     value("h0", FLOAT, [axes, "B", 5])], ["x", "W", "R", "bias", "lengths", "h0"]
    outputs, initializers = ["y", "h"], [weight("W", axes, gates * 5, 4), weight("R", axes, gates * 5, 5, seed=1),
                                         weight("bias", axes, 2 * gates * 5, seed=2)]
    if kind == "LSTM":
        inputs.append(value("c0", FLOAT, [axes, "B", 5]))
        names += ["c0", "P"]
        initializers.append(weight("P", axes, 15, seed=3))
        outputs.append("c")
    options = {"linear_before_reset": 1} if kind == "GRU" else {}
    cases = []
    for seed, (turns, batch) in enumerate([(9, 4), (1, 2)]):
        rng = np.random.default_rng(seed)
        case = {"x": rng.normal(size=(turns, batch, 4)), "h0": rng.normal(size=(axes, batch, 5))}
        if kind == "LSTM":
            case["c0"] = rng.normal(size=(axes, batch, 5))
        case = {name: array.astype(np.float32) for name, array in case.items()}
        cases.append({**case, "lengths": rng.integers(1, turns + 1, batch).astype(np.int32)})
    return (model([node(kind, names, outputs, hidden_size=5, direction=direction, **options)], inputs,
                  [unknown(name) for name in outputs], initializers), cases)


def quantized_lstm():
    """As quantize_dynamic of ONNX Runtime writes it: weights of 8 bits, states rounded each turn."""
    rng = np.random.default_rng(0)
    initializers = [constant("W", rng.integers(-127, 128, (2, 4, 20)), np.int8),
                    constant("R", rng.integers(-127, 128, (2, 5, 20)), np.int8), weight("bias", 2, 40),
                    constant("ws", [0.004, 0.005], np.float32), constant("wz", [0, 0], np.int8),
                    constant("rs", [0.003, 0.004], np.float32), constant("rz", [0, 0], np.int8)]
    lstm = node("DynamicQuantizeLSTM", ["x", "W", "R", "bias", "", "", "", "", "ws", "wz", "rs", "rz"], ["y", "h", "c"],
                hidden_size=5, direction="bidirectional", domain="com.microsoft")
    return (model([lstm], [value("x", FLOAT, ["T", "B", 4])], [unknown(name) for name in "yhc"], initializers),
            normal((9, 1, 4), (1, 1, 4)))


def transposed_conv(kernel, stride, pad=0, extra=0, groups=1, dilation=1):
    options = dict(kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, output_padding=[extra] * 2,
                   group=groups, dilations=[dilation] * 2)
    return (model([node("ConvTranspose", ["x", "w", "b"], ["y"], **options)], [value("x", FLOAT, ["N", 8, "H", "W"])],
                  [unknown("y")], [weight("w", 8, 12 // groups, kernel, kernel), weight("b", 12)]),
            normal((2, 8, 7, 9), (1, 8, 1, 5)))


def transposed_conv_of_gaps(**attributes):
    """Strides longer than the kernel, and more asked for than it gives: what is beyond is bias, after the result."""
    return (model([node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 3], **attributes)], [value("x", FLOAT, ["N", 2, 5, 4])],
                  [unknown("y")], [weight("w", 2, 4, 3, 2), weight("b", 4)]), normal((2, 2, 5, 4)))


def microsoft(op, operands, outputs, **attributes):
    """One operator of ONNX Runtime's own on `operands`: name -> array (a weight), list (an input's shape) or None."""
    weights = [numpy_helper.from_array(array, name) for name, array in operands.items() if isinstance(array, np.ndarray)]
    inputs = [value(name, FLOAT, shape) for name, shape in operands.items() if isinstance(shape, list)]
    names = ["" if operand is None else name for name, operand in operands.items()]
    return model([node(op, names, outputs, domain="com.microsoft", **attributes)], inputs,
                 [unknown(name) for name in outputs if name], weights)


def drawn(*cases):
    """Inputs by name, of seeded numbers."""
    rng = np.random.default_rng(7)
    return [{name: rng.normal(size=shape).astype(np.float32) for name, shape in case.items()} for case in cases]


def heads(*extents):
    return np.random.default_rng(1).normal(size=extents).astype(np.float32)


def multi_head_attention(mask=None, past=False):
    """Two sequences, two heads of four; all that the operator gives: result, keys, values, scaled products."""
    operands = {"q": ["B", "S", 8], "k": ["B", "T", 8], "v": ["B", "T", 8], "bias": heads(24),
                "mask": None if mask is None else np.array(mask, np.int32), "added": None,
                "past_key": ["B", 2, "P", 4] if past else None, "past_value": ["B", 2, "P", 4] if past else None}
    graph = microsoft("MultiHeadAttention", operands, ["y", "keys", "values", "products"], num_heads=2, unidirectional=int(past))
    shapes = {"q": (2, 3, 8), "k": (2, 4, 8), "v": (2, 4, 8)}
    if past:
        shapes |= {"k": (2, 3, 8), "v": (2, 3, 8), "past_key": (2, 2, 5, 4), "past_value": (2, 2, 5, 4)}
    return graph, drawn(shapes, shapes)


def attention_of_many():
    """As many keys as make it one kernel."""
    operands = {name: [1, 90, 64] for name in ("q", "k", "v")}
    graph = microsoft("MultiHeadAttention", operands, ["y"], num_heads=4)
    return graph, drawn(operands)


def masked_attention(mask):
    operands = {"x": ["B", "S", 6], "w": heads(6, 24), "b": heads(24), "mask": np.array(mask, np.int32)}
    return microsoft("Attention", operands, ["y", "present"], num_heads=2), drawn({"x": (2, 3, 6)})


def packed_rotation(**attributes):
    """More positions than the tables have rows, which are used again."""
    operands = {"x": ["B", 2, "S", 8], "ids": np.arange(20)[None] % 16, "cos": heads(16, 4), "sin": heads(16, 4)}
    return microsoft("RotaryEmbedding", operands, ["y"], **attributes), drawn({"x": (1, 2, 20, 8)})


def grouped_attention(steps, batch=1, places=12, packed=False, cache=True, tables=False, bias=False, sink=False, ids=False,
                      norm=False, **attributes):
    """Four heads of queries, two of keys. Each step has new tokens and the lengths of its sequences with these; what
    lies behind them in the cache is zero, as ONNX Runtime makes it."""
    width = 4 * 16 if not packed else 8 * 16
    operands = {"query": (FLOAT, ["B", "S", width])}
    for name in () if packed else ("key", "value"):
        operands[name] = FLOAT, ["B", "S", 32]
    for name in ("past_key", "past_value") if cache else ():
        operands[name] = FLOAT, ["B", 2, "P", 16]
    operands |= {"lengths": (INT32, ["B"]), "longest": (INT32, [])}
    operands |= {"cos": None, "sin": None} if tables else {}
    operands |= {"positions": (INT64, ["B", "S"])} if ids else {}
    operands |= {"bias": (FLOAT, ["B", "H", "S", "T"])} if bias else {}
    operands |= {"sink": None} if sink else {}
    operands |= {"norm_q": None, "norm_k": None} if norm else {}
    order = ["query", "key", "value", "past_key", "past_value", "lengths", "longest", "cos", "sin", "positions", "bias", "sink", "", "",
             "norm_q", "norm_k"]
    weights = {"cos": (20, 8), "sin": (20, 8), "sink": (4,), "norm_q": (16,), "norm_k": (16,)}
    graph = model([node("GroupQueryAttention", [name if name in operands else "" for name in order], ["y", "keys", "values"],
                        domain="com.microsoft", num_heads=4, kv_num_heads=2, **attributes)],
                  [value(name, *form) for name, form in operands.items() if form], [unknown(name) for name in ("y", "keys", "values")],
                  [weight(name, *weights[name]) for name, form in operands.items() if form is None])
    rng, cases = np.random.default_rng(3), []
    for new, lengths in steps:
        longest = max(lengths)
        shapes = {"query": (batch, new, width), "key": (batch, new, 32), "value": (batch, new, 32),
                  "past_key": (batch, 2, places, 16), "past_value": (batch, 2, places, 16), "bias": (1, 4, new, longest)}
        case = {name: rng.normal(size=shapes[name]).astype(np.float32) for name in operands if name in shapes}
        for row, length in enumerate(lengths):
            for name in ("past_key", "past_value") if cache else ():
                case[name][row, :, 0 if new == longest else length - new:] = 0
        case |= {"lengths": np.array(lengths, np.int32) - 1, "longest": np.array(longest, np.int32)}
        if ids:
            case["positions"] = np.arange(new)[None] + np.array(lengths)[:, None] - new
        cases.append(case)
    return graph, cases


def fused_gemm(activation, **parameters):
    operands = {"a": ["N", 6], "b": heads(6, 5), "c": heads(5)}
    parameters = {f"activation_{name}": number for name, number in parameters.items()}
    return (microsoft("FusedGemm", operands, ["y"], activation=activation, alpha=1.5, beta=0.5, **parameters),
            drawn({"a": (3, 6)}, {"a": (1, 6)}))


def single(nodes, kind, cases, initializers=(), out=FLOAT, opset=17):
    """x of one axis to y."""
    return (model(nodes, [value("x", kind, ["N"])], [unknown("y", out)], initializers, opset),
            [{"x": case} for case in cases])


def shrunk_before_modes():
    """Which element is nearest, before there was an attribute for it."""
    nodes = [node("Resize", ["x", "scales"], ["y"], mode="nearest")]
    return single(nodes, FLOAT, [np.arange(1, n + 1, dtype=np.float32) for n in (4, 10, 11)],
                  [constant("scales", [0.6], np.float32)], opset=10)


def sliced_backwards(start):
    """A walk back that starts before the first element, or after the last."""
    return single([node("Slice", ["x", "start", "stop", "axes", "steps"], ["y"])], FLOAT,
                  [np.arange(n, dtype=np.float32) for n in (4, 2, 1)],
                  [constant("start", [start], np.int64), constant("stop", [-10], np.int64),
                   constant("axes", [0], np.int64), constant("steps", [-1], np.int64)])


def sliced_by_slices():
    """Bounds that are slices of unknown length themselves, one for each of the first axes (a bag of embeddings)."""
    nodes = [node("Add", ["i", "one"], ["j"]), node("Add", ["j", "one"], ["k"]), node("Slice", ["o", "i", "j"], ["start"]),
             node("Slice", ["o", "j", "k"], ["stop"]), node("Slice", ["x", "start", "stop"], ["rows"]),
             node("ReduceSum", ["rows", "axis"], ["y"])]
    offsets = np.array([0, 2, 2, 6], np.int64)
    return (model(nodes, [value("x", FLOAT, [6, 3]), value("o", INT64, [4]), value("i", INT64, [1])], [unknown("y")],
                  [constant("one", [1], np.int64), constant("axis", [0], np.int64)]),
            [{**case, "o": offsets, "i": np.array([i], np.int64)} for i, case in enumerate(normal((6, 3), (6, 3), (6, 3)))])


def root_as_power():
    """1 / pow(x, 0.5) tells the zeros apart."""
    return single([node("Pow", ["x", "half"], ["r"]), node("Reciprocal", ["r"], ["y"])], FLOAT,
                  [np.array([-np.inf, -0.0, 0.0, 2.25, np.inf, -1, np.nan], np.float32)],
                  [constant("half", 0.5, np.float32)])


def large_unsigned(dtype):
    """Constants of an unsigned type above half of its range, as exporters never write and people do."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    large = np.iinfo(dtype).max - 294967295
    nodes = [node("Div", ["large", "two"], ["half"]), node("Greater", ["large", "one"], ["more"]),
             node("Cast", ["large"], ["float"], to=FLOAT), node("Cast", ["more"], ["bit"], to=FLOAT),
             node("Cast", ["half"], ["halfFloat"], to=FLOAT), node("Sum", ["float", "bit", "halfFloat"], ["all"]),
             node("Add", ["x", "all"], ["z"]), node("Div", ["z", "float"], ["y"])]
    return single(nodes, FLOAT, [np.array([0, 1], np.float32)],
                  [constant("large", large, dtype), constant("two", 2, dtype), constant("one", 1, dtype)])


def rounding_by_addition():
    """What is added to round is not folded into the weights of the product before it."""
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "bias"], ["s"]), node("Add", ["s", "magic"], ["m"]),
             node("Sub", ["m", "magic"], ["y"])]
    return (model(nodes, [value("x", FLOAT, ["N", 3])], [unknown("y")],
                  [constant("w", [[1.5, 2], [0.75, 1], [4, -2]], np.float32), constant("bias", [0.3, 0.25], np.float32),
                   constant("magic", 12582912, np.float32)]), normal((4, 3), (1, 3)))


def quantized_by_range():
    """Where all is 0, the scale is 1."""
    nodes = [node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])]
    return (model(nodes, [value("x", FLOAT, ["N"])], [unknown("y", TensorProto.UINT8), unknown("scale"), unknown("zero", TensorProto.UINT8)]),
            [{"x": np.array(x, np.float32)} for x in ([0, 0], [1, 2], [-3, -1], [-1, 0.5, 2])])


def real_or_complex_signal(inverse):
    """Whether a signal has imaginary parts is known only at run time."""
    nodes = [node("DFT", ["x", "", "axis"], ["y"], inverse=inverse)]
    return (model(nodes, [value("x", FLOAT, ["A", "B", "parts"])], [unknown("y")], [constant("axis", 1, np.int64)], opset=20),
            normal((2, 6, 2), (2, 5, 1)))


def regions_at_halves():
    """Corners that lie between two pixels."""
    regions = constant("regions", [[0, 1, 1, 7, 9], [0, 3, 5, 11, 13], [0, -3, -1, 5, 5]], np.float32)
    pool = node("MaxRoiPool", ["x", "regions"], ["y"], pooled_shape=[2, 2], spatial_scale=0.5)
    return model([pool], [value("x", FLOAT, [1, 2, 8, 8])], [unknown("y")], [regions]), drawn({"x": (1, 2, 8, 8)})


GRAPHS = {
    "regions-at-halves": regions_at_halves,
    **{f"signal-of-unknown-parts-{i}": lambda i=i: real_or_complex_signal(i) for i in (0, 1)},
    "quantized-by-range": quantized_by_range, "shrunk-before-modes": shrunk_before_modes, "root-as-power": root_as_power,
    "sliced-by-slices": sliced_by_slices,
    **{f"sliced-backwards-from-{start}": lambda s=start: sliced_backwards(s) for start in (-10, -1, 10, -2**40)},
    **{f"large-{kind}": lambda k=kind: large_unsigned(k) for kind in ("uint32", "uint64")},
    "rounding-by-addition": rounding_by_addition,
    "if-extent": if_extent, "if-data": if_data, "if-nested": if_nested, "if-legal-once": if_legal_once,
    "sequence-grown": sequence_grown,
    "sequence-changed": sequence_changed,
    **{f"sequence-split-{name}": lambda c=case: sequence_split(*c)
       for name, case in {"rows": (0, 3, 1), "columns": (1, None, 1), "vectors": (0, None, 0), "across": (1, None, 0)}.items()},
    **{f"resized-{kind}": lambda k=kind: resized_integers(k) for kind in ("uint8", "int32")},
    **{f"cropping-{mode}": lambda m=mode: cropping_border(m) for mode in ("wrap", "reflect", "edge")},
    "log-sum-exp-of-integers": log_sum_exp_of_integers,
    "loop-until": loop_until, "loop-exchange": loop_exchange, "scan-backwards": scan_backwards,
    "suppression-corners": lambda: suppression(0), "suppression-centers": lambda: suppression(1),
    **{f"{kind.lower()}-{direction}": lambda k=kind, d=direction: recurrent(k, d)
       for kind in ("RNN", "GRU", "LSTM") for direction in ("reverse", "bidirectional")},
    "lstm-quantized": quantized_lstm,
    "attention-of-many": attention_of_many, "attention-gives-all": multi_head_attention, "attention-after-past": lambda: multi_head_attention(past=True),
    **{f"attention-mask-of-{len(mask)}": lambda m=mask: multi_head_attention(m) for mask in ([2, 4], [2, 4, 0, 3, 6, 0, 2, 6])},
    **{f"attention-projected-mask-of-{len(mask)}": lambda m=mask: masked_attention(m)
       for mask in ([2, 3], [2, 3, 0, 1], [2, 3, 0, 3, 6, 0, 2, 5])},
    "rotation-packed": lambda: packed_rotation(is_packed_batching=1, scale=2.0),
    **{f"grouped-attention-{name}": lambda c=case: grouped_attention(**c) for name, case in {
        "prompt": dict(steps=[(7, [7]), (1, [1])], cache=False), "decoding": dict(steps=[(1, [5, 12, 9])], batch=3),
        "growing": dict(steps=[(1, [5])], places=4, packed=True), "continued": dict(steps=[(4, [9]), (9, [9])]),
        "turned": dict(steps=[(1, [5, 12]), (1, [2, 3])], batch=2, tables=True, do_rotary=1),
        "turned-pairs": dict(steps=[(5, [5]), (3, [8])], packed=True, tables=True, do_rotary=1, rotary_interleaved=1),
        "placed": dict(steps=[(5, [5]), (3, [8])], tables=True, ids=True, do_rotary=1),
        "window": dict(steps=[(1, [11, 2]), (1, [8, 12])], batch=2, local_window_size=3, softcap=2.0, scale=0.3),
        "biased": dict(steps=[(1, [11]), (12, [12])], bias=True), "sink": dict(steps=[(1, [4]), (6, [6])], sink=True),
        "smooth": dict(steps=[(6, [6]), (1, [12])], smooth_softmax=1), "both-ways": dict(steps=[(6, [6])], causal=0)}.items()},
    "fused-gemm-leaky": lambda: fused_gemm("LeakyRelu", alpha=0.3),
    "transposed-conv-same-upper": lambda: transposed_conv_of_gaps(auto_pad="SAME_UPPER"),
    "transposed-conv-same-lower": lambda: transposed_conv_of_gaps(auto_pad="SAME_LOWER"),
    "transposed-conv-larger": lambda: transposed_conv_of_gaps(output_shape=[11, 13]),
    **{"transposed-conv-" + "-".join(map(str, case)): lambda c=case: transposed_conv(*c)
       for case in [(2, 2), (4, 2, 1), (3, 2, 1, 1), (5, 3, 2, 2, 2), (3, 2, 0, 1, 4), (1, 2), (3, 2, 1, 0, 1, 2)]},
}
