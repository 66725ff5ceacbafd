"""`.pt2` files that are wrong, or odd but legal, by class: a good export with its document changed.

`cases(family)` gives name -> (BAD or ODD, bytes), as malformed.py does for ONNX.
"""
import copy
import io
import json
import pathlib
import zipfile

from malformed import BAD, HUGE, ODD

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLAIN = SOURCE / "samples/linear/linear.pt2"  # linear(input[s31, 10], p_weight, p_bias)
DYNAMIC = SOURCE / "test/Import/TorchExport/Inputs/dynamic.pt2"  # x[s77, s27, 4], mask[s27]
COUNTER = SOURCE / "test/integration/torch_export/counter-aten.pt2"  # two buffers that change
BRANCH = SOURCE / "test/Import/TorchExport/Inputs/cond.pt2"
LISTS = SOURCE / "test/Decompose/Aten/Inputs/lists_of_integers.pt2"
TANGENTS = SOURCE / "test/Decompose/Aten/Inputs/tangents_of_two.pt2"
ROWS = SOURCE / "test/Decompose/Aten/Inputs/by_open_rows.pt2"  # vmap of one operand, which uses another


class Document:
    """The parts of model.json that the cases change."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)
        self.name = next(name for name in self.archive.namelist() if name.endswith("models/model.json"))
        self.json = json.loads(self.archive.read(self.name))
        module = self.json["graph_module"]
        self.graph, self.signature = module["graph"], module["signature"]
        self.nodes, self.tensors = self.graph["nodes"], self.graph["tensor_values"]
        self.inputs, self.outputs = self.signature["input_specs"], self.signature["output_specs"]
        self.ranges = self.json["range_constraints"]

    def bytes(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for name in self.archive.namelist():
                archive.writestr(name, json.dumps(self.json) if name == self.name else self.archive.read(name))
        return out.getvalue()


def changed(path, change):
    document = Document(path)
    change(document)
    return document.bytes()


def tensor(name):
    return {"as_tensor": {"name": name}}


def symbol(text):
    return {"as_expr": {"expr_str": text, "hint": None}}


def argument(name, value):
    return {"name": name, "arg": value, "kind": 1}


def user_output(name):
    return {"user_output": {"arg": tensor(name)}}


def rename(document, old, new):
    """`old` is called `new` wherever it stands."""
    text = json.dumps(document.json).replace(json.dumps(old), json.dumps(new))
    document.json = json.loads(text)


def names():
    def two_inputs(d):
        d.inputs.append(copy.deepcopy(d.inputs[2]))
        d.graph["inputs"].append(tensor("input"))
    yield "two-inputs-of-one-name", BAD, changed(PLAIN, two_inputs)

    def input_as_parameter(d):
        d.inputs[2]["user_input"]["arg"] = tensor("p_weight")
        d.graph["inputs"][2] = tensor("p_weight")
    yield "an-input-called-as-a-parameter", BAD, changed(PLAIN, input_as_parameter)
    yield "two-parameters-of-one-target", BAD, changed(PLAIN, lambda d: d.inputs[0]["parameter"].update(parameter_name="bias"))

    def twice(d):
        d.inputs[1]["parameter"]["arg"]["name"] = "p_weight"
        d.graph["inputs"][1] = tensor("p_weight")
    yield "two-parameters-of-one-name", BAD, changed(PLAIN, twice)

    def shadows(d):
        d.nodes.insert(0, {"target": "torch.ops.aten.relu.default", "inputs": [argument("self", tensor("input"))],
                           "outputs": [tensor("p_weight")], "metadata": {}})
    yield "a-node-that-writes-a-parameter", BAD, changed(PLAIN, shadows)
    yield "a-node-that-writes-an-input", BAD, changed(PLAIN, lambda d: d.nodes[0].update(outputs=[tensor("input")]))
    yield "a-node-twice", BAD, changed(PLAIN, lambda d: d.nodes.append(copy.deepcopy(d.nodes[0])))
    yield "a-node-that-reads-nothing", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"][0].update(arg=tensor("nowhere")))
    yield "a-node-that-reads-itself", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"][0].update(arg=tensor("linear")))
    yield "a-name-with-controls", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"][0].update(arg=tensor("a\u202eb\x1b[31m\u2066")))
    yield "a-result-without-a-name", BAD, changed(PLAIN, lambda d: d.nodes[0].update(outputs=[tensor("")]))
    yield "an-input-without-a-name", BAD, changed(PLAIN, lambda d: rename(d, "input", ""))


def signature():
    yield "an-output-that-nothing-makes", BAD, changed(PLAIN, lambda d: d.outputs.append(user_output("nowhere")))
    yield "a-graph-output-that-nothing-makes", BAD, changed(PLAIN, lambda d: d.graph["outputs"].append(tensor("nowhere")))
    yield "a-graph-output-of-another-name", BAD, changed(PLAIN, lambda d: d.graph["outputs"].__setitem__(0, tensor("input")))
    yield "a-graph-output-less", BAD, changed(PLAIN, lambda d: d.graph["outputs"].clear())
    yield "a-graph-input-less", BAD, changed(PLAIN, lambda d: d.graph["inputs"].pop())
    yield "a-graph-input-more", BAD, changed(PLAIN, lambda d: d.graph["inputs"].append(tensor("ghost")))
    yield "a-graph-input-of-another-name", BAD, changed(PLAIN, lambda d: d.graph["inputs"].__setitem__(2, tensor("ghost")))
    yield "no-outputs", BAD, changed(PLAIN, lambda d: (d.outputs.clear(), d.graph["outputs"].clear()))
    yield "an-output-of-an-unknown-kind", BAD, changed(PLAIN, lambda d: d.outputs.__setitem__(0, {"what": {"arg": tensor("linear")}}))
    yield "an-input-of-an-unknown-kind", BAD, changed(PLAIN, lambda d: d.inputs.__setitem__(2, {"what": {"arg": tensor("input")}}))
    yield "a-parameter-that-is-not-there", BAD, changed(PLAIN, lambda d: d.inputs[0]["parameter"].update(parameter_name="ghost"))

    def mutation(**fields):
        return lambda d: d.outputs[0]["buffer_mutation"].update(**fields)
    yield "a-mutation-of-nothing", BAD, changed(COUNTER, mutation(buffer_name="ghost"))
    yield "a-mutation-by-nothing", BAD, changed(COUNTER, mutation(arg={"name": "ghost"}))
    yield "a-mutation-without-a-name", BAD, changed(COUNTER, mutation(arg={}))
    yield "a-mutation-of-another-type", BAD, changed(COUNTER, mutation(arg={"name": "mul"}))
    yield "a-buffer-that-changes-twice", BAD, changed(COUNTER, lambda d: (d.outputs.insert(0, copy.deepcopy(d.outputs[0])),
                                                                      d.graph["outputs"].insert(0, tensor("add"))))


def arguments():
    def with_argument(name, value, path=PLAIN, node=0):
        return changed(path, lambda d: d.nodes[node]["inputs"].append(argument(name, value)))
    yield "an-unknown-name", BAD, with_argument("frobnicate", {"as_int": 3})
    yield "an-unknown-name-of-nothing", BAD, with_argument("frobnicate", {"as_none": True})
    yield "a-name-twice", BAD, with_argument("bias", tensor("p_bias"))
    yield "a-name-of-another-overload", BAD, with_argument("dim", {"as_ints": [0]}, DYNAMIC, 4)  # sum.default
    yield "a-missing-one", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"].pop(1))
    yield "none-at-all", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"].clear())
    yield "without-a-name", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"][2].update(name=""))
    yield "that-is-none", BAD, changed(PLAIN, lambda d: d.nodes[0]["inputs"][1].update(arg={"as_none": True}))
    yield "a-default-left-out", ODD, changed(PLAIN, lambda d: d.nodes[0]["inputs"].pop(2))
    for name, value in (("text", {"as_string": "one"}), ("a-float", {"as_float": 1.5}), ("a-list", {"as_ints": [0, 1]}),
                        ("a-tensor", tensor("x")), ("a-bool", {"as_bool": True}), ("none", {"as_none": True}),
                        ("huge", {"as_int": HUGE}), ("2^64", {"as_int": 2**64}), ("an-axis-that-is-not-there", {"as_int": 3})):
        yield f"dim-is-{name}", BAD, changed(DYNAMIC, lambda d, v=value: d.nodes[3]["inputs"][1].update(arg=v))  # cat
        yield f"size-of-dim-{name}", BAD, changed(DYNAMIC, lambda d, v=value: d.nodes[0]["inputs"][1].update(arg=v))
    yield "a-size-operand-too-many", BAD, with_argument("c", {"as_int": 2}, DYNAMIC, 1)  # _operator.mul
    yield "an-unknown-overload", BAD, changed(PLAIN, lambda d: d.nodes[0].update(target="torch.ops.aten.linear.frob"))
    yield "a-target-of-dots", BAD, changed(PLAIN, lambda d: d.nodes[0].update(target="....."))
    yield "an-empty-target", BAD, changed(PLAIN, lambda d: d.nodes[0].update(target=""))
    yield "results-too-many", BAD, changed(PLAIN, lambda d: (d.nodes[0]["outputs"].append(tensor("more")),
                                                             d.tensors.update(more=copy.deepcopy(d.tensors["linear"]))))
    yield "no-results", BAD, changed(PLAIN, lambda d: d.nodes[0]["outputs"].clear())


def ranges():
    def bounds(low, high, name="s31"):
        return changed(PLAIN, lambda d: d.ranges.__setitem__(name, {"min_val": low, "max_val": high}))
    for low, high in ((9, 3), (1, 0), (-9, -3), (HUGE, 1)):
        yield f"{low}-to-{high}", BAD, bounds(low, high)
    for low, high in ((0, 2**63 - 1), (4, 4), (-5, 4), (None, None), (None, 8), (2, None)):
        yield f"{low}-to-{high}", ODD, bounds(low, high)
    for value in ("four", 1.5, 2**70, [1], {}, True):
        yield f"of-{value!r}"[:20], BAD, bounds(1, value)
    yield "of-no-symbol", BAD, bounds(1, 8, "s31 +")
    yield "of-an-unused-symbol", ODD, bounds(1, 8, "s99")


EXPRESSIONS = (
    ("", BAD), ("   ", BAD), ("s31 +", BAD), ("(s31", BAD), ("s31)", BAD), ("s31 s31", BAD), ("Mul(Integer(2), Symbol('s31'", BAD),
    ("Symbol('s31", BAD), ("Symbol('')", BAD), ("Symbol()", BAD), ("Integer()", BAD), ("Integer('a')", BAD), ("Integer(2.5)", BAD),
    ("2.5", BAD), ("s31.5", BAD), ("Frob(s31)", BAD), ("Frob()", BAD), ("Mul()", BAD), ("Mod(s31)", BAD), ("FloorDiv(s31, 1, 2)", BAD),
    ("Integer(99999999999999999999)", BAD), ("99999999999999999999", BAD), ("s31\u202e", BAD), ("s31\x1b[31m", BAD), ("s31\0", BAD),
    ("Symbol('s31\u202e')", BAD), ("s99", BAD), ("2*s99", BAD), ("s31//0", BAD), ("FloorDiv(s31, 0)", BAD), ("s31 / 0", BAD),
    ("Mod(s31, 0)", BAD), ("4//0", BAD), ("Mod(4, 0)", BAD), ("PythonMod(s31, s31 - s31)", BAD), ("FloorDiv(s31, Integer(0))", BAD),
    ("CeilDiv(s31, 0)", BAD), ("IntTrueDiv(s31, 0)", BAD), ("0**-1", BAD), ("(" * 5000 + "s31" + ")" * 5000, BAD),
    ("-" * 5000 + "s31", BAD), ("+".join(["s31"] * 30_000), BAD), ("9" * 5000, BAD), ("-3", BAD), ("Integer(-1)", BAD),
    ("4611686018427387904*4", BAD), ("2**70", BAD), ("oo", BAD), ("nan", BAD), ("zoo", BAD), ("I", BAD), ("True", BAD))


def expressions():
    """Of the extent of a result, then of that of an input."""
    def extent(name, text):
        return changed(PLAIN, lambda d: d.tensors[name]["sizes"].__setitem__(0, symbol(text)))
    for text, expect in EXPRESSIONS:
        for name in ("linear", "input"):
            own = name == "input" and text in ("s99", "oo", "nan", "zoo", "I", "True")
            yield f"{name}-{text[:30]!r}", ODD if own and text == "s99" else expect, extent(name, text)
    yield "good", ODD, extent("linear", "Symbol('s31', integer=True)")
    yield "good-and-of-another-form", ODD, extent("linear", "FloorDiv(Mul(Integer(2), s31), 2)")
    strides = lambda text: changed(PLAIN, lambda d: d.tensors["input"]["strides"].__setitem__(0, symbol(text)))
    for text in ("", "s31//0", "s99", "Frob(s31)"):
        yield f"stride-{text!r}", BAD, strides(text)
        yield f"offset-{text!r}", BAD, changed(PLAIN, lambda d, t=text: d.tensors["input"].__setitem__("storage_offset", symbol(t)))
    for text in ("s31//0", "s99", "Frob(s31)"):
        yield f"number-{text!r}", BAD, changed(DYNAMIC, lambda d, t=text: d.graph["sym_int_values"].__setitem__("mul", symbol(t)))


def metadata():
    def of(name, **fields):
        return changed(PLAIN, lambda d: d.tensors[name].update(fields))
    for name in ("input", "linear", "p_weight"):
        yield f"{name}-of-dtype-99", BAD, of(name, dtype=99)
        yield f"{name}-of-dtype-text", BAD, of(name, dtype="float")
        yield f"{name}-negative", BAD, of(name, sizes=[{"as_int": -4}, {"as_int": 10}])
        yield f"{name}-huge", BAD, of(name, sizes=[{"as_int": HUGE}, {"as_int": HUGE}])
        yield f"{name}-of-2^64", BAD, of(name, sizes=[{"as_int": 2**64}, {"as_int": 10}])
        yield f"{name}-of-1.5", BAD, of(name, sizes=[{"as_int": 1.5}, {"as_int": 10}])
        yield f"{name}-without-strides", BAD, of(name, strides=[])
        yield f"{name}-of-another-rank", BAD, of(name, sizes=[{"as_int": 10}], strides=[{"as_int": 1}])
        yield f"{name}-sparse", BAD, of(name, layout=1)
        yield f"{name}-without-metadata", BAD, changed(PLAIN, lambda d, n=name: d.tensors.pop(n))
    yield "p_weight-of-another-dtype", BAD, of("p_weight", dtype=5)
    yield "linear-of-another-shape", BAD, of("linear", sizes=[symbol("s31"), {"as_int": 3}])
    yield "p_weight-of-another-shape", BAD, of("p_weight", sizes=[{"as_int": 5}, {"as_int": 4}])
    for name in ("p_weight", "input"):
        yield f"{name}-stride-negative", BAD, of(name, strides=[{"as_int": -1}, {"as_int": 1}])
        yield f"{name}-offset-negative", BAD, of(name, storage_offset={"as_int": -8})
    yield "rank-5000", BAD, of("input", sizes=[{"as_int": 1}] * 5000, strides=[{"as_int": 1}] * 5000)


def documents():
    def of(change):
        return changed(PLAIN, change)
    for version in (7, 9, "8", None, -1):
        yield f"version-{version}", BAD, of(lambda d, v=version: d.json["schema_version"].update(major=v))
    for key in ("graph_module", "schema_version", "range_constraints"):
        yield f"without-{key}", BAD, of(lambda d, k=key: d.json.pop(k))
    for key in ("nodes", "inputs", "outputs", "tensor_values"):
        yield f"graph-without-{key}", BAD, of(lambda d, k=key: d.graph.pop(k))
        yield f"graph-{key}-of-text", BAD, of(lambda d, k=key: d.graph.__setitem__(k, "x"))
    for key in ("target", "inputs", "outputs"):
        yield f"node-without-{key}", BAD, of(lambda d, k=key: d.nodes[0].pop(k))
        yield f"node-{key}-of-7", BAD, of(lambda d, k=key: d.nodes[0].__setitem__(k, 7))
    for name, guards in {"text": "x", "numbers": [7], "lists": [["x"]], "null": None}.items():
        yield f"guards-of-{name}", BAD, of(lambda d, g=guards: d.json.update(guards_code=g))
    for name, guard in {"never": "(L['input'].size()[1]) == 77", "constants": "1 == 2"}.items():
        yield f"guard-{name}", BAD, of(lambda d, g=guard: d.json.update(guards_code=[g]))
    for name, guard in {"unknown-input": "L['nobody'].size()[0] == 77", "unknown-axis": "L['input'].size()[9] == 77",
                        "empty": "", "not-python": "((((", "deep": "(" * 100_000 + "1" + ")" * 100_000,
                        "minus": "-" * 100_000 + "1 == 1", "huge": "9" * 400 + " == 1", "by-zero": "1 // 0 == 1",
                        "axis": "L['input'].size()[99999999999999999999] == 1", "negative-axis": "L['input'].size()[-1] == 77",
                        "truths": "(1 == 1) + 1 == 1", "bidi": "\u202e == 1", "long": "1 == 1 and " * 100_000 + "1 == 1",
                        "overflow": "4611686018427387904 * 4 == 1"}.items():
        yield f"guard-{name}", ODD, of(lambda d, g=guard: d.json.update(guards_code=[g]))
    text = json.dumps(Document(PLAIN).json)

    def raw(content):
        document, out = Document(PLAIN), io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in document.archive.namelist():
                archive.writestr(name, content if name == document.name else document.archive.read(name))
        return out.getvalue()
    yield "not-utf8", BAD, raw(text.encode().replace(b'"linear"', b'"lin\xff\xfear"'))
    yield "cut-short", BAD, raw(text[:-5])
    yield "key-twice", BAD, raw(text[:-1] + ', "range_constraints": {}}')
    yield "nested-100000-deep", BAD, raw("[" * 100_000 + "]" * 100_000)
    yield "a-number-of-10-million-digits", BAD, raw('{"schema_version": {"major": ' + "8" * 10_000_000 + "}}")


def operators():
    """One node in place of the product, with numbers that no tensor has."""
    def of(op, rank=2, **arguments):
        def change(d):
            d.nodes[0].update(target=f"torch.ops.aten.{op}", inputs=[argument(n, v) for n, v in arguments.items()])
            if op.startswith("upsample"):  # images of one axis
                d.tensors["input"].update(sizes=[{"as_int": 1}, {"as_int": 4}, {"as_int": 10}], strides=[{"as_int": n} for n in (40, 10, 1)])
            d.tensors["linear"].update(sizes=[symbol(f"u{i}") for i in range(rank)], strides=[{"as_int": 1}] * rank)
        return changed(PLAIN, change)
    x, number, real, list_, reals = tensor("input"), *(lambda v, kind=kind: {kind: v} for kind in ("as_int", "as_float", "as_ints", "as_floats"))
    dtype = {"as_scalar_type": 7}
    yield "good", ODD, of("sum.dim_IntList", self=x, dim=list_([1]), keepdim={"as_bool": True})
    for end in ("Infinity", "-Infinity", "NaN"):
        yield f"arange-to-{end}", BAD, of("arange.start_step", 1, start=number(0), end=real(end), step=number(1), dtype=dtype)
    for end, step in ((1e300, 1.0), (1.0, 0.0), (1.0, 1e-300)):
        yield f"arange-to-{end}-by-{step}", BAD, of("arange.start_step", 1, start=real(0.0), end=real(end), step=real(step), dtype=dtype)
    yield "pool-to-2^62-windows", BAD, of("adaptive_avg_pool1d.default", self=x, output_size=list_([2**62]))
    for size in ([HUGE, HUGE], [-1, 4], [2**40, 2**40]):
        yield f"full-{size}", BAD, of("full.default", size=list_(size), fill_value=real(1.0), dtype=dtype)
    for shape in ([-1, -1], [-2, 5], [7, 3, HUGE]):
        yield f"view-{shape}", BAD, of("view.default", len(shape), self=x, size=list_(shape))
    for scale in (1e30, -1.0, 0.0, "Infinity", "NaN"):
        yield f"upsample-by-{scale}", BAD, of("upsample_nearest1d.vec", 3, input=x, output_size={"as_none": True}, scale_factors=reals([scale]))
    for op, arguments in (("repeat", {"repeats": list_([-1, 2])}),
                          ("permute", {"dims": list_([0, 0])}), ("permute", {"dims": list_([0])}), ("squeeze", {"dim": number(9)}),
                          ("repeat", {"repeats": list_([1, 2**62])}), ("repeat", {"repeats": list_([2**62, 2**62])}),
                          ("tile", {"dims": list_([1, 2**62])}), ("constant_pad_nd", {"pad": list_([1])}),
                          ("constant_pad_nd", {"pad": list_([0, 2**62])}), ("constant_pad_nd", {"pad": list_([0, 2**63 - 1])}),
                          ("repeat_interleave", {"repeats": number(2**62), "dim": number(1)}),
                          ("select", {"dim": number(1), "index": number(10)}), ("expand", {"size": list_([-1, 11])}),
                          ("unfold", {"dimension": number(1), "size": number(11), "step": number(1)}),
                          ("unfold", {"dimension": number(1), "size": number(2), "step": number(0)}),
                          ("topk", {"k": number(11)}), ("topk", {"k": number(-1)}), ("chunk", {"chunks": number(0)}),
                          ("split", {"split_size": number(-3)})):
        overload = {"squeeze": "dim", "select": "int", "split": "Tensor",
                    "repeat_interleave": "self_int"}.get(op, "default")
        yield f"{op}-{list(arguments.values())}"[:60], BAD, of(f"{op}.{overload}", self=x, **arguments)


def empty():
    """Reductions that PyTorch refuses over an axis without elements, and some that it knows."""
    def of(sizes, op, results=1, **arguments):
        def change(d):
            strides = [{"as_int": 1}] * len(sizes)
            d.tensors["input"].update(sizes=[{"as_int": n} for n in sizes], strides=strides)
            d.nodes[0].update(target=f"torch.ops.aten.{op}",
                              inputs=[argument(name, value) for name, value in {"self": tensor("input"), **arguments}.items()])
            d.tensors["linear"].update(sizes=[symbol(f"u{i}") for i in range(1)], strides=[{"as_int": 1}])
            if results > 1:
                d.tensors["where"] = {**copy.deepcopy(d.tensors["linear"]), "dtype": 5}
                d.nodes[0]["outputs"].append(tensor("where"))
        return changed(PLAIN, change)
    zero, axes = {"as_int": 0}, {"as_ints": [0]}
    for sizes in ([0, 4], [0, 0]):
        for op, count, arguments in [("amax.default", 1, {"dim": axes}), ("amin.default", 1, {"dim": axes}), ("argmax.default", 1, {"dim": zero}),
                                     ("argmin.default", 1, {"dim": zero}), ("max.dim", 2, {"dim": zero}), ("min.dim", 2, {"dim": zero}),
                                     ("linalg_vector_norm.default", 1, {"ord": {"as_float": "Infinity"}, "dim": axes}),
                                     ("linalg_vector_norm.default", 1, {"ord": {"as_float": -1.0}, "dim": axes}),
                                     ("median.dim", 2, {"dim": zero}), ("mode.default", 2, {"dim": zero})]:
            yield f"{op}-{count}-{arguments}-{sizes}", BAD, of(sizes, op, count, **arguments)
    for op, arguments in [("amax.default", {"dim": axes}), ("argmax.default", {"dim": zero}), ("sum.dim_IntList", {"dim": axes})]:
        yield f"{op}-of-others", ODD, of([4, 0], op, **arguments)
    yield "sum", ODD, of([0, 4], "sum.dim_IntList", dim=axes)


def branches():
    def of(change):
        def apply(d):
            node = next(n for n in d.nodes if n["target"].endswith("cond"))
            change(d, node)
        return changed(BRANCH, apply)

    def body(node, i=1):
        return node["inputs"][i]["arg"]["as_graph"]["graph"]
    yield "whose-output-nothing-makes", BAD, of(lambda d, n: body(n)["outputs"].__setitem__(0, tensor("ghost")))
    yield "with-an-output-more", BAD, of(lambda d, n: body(n)["outputs"].append(copy.deepcopy(body(n)["outputs"][0])))
    yield "with-no-output", BAD, of(lambda d, n: body(n)["outputs"].clear())
    yield "with-an-input-twice", BAD, of(lambda d, n: body(n)["inputs"].append(copy.deepcopy(body(n)["inputs"][0])))
    yield "with-an-input-more", BAD, of(lambda d, n: body(n)["inputs"].append(tensor("ghost")))
    yield "without-else", BAD, of(lambda d, n: n["inputs"].pop(2))
    yield "without-condition", BAD, of(lambda d, n: n["inputs"].pop(0))
    yield "with-an-argument-more", BAD, of(lambda d, n: n["inputs"].append(argument("", {"as_int": 1})))


class Calls:
    """Changes to the calls around the nodes that a transformation runs, by the calls' names."""

    def __init__(self, path, opens, closes, wraps, unwraps):
        self.path, self.opens, self.closes, self.wraps, self.unwraps = path, opens, closes, wraps, unwraps

    def of(self, change):
        def apply(d):
            place = {}
            for i, node in enumerate(d.nodes):
                if "predispatch" in node["target"]:
                    place.setdefault(node["target"].rsplit(".", 1)[-1], i)
            change(d, place)
        return changed(self.path, apply)

    def put(self, call, index, value):
        return self.of(lambda d, at: d.nodes[at[call]]["inputs"][index].update(arg=value))

    def cases(self):
        """Of any transformation."""
        of, opens, wraps = self.of, self.opens, self.wraps
        yield "good", ODD, of(lambda d, at: None)
        yield "without-end", BAD, of(lambda d, at: d.nodes.pop(at[self.closes]))
        yield "without-begin", BAD, of(lambda d, at: d.nodes.pop(at[opens]))
        yield "opened-twice", BAD, of(lambda d, at: d.nodes.insert(at[opens], copy.deepcopy(d.nodes[at[opens]])))
        yield "of-no-operand", BAD, of(lambda d, at: d.nodes.pop(at[wraps]))
        yield "without-result", BAD, of(lambda d, at: d.nodes.pop(at[self.unwraps]))
        yield "of-a-number", BAD, self.put(wraps, 0, {"as_int": 1})
        yield "of-what-nothing-makes", BAD, self.put(wraps, 0, tensor("ghost"))
        yield "giving-what-nothing-makes", BAD, self.put(self.unwraps, 0, tensor("ghost"))
        yield "without-arguments", BAD, of(lambda d, at: d.nodes[at[wraps]]["inputs"].clear())
        yield "with-two-results", BAD, of(lambda d, at: d.nodes[at[wraps]]["outputs"].append(tensor("ghost")))


def rows():
    """The calls around the nodes that a vmap runs."""
    calls = Calls(ROWS, "_vmap_increment_nesting", "_vmap_decrement_nesting", "_add_batch_dim", "_remove_batch_dim")
    yield from calls.cases()
    yield "same-random-numbers", BAD, calls.put(calls.opens, 1, {"as_string": "same"})
    for axis in (2, -9, HUGE):
        yield f"over-axis-{axis}", BAD, calls.put(calls.wraps, 1, {"as_int": axis})
        yield f"along-axis-{axis}", BAD, calls.put(calls.unwraps, 3, {"as_int": axis})
    yield "over-axis-none", BAD, calls.put(calls.wraps, 1, {"as_none": True})


def tangents():
    """The calls around the nodes that a jvp runs."""
    calls = Calls(TANGENTS, "_jvp_increment_nesting", "_jvp_decrement_nesting", "_make_dual", "_unpack_dual")
    yield from calls.cases()
    yield "without-name", BAD, calls.of(lambda d, at: d.nodes.pop(at["_unwrap_for_grad"]))
    yield "by-a-number", BAD, calls.put(calls.wraps, 1, {"as_int": 1})
    yield "by-what-nothing-makes", BAD, calls.put(calls.wraps, 1, tensor("ghost"))
    yield "with-one-result", BAD, calls.of(lambda d, at: d.nodes[at[calls.unwraps]]["outputs"].pop())


def lists():
    """An operator on lists of tensors."""
    def of(change):
        return changed(LISTS, lambda d: change(next(n for n in d.nodes if n["target"].endswith("_foreach_add.List"))))

    def listed(names):
        return {"as_tensors": [{"name": name} for name in names]}
    yield "good", ODD, of(lambda n: None)
    yield "shorter", BAD, of(lambda n: n["inputs"][1]["arg"]["as_tensors"].pop())
    yield "longer", BAD, of(lambda n: n["inputs"][1].update(arg=listed(["args_0"] * 3)))
    yield "with-fewer-results", BAD, of(lambda n: n["outputs"][0]["as_tensors"].pop())
    yield "without-results", BAD, of(lambda n: n["outputs"].clear())
    yield "of-what-nothing-makes", BAD, of(lambda n: n["inputs"][1].update(arg=listed(["ghost"] * 2)))
    yield "of-one-tensor", BAD, of(lambda n: n["inputs"][0].update(arg=tensor("args_0")))
    yield "of-none", BAD, of(lambda n: n["inputs"][0].update(arg={"as_none": True}))
    yield "that-is-none", BAD, of(lambda n: n["inputs"][0].update(arg={"as_tensors": 3}))
    yield "of-numbers", BAD, of(lambda n: n["inputs"][1].update(arg={"as_tensors": [1, 2]}))
    yield "giving-none", BAD, of(lambda n: n["outputs"][0].update(as_tensors=3))
    yield "without-one", BAD, of(lambda n: n["inputs"].pop())
    yield "unknown", BAD, of(lambda n: n.update(target="torch.ops.aten._foreach_add.Strange"))
    yield "of-no-operator", BAD, of(lambda n: n.update(target="torch.ops.aten._foreach_.List"))


def gradients():
    """Arguments of gradients that do not fit what they are of."""
    def of(file, operator, **values):
        def change(d):
            node = next(n for n in d.nodes if n["target"].endswith(f".{operator}.default"))
            kept = [i for i in node["inputs"] if i["name"] not in values]
            node["inputs"] = kept + [argument(name, value) for name, value in values.items()]
        return changed(SOURCE / f"test/Decompose/Aten/Inputs/gradients_of_{file}.pt2", change)

    def ints(*values):
        return {"as_ints": list(values)}
    for kind in ("reflection", "replication"):
        for padding in ((9, 9), (HUGE, 1), (-HUGE, HUGE), (1,), (), (1, 1, 1, 1), (-99, 1)):
            yield f"{kind}-{padding}", BAD, of("borders", f"{kind}_pad1d_backward", padding=ints(*padding))
    for name, value in (("size", 3), ("size", -1), ("size", HUGE), ("step", 0), ("step", HUGE), ("step", 99), ("dim", 7)):
        yield f"windows-{name}-{value}", BAD, of("selections", "unfold_backward", **{name: {"as_int": value}})
    yield "windows-of-sizes", BAD, of("selections", "unfold_backward", input_sizes=ints(2))
    yield "windows-of-fewer", BAD, of("selections", "unfold_backward", input_sizes=ints(2, 6))
    for name, value in (("dim1", 5), ("dim2", 0)):
        yield f"diagonal-{name}-{value}", BAD, of("selections", "diagonal_backward", **{name: {"as_int": value}})
    yield "diagonal-of-sizes", BAD, of("selections", "diagonal_backward", input_sizes=ints(4))
    yield "masked-of-sizes", BAD, of("selections", "masked_scatter_backward", sizes=ints(-4, 6))
    for name in ("interpolation_mode", "padding_mode"):
        for value in (3, -1, HUGE):
            yield f"samples-{name}-{value}", BAD, of("samples", "grid_sampler_2d_backward", **{name: {"as_int": value}})
    yield "samples-of-others", BAD, of("samples", "grid_sampler_2d_backward", grid=tensor("args_1"))
    yield "bags-of-rows", BAD, of("bags", "_embedding_bag_backward", num_weights={"as_int": -1})
    yield "bags-of-matrices", BAD, of("bags", "_embedding_bag_backward", indices=tensor("args_0"))
    yield "distances-of-others", BAD, of("distances", "_cdist_backward", x1=tensor("args_3"))
    yield "margins-of-others", BAD, of("margins", "multi_margin_loss_backward", target=tensor("args_2"))
    yield "segments-along-9", BAD, of("segments", "_segment_reduce_backward", axis={"as_int": 9})


FAMILIES = (gradients, lists, tangents, names, signature, arguments, ranges, expressions, metadata, documents, operators, empty, branches, rows)


def cases(family):
    return {name: (expect, data) for name, expect, data in family()}
