"""What scikit-learn, XGBoost and LightGBM are exported to (ai.onnx.ml): random trees, linear models and support
vectors in every form of their attributes, against ONNX Runtime."""
import itertools
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from agreement import disagreement
from compiled import Compiled, CompileError
from testfolder import onnx_session
from toolrun import ToolTest

FEATURES = 5
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


def model(op, outputs, dtype=np.float32, features=FEATURES, version=3, **attributes):
    infos = {"y": TensorProto.FLOAT, "label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml",
                            **{name: value for name, value in attributes.items() if value is not None})
    graph = helper.make_graph(
        [node], op, [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["N", features])],
        [helper.make_tensor_value_info(name, infos[name], None) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)],
                             ir_version=8)


def forest(rng, kind, targets, leaf_targets, trees=4, depth=4, signed=True, missing=False):
    """The lists of an ensemble of ragged random trees; `leaf_targets` gives each leaf's targets."""
    nodes, leaves = [], []
    for tree in range(trees):
        open_nodes, count = [(0, 0)], 1
        while open_nodes:
            node, level = open_nodes.pop()
            if level == depth or rng.random() < 0.2:
                nodes.append((tree, node, 0, "LEAF", 0.0, 0, 0, 0))
                for target in leaf_targets(rng):
                    weight = rng.normal() if signed else rng.random() / trees
                    leaves.append((tree, node, target, float(np.float32(weight))))
                continue
            mode = rng.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])
            nodes.append((tree, node, int(rng.integers(FEATURES)), str(mode), float(np.float32(rng.normal())), count,
                          count + 1, int(rng.integers(2)) if missing else 0))
            open_nodes += [(count, level + 1), (count + 1, level + 1)]
            count += 2
    names = ["nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids",
             "nodes_falsenodeids", "nodes_missing_value_tracks_true"]
    lists = dict(zip(names, map(list, zip(*nodes))))
    lists |= dict(zip([f"{kind}_treeids", f"{kind}_nodeids", f"{kind}_ids", f"{kind}_weights"], map(list, zip(*leaves))))
    return lists


class ClassicalModels(ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)

    def check(self, proto, *inputs):
        path = self.work / "classical.onnx"
        onnx.save(proto, path)
        session = onnx_session(path)
        with Compiled.build(path) as compiled:
            for x in inputs:
                wanted = session.run(None, {"x": x})
                for output, actual, expected in zip(session.get_outputs(), compiled(x), wanted, strict=True):
                    self.assertIsNone(disagreement(actual, expected), output.name)

    def rows(self, count, dtype=np.float32):
        return self.rng.normal(size=(count, FEATURES)).astype(dtype)

    def test_tree_regressors(self):
        for function, targets in itertools.product(["SUM", "AVERAGE", "MIN", "MAX"], [1, 3]):
            lists = forest(self.rng, "target", targets, lambda rng: range(targets), missing=True)
            for base, transform in [(None, "NONE"), ([0.5, -1.0, 2.0][:targets], "NONE"), (None, "LOGISTIC")]:
                if targets == 1 and transform != "NONE":
                    continue
                proto = model("TreeEnsembleRegressor", ["y"], n_targets=targets, aggregate_function=function,
                              base_values=base, post_transform=transform, **lists)
                x = self.rows(50)
                x[3, 1] = np.nan
                with self.subTest(function, targets=targets, base=base, transform=transform):
                    self.check(proto, x, self.rows(1))

    def test_tree_classifiers(self):
        """Leaves that speak of every class, of one of many, of the first of two alone; also of signed weights."""
        forms = {"all": (3, lambda rng: range(3)), "one": (4, lambda rng: [int(rng.integers(4))]),
                 "first": (2, lambda rng: [0])}
        for (form, (classes, speak)), signed, transform in itertools.product(forms.items(), [True, False], TRANSFORMS):
            lists = forest(self.rng, "class", classes, speak, signed=signed)
            bases = [None, [0.25]] if form == "first" else [None, list(np.linspace(-1, 1, classes))]
            for base, labels in zip(bases, [range(classes), [5, 3, 9, 1][:classes]]):
                proto = model("TreeEnsembleClassifier", ["label", "scores"], classlabels_int64s=list(labels),
                              base_values=base, post_transform=transform, **lists)
                with self.subTest(form, signed=signed, transform=transform, base=base):
                    self.check(proto, self.rows(40), self.rows(1))

    def test_trees_in_double(self):
        lists = forest(self.rng, "target", 2, lambda rng: range(2))
        for name in ("nodes_values", "target_weights"):
            values = np.array(lists.pop(name)) + 1e-9
            lists[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)
        self.check(model("TreeEnsembleRegressor", ["y"], np.float64, n_targets=2, **lists), self.rows(30, np.float64))

    def test_trees_of_opset_5(self):
        """The same forest in the newer form, with more nodes than fit in the IR."""
        old = forest(self.rng, "target", 1, lambda rng: [0], trees=9, depth=6)
        names = list(zip(old["nodes_treeids"], old["nodes_nodeids"]))
        inner = [i for i, mode in enumerate(old["nodes_modes"]) if mode != "LEAF"]
        place = {names[i]: at for at, i in enumerate(inner)}
        leaf = {name: at for at, name in enumerate(zip(old["target_treeids"], old["target_nodeids"]))}
        self.assertGreater(len(inner), 64)
        children = {}
        for word in ("true", "false"):
            ends = [(old["nodes_treeids"][i], old[f"nodes_{word}nodeids"][i]) for i in inner]
            children[f"nodes_{word}nodeids"] = [place.get(end, leaf.get(end)) for end in ends]
            children[f"nodes_{word}leafs"] = [int(end in leaf) for end in ends]
        modes = [["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"].index(old["nodes_modes"][i]) for i in inner]
        proto = model(
            "TreeEnsemble", ["y"], version=5, n_targets=1, nodes_featureids=[old["nodes_featureids"][i] for i in inner],
            nodes_modes=helper.make_tensor("modes", TensorProto.UINT8, [len(inner)], modes),
            nodes_splits=helper.make_tensor("splits", TensorProto.FLOAT, [len(inner)],
                                            [old["nodes_values"][i] for i in inner]),
            leaf_targetids=[0] * len(leaf),
            leaf_weights=helper.make_tensor("weights", TensorProto.FLOAT, [len(leaf)], old["target_weights"]),
            tree_roots=[place[name] for name in names if name[1] == 0 and name in place], **children)
        self.check(proto, self.rows(30))

    def test_linear_classifiers(self):
        for classes, transform in itertools.product([1, 2, 3], TRANSFORMS):
            numbers = self.rng.normal(size=classes * FEATURES), self.rng.normal(size=classes)
            proto = model("LinearClassifier", ["label", "scores"], version=1, coefficients=list(numbers[0]),
                          intercepts=list(numbers[1]), classlabels_ints=[4, 2, 7][:max(classes, 2)],
                          post_transform=transform)
            with self.subTest(classes=classes, transform=transform):
                self.check(proto, self.rows(20), self.rows(1))

    def test_linear_regressors(self):
        for targets, transform in [(1, "NONE"), (1, "PROBIT"), *((3, name) for name in [*TRANSFORMS, "PROBIT"])]:
            proto = model("LinearRegressor", ["y"], version=1, targets=targets, intercepts=[0.5] * targets,
                          coefficients=list(self.rng.normal(size=targets * FEATURES) / 20), post_transform=transform)
            with self.subTest(targets=targets, transform=transform):
                self.check(proto, self.rows(20), self.rows(1))

    def test_one_score_has_no_quantile(self):
        """ONNX Runtime leaves the second of two scores as memory was."""
        for op, lists in {"LinearClassifier": dict(coefficients=[0.1] * FEATURES, intercepts=[0.5]),
                          "SVMClassifier": dict(coefficients=[0.1, 0.2], rho=[0.5], vectors_per_class=[1, 1], kernel_type="LINEAR",
                                                kernel_params=[0.0] * 3, support_vectors=[0.3] * (2 * FEATURES))}.items():
            onnx.save(model(op, ["label", "scores"], version=1, classlabels_ints=[4, 2], post_transform="PROBIT", **lists),
                      self.work / "pair.onnx")
            with self.subTest(op), self.assertRaisesRegex(CompileError, "has no rule for its post_transform"):
                Compiled.build(self.work / "pair.onnx")

    def test_support_vectors(self):
        kernels = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.3, 1.0, 3.0], "RBF": [0.4, 0.0, 0.0], "SIGMOID": [0.2, 0.1, 0.0]}
        for (kernel, params), counts in itertools.product(kernels.items(), [[6], [3, 4], [4, 2, 5, 1]]):
            vectors = sum(counts)
            shared = {"kernel_type": kernel, "kernel_params": params, "version": 1,
                      "support_vectors": list(self.rng.normal(size=vectors * FEATURES))}
            if len(counts) == 1:
                for one_class in (0, 1):
                    with self.subTest(kernel, one_class=one_class):
                        self.check(model("SVMRegressor", ["y"], n_supports=vectors, one_class=one_class, rho=[0.3],
                                         coefficients=list(self.rng.normal(size=vectors)), **shared), self.rows(20))
                continue
            pairs = len(counts) * (len(counts) - 1) // 2
            proto = model("SVMClassifier", ["label", "scores"], vectors_per_class=counts, rho=list(self.rng.normal(size=pairs)),
                          coefficients=list(self.rng.normal(size=(len(counts) - 1) * vectors)),
                          classlabels_ints=[3, 1, 4, 2][:len(counts)], **shared)
            with self.subTest(kernel, counts=counts):
                self.check(proto, self.rows(20), self.rows(1))

    def machine(self, counts, transform="NONE", **more):
        pairs, vectors = len(counts) * (len(counts) - 1) // 2, sum(counts)
        lists = {"rho": pairs, "prob_b": pairs, "coefficients": (len(counts) - 1) * vectors, "support_vectors": vectors * FEATURES}
        lists = {name: list(self.rng.normal(size=size)) for name, size in lists.items()}
        lists["prob_a"] = list(-1 - self.rng.random(pairs))
        return model("SVMClassifier", ["label", "scores"], version=1, vectors_per_class=counts, kernel_type="RBF", kernel_params=[0.1, 0.0, 0.0],
                     classlabels_ints=list(range(2, 2 + len(counts))), post_transform=transform, **(lists | more))

    def test_probabilities_of_pairs(self):
        for counts in ([3, 4], [4, 2, 5, 1], [2] * 9):
            for transform in ("NONE", *(name for name in (*TRANSFORMS, "PROBIT") if name != "NONE" and len(counts) < 9)):
                with self.subTest(counts=counts, transform=transform):
                    self.check(self.machine(counts, transform), self.rows(20), self.rows(1))
        onnx.save(self.machine([3, 4, 2], prob_b=[0.5]), self.work / "short.onnx")
        with self.assertRaisesRegex(CompileError, "needs a number in 'prob_a' and 'prob_b' for each pair of classes"):
            Compiled.build(self.work / "short.onnx")

    def test_categories(self):
        graph = helper.make_graph(
            [helper.make_node("OneHotEncoder", ["x"], ["hot"], domain="ai.onnx.ml", cats_int64s=[2, 0, 5]),
             helper.make_node("Reshape", ["hot", "flat"], ["rows"]),
             helper.make_node("Cast", ["x"], ["real"], to=TensorProto.FLOAT),
             helper.make_node("FeatureVectorizer", ["rows", "real"], ["y"], domain="ai.onnx.ml", inputdimensions=[10, 2])],
            "categories", [helper.make_tensor_value_info("x", TensorProto.INT64, ["N", 3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor("flat", TensorProto.INT64, [2], [-1, 9])])
        path = self.work / "categories.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)],
                                    ir_version=8), path)
        x = self.rng.integers(0, 6, (7, 3))
        hot = (x[:, :, None] == np.array([2, 0, 5])).astype(np.float32).reshape(7, 9)
        with Compiled.build(path) as compiled:
            np.testing.assert_array_equal(compiled(x)[0], np.concatenate([hot, np.zeros((7, 1)), x[:, :2]], 1))

    def test_maps_from_labels(self):
        """What scikit-learn's converters end with: a map from labels to scores for each sample, as columns."""
        for labels in ({"classlabels_int64s": [4, 2, 7]}, {"classlabels_strings": ["cat", "dog", "bird"]}, {"classlabels_int64s": [1, 2]}):
            (names,) = labels.values()
            proto = model("LinearClassifier", ["label", "scores"], classlabels_ints=[0, 1, 2], post_transform="SOFTMAX",
                          coefficients=list(self.rng.normal(size=3 * FEATURES)), intercepts=[0.5, -0.5, 0.0])
            proto.graph.node.append(helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", **labels))
            key = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
            value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
            proto.graph.output[1].name = "maps"
            proto.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(helper.make_map_type_proto(key, value)))
            path = self.work / "maps.onnx"
            onnx.save(proto, path)
            with self.subTest(labels=labels):
                if len(names) != 3:
                    with self.assertRaisesRegex(CompileError, "needs a row or rows with a number for each of 2 labels"):
                        Compiled.build(path)
                    continue
                x = self.rows(6)
                label, maps = onnx_session(path).run(None, {"x": x})
                with Compiled.build(path) as compiled:
                    actual = compiled(x)
                np.testing.assert_array_equal(actual[0], label)
                self.assertIsNone(disagreement(actual[1], np.array([[row[n] for n in names] for row in maps], np.float32)))

    def test_what_forms_no_tree_is_refused(self):
        lists = forest(self.rng, "target", 1, lambda rng: [0], trees=1)
        inner = lists["nodes_modes"].index(next(mode for mode in lists["nodes_modes"] if mode != "LEAF"))
        wrong = {"a cycle": ("nodes_truenodeids", 0), "a child that is none": ("nodes_truenodeids", 999),
                 "a feature too many": ("nodes_featureids", FEATURES), "an unknown test": ("nodes_modes", "BRANCH_NEAR")}
        for what, (name, value) in wrong.items():
            broken = {**lists, name: [*lists[name][:inner], value, *lists[name][inner + 1:]]}
            path = self.work / "broken.onnx"
            onnx.save(model("TreeEnsembleRegressor", ["y"], n_targets=1, **broken), path)
            with self.subTest(what):
                with self.assertRaises(CompileError) as caught:
                    Compiled.build(path)
                self.assertEqual(caught.exception.code, 2, caught.exception.message)
                self.assertIn("TreeEnsembleRegressor", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
