# SPDX-License-Identifier: Apache-2.0
"""Inputs that the model declares as numbers, without axes: a run may give them axes, as with ONNX Runtime."""

import threading

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import gantry


def model(text, header='<ir_version: 10, opset_import: ["" : 21]>'):
    return parser.parse_model(f"{header}\n{text}").SerializeToString()


BODY = "g (float x, float[N] w) => (float y, z) { y = Neg(x) z = Mul(y, w) }"
BRANCHES = """g (bool c, float x) => (y) {
    y = If(c) <then_branch = t () => (float a) { a = Neg(x) }, else_branch = e () => (float b) { b = Add(x, x) }>
}"""
LOOP = """g (int64 n, float x) => (float y) {
    c = Constant<value = bool {1}>()
    y = Loop(n, c, x) <body = b (int64 i, bool k, float s) => (bool l, float t) { l = Identity(k) t = Add(s, x) }>
}"""
def number(value):
    return np.array(value, np.float32)


W = np.array([1, 2, 3], np.float32)
AXES = np.arange(6, dtype=np.float32).reshape(2, 3)


def expect_as_onnxruntime(text, *feeds, **options):
    session = gantry.Session(model(text), **options)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    theirs = onnxruntime.InferenceSession(model(text), settings, providers=["CPUExecutionProvider"])
    for feed in feeds:
        for want, found in zip(theirs.run(None, feed), session.run(feed).values(), strict=True):
            np.testing.assert_array_equal(found, want)
            assert found.dtype == want.dtype and found.shape == want.shape
    return session


@pytest.mark.parametrize("optimization", ("none", "all"))
def test_a_number_may_have_axes(optimization):
    config = {"session": {"optimization": optimization}}
    session = expect_as_onnxruntime(BODY, {"x": number(2), "w": W}, {"x": AXES, "w": W}, {"x": W, "w": W}, {"x": number(2), "w": W}, config=config)
    assert session.inputs[0].shape == []  # it is shown as the model has it


def test_in_bodies():
    """ONNX Runtime takes it in a Loop; in a branch of an If, whose output is declared as a number too, it does not."""
    loops = {"n": np.array(3)}
    expect_as_onnxruntime(LOOP, {**loops, "x": number(2)}, {**loops, "x": AXES}, {**loops, "x": number(5)})
    session = gantry.Session(model(BRANCHES))
    for x in (number(2), AXES, number(3)):
        np.testing.assert_array_equal(session.run({"c": np.array(False), "x": x})["y"], x + x)


def test_strings():
    text = "g (string x, string[N] w) => (string[M] y) { y = StringConcat(x, w) }"
    feed = {"x": np.array(["a", "b"], object), "w": np.array(["-"], object)}
    assert gantry.Session(model(text)).run(feed)["y"].tolist() == ["a-", "b-"]


def test_one_more_plan_serves_all_later_runs(capfd):
    gantry.set_log_level("info")
    try:
        session = gantry.Session(model(BODY))
        for x in (number(1), AXES, W, number(3), AXES[:1]):
            session.run({"x": x, "w": W})
    finally:
        gantry.set_log_level("warning")
    said = capfd.readouterr().err
    assert said.count("planned once more") == 1 and 'gives axes to "x"' in said


def test_more_inputs_are_opened_as_runs_give_them_axes():
    text = "g (float a, float b) => (float y) { y = Add(a, b) }"
    one, many = number(1), W
    expect_as_onnxruntime(text, {"a": many, "b": one}, {"a": one, "b": many}, {"a": many, "b": many}, {"a": one, "b": one})


def test_a_default_and_a_number_are_opened_together():
    text = "g (float x, float[3] w = {1.0, 1.0, 1.0}) => (float[M] y) { y = Add(x, w) }"
    expect_as_onnxruntime(text, {"x": number(1)}, {"x": W}, {"x": W, "w": W}, {"x": number(1), "w": W}, {"x": number(1)})


def test_the_type_still_counts_and_so_does_what_the_operator_takes():
    session = gantry.Session(model(BODY))
    with pytest.raises(ValueError, match=r'input "x": expected float32.*found float64\[3\]'):
        session.run({"x": W.astype(np.float64), "w": W})
    with pytest.raises(ValueError, match=r'input "w": expected float32\[N\], found float32\[2,3\]'):
        session.run({"x": W, "w": AXES})
    condition = gantry.Session(model(BRANCHES))
    with pytest.raises(gantry.Error, match="c"):
        condition.run({"c": np.array([True, False]), "x": number(1)})
    np.testing.assert_array_equal(condition.run({"c": np.array(True), "x": number(1)})["y"], -1)


def test_threads_share_the_plan():
    session = gantry.Session(model(BODY))
    wrong = []

    def runs(x):
        for _ in range(20):
            if not np.array_equal(session.run({"x": x, "w": W})["z"], -x * W):
                wrong.append(x)

    threads = [threading.Thread(target=runs, args=(x,)) for x in (number(2), AXES, W, AXES + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_with_the_compiled_model_cache(tmp_path):
    """Every start behaves alike: one from the cache has no model that could be planned once more."""
    config = {"session": {"artefact_cache": str(tmp_path)}}
    for state in ("made", "used"):
        file = tmp_path / "m.onnx"
        file.write_bytes(model(BODY))
        session = gantry.Session(file, config=config)
        assert session.artefact.state == state
        np.testing.assert_array_equal(session.run({"x": number(2), "w": W})["z"], -2 * W)
        with pytest.raises(ValueError, match=r'input "x": expected float32\[\], found float32\[2,3\]'):
            session.run({"x": AXES, "w": W})


def test_with_isolated_providers():
    expect_as_onnxruntime(BODY, {"x": number(2), "w": W}, {"x": AXES, "w": W}, config={"providers": {"isolation": {"cpu": "process"}}})
