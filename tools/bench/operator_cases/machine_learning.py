# SPDX-License-Identifier: Apache-2.0
"""Operators of classical models (ai.onnx.ml): 4,096 samples, forests of 100 trees, support vector machines of 500 vectors."""

import numpy as np
from onnx import TensorProto, helper

from operator_cases.case import Case, integers, normal, uniform, value

ROWS, FEATURES, CLASSES = 4096, 32, 4
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
DATA = normal(ROWS, FEATURES)
WORDS = [f"word {i}" for i in range(100)]


def case(op, variant, inputs, output_types, version=1, **attributes):
    return Case(op, variant, inputs, outputs=len(output_types), attributes=attributes, output_types=output_types, domain="ai.onnx.ml", opset=version)


def words(generator):
    return np.array(WORDS, object)[generator.integers(0, len(WORDS), ROWS)]


def features():
    rows = f"f32 {ROWS:,} x {FEATURES}"
    yield case("Scaler", rows, (DATA,), (FLOAT,), offset=[0.5] * FEATURES, scale=[2.0] * FEATURES)
    for norm in ("MAX", "L1", "L2"):
        yield case("Normalizer", f"{rows}, {norm}", (DATA,), (FLOAT,), norm=norm)
    yield case("Binarizer", rows, (DATA,), (FLOAT,), threshold=0.5)
    yield case("Imputer", rows, (lambda generator: np.where(generator.random((ROWS, FEATURES)) < 0.1, np.float32(np.nan), DATA(generator)),), (FLOAT,),
               imputed_value_floats=[1.0] * FEATURES, replaced_value_float=float("nan"))
    yield case("FeatureVectorizer", f"two f32 {ROWS:,} x {FEATURES}", (DATA, DATA), (FLOAT,), inputdimensions=[FEATURES, FEATURES])
    yield case("ArrayFeatureExtractor", f"16 of {rows}", (DATA, np.arange(0, FEATURES, 2, dtype=np.int64)[np.newaxis]), (FLOAT,))
    yield case("OneHotEncoder", "4,096 numbers of 100", (integers(0, 100, ROWS),), (FLOAT,), cats_int64s=list(range(100)))
    yield case("OneHotEncoder", "4,096 texts of 100", (words,), (FLOAT,), cats_strings=WORDS)


def labels():
    yield case("LabelEncoder", "4,096 texts to numbers", (words,), (INT64,), 2, keys_strings=WORDS, values_int64s=list(range(100)))
    yield case("LabelEncoder", "65,536 numbers to f32", (integers(0, 120, 65536),), (FLOAT,), 2, keys_int64s=list(range(100)), values_floats=[0.5 * i for i in range(100)])
    yield case("CategoryMapper", "4,096 texts", (words,), (INT64,), cats_strings=WORDS, cats_int64s=list(range(100)))
    counts = {i: float(i) for i in range(0, 4096, 2)}
    yield case("DictVectorizer", "2,048 of 4,096", (counts,), (helper.make_tensor_type_proto(FLOAT, [1, 4096]),), int64_vocabulary=list(range(4096)))
    yield case("CastMap", "2,048 of 4,096", (counts,), (FLOAT,), map_form="SPARSE", max_map=4096)
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, [])))
    yield case("ZipMap", f"f32 {ROWS:,} x {CLASSES}", (uniform(0, 1, ROWS, CLASSES),), (maps,), classlabels_int64s=list(range(CLASSES)))


def linear():
    weights = np.random.default_rng(5).normal(size=(CLASSES, FEATURES)).ravel().tolist()
    yield case("LinearRegressor", f"f32 {ROWS:,} x {FEATURES}, 4 targets", (DATA,), (FLOAT,), coefficients=weights, intercepts=[0.1] * CLASSES, targets=CLASSES)
    yield case("LinearClassifier", f"f32 {ROWS:,} x {FEATURES}, 4 classes", (DATA,), (INT64, FLOAT), coefficients=weights, intercepts=[0.1] * CLASSES,
               classlabels_ints=list(range(CLASSES)), post_transform="SOFTMAX")


def support_vectors():
    count = 500
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(count, FEATURES)).ravel().tolist()
    kernel = {"kernel_type": "RBF", "kernel_params": [0.05, 0.0, 3.0], "support_vectors": vectors}
    few = normal(1024, FEATURES)
    yield case("SVMRegressor", f"f32 1,024 x {FEATURES}, 500 vectors", (few,), (FLOAT,), coefficients=rng.normal(size=count).tolist(), n_supports=count, rho=[0.3], **kernel)
    yield case("SVMClassifier", f"f32 1,024 x {FEATURES}, 500 vectors", (few,), (INT64, FLOAT), coefficients=rng.normal(size=count).tolist(),
               vectors_per_class=[count // 2, count // 2], rho=[0.3], classlabels_ints=[0, 1], **kernel)


TREES, DEPTH = 100, 6
INNER, LEAVES = 2**DEPTH - 1, 2**DEPTH


def forest(rng):
    """Whole trees, node by node as TreeEnsembleRegressor and -Classifier want them: the first INNER of each divide."""
    nodes = np.arange(INNER + LEAVES)
    is_inner = nodes < INNER
    each = lambda values: np.tile(values, TREES).tolist()  # noqa: E731
    return {
        "nodes_treeids": np.repeat(np.arange(TREES), nodes.size).tolist(),
        "nodes_nodeids": each(nodes),
        "nodes_featureids": (rng.integers(0, FEATURES, TREES * nodes.size)).tolist(),
        "nodes_values": rng.normal(size=TREES * nodes.size).tolist(),
        "nodes_modes": each(np.where(is_inner, "BRANCH_LEQ", "LEAF")),
        "nodes_truenodeids": each(np.where(is_inner, 2 * nodes + 1, 0)),
        "nodes_falsenodeids": each(np.where(is_inner, 2 * nodes + 2, 0)),
    }, {
        "treeids": np.repeat(np.arange(TREES), LEAVES).tolist(),
        "nodeids": each(nodes[~is_inner]),
        "weights": rng.normal(size=TREES * LEAVES).tolist(),
    }


def ensemble(rng):
    """The same as TreeEnsemble wants it."""
    nodes = np.arange(INNER)
    parts = [nodes + tree * INNER for tree in range(TREES)]
    has_leaves = nodes >= INNER // 2
    branch = lambda side: np.concatenate([np.where(has_leaves, 2 * (nodes - INNER // 2) + side + tree * LEAVES, 2 * nodes + 1 + side + tree * INNER)  # noqa: E731
                                          for tree in range(TREES)]).tolist()
    count = TREES * INNER
    return {
        "n_targets": 1,
        "tree_roots": [int(part[0]) for part in parts],
        "nodes_modes": helper.make_tensor("modes", TensorProto.UINT8, [count], [0] * count),
        "nodes_splits": helper.make_tensor("splits", FLOAT, [count], rng.normal(size=count).tolist()),
        "nodes_featureids": rng.integers(0, FEATURES, count).tolist(),
        "nodes_truenodeids": branch(0),
        "nodes_falsenodeids": branch(1),
        "nodes_trueleafs": np.tile(has_leaves, TREES).astype(int).tolist(),
        "nodes_falseleafs": np.tile(has_leaves, TREES).astype(int).tolist(),
        "leaf_targetids": [0] * (TREES * LEAVES),
        "leaf_weights": helper.make_tensor("weights", FLOAT, [TREES * LEAVES], rng.normal(size=TREES * LEAVES).tolist()),
    }


def trees():
    rng = np.random.default_rng(7)
    splits, leaves = forest(rng)
    variant = f"f32 {ROWS:,} x {FEATURES}, 100 trees of depth 6"
    yield case("TreeEnsembleRegressor", variant, (DATA,), (FLOAT,), 3, n_targets=1, **splits,
               **{f"target_{name}": numbers for name, numbers in leaves.items()}, target_ids=[0] * (TREES * LEAVES))
    yield case("TreeEnsembleRegressor", f"f32 1 x {FEATURES}, 100 trees of depth 6", (normal(1, FEATURES),), (FLOAT,), 3, n_targets=1, **splits,
               **{f"target_{name}": numbers for name, numbers in leaves.items()}, target_ids=[0] * (TREES * LEAVES))
    yield case("TreeEnsembleClassifier", variant, (DATA,), (INT64, FLOAT), 3, classlabels_int64s=list(range(CLASSES)), **splits,
               **{f"class_{name}": numbers for name, numbers in leaves.items()}, class_ids=rng.integers(0, CLASSES, TREES * LEAVES).tolist())
    yield case("TreeEnsemble", variant, (DATA,), (FLOAT,), 5, **ensemble(rng))


CASES = (*features(), *labels(), *linear(), *support_vectors(), *trees())
