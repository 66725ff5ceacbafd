"""Random ONNX graphs of more families than randomgraph.py's: integers, truths, f16 and f64, quantisation,
control flow, recurrent layers, sequences, and results whose extents depend on data.

    python test/models/typedgraph.py --seeds 0:200      compiles each, compares with ONNX Runtime

Floats that go on to other types are exact ones (see Value in randomgraph.py), so that integers compare bit by bit.
Values of other types lie in `typed`, by their ONNX type; the operators of the base class read floats alone.
"""
import numpy as np
from onnx import TensorProto, helper

from randomgraph import RandomGraph, Value, run_seeds

NUMPY = {TensorProto.INT32: np.int32, TensorProto.INT64: np.int64, TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8,
         TensorProto.BOOL: np.bool_, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64,
         TensorProto.FLOAT: np.float32}
WIDE = (TensorProto.INT32, TensorProto.INT64)
FLOATS = (TensorProto.FLOAT16, TensorProto.DOUBLE)


class TypedGraph(RandomGraph):
    def __init__(self, seed, operators=14):
        self.typed = []
        super().__init__(seed, operators)

    def emit_typed(self, type_, op, inputs, dims, outputs=1, keep=True, **attributes):
        value = self.emit(op, inputs, dims, True, outputs, keep=False, **attributes)
        value.type = type_
        if keep:
            self.typed.append(value)
        return value

    def typed_value(self, *types):
        """A value of one of these types; made of a float where there is none yet."""
        fits = [v for v in self.typed if v.type in types]
        if fits and self.integers(0, 4):
            return self.choice(fits[-4:])
        exact = [v for v in self.values if v.exact]
        x, type_ = self.choice(exact), self.choice(types)
        if type_ == TensorProto.DOUBLE:
            return self.emit_typed(type_, "Cast", [x.name], x.dims, to=type_)
        scaled = self.emit("Mul", [x.name, self.weight(np.float32(self.choice((1, 3, 17))))], x.dims, True, keep=False)
        whole = self.emit("Round", [scaled.name], x.dims, True, keep=False)
        if type_ == TensorProto.FLOAT16:  # few bits: ONNX Runtime drops a rounding to f16 before a sum in f32
            whole = self.emit("Mul", [whole.name, self.weight(np.float32(0.125))], x.dims, True, keep=False)
        if type_ == TensorProto.UINT8:
            whole = self.emit("Abs", [whole.name], x.dims, True, keep=False)
        return self.emit_typed(type_, "Cast", [whole.name], x.dims, to=type_)

    def constant_like(self, type_, low=1, high=6):
        return self.weight(np.array(self.integers(low, high), NUMPY[type_]))

    def pair(self, x):
        fits = [y for y in self.typed if y.type == x.type and len(y.dims) <= len(x.dims) and
                all(a in (1, b) for a, b in zip(reversed(y.dims), reversed(x.dims)))]
        return self.choice(fits) if fits else x

    # Integers and truths.
    def op_whole_binary(self, _):
        x = self.typed_value(*WIDE)
        op = self.choice(("Add", "Sub", "Mul", "Max", "Min"))
        return self.emit_typed(x.type, op, [x.name, self.pair(x).name], x.dims)

    def op_whole_divide(self, _):
        x = self.typed_value(*WIDE, TensorProto.UINT8, TensorProto.INT8)
        divisor = self.choice((1, 2, 3, 7, -3)) if x.type != TensorProto.UINT8 else self.choice((1, 2, 3, 7))
        by = self.weight(np.array(divisor, NUMPY[x.type]))
        if self.integers(0, 2):
            return self.emit_typed(x.type, "Mod", [x.name, by], x.dims, fmod=self.integers(0, 2))
        return x.type in WIDE and self.emit_typed(x.type, "Div", [x.name, by], x.dims)

    def op_bits(self, _):
        x = self.typed_value(*WIDE, TensorProto.UINT8, TensorProto.INT8)
        op = self.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"))
        return self.emit_typed(x.type, op, [x.name] if op == "BitwiseNot" else [x.name, self.pair(x).name], x.dims)

    def op_shift(self, _):
        x = self.typed_value(TensorProto.UINT8)
        return self.emit_typed(x.type, "BitShift", [x.name, self.weight(np.uint8(self.integers(0, 8)))], x.dims,
                               direction=self.choice(("LEFT", "RIGHT")))

    def op_compare(self, _):
        x = self.typed_value(*WIDE, *FLOATS)
        op = self.choice(("Less", "GreaterOrEqual", "Equal", "LessOrEqual"))
        return self.emit_typed(TensorProto.BOOL, op, [x.name, self.pair(x).name if self.integers(0, 2) else
                                                      self.constant_like(x.type)], x.dims)

    def op_logic(self, _):
        x = self.typed_value(TensorProto.BOOL)
        op = self.choice(("And", "Or", "Xor", "Not"))
        return self.emit_typed(x.type, op, [x.name] if op == "Not" else [x.name, self.pair(x).name], x.dims)

    def op_cast(self, _):
        x = self.typed_value(*WIDE, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL)
        return self.emit_typed(to := self.choice((*WIDE, TensorProto.BOOL, TensorProto.INT8, TensorProto.DOUBLE)), "Cast",
                               [x.name], x.dims, to=to)

    def op_to_float(self, _):
        x = self.typed_value(*WIDE, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL, *FLOATS)
        return self.emit("Cast", [x.name], x.dims, x.type not in FLOATS, to=TensorProto.FLOAT)

    def op_whole_reduce(self, _):
        x = self.typed_value(*WIDE)
        axis, keep = self.integers(0, len(x.dims)), self.integers(0, 2)
        dims = [1 if a == axis else d for a, d in enumerate(x.dims) if keep or a != axis]
        op = self.choice(("ReduceSum", "ReduceMax", "ReduceMin"))
        return bool(dims) and self.emit_typed(x.type, op, [x.name, self.ints([axis])], dims, keepdims=keep)

    def op_whole_cumsum(self, _):
        x = self.typed_value(*WIDE)
        return self.emit_typed(x.type, "CumSum", [x.name, self.weight(np.int64(self.integers(0, len(x.dims))))], x.dims,
                               reverse=self.integers(0, 2), exclusive=self.integers(0, 2))

    def op_narrow_unary(self, _):
        x = self.typed_value(*FLOATS)
        return self.emit_typed(x.type, self.choice(("Relu", "Neg", "Abs", "Identity")), [x.name], x.dims)

    def op_narrow_binary(self, _):
        x = self.typed_value(*FLOATS)
        return self.emit_typed(x.type, self.choice(("Add", "Sub", "Mul")), [x.name, self.constant_like(x.type)], x.dims)

    def op_move(self, _):
        """A view or a movement of a value that is no float."""
        x = self.typed_value(*WIDE, TensorProto.UINT8, TensorProto.BOOL, *FLOATS)
        kind = self.integers(0, 4)
        if kind == 0:
            p = [int(a) for a in self.random.permutation(len(x.dims))]
            return self.emit_typed(x.type, "Transpose", [x.name], [x.dims[a] for a in p], perm=p)
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not axes:
            return None
        axis = self.choice(axes)
        n = x.dims[axis]
        if kind == 1:
            step = self.choice((1, 2, -1))
            start, end = (n - 1, -n - 1) if step < 0 else (1, n)
            dims = [len(range(n)[start::step]) if a == axis else d for a, d in enumerate(x.dims)]
            return self.emit_typed(x.type, "Slice", [x.name, *(self.ints([i]) for i in (start, end, axis, step))], dims)
        if kind == 2:
            dims = [n + n if a == axis else d for a, d in enumerate(x.dims)]
            return self.emit_typed(x.type, "Concat", [x.name, x.name], dims, axis=axis)
        index = [self.integers(-n, n) for _ in range(3)]
        return self.emit_typed(x.type, "Gather", [x.name, self.ints(index)], [3 if a == axis else d for a, d in enumerate(x.dims)],
                               axis=axis)

    # Between floats and the other types.
    def op_where_truth(self, x):
        fits = [m for m in self.typed if m.type == TensorProto.BOOL and len(m.dims) <= len(x.dims) and
                all(a in (1, b) for a, b in zip(reversed(m.dims), reversed(x.dims)))]
        return bool(fits) and self.emit("Where", [self.choice(fits).name, x.name, self.weight(np.float32(-1))], x.dims, x.exact)

    def op_one_hot(self, _):
        x = self.typed_value(TensorProto.INT64)
        if len(x.dims) > 4:
            return None
        return self.emit("OneHot", [x.name, self.ints(4), self.weight(np.array([0, 1], np.float32))], x.dims + [4], True)

    def op_gather_elements(self, x):
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not axes:
            return None
        axis = self.choice(axes)
        index = self.emit("TopK", [x.name, self.ints([2])], [2 if a == axis else d for a, d in enumerate(x.dims)], outputs=2,
                          keep=False, axis=axis) if x.exact else None
        return index and self.emit("GatherElements", [x.name, f"v{self.count - 1}"], index.dims, True, axis=axis)

    def op_scatter_nd(self, x):
        if not isinstance(x.dims[0], int) or x.dims[0] < 2:
            return None
        update = self.emit("Slice", [x.name, self.ints([0]), self.ints([1]), self.ints([0])], [1] + x.dims[1:], keep=False)
        return self.emit("ScatterND", [x.name, self.ints([[x.dims[0] - 1]]), update.name], x.dims, x.exact,
                         reduction=self.choice(("none", "add", "max")))

    def op_quantise(self, x):
        """To bytes and back: only what is exact, that a half is rounded to the same side."""
        if not x.exact:
            return None
        type_ = self.choice((np.uint8, np.int8))
        scale, zero = self.weight(np.float32(0.0625)), self.weight(type_(self.choice((0, 3))))
        q = self.emit_typed(TensorProto.UINT8 if type_ is np.uint8 else TensorProto.INT8, "QuantizeLinear",
                            [x.name, scale, zero], x.dims)
        return self.emit("DequantizeLinear", [q.name, scale, zero], x.dims, True)

    def op_matmul_integer(self, _):
        x = self.typed_value(TensorProto.UINT8)
        if not isinstance(x.dims[-1], int) or not x.dims[-1] or len(x.dims) < 2:
            return None
        w = self.weight(self.random.integers(-100, 100, (x.dims[-1], 5)).astype(np.int8))
        zeros = [self.weight(np.uint8(7)), self.weight(np.int8(-2))][:self.integers(0, 3)]
        return self.emit_typed(TensorProto.INT32, "MatMulInteger", [x.name, w, *zeros], x.dims[:-1] + [5])

    # Layers.
    def op_recurrent(self, x):
        if len(x.dims) != 3 or not isinstance(x.dims[-1], int) or not x.dims[-1]:
            return None
        op, gates = self.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
        direction = self.choice(("forward", "reverse", "bidirectional"))
        d, hidden = 1 + (direction == "bidirectional"), self.choice((3, 8))
        inputs = [x.name, self.floats(d, gates * hidden, x.dims[-1]), self.floats(d, gates * hidden, hidden)]
        if self.integers(0, 2):
            inputs.append(self.floats(d, 2 * gates * hidden))
        more = {"linear_before_reset": self.integers(0, 2)} if op == "GRU" else {}
        y = self.emit(op, inputs, [x.dims[0], d, x.dims[1], hidden], outputs=2 + (op == "LSTM"), hidden_size=hidden,
                      direction=direction, **more)
        self.values.append(Value(f"v{self.count - (1 if op != 'LSTM' else 2)}", [d, x.dims[1], hidden], False))
        return y

    def op_transposed_conv(self, x):
        if len(x.dims) not in (3, 4) or not isinstance(x.dims[1], int) or x.dims[1] == 0 or \
                not all(isinstance(d, int) for d in x.dims[2:]) or not all(x.dims[2:]):
            return None
        c, spatial = x.dims[1], len(x.dims) - 2
        stride, kernel = self.choice((1, 2)), self.choice((2, 3))
        return self.emit("ConvTranspose", [x.name, self.floats(c, 3, *[kernel] * spatial)],
                         [x.dims[0], 3] + [(d - 1) * stride + kernel for d in x.dims[2:]], strides=[stride] * spatial)

    def op_resize(self, x):
        if len(x.dims) != 4 or not all(isinstance(d, int) and d for d in x.dims[2:]):
            return None
        mode = self.choice(("nearest", "linear", "cubic"))
        scale = self.choice((2, 3))
        return self.emit("Resize", [x.name, "", self.weight(np.array([1, 1, scale, 2], np.float32))],
                         x.dims[:2] + [x.dims[2] * scale, x.dims[3] * 2], mode=mode, **({} if mode == "nearest" else {
                             "coordinate_transformation_mode": self.choice(("half_pixel", "align_corners", "asymmetric"))}))

    def op_depth(self, x):
        if len(x.dims) != 4 or not isinstance(x.dims[1], int) or x.dims[1] % 4 or not x.dims[1]:
            return None
        if not all(isinstance(d, int) for d in x.dims[2:]):
            return None
        return self.emit("DepthToSpace", [x.name], [x.dims[0], x.dims[1] // 4, x.dims[2] * 2, x.dims[3] * 2], x.exact,
                         blocksize=2, mode=self.choice(("DCR", "CRD")))

    def op_norm(self, x):
        if len(x.dims) < 3 or not isinstance(x.dims[1], int) or not x.dims[1]:
            return None
        c = x.dims[1]
        return self.emit("InstanceNormalization", [x.name, self.floats(c), self.floats(c)], x.dims, epsilon=1e-1)

    def op_lp_norm(self, x):
        shifted = self.emit("Add", [x.name, self.weight(np.float32(3))], x.dims, keep=False)
        return self.emit("LpNormalization", [shifted.name], x.dims, axis=self.integers(0, len(x.dims)), p=self.choice((1, 2)))

    def op_einsum(self, x):
        if len(x.dims) != 3:
            return None
        equation, dims = self.choice((("bij,bkj->bik", [0, 1, 1]), ("bij,bij->bj", [0, 2]), ("bij,bij->i", [1]),
                                      ("bij,bik->bkj", [0, 2, 2])))
        return self.emit("Einsum", [x.name, x.name], [x.dims[a] for a in dims], equation=equation)

    def op_trilu(self, x):
        return len(x.dims) > 1 and self.emit("Trilu", [x.name, self.ints(self.integers(-1, 2))], x.dims, x.exact, upper=self.integers(0, 2))

    def op_gemm(self, x):
        if len(x.dims) != 2 or not isinstance(x.dims[1], int) or not x.dims[1]:
            return None
        t = self.integers(0, 2)
        w = self.floats(*((7, x.dims[1]) if t else (x.dims[1], 7)))
        return self.emit("Gemm", [x.name, w, self.floats(7)], [x.dims[0], 7], alpha=0.5, beta=2.0, transB=t)

    # Control flow.
    def graph_of(self, name, nodes, inputs, outputs):
        info = lambda names: [helper.make_value_info(n, t) for n, t in names]
        return helper.make_graph(nodes, name, info(inputs), info(outputs))

    def float_type(self, dims):
        return helper.make_tensor_type_proto(TensorProto.FLOAT, [None] * len(dims))

    def op_if(self, x):
        """On a float's sum or on an extent; the branches read values from outside."""
        if not x.exact:
            return None
        shape = self.emit("Size", [x.name], [], keep=False)
        limit = self.ints(self.choice((0, 60, 100)))
        condition = self.emit("Greater", [shape.name, limit], [], keep=False)
        if self.integers(0, 2):
            flat = self.emit("ReduceMax", [x.name], [], keep=False, keepdims=0)
            condition = self.emit("Less", [flat.name, self.weight(np.float32(1.5))], [], keep=False)
        n = self.count
        branch = lambda op, i: self.graph_of(f"b{i}", [
            helper.make_node(op, [x.name], [f"t{n}_{i}"]), helper.make_node("Mul", [f"t{n}_{i}", self.weight(np.float32(i + 2))],
                                                                            [f"r{n}_{i}"])],
            [], [(f"r{n}_{i}", self.float_type(x.dims))])
        return self.emit("If", [condition.name], x.dims, then_branch=branch("Tanh", 0),
                         else_branch=branch(self.choice(("Neg", "Identity", "Sigmoid")), 1))

    def op_loop(self, x):
        """Carried and collected values; some carried value is swapped with another."""
        if len(x.dims) > 4:
            return None
        n, count = self.count, self.choice((0, 1, 3))
        tensor = self.float_type(x.dims)
        body = [helper.make_node("Add", [f"a{n}", x.name], [f"c{n}"]), helper.make_node("Tanh", [f"c{n}"], [f"d{n}"]),
                helper.make_node("Identity", [f"k{n}"], [f"g{n}"])]
        truth = helper.make_tensor_type_proto(TensorProto.BOOL, [])
        loop = self.graph_of("body", body, [(f"i{n}", helper.make_tensor_type_proto(TensorProto.INT64, [])), (f"k{n}", truth),
                                            (f"a{n}", tensor), (f"b{n}", tensor)],
                             [(f"g{n}", truth), (f"b{n}", tensor), (f"d{n}", tensor), (f"c{n}", tensor)])
        other = self.choice([y for y in self.values if y.dims == x.dims])
        y = self.emit("Loop", [self.ints(count), "", x.name, other.name], x.dims, outputs=3, body=loop)
        self.values.append(Value(f"v{self.count - 2}", x.dims, False))
        if count:  # of no turn, ONNX Runtime leaves the extents 0 that it does not know
            self.extra.append(Value(f"v{self.count - 1}", [None] + x.dims, False))
        return y

    def op_scan(self, x):
        if len(x.dims) < 2 or len(x.dims) > 5:
            return None
        n, axis = self.count, self.integers(0, len(x.dims))
        inner = [d for a, d in enumerate(x.dims) if a != axis]
        start = self.emit("ReduceSum", [x.name, self.ints([axis])], inner, keep=False, keepdims=0)
        tensor = self.float_type(inner)
        body = self.graph_of("body", [helper.make_node("Add", [f"s{n}", f"x{n}"], [f"p{n}"]),
                                      helper.make_node("Tanh", [f"p{n}"], [f"q{n}"]),
                                      helper.make_node("Mul", [f"q{n}", f"x{n}"], [f"y{n}"])],
                             [(f"s{n}", tensor), (f"x{n}", tensor)], [(f"q{n}", tensor), (f"y{n}", tensor)])
        last = self.emit("Scan", [start.name, x.name], inner, outputs=2, body=body, num_scan_inputs=1, scan_input_axes=[axis],
                         scan_input_directions=[self.integers(0, 2)], scan_output_axes=[axis],
                         scan_output_directions=[self.integers(0, 2)])
        self.values.append(Value(f"v{self.count - 1}", x.dims, False))
        return last

    # Results whose extents depend on data end the chain: a sum goes on.
    def op_compress(self, x):
        if not x.exact:
            return None
        flat = self.emit("Reshape", [x.name, self.ints([-1])], [None], True, keep=False)
        mask = self.emit("Greater", [flat.name, self.weight(np.float32(0.3))], [None], keep=False)
        kept = self.emit("Compress", [flat.name, mask.name], [None], True, keep=False)
        self.extra.append(kept)
        return self.emit("Add", [x.name, self.small_sum(kept)], x.dims)

    def small_sum(self, x):
        """Of a vector of any length; a small number, since what reads it may oscillate."""
        total = self.emit("ReduceSum", [x.name, self.ints([0])], [1], keep=False, keepdims=1)
        return self.emit("Mul", [total.name, self.weight(np.float32(0.01))], [1], keep=False).name

    def op_non_zero(self, x):
        if not x.exact:
            return None
        where = self.emit("NonZero", [self.emit("Relu", [x.name], x.dims, keep=False).name], [len(x.dims), None], keep=False)
        rows = self.emit("Transpose", [where.name], [None, len(x.dims)], keep=False, perm=[1, 0])
        picked = self.emit("GatherND", [x.name, rows.name], [None], True, keep=False)
        self.extra.append(picked)
        return self.emit("Sub", [x.name, self.small_sum(picked)], x.dims)

    def op_unique(self, _):
        x = self.typed_value(TensorProto.INT64)
        self.emit_typed(x.type, "Unique", [x.name], [None], outputs=4, keep=False, sorted=1)
        base = self.count - 4
        for i, type_ in enumerate((x.type, *[TensorProto.INT64] * 3)):
            value = Value(f"v{base + i}", [None], True)
            value.type = type_
            self.extra.append(value)
        return True

    def op_sequence(self, x):
        axes = [a for a in x.static() if x.dims[a] >= 2]
        if not axes:
            return None
        axis = self.choice(axes)
        parts = self.emit("SplitToSequence", [x.name, self.ints(1)], [], keep=False, axis=axis)
        longer = self.emit("SequenceInsert", [parts.name, self.emit("SequenceAt", [parts.name, self.ints(-1)], [], keep=False).name],
                           [], keep=False)
        return self.emit("ConcatFromSequence", [longer.name], [d + 1 if a == axis else d for a, d in enumerate(x.dims)], x.exact,
                         axis=axis)

    @property
    def extra(self):
        return self.__dict__.setdefault("extra_values", [])

    def results(self):
        used = {name for node in self.nodes for name in node.input}
        unread = [v for v in self.typed if v.name not in used] + [v for v in self.typed if v.name in used][::4]
        return super().results() + [(v, v.type) for v in unread] + [(v, getattr(v, "type", TensorProto.FLOAT)) for v in self.extra]


if __name__ == "__main__":
    run_seeds(TypedGraph, __doc__)
