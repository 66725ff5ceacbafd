"""Inputs that do not fit the model: a run ends with an error, and never reads or writes past a tensor."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from compiled import Compiled
from toolrun import ToolTest

FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
X = np.arange(12, dtype=np.float32).reshape(4, 3)
LOW = -(2**63)


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return np.ones(shape, np.float32)


# What: (operator, attributes, inputs' types and dims, inputs that are good, those that are not).
A3, PAIRS = (FLOAT, ["A", 3]), (INT64, ["K", 2])
IMAGES, BOX = floats(2, 1, 4, 4), np.float32([[0, 0, 2, 2]])
ANGLES = (FLOAT, ["T", 2])  # a table of them
EMBED = [(INT32, [1, "S"]), (INT32, [1, "S"]), *((FLOAT, [rows, 4]) for rows in "TPK"), (FLOAT, [4]), (FLOAT, [4])]


def embedded(tokens, segments, rows=(5, 3, 2)):
    return (np.int32([tokens]), np.int32([segments]), *(floats(n, 4) for n in rows), floats(4), floats(4))


def deformed(offset=(1, 8, 3, 3), bias=(2,), mask=(1, 4, 3, 3), w=(2, 1, 2, 2)):
    return (floats(1, 1, 3, 3), *map(lambda shape: floats(*shape), (w, offset, bias, mask)))


def layer(w=(1, 8, 4), b=(1, 16), n=(3,), h=(1, 3, 2), c=(1, 3, 2), p=(1, 6), longest=5):
    """An LSTM's operands for five inputs of three sequences."""
    lengths = np.full(n, 5, np.int32)
    lengths[0] = longest
    return (floats(5, 3, 4), floats(*w), floats(1, 8, 2), floats(*b), lengths, floats(*h), floats(*c), floats(*p))


CASES = {
    "gather": ("Gather", {}, [A3, (INT64, ["K"])], [(X, ints(0, -4, 3))],
               [(X, ints(index)) for index in (4, -5, 10**12, LOW)]),
    "gather-elements": ("GatherElements", {"axis": 1}, [A3, (INT64, ["B", 2])], [(X, np.array([[0, -3]] * 4))],
                        [(X, np.array([[0, 3]] * 4)), (X, np.array([[0, 1]] * 5))]),
    "gather-nd": ("GatherND", {}, [A3, PAIRS], [(X, ints([0, 1], [-4, -3]))],
                  [(X, ints([4, 0])), (X, ints([0, -4])), (X, ints([0, 2**40]))]),
    "rotary-embedding": ("RotaryEmbedding", {}, [(FLOAT, [1, 1, 2, 4]), ANGLES, ANGLES, (INT64, [1, 2])],
                         [(floats(1, 1, 2, 4), floats(3, 2), floats(3, 2), ints([0, 2]))],
                         [(floats(1, 1, 2, 4), floats(3, 2), floats(3, 2), ints([0, at])) for at in (3, -1, 2**40)]),
    "contrib-rotary-embedding": ("com.microsoft:RotaryEmbedding", {}, [(FLOAT, [1, 1, 2, 4]), (INT64, ["K", "S"]), ANGLES, ANGLES],
                                 [(floats(1, 1, 2, 4), ints([1, 2]), floats(3, 2), floats(3, 2))],
                                 [(floats(1, 1, 2, 4), ints([0, at]), floats(3, 2), floats(3, 2)) for at in (3, -1, 2**40)]),
    "contrib-rotary-embedding-from": ("com.microsoft:RotaryEmbedding", {}, [(FLOAT, [1, 1, 2, 4]), (INT64, [1]), ANGLES, ANGLES],
                                      [(floats(1, 1, 2, 4), ints(1), floats(3, 2), floats(3, 2))],
                                      [(floats(1, 1, 2, 4), ints(at), floats(3, 2), floats(3, 2)) for at in (2, -1)]),
    "embed-layer-norm": ("com.microsoft:EmbedLayerNormalization", {}, EMBED, [embedded([4, 0, 1], [1, 0, 1])],
                         [embedded([5, 0, 1], [0, 0, 0]), embedded([0, -1, 1], [0, 0, 0]), embedded([0, 1, 1], [0, 2, 0]),
                          embedded([0, 1, 1, 1], [0, 0, 0, 0])]),
    "roi-align": ("RoiAlign", {}, [(FLOAT, ["N", 1, 4, 4]), (FLOAT, ["R", 4]), (INT64, ["R"])], [(IMAGES, BOX, ints(1))],
                  [(IMAGES, BOX, ints(at)) for at in (2, -1, LOW)]),
    "max-roi-pool": ("MaxRoiPool", {"pooled_shape": [1, 1]}, [(FLOAT, ["N", 1, 4, 4]), (FLOAT, ["R", 5])],
                     [(IMAGES, np.float32([[1, 0, 0, 2, 2]]))], [(IMAGES, np.float32([[at, 0, 0, 2, 2]])) for at in (2, -1)]),
    "max-unpool": ("MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [(FLOAT, ["N", 1, 2, 2]), (INT64, ["K", 1, 2, 2])],
                   [(floats(1, 1, 2, 2), ints([[[0, 3], [8, 15]]]))], [(floats(1, 1, 2, 2), ints([[[0, 3], [8, at]]])) for at in (16, -1, 2**40)]),
    "stft": ("STFT", {}, [(FLOAT, [1, "L", 1]), (INT64, []), (FLOAT, ["W"])], [(floats(1, 9, 1), np.int64(2), floats(8))],
             [(floats(1, 7, 1), np.int64(2), floats(8)), (floats(1, 9, 1), np.int64(0), floats(8))]),
    "scatter-nd": ("ScatterND", {}, [A3, PAIRS, (FLOAT, ["L"])], [(X, ints([3, 2]), floats(1))],
                   [(X, ints([4, 0]), floats(1)), (X, ints([0, 10**15]), floats(1)), (X, ints([0, 1]), floats(2))]),
    "scatter-elements": ("ScatterElements", {}, [A3, (INT64, ["K", "M"]), (FLOAT, ["L", "N"])],
                         [(X, ints([0, -1, 3]), floats(1, 3))],
                         [(X, ints([4, 0, 0]), floats(1, 3)), (X, ints([0, 0, 0, 0]), floats(1, 4)),
                          (X, ints([0, 0, 0]), floats(2, 3))]),
    "add": ("Add", {}, [(FLOAT, ["A", "B"]), (FLOAT, ["C", "D"])], [(X, X), (X, floats(1, 3)), (floats(0, 3), floats(1, 3))],
            [(X, floats(4, 2)), (X, floats(5, 3)), (floats(0, 3), X)]),
    "matmul": ("MatMul", {}, [(FLOAT, ["A", "B"]), (FLOAT, ["C", "D"])], [(X, floats(3, 2)), (floats(0, 3), floats(3, 2))],
               [(X, X), (X, floats(0, 3))]),
    "concat": ("Concat", {"axis": 1}, [(FLOAT, ["A", "B"]), (FLOAT, ["C", "D"])], [(X, floats(4, 1))], [(X, floats(3, 3))]),
    "conv": ("Conv", {}, [(FLOAT, [1, "C", "H", "W"]), (FLOAT, [2, 3, 3, 3])], [(floats(1, 3, 4, 4), floats(2, 3, 3, 3))],
             [(floats(1, 2, 4, 4), floats(2, 3, 3, 3)), (floats(1, 3, 0, 4), floats(2, 3, 3, 3))]),
    "expand": ("Expand", {}, [A3, (INT64, [2])], [(X, ints(4, 3)), (X, ints(1, 1))],
               [(X, ints(4, 5)), (X, ints(2**40, 3)), (X, ints(-1, 3))]),
    "reshape": ("Reshape", {}, [A3, (INT64, [2])], [(X, ints(3, 4)), (X, ints(0, -1))],
                [(X, ints(5, 5)), (X, ints(-1, 5)), (X, ints(-2, -6)), (X, ints(2**40, 2**40))]),
    "split": ("Split", {}, [A3, (INT64, [2])], [(X, ints(1, 3)), (X, ints(0, 4))],
              [(X, ints(5, -1)), (X, ints(2, 1)), (X, ints(2**62, 2**62))]),
    "slice": ("Slice", {}, [A3, *[(INT64, [1])] * 4], [(X, ints(-1), ints(LOW), ints(0), ints(-1))],
              [(X, ints(0), ints(2), ints(0), ints(0))]),
    "tile": ("Tile", {}, [A3, (INT64, [2])], [(X, ints(1, 2))], [(X, ints(-1, 1)), (X, ints(2**31, 2**31)), (X, ints(2**62, 1)), (X, ints(1, 2**62))]),
    "top-k": ("TopK", {}, [A3, (INT64, [1])], [(X, ints(2)), (X, ints(0))], [(X, ints(4)), (X, ints(-1))]),
    "arg-max": ("ArgMax", {"axis": 0}, [A3], [(X,)], [(floats(0, 3),)]),
    "pad-edge": ("Pad", {"mode": "edge"}, [A3, (INT64, [4])], [(X, ints(1, 0, 1, 0)), (floats(0, 3), ints(0, 1, 0, 1))],
                 [(floats(0, 3), ints(1, 0, 0, 0)), (X, ints(1, 0, -5, 0))]),
    "range": ("Range", {}, [(INT64, [])] * 3, [(np.int64(5), np.int64(0), np.int64(-2))],
              [(np.int64(0), np.int64(5), np.int64(0)), (np.int64(0), np.int64(2**62), np.int64(1))]),
    "range-of-floats": ("Range", {}, [(FLOAT, [])] * 3, [tuple(np.float32([0, 5, 2])), tuple(np.float32([5, 0, 2]))],
                        [tuple(np.float32(numbers)) for numbers in ((0, np.inf, 1), (np.nan, 1, 1), (0, 1, 0), (0, 1e38, 1), (0, 1, 1e-40))]),
    "conv-of-groups": ("Conv", {"group": 2}, [(FLOAT, [1, 4, 3, 3]), (FLOAT, ["M", 2, 3, 3])], [(floats(1, 4, 3, 3), floats(6, 2, 3, 3))],
                       [(floats(1, 4, 3, 3), floats(5, 2, 3, 3))]),
    "conv-transpose": ("ConvTranspose", {}, [(FLOAT, [1, "C", 3, 3]), (FLOAT, ["D", "M", 2, 2]), (FLOAT, ["B"])],
                       [(floats(1, 2, 3, 3), floats(2, 4, 2, 2), floats(4))],
                       [(floats(1, 2, 3, 3), floats(2, 4, 2, 2), floats(n)) for n in (1, 3, 5)]
                       + [(floats(1, 3, 3, 3), floats(2, 4, 2, 2), floats(4))]),
    "depth-to-space": ("DepthToSpace", {"blocksize": 2}, [(FLOAT, ["N", "C", "H", "W"])], [(floats(1, 8, 2, 3),)],
                       [(floats(1, channels, 2, 3),) for channels in (7, 9, 3)]),
    "space-to-depth": ("SpaceToDepth", {"blocksize": 2}, [(FLOAT, ["N", "C", "H", "W"])], [(floats(1, 1, 4, 2),)],
                       [(floats(1, 1, *image),) for image in ((5, 2), (4, 3), (1, 2))]),
    "non-max-suppression": ("NonMaxSuppression", {}, [(FLOAT, ["B", "N", "K"]), (FLOAT, ["C", "L", "M"]), (INT64, ["O"])],
                            [(floats(2, 3, 4), floats(2, 1, 3), ints(1))],
                            [(floats(1, 3, 4), floats(2, 1, 3), ints(1)), (floats(2, 3, 5), floats(2, 1, 3), ints(1)),
                             (floats(2, 4, 4), floats(2, 1, 3), ints(1)), (floats(2, 3, 4), floats(2, 1, 3), ints(1, 2))]),
    "deform-conv": ("DeformConv", {"pads": [1, 0, 0, 1]}, [
        (FLOAT, ["N", "C", "H", "W"]), (FLOAT, ["M", "D", 2, 2]), (FLOAT, ["B", "O", "P", "Q"]), (FLOAT, ["L"]), (FLOAT, ["R", "T", "U", "V"])],
                    [deformed()], [deformed(**{name: shape}) for name, shape in (
                        ("offset", (1, 8, 4, 3)), ("offset", (1, 8, 3, 4)), ("offset", (2, 8, 3, 3)), ("offset", (1, 16, 3, 3)), ("bias", (3,)),
                        ("mask", (1, 4, 3, 2)), ("mask", (1, 3, 3, 3)), ("w", (2, 2, 2, 2)))]),
    "tensor-scatter": ("TensorScatter", {"axis": 1}, [(FLOAT, ["B", "S", 3]), (FLOAT, ["C", "K", 3]), (INT64, ["D"])],
                       [(floats(1, 5, 3), floats(1, 2, 3), ints(3))],
                       [(floats(1, 5, 3), floats(1, 2, 3), ints(at)) for at in (4, -1, 10**9)] + [(floats(1, 5, 3), floats(2, 2, 3), ints(0))]),
    "reverse-sequence": ("ReverseSequence", {"time_axis": 0, "batch_axis": 1}, [A3, (INT64, ["K"])], [(X, ints(4, 1, 0))],
                         [(X, ints(5, 1, 1)), (X, ints(1, -1, 1)), (X, ints(1, 2**40, 1)), (X, ints(1, 1))]),
    "one-hot": ("OneHot", {}, [(INT64, ["N"]), (INT64, []), (FLOAT, ["V"])], [(ints(0, 2), np.int64(3), floats(2))],
                [(ints(0, 2), np.int64(3), floats(n)) for n in (1, 3, 0)]),
    "lstm": ("LSTM", {"hidden_size": 2}, [(FLOAT, [None] * rank) for rank in (3, 3, 3, 2)] + [(INT32, [None])] + [
        (FLOAT, [None] * rank) for rank in (3, 3, 2)], [layer()],
             [layer(**{name: shape}) for name, shape in (("b", (1, 17)), ("b", (2, 16)), ("h", (2, 3, 2)), ("c", (0, 3, 2)), ("h", (1, 2, 2)),
                                                        ("p", (1, 7)), ("p", (2, 6)), ("w", (1, 9, 4)), ("n", (2,)))]
             + [layer(longest=n) for n in (6, -1, 2**30)]),
    "constant-of-shape": ("ConstantOfShape", {}, [(INT64, [2])], [(ints(0, 5),)],
                          [(ints(-1, 2),), (ints(2**40, 2**40),)]),
}


class BadRun(ToolTest):
    def model(self, operator, attributes, inputs):
        names = [f"x{index}" for index in range(len(inputs))]
        domain, _, operator = operator.rpartition(":")
        outputs = ["y", "z"] if operator in ("Split", "TopK", "EmbedLayerNormalization") else ["y"]
        kinds = {"Range": [inputs[0][0]], "TopK": [FLOAT, INT64], "ArgMax": [INT64], "EmbedLayerNormalization": [FLOAT, INT32],
                 "NonMaxSuppression": [INT64]}.get(operator, [FLOAT] * 2)
        graph = helper.make_graph(
            [helper.make_node(operator, names, outputs, domain=domain, **attributes)], "graph",
            [helper.make_tensor_value_info(name, *entry) for name, entry in zip(names, inputs)],
            [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs, kinds)])
        path = self.work / f"{operator}.onnx"
        version = {"RotaryEmbedding": 23, "TensorScatter": 24, "DeformConv": 19}.get(operator, 17)
        opsets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return path

    def build(self, operator, attributes, inputs):
        return Compiled.build(self.model(operator, attributes, inputs))

    def test_interface(self):
        """What the runtime itself refuses: types, ranks, the number of inputs."""
        with self.build("Add", {}, [A3, A3]) as model:
            for inputs in [(X,), (X, X, X), (X.astype(np.float64), X), (X[0], X), (floats(4, 2), X)]:
                with self.assertRaises(Exception):
                    model(*inputs)
            model(X, X)

    def test_the_node_is_named(self):
        operator, attributes, inputs, _, _ = CASES["gather"]
        with self.build(operator, attributes, inputs) as model:
            with self.assertRaisesRegex(Exception, "^node 'y': an index is out of range$"):
                model(X, ints(4))

    def test_exit_code(self):
        """tcc-run: 2 for whatever the inputs are at fault for, 1 for our own."""
        runs = {  # what the model is, its inputs' sizes, and inputs that it does not take
            "gather": [(X, ints(4)), (X.astype(np.float64), ints(0)), (X[0], ints(0)), (X[:, :2], ints(0))],
            "add": [(X, floats(4, 2))], "matmul": [(X, X)], "reshape": [(X, ints(5, 5)), (X, ints(3, 4, 1))],
            "top-k": [(X, ints(4))], "expand": [(X, ints(-1, 3))], "constant-of-shape": [(ints(-1, 2),)]}
        for name, bad in runs.items():
            operator, attributes, inputs, good, _ = CASES[name]
            path = self.model(operator, attributes, inputs)
            self.compiles(path, "-o", "model.so")
            for values, code in [*((case, 0) for case in good[:1]), *((case, 2) for case in bad)]:
                arguments = []
                for index, value in enumerate(values):
                    np.save(self.work / f"{index}.npy", value)
                    arguments += ["--input", f"x{index}={index}.npy"]
                with self.subTest(f"{name} {values}"):
                    result = self.tcc_run("model.so", *arguments)
                    self.assertEqual(result.code, code, result.text)
                    self.assertEqual(result.text.count("error:"), int(code != 0), result.text)


def add(name):
    def test(self):
        operator, attributes, inputs, good, bad = CASES[name]
        with self.build(operator, attributes, inputs) as model:
            for case in [*good, *bad, *good]:  # and a run after one that failed is as good as the first
                if any(case is entry for entry in good):
                    model(*case)
                    continue
                with self.subTest(str(case)), self.assertRaises(Exception):
                    model(*case)
    setattr(BadRun, "test_" + name.replace("-", "_"), test)


for name in CASES:
    add(name)

if __name__ == "__main__":
    unittest.main()
