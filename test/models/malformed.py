"""ONNX files that are wrong, or odd but legal, by class; each from the outside, as somebody may have made it.

`cases()` gives name -> (BAD or ODD, bytes). BAD: refused with exit code 2. ODD: legal, or harmless; it
compiles. They want a file w.bin of 24 bytes, a folder dir and a FIFO of that name beside them.
"""
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

from malformed_operators import attributes, flags, words, contrib, recurrent, operands
from onnxparts import (BAD, ODD, BOOL, FLOAT, HUGE, INT64, LOWEST, ONES, array, folded, ints, model, node, one, relu, untyped, value)


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
    for name, stated in (("shape", value("w", (5, 3))), ("rank", value("w", (6,))), ("type", value("w", dtype=INT64))):
        yield f"default-of-another-{name}", BAD, model([node("Add", ["x", "w"], ["y"])], [value("x"), stated],
                                                       weights=[array("w", np.ones((2, 3), np.float32))])
    yield "default", ODD, model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w", ("N",))], weights=[ONES])
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


FAMILIES = (wire, header, interface, names, controls, tensors, external_data, sparse, strings, functions, branches, loops, bombs, attributes, flags, words,
            contrib, recurrent, operands)


def cases(family):
    """name -> (BAD or ODD, the file's bytes)."""
    return {name: (expect, data if isinstance(data, bytes) else data.SerializeToString()) for name, expect, data in family()}
