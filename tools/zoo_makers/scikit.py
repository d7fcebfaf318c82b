# SPDX-License-Identifier: Apache-2.0
"""Every estimator of scikit-learn that skl2onnx converts, of floats and doubles, with its options; pipelines of texts, categories and mixed columns."""

import functools

import numpy as np
import skl2onnx
import sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import compose, ensemble, feature_extraction, linear_model, naive_bayes, neighbors, pipeline, preprocessing, svm, tree
from sklearn.utils import all_estimators
from zoo_makers.made import Made

ROWS, COLUMNS = 40, 4
# Constructors that need arguments.
NEEDED = {
    "ClassifierChain": lambda make: make(linear_model.LogisticRegression()),
    "MultiOutputClassifier": lambda make: make(linear_model.LogisticRegression()),
    "MultiOutputRegressor": lambda make: make(linear_model.LinearRegression()),
    "RegressorChain": lambda make: make(linear_model.LinearRegression()),
    "OneVsOneClassifier": lambda make: make(linear_model.LogisticRegression()),
    "OneVsRestClassifier": lambda make: make(linear_model.LogisticRegression()),
    "OutputCodeClassifier": lambda make: make(linear_model.LogisticRegression()),
    "RFE": lambda make: make(linear_model.LinearRegression()),
    "RFECV": lambda make: make(linear_model.LinearRegression()),
    "SelectFromModel": lambda make: make(linear_model.LinearRegression()),
    "StackingClassifier": lambda make: make([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier())]),
    "StackingRegressor": lambda make: make([("a", linear_model.LinearRegression()), ("b", tree.DecisionTreeRegressor())]),
    "VotingClassifier": lambda make: make(
        [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier())], voting="soft", flatten_transform=False
    ),
    "VotingRegressor": lambda make: make([("a", linear_model.LinearRegression()), ("b", tree.DecisionTreeRegressor())]),
    "GridSearchCV": lambda make: make(linear_model.LogisticRegression(), {"C": [0.5, 1.0]}),
    "RandomizedSearchCV": lambda make: make(linear_model.LogisticRegression(), {"C": [0.5, 1.0]}, n_iter=1),
    "SequentialFeatureSelector": lambda make: make(linear_model.LinearRegression(), n_features_to_select=2),
    "FeatureUnion": lambda make: make([("a", preprocessing.StandardScaler()), ("b", preprocessing.MinMaxScaler())]),
    "ColumnTransformer": lambda make: make([("a", preprocessing.StandardScaler(), [0, 1]), ("b", preprocessing.MinMaxScaler(), [2, 3])]),
    **{
        name: lambda make: make(linear_model.LogisticRegression())
        for name in ("FixedThresholdClassifier", "TunedThresholdClassifierCV", "SelfTrainingClassifier")
    },
    **{name: lambda make: make(n_components=1) for name in ("CCA", "PLSCanonical", "PLSSVD")},
    **{name: lambda make: make(n_components=2) for name in ("GaussianRandomProjection", "SparseRandomProjection")},
    "KBinsDiscretizer": lambda make: make(4, encode="ordinal"),
    "LocalOutlierFactor": lambda make: make(novelty=True),
}
TARGETS = ("classes", "two classes", "number", "two numbers", "two labels")
OPSETS = {"": 21, "ai.onnx.ml": 3}


def data(dtype, target):
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal((ROWS, COLUMNS))).astype(dtype)
    score = x @ np.array([1.0, -2.0, 0.5, 1.5])
    y = {
        "number": score,
        "two classes": (score > np.median(score)).astype(np.int64),
        "classes": np.digitize(score, np.quantile(score, [0.33, 0.66])),
        "two numbers": np.stack([score, x[:, 0] - x[:, 1]], 1),
        "two labels": np.stack([score > 0, x[:, 0] > x[:, 1]], 1).astype(np.int64),
    }[target]
    return x, y


def fitted(name, make, dtype, targets=TARGETS):
    """The first of the targets that the estimator takes."""
    for target in targets:
        x, y = data(dtype, target)
        estimator = NEEDED.get(name, lambda one: one())(make)
        for parameter, value in {"random_state": 0, "n_estimators": 5, "max_iter": 50}.items():
            if parameter in estimator.get_params():
                estimator.set_params(**{parameter: value})
        try:
            return estimator.fit(x, y), x
        except (ValueError, TypeError) as error:
            failure = error
    raise failure


def convert(estimator, x, **more) -> Made:
    return Made(skl2onnx.to_onnx(estimator, x[:1], target_opset=OPSETS, **more), {"X": x})


def estimator(name, make, dtype, options) -> Made:
    model, x = fitted(name, make, dtype)
    return convert(model, x, options={id(model): options} if options else None)


def with_initial_types(model, types, feeds, expected=None) -> Made:
    return Made(skl2onnx.convert_sklearn(model, initial_types=types, target_opset=OPSETS), feeds, expected)


# skl2onnx writes the default pattern as [a-zA-Z0-9_]+: words have two letters and more, and only letters are tried with accents.
WORDS = np.array(["the cat sat on the mat", "Some dog, the cat; and birds!", "birds sing 42 songs", "", "Well-known: air", "mat mat MAT"], dtype=object)
LETTERS = np.array([*WORDS, "Été à la plage, l'été €😀"], dtype=object)
VECTORIZERS = {"count": feature_extraction.text.CountVectorizer, "tfidf": feature_extraction.text.TfidfVectorizer}
WAYS = {
    "": {},
    "bigrams": {"ngram_range": (1, 2)},
    "letters": {"analyzer": "char"},
    "letters of three": {"analyzer": "char", "ngram_range": (2, 3)},
    "binary": {"binary": True},
    "stop words": {"stop_words": ["the", "a"]},
    "pattern": {"token_pattern": "[a-zA-Z]+"},
    "one letter too": {"token_pattern": r"\b\w+\b"},
    "as written": {"lowercase": False},
    "vocabulary": {"vocabulary": ["cat", "dog", "mat"]},
    "few": {"max_features": 3},
}


def texts(make, ways) -> Made:
    words = LETTERS if ways.get("analyzer") == "char" else WORDS
    model = make(**ways).fit(words)
    # ONNX Runtime runs what lowers letters only where the system has the locale en_US.
    return with_initial_types(model, [("X", StringTensorType([None, 1]))], {"X": words.reshape(-1, 1)}, [model.transform(words).toarray().astype(np.float32)])


def texts_classified(make) -> Made:
    model = pipeline.make_pipeline(make(), linear_model.LogisticRegression()).fit(WORDS, [0, 1, 1, 0, 1, 0])
    return with_initial_types(model, [("X", StringTensorType([None, 1]))], {"X": WORDS.reshape(-1, 1)})


def mixed(final) -> Made:
    rng = np.random.default_rng(0)
    numbers, ages = rng.standard_normal((ROWS, 2)).astype(np.float32), rng.integers(1, 90, (ROWS, 1))
    colors = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, (ROWS, 1))]
    table = np.concatenate([numbers.astype(object), ages.astype(object), colors], axis=1)
    columns = compose.ColumnTransformer(
        [("n", preprocessing.StandardScaler(), [0, 1]), ("i", "passthrough", [2]), ("c", preprocessing.OneHotEncoder(handle_unknown="ignore"), [3])]
    )
    model = pipeline.make_pipeline(columns, final).fit(table, (numbers[:, 0] > 0).astype(np.int64))
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("age", Int64TensorType([None, 1])), ("color", StringTensorType([None, 1]))]
    feeds = {"a": numbers[:, :1], "b": numbers[:, 1:], "age": ages, "color": colors}
    return with_initial_types(model, types, feeds)


def categories(make, dtype) -> Made:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (ROWS, 3))
    x = np.array(["w", "x", "yy", "zzz"], dtype=object)[x] if dtype is object else x.astype(dtype)
    types = {object: StringTensorType, np.int64: Int64TensorType, np.float32: FloatTensorType, np.float64: DoubleTensorType}[dtype]
    return with_initial_types(make.fit(x), [("X", types([None, 3]))], {"X": x})


def labels(make) -> Made:
    y = np.array(["b", "a", "c", "a"], dtype=object)
    return with_initial_types(make.fit(y), [("X", StringTensorType([None]))], {"X": y})


def classified_words(make) -> Made:
    """Classes that are texts."""
    x, y = data(np.float32, "classes")
    return convert(make.fit(x, np.array(["low", "middle", "high"])[y]), x)


def models():
    for name, make in all_estimators():
        for dtype in (np.float32, np.float64):
            yield f"{name} {np.dtype(dtype).name}", functools.partial(estimator, name, make, dtype, {})
        if issubclass(make, sklearn.base.ClassifierMixin):
            for what, options in {
                "zipmap off": {"zipmap": False},
                "zipmap columns": {"zipmap": "columns"},
                "raw scores": {"zipmap": False, "raw_scores": True},
            }.items():
                yield f"{name} {what}", functools.partial(estimator, name, make, np.float32, options)
    for what, make in VECTORIZERS.items():
        for way, ways in WAYS.items():
            yield f"texts {what} {way}", functools.partial(texts, make, ways)
        yield f"texts {what} classified", functools.partial(texts_classified, make)
    for final in (
        linear_model.LogisticRegression(),
        ensemble.RandomForestClassifier(5),
        svm.SVC(probability=True),
        naive_bayes.GaussianNB(),
        neighbors.KNeighborsClassifier(3),
    ):
        yield f"mixed {type(final).__name__}", functools.partial(mixed, final)
        yield f"words as classes {type(final).__name__}", functools.partial(classified_words, final)
    for dtype in (object, np.int64, np.float32):
        kind = np.dtype(dtype).name
        for make in (
            preprocessing.OneHotEncoder(handle_unknown="ignore"),
            preprocessing.OneHotEncoder(drop="first"),
            preprocessing.OrdinalEncoder(),
            preprocessing.OneHotEncoder(sparse_output=False, min_frequency=5),
        ):
            yield f"categories {make} {kind}", functools.partial(categories, make, dtype)
    for make in (preprocessing.LabelEncoder(), preprocessing.LabelBinarizer()):
        yield f"labels {type(make).__name__}", functools.partial(labels, make)
    for kernel in ("linear", "rbf", "poly", "sigmoid"):
        for make in (
            svm.SVC(kernel=kernel, probability=True),
            svm.SVC(kernel=kernel),
            svm.SVR(kernel=kernel),
            svm.NuSVC(kernel=kernel),
            svm.OneClassSVM(kernel=kernel),
        ):
            yield f"{type(make).__name__} {kernel} {make.get_params().get('probability', '')}", functools.partial(
                estimator, type(make).__name__, lambda make=make: sklearn.base.clone(make), np.float32, {}
            )
    for metric in ("euclidean", "manhattan", "chebyshev", "cosine"):
        for make in (neighbors.KNeighborsClassifier(3, metric=metric), neighbors.KNeighborsRegressor(3, metric=metric, weights="distance")):
            yield f"{type(make).__name__} {metric}", functools.partial(
                estimator, type(make).__name__, lambda make=make: sklearn.base.clone(make), np.float32, {}
            )
