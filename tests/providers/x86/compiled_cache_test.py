# SPDX-License-Identifier: Apache-2.0
"""The artefact cache with weights that oneDNN packs: the next start finds them in the file, computes the same bits, and never trusts what does not fit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import gantry
from small_graph import small_graph

MIB = 1 << 20


def own_memory():
    """Memory of the process that is no file's, in bytes."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


INTEGERS = "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z) y = Cast<to=1>(i)"

MODELS = {
    "conv": ("y = Conv<pads=[1, 1, 1, 1]>(x, w)", (1, 32, 20, 20), {"w": random(48, 32, 3, 3)}),
    "image": ("y = Conv<strides=[2, 2], pads=[3, 3, 3, 3]>(x, w)", (1, 3, 32, 32), {"w": random(64, 3, 7, 7)}),
    "groups": ("y = Conv<group=4>(x, w)", (2, 32, 9, 9), {"w": random(32, 8, 3, 3)}),
    "depthwise": ("y = Conv<group=32, pads=[1, 1, 1, 1]>(x, w)", (1, 32, 14, 14), {"w": random(32, 1, 3, 3)}),
    "depthwise pixels": ("y = Conv<group=64, strides=[2, 2]>(x, w, b)", (1, 64, 40, 40), {"w": random(64, 1, 1, 1), "b": random(64)}),
    "three axes": ("y = Conv<group=42, pads=[3, 3, 3, 3, 3, 3]>(x, w, b)", (3, 42, 1, 6, 2), {"w": random(42, 1, 7, 7, 7), "b": random(42)}),
    "timed": ("y = Conv<pads=[1, 1, 1, 1]>(x, w)", (1, 64, 28, 28), {"w": random(64, 64, 3, 3)}),
    "points": ("y = Conv(x, w)", (1, 24, 14, 14), {"w": random(144, 24, 1, 1)}),
    "narrow": ("y = Conv(x, w)", (1, 96, 14, 14), {"w": random(24, 96, 1, 1)}),
    "fused": ("c = Conv(x, w, b) y = Relu(c)", (1, 16, 8, 8), {"w": random(16, 16, 1, 1), "b": random(16)}),
    "product": ("y = MatMul(x, w)", (4, 96), {"w": random(96, 80)}),
    "gemm": ("y = Gemm<transB=1, alpha=0.5>(x, w, b)", (4, 96), {"w": random(80, 96), "b": random(80)}),
    "integers": (INTEGERS, (4, 96), {"w": np.random.default_rng(0).integers(-128, 128, (96, 40), np.int8)}),
    "small integers": (INTEGERS, (4, 96), {"w": np.rint(random(96, 40) * 30).astype(np.int8)}),  # of which some pairs stand apart
    "two": ("h = MatMul(x, w) y = MatMul(h, v)", (4, 64), {"w": random(64, 64), "v": random(64, 64, seed=1)}),
}


def saved(folder, text, shape, weights, name="a.onnx"):
    model, feeds = small_graph(text, {"x": random(*shape, seed=9)}, weights)
    onnx.save(model, folder / name)
    return folder / name, feeds


def load(path, folder, **session):
    return gantry.Session(path, device="CPU", config={"session": {"artefact_cache": str(folder / "cache"), "threads": 2, **session}})


def file_of(folder):
    return next((folder / "cache").glob("*.artefact"))


@pytest.mark.parametrize("name", MODELS)
def test_the_next_start_computes_the_same_bits(name, tmp_path):
    path, feeds = saved(tmp_path, *MODELS[name])
    expected = gantry.Session(path, device="CPU", config={"session": {"threads": 2}}).run(feeds)["y"]
    for state in ("made", "used", "used"):
        session = load(path, tmp_path)
        assert session.artefact.state == state
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)
        del session  # with what it packed
    text = file_of(tmp_path).read_bytes()
    assert text.count(b"packed ") == len([value for value in MODELS[name][2].values() if value.ndim > 1])


PLANS = {
    "folded": "c = Add(w, v) y = MatMul(x, c)",  # computed from constants, and packed
    "read by cpu": "c = Mul(w, v) s = Sub(x, c) y = CumSum(s, axis)",  # computed from constants, and read in runs
    "branches": "h = MatMul(x, w) y = If (yes) <then_branch = t () => (float[?, ?] a) { a = Add(h, v) }, else_branch = e () => (float[?, ?] b) { b = Sub(h, v) }>",
    "text": "y = StringConcat(t, t)",
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("where", ["inside", "beside"])
def test_the_plan_computes_the_same_bits(name, where, tmp_path):
    feeds = {"t": np.array(["a", ""], object)} if name == "text" else {"x": random(64, 64, seed=9)}
    constants = {"w": random(64, 64), "v": random(64, 64, seed=1), "axis": np.array(0), "yes": np.array(True)}
    if name == "branches":
        feeds["yes"] = constants.pop("yes")
    model, feeds = small_graph(PLANS[name], feeds, {key: value for key, value in constants.items() if key in PLANS[name]})
    if where == "beside":
        onnx.save(model, tmp_path / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=0)
    else:
        onnx.save(model, tmp_path / "a.onnx")
    expected = gantry.Session(tmp_path / "a.onnx", device="CPU", config={"session": {"threads": 2}}).run(feeds)["y"]
    for state in ("made", "used", "used"):
        session = load(tmp_path / "a.onnx", tmp_path)
        assert session.artefact.state == state, session.artefact.reason
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)
        del session
    assert b"a.onnx" in file_of(tmp_path).read_bytes()


def test_external_data_that_changed_is_seen(tmp_path):
    model, feeds = small_graph("y = MatMul(x, w)", {"x": random(64, 64, seed=9)}, {"w": random(64, 64)})
    onnx.save(model, tmp_path / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=0)
    first = load(tmp_path / "a.onnx", tmp_path).run(feeds)["y"]
    assert load(tmp_path / "a.onnx", tmp_path).artefact.state == "used"
    data = np.fromfile(tmp_path / "a.data", np.float32)
    (-data).tofile(tmp_path / "a.data")
    session = load(tmp_path / "a.onnx", tmp_path)
    assert session.artefact.state == "rebuilt" and "content" in session.artefact.reason
    np.testing.assert_array_equal(session.run(feeds)["y"], -first)
    del session
    (tmp_path / "a.data").unlink()
    with pytest.raises(gantry.NotFoundError, match="a.data"):
        load(tmp_path / "a.onnx", tmp_path)


def test_what_was_chosen_by_timing_is_kept(tmp_path):
    path, _ = saved(tmp_path, *MODELS["timed"])
    assert load(path, tmp_path).artefact.state == "made"
    assert b"8:winograd" in file_of(tmp_path).read_bytes()
    first = file_of(tmp_path)
    # With another option it is not the answer.
    forced = gantry.Session(path, device="CPU", config={
        "session": {"artefact_cache": str(tmp_path / "cache"), "threads": 2}, "providers": {"options": {"x86": {"winograd": "2x2"}}}})
    assert forced.artefact.state == "made" and forced.artefact.file != str(first)


def test_packed_weights_are_used_where_the_file_is_mapped(tmp_path):
    path, feeds = saved(tmp_path, "y = MatMul(x, w)", (1, 2048), {"w": random(2048, 8192)})  # 64 MiB
    session = load(path, tmp_path)
    expected = session.run(feeds)["y"]
    del session
    before = own_memory()
    session = load(path, tmp_path)
    assert session.artefact.state == "used"
    np.testing.assert_array_equal(session.run(feeds)["y"], expected)
    assert own_memory() - before < 16 * MIB
    assert str(file_of(tmp_path)) in Path("/proc/self/maps").read_text()


def test_other_weights_of_the_same_shape_are_not_taken_for_them(tmp_path):
    text, shape, weights = MODELS["conv"]
    path, feeds = saved(tmp_path, text, shape, weights)
    first = load(path, tmp_path).run(feeds)["y"]
    saved(tmp_path, text, shape, {"w": -weights["w"]})
    session = load(path, tmp_path)
    assert session.artefact.state == "rebuilt" and "content" in session.artefact.reason
    np.testing.assert_array_equal(session.run(feeds)["y"], -first)


def test_a_damaged_file_is_never_computed_with(tmp_path):
    path, feeds = saved(tmp_path, *MODELS["product"])
    expected = load(path, tmp_path).run(feeds)["y"]
    good = file_of(tmp_path).read_bytes()
    for place in [*range(4096, len(good), len(good) // 23), 8, 40, len(good) - 1]:
        bad = bytearray(good)
        bad[place] ^= 16
        file_of(tmp_path).write_bytes(bad)
        session = load(path, tmp_path)
        assert session.artefact.state == "rebuilt", place
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)
        del session
        assert file_of(tmp_path).read_bytes() == good
    for length in (0, 100, 5000, len(good) - 1):
        file_of(tmp_path).write_bytes(good[:length])
        assert load(path, tmp_path).artefact.state == "rebuilt", length


CHILD = """
import json, sys, numpy, gantry
path, cache = sys.argv[1:3]
session = gantry.Session(path, device="CPU", config={"session": {"artefact_cache": cache, "threads": 2}})
x = numpy.load(sys.argv[3])
y = session.run({"x": x})["y"]
print(json.dumps([session.artefact.state, session.artefact.reason, y.tolist()]))
"""


def in_a_process(path, folder, feeds, **environment):
    np.save(folder / "x.npy", feeds["x"])
    arguments = [sys.executable, "-c", CHILD, str(path), str(folder / "cache"), str(folder / "x.npy")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return process


def result_of(process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    state, reason, y = json.loads(output)
    return state, reason, np.asarray(y, np.float32)


def test_other_instructions_have_other_layouts(tmp_path):
    path, feeds = saved(tmp_path, *MODELS["conv"])
    assert result_of(in_a_process(path, tmp_path, feeds))[0] == "made"
    state, reason, y = result_of(in_a_process(path, tmp_path, feeds, ONEDNN_MAX_CPU_ISA="SSE41"))
    assert state == "rebuilt" and "did not take" in reason  # which the host cannot know: the provider refuses
    np.testing.assert_allclose(y, gantry.Session(path, device="CPU").run(feeds)["y"], rtol=1e-4, atol=1e-4)


def test_processes_that_start_at_once_leave_one_whole_file(tmp_path):
    path, feeds = saved(tmp_path, *MODELS["product"])
    expected = gantry.Session(path, device="CPU", config={"session": {"threads": 2}}).run(feeds)["y"]
    for state, _, y in [result_of(process) for process in [in_a_process(path, tmp_path, feeds) for _ in range(4)]]:
        assert state in ("made", "used")
        np.testing.assert_array_equal(y, expected)
    assert load(path, tmp_path).artefact.state == "used"
    assert len(list((tmp_path / "cache").glob("*.artefact"))) == 1
    assert not list((tmp_path / "cache").glob("*.artefact.[!d]*"))  # drafts
