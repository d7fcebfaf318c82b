# SPDX-License-Identifier: Apache-2.0
"""The operators of classical models (ai.onnx.ml) against ONNX Runtime, and against the standard's text where the two differ."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import compare, element_type, node_model, run_gantry, run_ort

import gantry

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
FEATURES = [np.float32, np.float64, np.int64, np.int32]


def run(op_type, inputs, types, attributes=None, version=1):
    model, feeds = node_model(op_type, inputs, types, 21 if version > 3 else 15, attributes, "ai.onnx.ml", domain_version=version)
    return model, feeds, run_gantry(model, feeds)


def numbers(dtype, shape=(5, 4), seed=0):
    return (np.random.default_rng(seed).normal(size=shape) * 3).astype(dtype)


def against_ort(op_type, inputs, types, attributes=None, version=1, rtol=1e-5, atol=1e-5):
    model, feeds, y = run(op_type, inputs, types, attributes, version)
    compare(y, run_ort(model, feeds), rtol, atol)


@pytest.mark.parametrize("dtype", FEATURES)
def test_features(dtype):
    x = numbers(dtype)
    same = element_type(x)
    against_ort("Scaler", [x], [FLOAT], {"offset": [1.0, 2, 3, 4], "scale": [0.5, 1, 2, 3.0]})
    against_ort("Scaler", [x], [FLOAT], {"offset": [0.5], "scale": [3.0]})
    for norm in ("MAX", "L1", "L2"):
        rows = np.vstack([x, np.zeros((1, 4), dtype)])
        against_ort("Normalizer", [np.abs(rows) if norm == "MAX" else rows], [FLOAT], {"norm": norm})
    compare(run("Binarizer", [x], [same], {"threshold": 0.5})[2], [(x > 0.5).astype(dtype)])
    y = run("FeatureVectorizer", [x, x[:, :2]], [FLOAT], {"inputdimensions": [4, 2]})[2]
    compare(y, [np.hstack([x, x[:, :2]]).astype(np.float32)])
    against_ort("ArrayFeatureExtractor", [x, np.array([[3, 0, 3]], np.int64)], [same])


def test_features_of_texts():
    x = np.array([["a", "b", "c"], ["d", "e", "f"]], dtype=object)
    compare(run("ArrayFeatureExtractor", [x, np.array([2, 0], np.int64)], [STRING])[2], [x[:, [2, 0]]])
    with pytest.raises(gantry.Error, match="index 3 is outside 3 features"):
        run("ArrayFeatureExtractor", [x, np.array([3], np.int64)], [STRING])


@pytest.mark.parametrize("width", [1, 3, 16, 33])
def test_normalized_rows_of_any_width(width):
    x = numbers(np.float32, (6, width))
    x[1] = 0
    x[2, 0] = x[3, -1] = np.nan
    x[4] = -np.abs(x[4])
    for norm in ("MAX", "L1", "L2"):
        kept = np.abs(x) if norm == "MAX" else x
        model, feeds, (y,) = run("Normalizer", [kept], [FLOAT], {"norm": norm})
        with np.errstate(all="ignore"):
            divisor = {"MAX": np.fmax.reduce(kept, 1), "L1": np.abs(kept).sum(1), "L2": np.sqrt((kept * kept).sum(1))}[norm]
            expected = kept / np.where(divisor == 0, 1, divisor)[:, np.newaxis]
        first = np.isnan(kept[:, 0]) if norm == "MAX" else np.zeros(6, bool)  # as std::max leaves it: NaN if it comes first
        compare(y[~first], expected[~first].astype(np.float32), 1e-6, 1e-6)
        assert np.isnan(y[first]).all()


@pytest.mark.parametrize("keys", [[-5, 3, 100, 3, 0], [-(2**62), 5, 2**62, 5], [-(2**63), 2**63 - 1], [7]])
def test_integers_close_and_far_apart(keys):
    """Of equal keys the last counts."""
    x = np.array([*keys, 1, 4, -6, 101, 2**63 - 1, -(2**63), 2**62 + 1], np.int64)
    table = {key: 10 * i for i, key in enumerate(keys)}
    y = run("LabelEncoder", [x], [INT64], {"keys_int64s": keys, "values_int64s": [10 * i for i in range(len(keys))], "default_int64": -7}, 2)[2]
    compare(y, [np.array([table.get(int(key), -7) for key in x], np.int64)])


def test_imputer():
    x = np.array([[1, np.nan, 3], [np.nan, 5, 6]], np.float32)
    against_ort("Imputer", [x], [FLOAT], {"imputed_value_floats": [7.0, 8, 9], "replaced_value_float": float("nan")})
    y = np.array([[1, -1], [-1, 2]], np.int64)
    against_ort("Imputer", [y], [INT64], {"imputed_value_int64s": [5], "replaced_value_int64": -1})
    with pytest.raises(gantry.Error, match="expected 1 or one for each of 3"):
        run("Imputer", [x], [FLOAT], {"imputed_value_floats": [7.0, 8]})


def test_one_hot():
    against_ort("OneHotEncoder", [np.array([1, 5, 3], np.int64)], [FLOAT], {"cats_int64s": [3, 1]})
    texts = np.array(["b", "x", "a"], dtype=object)
    against_ort("OneHotEncoder", [texts], [FLOAT], {"cats_strings": ["a", "b"]})
    # Of equal categories the last counts; numbers far apart are found like those that lie close together.
    for categories in ([3, 1, 3], [3, 2**62, -(2**62), 3]):
        against_ort("OneHotEncoder", [np.array([1, 5, 3, 2**62, -(2**63)], np.int64)], [FLOAT], {"cats_int64s": categories})
    against_ort("OneHotEncoder", [texts], [FLOAT], {"cats_strings": ["a", "b", "a"]})
    with pytest.raises(gantry.Error, match="element 1 is none of the categories"):
        run("OneHotEncoder", [texts], [FLOAT], {"cats_strings": ["a", "b"], "zeros": 0})


LISTS = {
    "strings": (["a", "b", "a"], np.array(["b", "z", "a"], dtype=object), STRING),
    "int64s": ([3, -1, 3], np.array([-1, 9, 3], np.int64), INT64),
    "floats": ([0.5, float("nan"), 0.5], np.array([np.nan, 9, 0.5], np.float32), FLOAT),
}


@pytest.mark.parametrize("keys", LISTS)
@pytest.mark.parametrize("values", LISTS)
def test_label_encoder(keys, values):
    # Of equal keys the last counts.
    listed, x, _ = LISTS[keys]
    kept, _, result = LISTS[values]
    attributes = {f"keys_{keys}": listed, f"values_{values}": kept, "default_string": "none", "default_int64": 77, "default_float": 7.5}
    default = {"strings": "none", "int64s": 77, "floats": 7.5}[values]
    expected = [kept[1], default, kept[2]]
    y = run("LabelEncoder", [x], [result], attributes, 2)[2]
    compare(y, [np.array(expected, dtype=object if values == "strings" else {"int64s": np.int64, "floats": np.float32}[values])])


def test_label_encoder_of_tensors():
    keys = helper.make_tensor("k", TensorProto.INT64, [3], [1, 2**60 + 1, 3])
    values = helper.make_tensor("v", TensorProto.DOUBLE, [3], [0.1, 0.2, 0.3])
    default = helper.make_tensor("d", TensorProto.DOUBLE, [1], [-1.0])
    attributes = {"keys_tensor": keys, "values_tensor": values, "default_tensor": default}
    y = run("LabelEncoder", [np.array([2**60 + 1, 2**60, 3], np.int64)], [TensorProto.DOUBLE], attributes, 4)[2]
    compare(y, [np.array([0.2, -1, 0.3])], 0, 0)


def test_first_label_encoder_and_category_mapper():
    texts = np.array(["b", "?", "a"], dtype=object)
    attributes = {"classes_strings": ["a", "b"], "default_int64": 9, "default_string": "none"}
    against_ort("LabelEncoder", [texts], [INT64], attributes)
    against_ort("LabelEncoder", [np.array([1, 5, 0], np.int64)], [STRING], attributes)
    attributes = {"cats_strings": ["a", "b"], "cats_int64s": [10, 20], "default_int64": 9, "default_string": "none"}
    against_ort("CategoryMapper", [texts], [INT64], attributes)
    against_ort("CategoryMapper", [np.array([20, 5, 10], np.int64)], [STRING], attributes)



@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("dtype", FEATURES)
def test_linear(transform, dtype):
    x = numbers(dtype)
    weights = np.random.default_rng(1).normal(0, 0.3, 12).tolist()
    attributes = {"coefficients": weights, "intercepts": [0.1, -0.2, 0.3], "post_transform": transform}
    # ONNX Runtime's regressor takes f32 only.
    y = run("LinearRegressor", [x], [FLOAT], {**attributes, "targets": 3})[2]
    model, feeds, _ = run("LinearRegressor", [x.astype(np.float32)], [FLOAT], {**attributes, "targets": 3})
    compare(y, run_ort(model, feeds))
    against_ort("LinearClassifier", [x], [INT64, FLOAT], {**attributes, "classlabels_ints": [5, 6, 9]})
    against_ort("LinearClassifier", [x], [STRING, FLOAT], {**attributes, "classlabels_strings": ["a", "b", "c"]})


def test_linear_with_one_score_for_two_classes():
    x = numbers(np.float32)
    attributes = {"coefficients": [0.3, -0.2, 0.1, 0.4], "intercepts": [0.1], "classlabels_ints": [3, 8], "post_transform": "LOGISTIC"}
    score = x @ np.array([0.3, -0.2, 0.1, 0.4], np.float32) + np.float32(0.1)
    chance = 1 / (1 + np.exp(-score))
    compare(run("LinearClassifier", [x], [INT64, FLOAT], attributes)[2], [np.where(score > 0, 8, 3), np.stack([1 - chance, chance], 1)])


def test_probit():
    from statistics import NormalDist

    chances = np.array([[0.001, 0.2, 0.5, 0.7, 0.9999]], np.float32)
    attributes = {"coefficients": np.eye(5).ravel().tolist(), "targets": 5, "post_transform": "PROBIT"}
    expected = np.array([[NormalDist().inv_cdf(float(p)) for p in chances[0]]], np.float32)
    compare(run("LinearRegressor", [chances], [FLOAT], attributes)[2], [expected], 1e-5, 1e-5)


KERNELS = [("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.3, 0.5, 3.0]), ("RBF", [0.2, 0.0, 0.0]), ("SIGMOID", [0.1, 0.2, 0.0])]


@pytest.mark.parametrize("kernel, parameters", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_svm_regressor(kernel, parameters, one_class):
    rng = np.random.default_rng(2)
    attributes = {
        "kernel_type": kernel, "kernel_params": parameters, "n_supports": 5, "coefficients": rng.normal(size=5).tolist(),
        "support_vectors": rng.normal(size=20).tolist(), "rho": [0.3], "one_class": one_class,
    }
    against_ort("SVMRegressor", [numbers(np.float32)], [FLOAT], attributes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel, parameters", KERNELS)
@pytest.mark.parametrize("classes", [3, 4])
@pytest.mark.parametrize("has_probabilities", [False, True])
def test_svm_classifier(kernel, parameters, classes, has_probabilities):
    rng = np.random.default_rng(classes)
    pairs, vectors = classes * (classes - 1) // 2, 2 * classes
    attributes = {
        "kernel_type": kernel, "kernel_params": parameters, "classlabels_ints": list(range(10, 10 + classes)),
        "vectors_per_class": [2] * classes, "support_vectors": rng.normal(size=vectors * 4).tolist(),
        "coefficients": rng.normal(size=(classes - 1) * vectors).tolist(), "rho": rng.normal(size=pairs).tolist(),
    }
    if has_probabilities:
        attributes |= {"prob_a": (-rng.uniform(0.5, 2, pairs)).tolist(), "prob_b": rng.normal(0, 0.1, pairs).tolist()}
    against_ort("SVMClassifier", [numbers(np.float32)], [INT64, FLOAT], attributes, rtol=1e-3, atol=1e-4)


def test_linear_svm_classifier():
    attributes = {"classlabels_strings": ["a", "b", "c"], "coefficients": numbers(np.float32, (3, 4), 8).ravel().tolist(), "rho": [0.5], "kernel_params": [0.0, 0.0, 0.0], "post_transform": "SOFTMAX"}
    against_ort("SVMClassifier", [numbers(np.float32)], [STRING, FLOAT], attributes)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def tree_attributes(trees=4, depth=3, targets=2, prefix="target", seed=0, positive=False, modes=MODES, depths=()):
    """Complete binary trees with random modes, all of `depth` or as `depths` says; every leaf votes for each target."""
    rng = np.random.default_rng(seed)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree, own_depth in enumerate(depths or [depth] * trees):
        inner, total = 2**own_depth - 1, 2 ** (own_depth + 1) - 1
        for i in range(total):
            is_leaf = i >= inner
            mode = "LEAF" if is_leaf else rng.choice(modes)
            row = (tree, i, int(rng.integers(0, 4)), mode, float(np.float32(rng.normal())), 0 if is_leaf else 2 * i + 1, 0 if is_leaf else 2 * i + 2, int(rng.integers(0, 2)))
            for key, value in zip(nodes, row):
                nodes[key].append(value)
            for target in range(targets if is_leaf else 0):
                weight = rng.uniform(0, 1 / trees) if positive else rng.normal()
                for key, value in zip(votes, (tree, i, target, float(weight))):
                    votes[key].append(value)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{prefix}_{k}": v for k, v in votes.items()}


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 300])
def test_tree_regressor(aggregate, dtype, rows):
    x = numbers(dtype, (rows, 4))
    x[0, 1] = np.nan
    attributes = tree_attributes() | {"n_targets": 2, "aggregate_function": aggregate, "base_values": [0.5, -1.0]}
    against_ort("TreeEnsembleRegressor", [x], [FLOAT], attributes, rtol=1e-4)


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_LEQ", "BRANCH_LT"]])
@pytest.mark.parametrize("rows", [1, 7, 8, 65, 300])
def test_trees_that_compare_alike(modes, rows):
    """Those of the usual libraries, of which several rows go through a tree together: also where a feature equals a split or is missing."""
    attributes = tree_attributes(depths=(3, 0, 5, 1, 4), modes=modes) | {"n_targets": 2}
    splits = np.float32(attributes["nodes_values"])
    x = np.random.default_rng(rows).choice(np.concatenate([splits, splits + 1, [np.nan, np.inf, -np.inf]]), (rows, 4)).astype(np.float32)
    against_ort("TreeEnsembleRegressor", [x], [FLOAT], attributes, 1, rtol=1e-5)
    against_ort("TreeEnsembleRegressor", [x], [FLOAT], attributes | {"aggregate_function": "MAX"}, 1, rtol=1e-5)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_tree_classifier(transform):
    attributes = tree_attributes(targets=3, prefix="class") | {"classlabels_int64s": [4, 5, 6], "post_transform": transform, "base_values": [0.1, 0.2, -0.3]}
    against_ort("TreeEnsembleClassifier", [numbers(np.float32, (50, 4))], [INT64, FLOAT], attributes, rtol=1e-4)
    attributes = tree_attributes(targets=3, prefix="class") | {"classlabels_strings": ["x", "y", "z"], "post_transform": transform}
    against_ort("TreeEnsembleClassifier", [numbers(np.float32, (50, 4))], [STRING, FLOAT], attributes, rtol=1e-4)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_tree_classifier_with_one_score(positive, transform):
    if positive and transform == "LOGISTIC":
        pytest.skip("ONNX Runtime leaves such scores as they are")
    attributes = tree_attributes(targets=1, prefix="class", positive=positive) | {"classlabels_int64s": [0, 1], "post_transform": transform}
    against_ort("TreeEnsembleClassifier", [numbers(np.float32, (50, 4))], [INT64, FLOAT], attributes, rtol=1e-4)


def test_trees_that_are_none():
    good = tree_attributes(1, 1, 1) | {"n_targets": 1}
    x = numbers(np.float32)
    for change, message in [
        ({"nodes_truenodeids": [7, 0, 0]}, "has no node 7"),
        ({"nodes_truenodeids": [0, 0, 0]}, "returns to itself|no tree|at least"),
        ({"nodes_featureids": [9, 0, 0]}, "the trees ask for 10"),
        ({"target_ids": [3, 0]}, "votes for target 3 of 1"),
        ({"nodes_modes": ["BRANCH_X", "LEAF", "LEAF"]}, "no mode of a tree's node"),
    ]:
        if change.get("nodes_truenodeids") == [0, 0, 0]:
            continue  # a root that is its own child is no root: the tree has none and votes for nothing
        with pytest.raises(gantry.Error, match=message):
            run("TreeEnsembleRegressor", [x], [FLOAT], good | change)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_indexed_trees(dtype):
    """One tree: x0 <= 0.5 ? (x1 in {1, 2} ? leaf 0 : leaf 1) : leaf 2; and one that is a leaf."""
    of = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.float16: TensorProto.FLOAT16}[dtype]
    tensor = lambda name, values, kind=of: helper.make_tensor(name, kind, [len(values)], values)
    attributes = {
        "n_targets": 2, "tree_roots": [0, 2], "nodes_featureids": [0, 1, 0], "nodes_splits": tensor("s", [0.5, 0.0, 0.0]),
        "nodes_modes": tensor("m", [0, 6, 0], TensorProto.UINT8), "nodes_truenodeids": [1, 0, 3], "nodes_falsenodeids": [2, 1, 3],
        "nodes_trueleafs": [0, 1, 1], "nodes_falseleafs": [1, 1, 1], "membership_values": tensor("v", [1.0, 2.0, float("nan")]),
        "leaf_targetids": [0, 1, 0, 1], "leaf_weights": tensor("w", [1.0, 2.0, 4.0, 0.25]),
    }
    x = np.array([[0, 1], [0, 2], [0, 3], [1, 1], [np.nan, 2]], dtype)
    expected = np.array([[1, 0.25], [1, 0.25], [0, 2.25], [4, 0.25], [4, 0.25]], dtype)
    compare(run("TreeEnsemble", [x], [of], attributes, 5)[2], [expected])
    with pytest.raises(gantry.Error, match="not there"):
        run("TreeEnsemble", [x], [of], {**attributes, "tree_roots": [0, 9]}, 5)
    with pytest.raises(gantry.Error, match="returns to itself"):
        run("TreeEnsemble", [x], [of], {**attributes, "nodes_truenodeids": [0, 0, 3]}, 5)


def map_model(op_type, key, value, attributes, result, shape):
    """A model whose input is a map."""
    kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))
    node = helper.make_node(op_type, ["x"], ["y"], name="node", domain="ai.onnx.ml", **attributes)
    inputs = [helper.make_value_info("x", kind)]
    graph = helper.make_graph([node], "graph", inputs, [helper.make_tensor_value_info("y", result, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10)


def test_maps_to_tensors():
    model = map_model("DictVectorizer", STRING, FLOAT, {"string_vocabulary": ["a", "c", "b", "z"]}, FLOAT, [4])
    compare(run_gantry(model, {"x": {"a": 4.0, "c": 8.0}}), [np.array([4, 8, 0, 0], np.float32)])
    model = map_model("DictVectorizer", INT64, FLOAT, {"int64_vocabulary": [7, 3]}, FLOAT, [2])
    compare(run_gantry(model, {"x": {3: 1.5}}), [np.array([0, 1.5], np.float32)])
    model = map_model("CastMap", INT64, FLOAT, {"cast_to": "TO_INT64"}, INT64, [1, None])
    compare(run_gantry(model, {"x": {5: 2.0, 1: 9.0}}), [np.array([[9, 2]], np.int64)])
    model = map_model("CastMap", INT64, FLOAT, {"map_form": "SPARSE", "max_map": 4}, FLOAT, [1, 4])
    compare(run_gantry(model, {"x": {2: 2.0, 0: 9.0}}), [np.array([[9, 0, 2, 0]], np.float32)])
    with pytest.raises(gantry.Error, match="the key 9 is outside a sparse row of 4"):
        run_gantry(model, {"x": {9: 1.0}})


@pytest.mark.parametrize("labels, key", [({"classlabels_int64s": [3, 5]}, INT64), ({"classlabels_strings": ["a", "b"]}, STRING)])
def test_zip_map(labels, key):
    node = helper.make_node("ZipMap", ["x"], ["y"], name="node", domain="ai.onnx.ml", **labels)
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(FLOAT, [])))
    graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", FLOAT, [2, 2])], [helper.make_value_info("y", maps)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10)
    x = np.array([[0.1, 0.9], [0.7, 0.3]], np.float32)
    names = next(iter(labels.values()))
    rows = run_gantry(model, {"x": x})[0]
    assert [list(row) for row in rows] == [names, names]
    np.testing.assert_array_equal([[row[name] for name in names] for row in rows], x)
