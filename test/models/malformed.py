"""ONNX files that are wrong, or odd but legal, by class; each from the outside, as somebody may have made it.

`cases()` gives name -> (BAD or ODD, bytes). BAD: refused with exit code 2. ODD: legal, or harmless; it
compiles. They want a file w.bin of 24 bytes, a folder dir and a FIFO of that name beside them.
"""
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

BAD, ODD = "bad", "odd"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
HUGE, LOWEST = 2**62, -2**63


def value(name, shape=(2, 3), dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def untyped(name):
    return onnx.ValueInfoProto(name=name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name="the_" + op.lower(), **attributes)


def array(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def ints(name, *values):
    return array(name, np.array(values, np.int64))


ONES = array("w", np.ones(1, np.float32))


def model(nodes, inputs=None, outputs=None, weights=(), opset=20, domains=(), functions=()):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")], outputs or [untyped("y")], list(weights))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def one(op, inputs=("x",), weights=(), shape=(2, 3), dtype=FLOAT, opset=20, **attributes):
    """A model of one node on the input x and constants."""
    return model([node(op, list(inputs), ["y"], **attributes)], [value("x", shape, dtype)], None, weights, opset)


def folded(op, inputs, weights, **attributes):
    """The node reads constants alone: constant folding meets it."""
    return model([node(op, list(inputs), ["c"], **attributes), node("ReduceSum", ["c"], ["r"], keepdims=0),
                  node("Cast", ["r"], ["q"], to=FLOAT), node("Add", ["x", "q"], ["y"])], None, None, weights)


def relu(change=None):
    proto = model([node("Relu", ["x"], ["y"])], None, [value("y")])
    if change:
        change(proto)
    return proto


# ---- protobuf's wire format ----

def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def wire():
    good, shell = relu().SerializeToString(), relu(lambda p: p.ClearField("graph")).SerializeToString()
    graph = relu().graph.SerializeToString()
    sequence = b"\x0a\x02\x08\x01"
    for _ in range(10_000):
        sequence = field(4, field(1, sequence))
    yield "graph-as-varint", BAD, shell + varint(7 << 3) + varint(5)
    yield "group-unclosed", BAD, good + varint(99 << 3 | 3)
    yield "groups-10000-deep", BAD, good + varint(99 << 3 | 3) * 10_000 + varint(99 << 3 | 4) * 10_000
    yield "field-0", BAD, good + b"\x02\x01a"
    yield "varint-of-12-bytes", BAD, good + b"\xff" * 11 + b"\x01"
    for exponent in (31, 63):
        yield f"length-2^{exponent}", BAD, good + varint(7 << 3 | 2) + varint(2**exponent) + b"abc"
    yield "graph-twice", BAD, shell + field(7, graph) + field(7, graph)
    yield "unknown-fields", ODD, good + field(900, b"whatever") + varint(901 << 3) + varint(2**64 - 1)
    yield "node-of-garbage", BAD, shell + field(7, field(1, b"\xff\xfe\xfd"))
    yield "a-million-empty-nodes", BAD, shell + field(7, b"\x0a\x00" * (1 << 20))
    yield "type-10000-deep", BAD, shell + field(7, field(11, field(1, b"x") + field(2, sequence)) +
                                                field(12, field(1, b"x")))
    yield "name-not-utf8", ODD, good.replace(b"the_relu", b"the_\xff\xfe\x80u")
    yield "operator-not-utf8", BAD, good.replace(b"\x04Relu", b"\x04R\xff\xfeu")
    yield "attribute-type-55", ODD, one("Softmax", axis=1).SerializeToString().replace(b"\xa0\x01\x02", b"\xa0\x01\x37")


# ---- the model and its graph ----

def header():
    for version in (0, -1, 2**31, LOWEST):
        def opset(proto, version=version):
            proto.opset_import[0].version = version
        yield f"opset-{version}", BAD, relu(opset)
    for version in (0, 99, 2**40, -1):
        def ir(proto, version=version):
            proto.ir_version = version
        yield f"ir-version-{version}", BAD, relu(ir)
    foreign = helper.make_node("Relu", ["x"], ["y"], domain="my.own")
    yield "domain-not-imported", BAD, model([foreign])
    yield "domain-unknown", BAD, model([foreign], domains=["my.own"])
    yield "no-graph", BAD, relu(lambda p: p.ClearField("graph"))


def interface():
    def of_input(change):
        return relu(lambda proto: change(proto.graph.input[0].type))

    def of_dims(change):
        return of_input(lambda type_: change(type_.tensor_type.shape.dim))

    def element(code):
        return lambda type_: setattr(type_.tensor_type, "elem_type", code)
    tensor = helper.make_tensor_type_proto(FLOAT, [2])
    for code in (0, 77, -1, TensorProto.STRING):
        yield f"input-type-{code}", BAD, of_input(element(code))
    for name, type_ in (("sequence", helper.make_sequence_type_proto(tensor)), ("map", helper.make_map_type_proto(INT64, tensor)),
                        ("optional", helper.make_optional_type_proto(tensor)),
                        ("sparse", helper.make_sparse_tensor_type_proto(FLOAT, [2, 3]))):
        yield f"input-{name}", BAD, of_input(lambda old, new=type_: old.CopyFrom(new))
    yield "input-dims-2^40", BAD, of_dims(lambda dims: [setattr(dim, "dim_value", 2**40) for dim in dims])
    for extent in (HUGE, 2**63 - 1, LOWEST, -5, 0):
        yield f"input-dim-{extent}", BAD if extent else ODD, of_dims(lambda dims, e=extent: setattr(dims[0], "dim_value", e))
    for name in ("N" * 100_000, "N*2 + %s \x1b[31m\n"):
        yield f"dim-name-of-{len(name)}", ODD, of_dims(lambda dims, n=name: setattr(dims[0], "dim_param", n))
    yield "rank-5000", BAD, of_dims(lambda dims: dims.extend([onnx.TensorShapeProto.Dimension(dim_value=1)] * 5000))
    yield "input-without-name", BAD, relu(lambda p: setattr(p.graph.input[0], "name", ""))
    yield "output-without-name", BAD, relu(lambda p: setattr(p.graph.output[0], "name", ""))
    yield "output-of-another-type", BAD, model([node("Relu", ["x"], ["y"])], None, [value("y", dtype=INT64)])
    yield "output-is-input", ODD, model([node("Relu", ["x"], ["z"])], None, [value("x")])
    yield "output-twice", ODD, model([node("Relu", ["x"], ["y"])], None, [value("y"), value("y")])


def names():
    yield "reads-itself", BAD, model([node("Relu", ["y"], ["y"])])
    yield "writes-an-input", BAD, model([node("Relu", ["x"], ["x"]), node("Neg", ["x"], ["y"])])
    yield "writes-a-weight", BAD, model([node("Relu", ["x"], ["w"]), node("Neg", ["w"], ["y"])], weights=[ONES])
    yield "weight-twice", BAD, model([node("Add", ["x", "w"], ["y"])], weights=[ONES, ONES])
    yield "operator-without-name", BAD, model([node("", ["x"], ["y"])])
    yield "result-without-name", BAD, model([node("Relu", ["x"], [""])])
    yield "operand-absent", BAD, model([node("Relu", [""], ["y"])])
    yield "too-many-results", BAD, model([node("Relu", ["x"], ["y", *(f"z{i}" for i in range(10_000))])])
    yield "too-many-operands", BAD, model([node("Relu", ["x"] * 6, ["y"])])
    twice = one("Softmax", axis=1)
    twice.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
    yield "attribute-twice", BAD, twice
    reference = one("Softmax", axis=1)
    reference.graph.node[0].attribute[0].ref_attr_name = "q"
    yield "attribute-reference-outside-of-functions", BAD, reference
    lies = one("Softmax", axis=1)
    lies.graph.node[0].attribute[0].type = AttributeProto.FLOAT
    yield "attribute-type-lies", BAD, lies


# ---- tensors ----

def tensors():
    def added(expect, name, **fields):
        tensor = TensorProto(**{"name": "w", "data_type": FLOAT, "dims": [2, 3], **fields})
        return name, expect, model([node("Add", ["x", "w"], ["y"])], weights=[tensor])
    for code in (0, 99, -3):
        yield added(BAD, f"type-{code}", data_type=code, raw_data=bytes(24))
    yield added(BAD, "no-data")
    yield added(BAD, "data-of-another-type", int64_data=[1] * 6)
    yield added(BAD, "too-few-floats", float_data=[1] * 5)
    yield added(BAD, "too-many-floats", float_data=[1] * 7)
    yield added(ODD, "raw-and-floats", raw_data=bytes(24), float_data=[1] * 6)
    yield added(BAD, "text", data_type=TensorProto.STRING, string_data=[b"a"] * 6)
    yield added(BAD, "rank-1000", dims=[1] * 1000, raw_data=bytes(4))
    yield added(BAD, "empty-and-huge", dims=[0, HUGE, HUGE], raw_data=b"")
    for count in (2, 4):
        tensor = TensorProto(name="w", data_type=TensorProto.INT4, dims=[2, 3], raw_data=bytes(count))
        yield f"int4-of-{count}-bytes", BAD, model([node("Cast", ["w"], ["v"], to=FLOAT), node("Add", ["x", "v"], ["y"])],
                                                   weights=[tensor], opset=21)


def external_data():
    def at(*pairs, **fields):
        tensor = TensorProto(**{"name": "w", "data_type": FLOAT, "dims": [2, 3], "data_location": TensorProto.EXTERNAL, **fields})
        for key, text in pairs:
            tensor.external_data.add(key=key, value=text)
        return model([node("Add", ["x", "w"], ["y"])], weights=[tensor])
    for location in ("a\0b", "a" * 5000, ".", "..", "w.bin/", "fifo", "dir", "a\\..\\b", "C:\\w.bin", "http://localhost/w",
                     "\x1b[31m"):
        yield f"at-{location[:20]!r}", BAD, at(("location", location), ("length", "24"))
    yield "at-./w.bin", ODD, at(("location", "./w.bin"))
    for key, text in (("offset", "abc"), ("offset", "0x0"), ("offset", "1e3"), ("offset", "9" * 400), ("length", "24abc"),
                      ("length", "-1"), ("checksum", "zz"), ("what", "ever")):
        yield f"{key}-{text[:8]}", BAD if key in ("offset", "length") else ODD, at(("location", "w.bin"), (key, text))
    yield "nowhere", BAD, at()
    yield "twice", BAD, at(("location", "w.bin"), ("location", "../x"))
    yield "text", BAD, at(("location", "w.bin"), data_type=TensorProto.STRING)


def sparse():
    for name, expect, indices, dims in (
            ("good", ODD, ints("", 0, 5), [2, 3]), ("past-the-end", BAD, ints("", 0, 6), [2, 3]),
            ("negative", BAD, ints("", -1, 2), [2, 3]), ("of-another-count", BAD, ints("", 1), [2, 3]),
            ("huge", BAD, ints("", 0, 5), [2**40, 2**20]), ("overflow", BAD, ints("", 0, 5), [HUGE, 8]),
            ("of-rank-3", BAD, array("", np.zeros((2, 3), np.int64)), [2, 3]),
            ("of-floats", BAD, array("", np.float32([0, 1])), [2, 3]), ("twice", BAD, ints("", 5, 5), [2, 3]),
            ("not-in-order", BAD, ints("", 5, 0), [2, 3]), ("pairs", ODD, array("", np.array([[0, 1], [1, 0]])), [2, 3]),
            ("pairs-twice", BAD, array("", np.array([[1, 2], [1, 2]])), [2, 3]),
            ("pairs-past-the-end", BAD, array("", np.array([[0, 1], [1, 3]])), [2, 3])):
        tensor = onnx.SparseTensorProto(dims=dims)
        tensor.values.CopyFrom(array("w", np.float32([1, 2])))
        tensor.indices.CopyFrom(indices)
        proto = model([node("Add", ["x", "w"], ["y"])])
        proto.graph.sparse_initializer.append(tensor)
        yield f"indices-{name}", expect, proto


def strings():
    """Text is for attributes: compiled code has no tensor of it."""
    outputs = [value("y"), value("s", (2,), TensorProto.STRING)]
    yield "constant-output", BAD, model([node("Neg", ["x"], ["y"]), node("Constant", [], ["s"], value_strings=["a", "b"])],
                                        outputs=outputs)
    yield "constant-unused", ODD, model([node("Neg", ["x"], ["y"]), node("Constant", [], ["s"], value_strings=["a", "b"])])


# ---- functions and subgraphs ----

def functions():
    def function(name, nodes, inputs=("a",)):
        imports = [helper.make_opsetid("", 20), helper.make_opsetid("f", 1)]
        return helper.make_function("f", name, list(inputs), ["b"], nodes, imports)

    def call(name, read="x", give="y"):
        return helper.make_node(name, [read], [give], domain="f", name="the_call")

    def program(first, *all_):
        return model([call(first)], domains=["f"], functions=all_)
    leaf = function("f0", [node("Relu", ["a"], ["b"])])
    yield "of-itself", BAD, program("r", function("r", [call("r", "a", "b")]))
    yield "of-each-other", BAD, program("r", function("r", [call("s", "a", "b")]), function("s", [call("r", "a", "b")]))
    yield "doubling-40-times", BAD, program("f40", leaf, *(
        function(f"f{i}", [call(f"f{i - 1}", "a", "c"), call(f"f{i - 1}", "c", "b")]) for i in range(1, 41)))
    yield "chain-of-3000", BAD, program("f2999", leaf, *(function(f"f{i}", [call(f"f{i - 1}", "a", "b")]) for i in range(1, 3000)))
    yield "without-its-output", BAD, program("r", function("r", [node("Relu", ["a"], ["c"])]))
    yield "that-reads-outside", BAD, program("r", function("r", [node("Add", ["a", "x"], ["b"])]))
    yield "of-a-domain-without-an-opset", BAD, model([call("r")], functions=[function("r", [node("Relu", ["a"], ["b"])])])
    yield "that-calls-a-domain-without-an-opset", BAD, model([call("s")], domains=["f"], functions=[
        function("s", [helper.make_node("r", ["a"], ["b"], domain="g")]),
        helper.make_function("g", "r", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 20)])])
    yield "without-any-opset", BAD, model([call("r")], domains=["f"], functions=[
        helper.make_function("f", "r", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [])])
    yield "of-opset-0", BAD, model([call("r")], domains=["f"], functions=[
        helper.make_function("f", "r", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 0)])])
    yield "of-opset-9999", BAD, model([call("r")], domains=["f"], functions=[
        helper.make_function("f", "r", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 9999)])])
    yield "of-one-opset-twice", BAD, model([call("r")], domains=["f"], functions=[helper.make_function(
        "f", "r", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 20), helper.make_opsetid("", 11)])])
    relu_ = function("r", [node("Relu", ["a"], ["b"])])
    yield "defined-twice", BAD, program("r", relu_, relu_)
    yield "without-a-name", BAD, program("", function("", [node("Relu", ["a"], ["b"])]))
    yield "unused-and-of-a-domain-without-an-opset", ODD, model([node("Relu", ["x"], ["y"])], functions=[relu_])
    twice = function("r", [node("Relu", ["a"], ["b"])])
    twice.output.append("b")
    yield "with-an-output-twice", BAD, model([helper.make_node("r", ["x"], ["y", "z"], domain="f")], domains=["f"], functions=[twice])
    asks = function("r", [node("Softmax", ["a"], ["b"], axis=1)])
    asks.attribute.append("axis")
    yield "without-its-attribute", ODD, program("r", asks)  # the operator's default holds
    other = helper.make_node("r", ["x"], ["y"], domain="f", name="the_call", frobnicate=3)
    yield "with-an-unknown-attribute", BAD, model([other], domains=["f"], functions=[relu_])
    yield "with-an-input-twice", BAD, model([helper.make_node("r", ["x", "x"], ["y"], domain="f")], domains=["f"],
                                            functions=[function("r", [node("Relu", ["a"], ["b"])], ["a", "a"])])


def graph(nodes, outputs, inputs=()):
    return helper.make_graph(nodes, "inner", list(inputs), list(outputs))


def branches():
    good = graph([node("Relu", ["x"], ["z"])], [value("z")])

    def choice(**bodies):
        return model([node("If", ["c"], ["y"], **bodies)], [value("x"), value("c", (), BOOL)])

    def of(body):
        return choice(then_branch=body, else_branch=good)
    yield "without-else", BAD, choice(then_branch=good)
    yield "no-graphs", BAD, choice(then_branch=1, else_branch=2)
    yield "with-two-outputs", BAD, of(graph([node("Relu", ["x"], ["z"]), node("Neg", ["x"], ["w"])], [value("z"), value("w")]))
    yield "of-another-type", BAD, of(graph([node("Cast", ["x"], ["z"], to=INT64)], [value("z", dtype=INT64)]))
    yield "with-inputs", BAD, of(graph([node("Relu", ["q"], ["z"])], [value("z")], [value("q")]))
    yield "that-reads-nothing", BAD, of(graph([node("Relu", ["nowhere"], ["z"])], [value("z")]))
    yield "that-shadows", BAD, of(graph([node("Relu", ["x"], ["x"])], [value("x")]))
    for name, condition in (("of-floats", value("c", ())), ("of-six", value("c", (6,), BOOL))):
        yield f"condition-{name}", BAD, model([node("If", ["c"], ["y"], then_branch=good, else_branch=good)], [value("x"), condition])


def loops():
    counters = [value("i", (), INT64), value("k", (), BOOL)]
    going = node("Identity", ["k"], ["k2"])
    go = array("t", np.array(True))

    def loop(turns, body, carried=("x",), condition="t"):
        return model([node("Loop", ["m", condition, *carried], ["y"], body=body)], None, None,
                     [array("m", np.array(turns, np.int64)), go, ONES])
    plain = graph([going, node("Relu", ["v"], ["v2"])], [value("k2", (), BOOL), untyped("v2")], [*counters, untyped("v")])
    for turns in (HUGE, LOWEST):
        yield f"of-{turns}-turns", ODD, loop(turns, plain)
    yield "of-constants", ODD, loop(HUGE, plain, ["w"])
    yield "that-collects", BAD, loop(HUGE, graph([going, node("Relu", ["x"], ["v2"])], [value("k2", (), BOOL), value("v2")], counters), [])
    yield "without-body", BAD, model([node("Loop", ["m", "t", "x"], ["y"])], weights=[ints("m"), go])
    yield "of-too-few-inputs", BAD, loop(3, graph([going, node("Relu", ["x"], ["v2"])], [value("k2", (), BOOL), value("v2")], counters[:1]))
    yield "whose-type-changes", BAD, loop(3, graph([going, node("Cast", ["v"], ["v2"], to=INT64)],
                                                   [value("k2", (), BOOL), value("v2", dtype=INT64)], [*counters, value("v")]))
    body = graph([node("Relu", ["e"], ["e2"])], [untyped("e2")], [untyped("e")])
    for count in (0, 2, -1, HUGE, LOWEST):
        yield f"scan-of-{count}", BAD, one("Scan", num_scan_inputs=count, body=body)
    for what in ("scan_input_directions", "scan_output_directions", "scan_input_axes", "scan_output_axes"):
        for given in ([], [0], [0, 0], [2], [-1], [HUGE], [0] * 1000):
            fine = given == [0] or (given == [-1] and what.endswith("axes"))
            if given:  # an empty list of integers is none
                yield f"{what}-{given[:3]}", ODD if fine else BAD, one("Scan", num_scan_inputs=1, body=body, **{what: given})


# ---- sizes that a constant asks for ----

def bombs():
    size = [ints("s", 2**45)]
    for name, op, inputs, weights in (
            ("constant-of-shape", "ConstantOfShape", "s", [ints("s", 2**20, 2**20)]), ("tile", "Tile", "ws", [*size, ONES]),
            ("expand", "Expand", "ws", [*size, ONES]), ("pad", "Pad", "ws", [ints("s", 2**45, 2**45), ONES]),
            ("range", "Range", "abd", [array("a", np.int64(0)), array("b", np.int64(HUGE)), array("d", np.int64(1))]),
            ("one-hot", "OneHot", "abv", [ints("a", 0), array("b", np.int64(2**45)), array("v", np.float32([0, 1]))]),
            ("window", "HannWindow", "b", [array("b", np.int64(2**45))])):
        yield name, BAD if op == "Range" else ODD, folded(op, inputs, weights)
    yield "constant-of-shape-overflow", BAD, folded("ConstantOfShape", "s", [ints("s", 2**40, 2**40)])
    yield "constant-of-shape-negative", BAD, folded("ConstantOfShape", "s", [ints("s", -4)])
    yield "pad-overflow", BAD, folded("Pad", "ws", [ints("s", 2**63 - 1, 2**63 - 1), ONES])
    yield "range-without-step", BAD, folded("Range", "abd", [array("a", np.int64(0)), array("b", np.int64(9)), array("d", np.int64(0))])
    for op in ("Div", "Mod"):
        yield f"lowest-{op}-minus-one", ODD, folded(op, "ab", [ints("a", LOWEST), ints("b", -1)])
        yield f"{op}-zero", ODD, folded(op, "ab", [ints("a", 7, -7), ints("b", 0)])
    yield "gather-from-nothing", BAD, folded("Gather", "ab", [ints("a"), ints("b", 0)])
    yield "random", ODD, model([node("RandomNormal", [], ["c"], shape=[2**22, 2**22]), node("ReduceSum", ["c"], ["y"], keepdims=0)])
    yield "concat-of-itself", BAD, model([node("Concat", ["x" if i == 0 else f"c{i}"] * 8, [f"c{i + 1}"], axis=0) for i in range(20)] +
                                         [node("ReduceSum", ["c20"], ["y"], keepdims=0)])
    yield "concat-of-2000", ODD, model([node("Neg", ["x"], [f"a{i}"]) for i in range(2000)] +
                                       [node("Concat", [f"a{i}" for i in range(2000)], ["y"], axis=0)])
    yield "transform", BAD, model([node("DFT", ["x", "b"], ["y"])], [value("x", (1, 8, 1))], None, [array("b", np.int64(2**45))])


# ---- operators ----

def controls():
    """Text that turns the direction of what follows, hides, or moves the cursor reaches nobody's terminal."""
    for code in (0x202e, 0x2066, 0x200f, 0x061c, 0x2028, 0xfeff, 0x200b, 0xe0041, 0x85, 0x7f, 0xad):
        text = "a" + chr(code) + "b"
        yield f"{code:x}-operator", BAD, model([node(text, ["x"], ["y"])])
        yield f"{code:x}-input", BAD, model([node("Relu", [text], ["y"])])
        # ONNX's own messages name values and attributes.
        yield f"{code:x}-shapes", BAD, model([helper.make_node("MatMul", ["x", "x"], [text], name=text), node("Relu", [text], ["y"])])
        yield f"{code:x}-symbol", BAD, model([helper.make_node("Add", ["x", text], ["y"], name=text)], [value("x", (text, 3)), value(text, (text + "c", 4))])
        yield f"{code:x}-type", BAD, model([helper.make_node("Add", ["x", text], ["y"], name=text)], [value("x"), value(text, dtype=INT64)])
        yield f"{code:x}-cannot-be-compiled", BAD, model([helper.make_node("StringNormalizer", ["x"], [text], name=text), node("Relu", [text], ["y"])])
        yield f"{code:x}-attribute", BAD, model([helper.make_node("Relu", ["x"], ["y"], name="n", **{text: 1})])
        yield f"{code:x}-einsum", BAD, one("Einsum", equation=text)
        yield f"{code:x}-word", BAD, one("MaxPool", shape=(1, 4, 4, 4), kernel_shape=[2, 2], auto_pad=text)


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
    yield "Mod-of-floats", BAD, one("Mod", "xx", fmod=0)
    scalar = {name: array(name, np.int64(size)) for name, size in (("zero", 0), ("some", 16))}
    yield "STFT-without-step", BAD, one("STFT", ["x", "zero", "", "some"], scalar.values(), signal)
    yield "DFT-of-triples", BAD, one("DFT", shape=(1, 8, 3))


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
    yield "attention-half-a-past", BAD, given("MultiHeadAttention", ["x", "x", "x", "", "", "", "x"], **attention)
    for name in ("do_rotary", "past_present_share_buffer"):
        yield name, BAD, given("Attention", ["x", "v"], [array("v", np.ones((6, 18), np.float32))], **attention, **{name: 1})
    yield "weight_prepacked", BAD, given("MatMulNBits", ["x", "q", "w"], [array("q", np.ones((3, 3, 8), np.uint8)), three],
                                         K=6, N=3, block_size=16, weight_prepacked=1)
    yield "unknown-operator", BAD, given("FrobnicateNBits", "x")


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        def network(w=(1, 4, 3), r=(1, 4, 4), **given):
            weights = [array(name, np.ones((d, gates * rows, columns), np.float32)) for name, (d, rows, columns) in (("w", w), ("r", r))]
            return one(op, ["x", "w", "r"], weights, (5, 2, 3), **{"hidden_size": 4, **given})
        for name, given in (("hidden_size", 0), ("hidden_size", -4), ("hidden_size", HUGE), ("direction", "sideways"),
                            ("direction", "bidirectional"), ("activations", ["What"])):
            yield f"{op}-{name}-{given}", BAD, network(**{name: given})
        yield f"{op}-w", BAD, network(w=(1, 4, 9))
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


FAMILIES = (wire, header, interface, names, controls, tensors, external_data, sparse, strings, functions, branches, loops, bombs, attributes, words,
            contrib, recurrent, operands)


def cases(family):
    """name -> (BAD or ODD, the file's bytes)."""
    return {name: (expect, data if isinstance(data, bytes) else data.SerializeToString()) for name, expect, data in family()}
