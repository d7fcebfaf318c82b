# SPDX-License-Identifier: Apache-2.0
"""Operators on texts, against Python's own functions and ONNX Runtime."""

import re

import numpy as np
import pytest
from onnx import TensorProto
from oracle import compare, node_model, run_gantry, run_ort

import gantry

STRING, INT64, FLOAT, BOOL = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def texts(values):
    return np.array(values, dtype=object)


def run(op_type, inputs, types, opset=20, attributes=None):
    model, feeds = node_model(op_type, inputs, types, opset, attributes)
    return model, feeds, run_gantry(model, feeds)


def test_concat():
    a, b = texts([["a", ""], ["\u00e9", "x y"]]), texts(["1", "\u4f60"])
    compare(run("StringConcat", [a, b], [STRING])[2], [texts([["a1", "\u4f60"], ["\u00e91", "x y\u4f60"]])])


@pytest.mark.parametrize("delimiter", [None, "", ",", "ab", "\u00e9"])
@pytest.mark.parametrize("most", [None, 0, 1, 2])
def test_split(delimiter, most):
    x = texts(["a,b,,c", "", ",", "  two  words ", "xabyabz", "\u00e9a\u00e9", "\u2003wide\u2003space", "abab"])
    attributes = {k: v for k, v in {"delimiter": delimiter, "maxsplit": most}.items() if v is not None}
    pieces = [text.split(delimiter or None, -1 if most is None else most) for text in x]
    width = max(map(len, pieces))
    padded = texts([p + [""] * (width - len(p)) for p in pieces]).reshape(len(x), width)
    _, _, (y, count) = run("StringSplit", [x], [STRING, INT64], 20, attributes)
    compare(y, padded)
    compare(count, np.array([len(p) for p in pieces], np.int64))


@pytest.mark.parametrize("action, change", [("NONE", str), ("LOWER", str.lower), ("UPPER", str.upper)])
@pytest.mark.parametrize("sensitive", [0, 1])
def test_normalizer(action, change, sensitive):
    x = texts(["Monday", "tuesday", "monday", "STRASSE", "stra\u00dfe", "\u00c9t\u00e9", "\u0391\u03a3"])
    kept = [t for t in x if (t if sensitive else t.lower()) != "monday"]
    attributes = {"case_change_action": action, "is_case_sensitive": sensitive, "stopwords": ["monday"], "locale": "en_US"}
    compare(run("StringNormalizer", [x], [STRING], 10, attributes)[2], [texts([change(t) for t in kept])])
    compare(run("StringNormalizer", [x[None]], [STRING], 10, attributes)[2], [texts([[change(t) for t in kept]])])


def test_normalizer_knows_locales():
    attributes = {"case_change_action": "UPPER", "locale": "tr_TR"}
    compare(run("StringNormalizer", [texts(["i\u0131"])], [STRING], 10, attributes)[2], [texts(["\u0130I"])])
    compare(run("StringNormalizer", [texts(["a", "A"])], [STRING], 10, {"stopwords": ["a"]})[2], [texts([""])])
    with pytest.raises(gantry.Error, match=r"\[C\] or \[1, ?C\]"):
        run("StringNormalizer", [texts([["a"], ["b"]])], [STRING], 10)


@pytest.mark.parametrize("pattern", [r"\d+", r"[a-z]*@[a-z]+\.com", "", r"a|b", "\u00e9."])
def test_regex(pattern):
    x = texts([["12", "a1", ""], ["me@site.com", "\u00e9x", "b"]])
    expected = np.array([[re.fullmatch(pattern, t) is not None for t in row] for row in x])
    compare(run("RegexFullMatch", [x], [BOOL], 20, {"pattern": pattern})[2], [expected])


def test_a_broken_expression_is_said():
    with pytest.raises(gantry.Error, match="no RE2 expression"):
        run("RegexFullMatch", [texts(["a"])], [BOOL], 20, {"pattern": "(a"})


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("shortest, longest, skips", [(1, 1, 0), (2, 2, 0), (2, 2, 5), (1, 2, 3), (1, 3, 1)])
@pytest.mark.parametrize("kind", [np.int32, np.int64, str])
def test_tfidf(mode, shortest, longest, skips, kind):
    tokens = np.random.default_rng(1).integers(0, 6, (3, 12))
    pool = [1, 2, 3, 4, 1, 2, 2, 3, 5, 5, 1, 2, 3, 3, 3, 3]  # four of one, three of two, two of three tokens
    attributes = {
        "mode": mode, "min_gram_length": shortest, "max_gram_length": longest, "max_skip_count": skips,
        "ngram_counts": [0, 4, 10], "ngram_indexes": list(range(9)), "weights": [0.5, 1, 2, 3, 4, 5, 6, 7, 8.0],
    }
    attributes["pool_strings" if kind is str else "pool_int64s"] = [str(t) for t in pool] if kind is str else pool
    x = texts(tokens.astype(str).tolist()) if kind is str else tokens.astype(kind)
    model, feeds, y = run("TfIdfVectorizer", [x], [FLOAT], 9, attributes)
    compare(y, run_ort(model, feeds))
    model, feeds, y = run("TfIdfVectorizer", [x[0]], [FLOAT], 9, attributes)
    compare(y, run_ort(model, feeds))


def test_tfidf_weights_belong_to_the_pool():
    attributes = {
        "mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
        "ngram_indexes": [2, 0], "pool_int64s": [7, 8], "weights": [10.0, 100.0],
    }
    compare(run("TfIdfVectorizer", [np.array([7, 7, 8], np.int64)], [FLOAT], 9, attributes)[2], [np.array([100, 0, 20], np.float32)])
    with pytest.raises(gantry.Error, match="must have one number for each"):
        run("TfIdfVectorizer", [np.array([7], np.int64)], [FLOAT], 9, {**attributes, "ngram_indexes": [0]})
