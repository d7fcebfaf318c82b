# SPDX-License-Identifier: Apache-2.0
"""Tokenizer of com.microsoft against ONNX Runtime, and the text pipelines of scikit-learn that it is exported for."""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import run_exact_ort
import gantry


def tokenizer(texts, **attributes):
    """A model of one node, and its feeds; an attribute of None is left out."""
    attributes = {name: value for name, value in {"mark": 0, "mincharnum": 1, "pad_value": "#", **attributes}.items() if value is not None}
    x = np.array(texts, dtype=object)
    graph = helper.make_graph([helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, [None] * x.ndim)], [helper.make_tensor_value_info("y", TensorProto.STRING, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=10), {"x": x}


def check(texts, **attributes):
    model, feeds = tokenizer(texts, **attributes)
    (expected,) = run_exact_ort(model, feeds)
    found = gantry.Session(model, device="CPU").run(feeds)["y"]
    assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())


TEXTS = [["a b,c", "ccc"], ["", "x xx  xxx"], ["été, éa; €😀", "aab abab ba"]]
SEPARATORS = {"a letter": [" "], "several": [" ", ",", ";"], "letters": [""], "expressions": ["[ ,;]+"], "alternatives, of which the longest counts": ["a|ab"],
              "one within another": ["b", "ab"], "maybe nothing": ["a*"], "nothing at all": ["b", ""], "any letter": ["."], "the ends": ["^a", "b$"], "beyond ASCII": ["é|€"],
              "the same twice": [" ", " "], "several letters": ["  "]}


@pytest.mark.parametrize("separators", SEPARATORS)
@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize("least", [1, 2])
def test_what_is_between_separators(separators, mark, least):
    if separators == "letters" and least > 1:
        with pytest.raises(gantry.Error, match="mincharnum is 2, needs to be 1 where tokens are letters"):
            gantry.Session(tokenizer(["a"], separators=[""], mincharnum=2)[0], device="CPU")
        return
    check(TEXTS, separators=SEPARATORS[separators], mark=mark, mincharnum=least)
    check(TEXTS[2], separators=SEPARATORS[separators], mark=mark, mincharnum=least)


@pytest.mark.parametrize("token", ["[a-z]+", "\\w+", "a*", "a|ab", "(a)(b)", "^a", "é+.", "[^ ,;]+", "\\bx", "a.b", "😀"])
@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize("least", [1, 2])
def test_what_an_expression_matches(token, mark, least):
    check(TEXTS, tokenexp=token, mark=mark, mincharnum=least)


@pytest.mark.parametrize("texts", [["", " "], np.zeros((0,), object), np.zeros((2, 0), object), ["a\nb c"], [["a"]]])
def test_few_texts_and_empty_ones(texts):
    for mark in (0, 1):
        check(texts, separators=[" "], mark=mark)
        check(texts, separators=[""], mark=mark)
        check(texts, tokenexp="[a-z]", mark=mark)


def test_separators_go_before_the_expression_of_a_token():
    check(["ayxbz"], separators=["x"], tokenexp="[a-z]")


@pytest.mark.parametrize("attributes, words", [
    ({"separators": ["("]}, 'attribute separators has "(", no RE2 expression: missing ): ('),
    ({"tokenexp": "[a"}, 'attribute tokenexp has "[a", no RE2 expression: missing ]: [a'),
    ({}, "attributes separators and tokenexp are both missing or empty"),
    ({"tokenexp": "a", "mincharnum": 0}, "attribute mincharnum is 0, needs at least 1"),
])
def test_attributes_that_do_not_fit_are_errors(attributes, words):
    with pytest.raises(gantry.Error, match=re.escape(words)):
        gantry.Session(tokenizer(["a"], **attributes)[0], device="CPU")


def test_texts_that_do_not_fit():
    model, _ = tokenizer(["a"], separators=[" "])
    del model.graph.input[0].type.tensor_type.shape.dim[:]
    model.graph.input[0].type.tensor_type.ClearField("shape")
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.Error, match=re.escape("needs [C] or [N, C]")):
        session.run({"x": np.array([[["a"]]], object)})
