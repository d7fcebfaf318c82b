# SPDX-License-Identifier: Apache-2.0
"""Random models of the spellings that exporters write compute what ONNX Runtime computes, in all the ways in which a session can run them."""

import pathlib

import numpy as np
import pytest

from operator_fuzz import watch
from random_models import compare, constants
from random_models.generate import generate
from small_graph import small_graph

# Of some tens of thousands that were tried; compare.py takes others.
FIRST, END = 0, 200


def test_random_models():
    became = dict(watch(FIRST, END, limit_s=60, program=[pathlib.Path(compare.__file__), "--seeds"]))
    assert sorted(became) == list(range(FIRST, END))
    assert {number: result for number, result in became.items() if result not in ("ok", "nothing")} == {}
    assert sum(result == "ok" for result in became.values()) > 0.9 * (END - FIRST)


def test_a_number_is_a_model():
    first, again, other = generate(5), generate(5), generate(6)
    assert first[0].SerializeToString() == again[0].SerializeToString() != other[0].SerializeToString()
    assert all(np.array_equal(first[1][name], again[1][name]) for name in first[1])


WRONG = {
    "digits": lambda y: y * np.float32(1.001), "shape": lambda y: y[:1], "no number": lambda y: np.where(np.abs(y) > 0.1, np.float32(np.nan), y), "sign": lambda y: -y,
    "order": lambda y: np.roll(y, 1, -1), "type": lambda y: y.astype(np.int32),
}


@pytest.mark.parametrize("is_rounded", [False, True])
@pytest.mark.parametrize("change", WRONG)
def test_what_is_wrong_is_seen(change, is_rounded):
    """Behind a rounding, too, where a step more or less is allowed in few places."""
    text = "q = QuantizeLinear(b, s, z)\n y = DequantizeLinear(q, s, z)" if is_rounded else "y = Neg(b)"
    constants = {"s": np.float32(0.03), "z": np.int8(0)} if is_rounded else {}
    model, feeds = small_graph("a = Tanh(x)\n b = Mul(a, a)\n" + text, {"x": np.random.default_rng(0).standard_normal((4, 50), np.float32) * 3}, constants)
    expected = compare.Expected(model, feeds)
    right = expected.results[0]
    expected.check({"y": right})
    if is_rounded and change == "digits":
        expected.check({"y": WRONG[change](right)})
        return
    with pytest.raises(compare.Disagreement):
        expected.check({"y": WRONG[change](right)})


def test_a_wrong_way_is_told(monkeypatch):
    model, feeds = small_graph("y = Add(x, x)", {"x": np.ones((2, 3), np.float32)})
    assert compare.check(model, feeds) == {}
    monkeypatch.setattr(compare, "_session", lambda model, *_, **__: type("Session", (), {"run": lambda _, feeds: {"y": feeds["x"]}})())
    assert sorted(compare.check(model, feeds, ["default", "threads", "cpu alone", "as written"])) == ["as written", "cpu alone", "default", "threads"]


@pytest.mark.parametrize("text", ["a = Add(x, three)\n b = Clip(a, zero, six)\n y = Mul(b, sixth)", "a = Pow(x, two)\n y = Neg(a)"])
def test_a_constant_that_is_taken_for_a_patterns_is_told(text, monkeypatch):
    """By other numbers, or where the right ones are NaN."""
    numbers = {name: np.float32(number) for name, number in {"zero": 0, "sixth": 1 / 6, "two": 2, "three": 3, "six": 6}.items() if name in text}
    model, feeds = small_graph(text, {"x": np.linspace(-4, 4, 64, dtype=np.float32)}, numbers)
    assert compare.check(model, feeds, ["constants beside"]) == {}
    make = compare._session

    def unchanged(other, *rest, **config):
        return make(other if "providers" in config else model, *rest, **config)

    monkeypatch.setattr(compare, "_session", unchanged)
    assert "made" in compare.check(model, feeds, ["constants beside"])["constants beside"]


def test_a_denormal_that_becomes_zero_is_told(monkeypatch):
    rng = np.random.default_rng(0)
    model, feeds = small_graph("y = Mul(x, c)", {"x": rng.standard_normal(4000, np.float32)}, {"c": np.ones(4000, np.float32)})
    assert compare.check(model, feeds, ["denormals"]) == {}
    make = compare._session

    def flushing(model, *rest, **config):
        if "providers" in config:  # whom the results are compared with
            return make(model, *rest, **config)
        session = make(constants.without_denormals(model), *rest, **config)
        return type("Session", (), {"run": lambda _, feeds: session.run({name: constants.flushed(array) for name, array in feeds.items()})})()

    monkeypatch.setattr(compare, "_session", flushing)
    assert "wrong" in compare.check(model, feeds, ["denormals"])["denormals"]
