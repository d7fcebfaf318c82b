# SPDX-License-Identifier: Apache-2.0
"""Which implementation of an operator was chosen, and why those before it were not: told by sessions, by the command and in the log."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from cpu_flags import CPU_FLAGS
from oracle import compare, run_oracle
from small_graph import small_graph

import gantry

ROOT = pathlib.Path(__file__).resolve().parents[3]


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def strided():
    """A convolution that oneDNN computes, whatever the CPU: with strides, many channels, and images whose size the model says."""
    return small_graph("a = Conv<strides=[2,2]>(x, w)\n y = Relu(a)", {"x": (random(1, 48, 9, 9), ["n", 48, 9, 9])}, {"w": random(64, 48, 1, 1, seed=1)})[0]


def few_channels():
    return small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 3, 24, 24)}, {"w": random(16, 3, 3, 3, seed=1)})[0]


def implementations(model):
    return {node.op_type: node.implementation for node in gantry.Session(model, device="CPU").placement.nodes}


def test_the_chosen_one_comes_first_and_then_why_the_preferred_ones_refused():
    told = implementations(few_channels())["Conv"]
    assert told == "nchw"
    told = implementations(strided())
    assert told["Conv"] == told["Relu"], "one kernel"
    chosen, *refusals = told["Conv"].split("; ")
    assert chosen == "oneDNN"
    assert [text.split(":")[0] for text in refusals] == ["not nchw", "not winograd", "not direct", "not 1x1", "not implicit gemm"]
    assert all(len(text.split(": ")[1]) > 5 for text in refusals), "each says why"


@pytest.mark.parametrize("attributes, weights, own", [("", (24, 16, 1, 1), "1x1"), ("group=16, pads=[1,1,1,1]", (16, 1, 3, 3), "direct"),
                                                      ("group=16, pads=[2,2,2,2], strides=[2,2]", (16, 1, 5, 5), "direct"),
                                                      ("pads=[1,1,1,1], strides=[2,2]", (32, 16, 3, 3), "implicit gemm")])
def test_images_of_any_size_need_no_code_for_each(attributes, weights, own):
    """oneDNN would make some, which takes longer than many a run."""
    text = f"a = Conv<{attributes}>(x, w)\n b = Clip(a, low, high)\n y = Neg(b)".replace("<>", "")
    constants = {"w": random(*weights, seed=1), "low": np.float32(-0.5), "high": np.float32(0.75)}
    model, _ = small_graph(text, {"x": (random(1, 16, 8, 8), ["n", 16, "h", "w"])}, constants)
    session = gantry.Session(model, device="CPU")
    chosen = next(node.implementation for node in session.placement.nodes if node.op_type == "Conv").split(";")[0]
    assert chosen == own or (own in ("1x1", "implicit gemm") and not {"avx2", "fma", "f16c"} <= CPU_FLAGS)
    for n, height, width in [(1, 8, 8), (2, 5, 33), (1, 1, 1), (1, 8, 8), (3, 40, 7), (1, 64, 64)]:
        x = random(n, 16, height, width, seed=height)
        compare(list(session.run({"x": x}).values()), run_oracle(model, {"x": x}), 1e-4, 1e-4)


def test_before_a_model_is_compiled_nothing_is_told():
    assert {node.implementation for node in gantry.check(few_channels(), device="CPU").nodes} == {""}


@pytest.mark.parametrize("form", ["text", "json"])
def test_explain_shows_it(form, tmp_path):
    onnx.save(strided(), tmp_path / "model.onnx")
    command = [ROOT / "build" / "release" / "bin" / "gantry", "explain", tmp_path / "model.onnx", *(["--json"] if form == "json" else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    if form == "json":
        assert json.loads(done.stdout)["nodes"][0]["implementation"].startswith("oneDNN; not nchw: ")
    else:
        assert "x86.conv by oneDNN" in done.stdout
        assert "not winograd: " in done.stdout


def test_the_log_says_it(tmp_path):
    onnx.save(few_channels(), tmp_path / "model.onnx")
    code = f"import gantry; gantry.Session({str(tmp_path / 'model.onnx')!r}, device='CPU')"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GANTRY_LOG": "debug"}, capture_output=True, text=True, check=True)
    assert any('Conv "' in line and "x86.conv by nchw" in line for line in done.stderr.splitlines()), done.stderr


def test_int8_and_matmul_have_lists_of_their_own():
    model, feeds = small_graph("y = MatMul(x, w)", {"x": random(4, 256)}, {"w": random(256, 512, seed=1)})
    assert implementations(model)["MatMul"].split(";")[0] in ("packed", "oneDNN")
    (y,) = gantry.Session(model, device="CPU").run(feeds).values()
    np.testing.assert_allclose(y, feeds["x"] @ random(256, 512, seed=1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pool, extents, expected", [
    ("MaxPool<kernel_shape=[2,2]>", [1, 16, 12, 12], "loops"),
    ("GlobalAveragePool", [1, 16, "h", "w"], "loops"),
    ("GlobalAveragePool", [1, 16, 12, 12], "oneDNN; not loops: it is no maximum of f32")])
def test_a_pool_behind_a_convolution(pool, extents, expected):
    """Channels-last."""
    model, _ = small_graph(f"a = Conv(x, w)\n y = {pool}(a)", {"x": (random(1, 16, 12, 12), extents)}, {"w": random(32, 16, 1, 1, seed=1)})
    assert implementations(model)[pool.split("<", maxsplit=1)[0]].startswith(expected)


def test_a_pool_alone_is_the_librarys():
    model, _ = small_graph("y = MaxPool<kernel_shape=[2,2]>(x)", {"x": random(1, 16, 12, 12)})
    assert implementations(model)["MaxPool"] == "oneDNN; not loops: the tensors are NCHW, where oneDNN is faster"


def test_every_kernel_of_this_provider_says_how_it_computes():
    model, _ = small_graph("a = Conv(x, w)\n b = Relu(a)\n c = Concat<axis=1>(a, b)\n d = Conv(c, v)\n e = ConvTranspose(d, u)\n f = Sigmoid(e)\n y = Sub(f, e)",
                           {"x": random(1, 16, 12, 12)}, {"w": random(32, 16, 1, 1, seed=1), "v": random(32, 64, 1, 1, seed=2), "u": random(32, 32, 2, 2, seed=3)})
    nodes = [node for node in gantry.Session(model, device="CPU").placement.nodes if node.kernel.startswith("x86.")]
    assert len(nodes) > 4
    assert all(node.implementation for node in nodes), [(node.op_type, node.kernel) for node in nodes if not node.implementation]


@pytest.mark.parametrize("count, expected", [(64, ("oneDNN; not int8 widened to int16: oneDNN's sums are exact", "int8 widened to int16")),
                                             (4096, ("int8 widened to int16",))])  # the library subtracts zero points in f32
def test_an_integer_matmul(count, expected):
    x = np.random.default_rng(0).integers(0, 255, (4, count)).astype(np.uint8)
    w = np.random.default_rng(1).integers(-128, 127, (count, 32)).astype(np.int8)
    model, feeds = small_graph("y = MatMulInteger(x, w, zero)", {"x": x}, {"w": w, "zero": np.uint8(7)})
    session = gantry.Session(model, device="CPU")
    assert session.placement.nodes[0].implementation.startswith(expected)
    np.testing.assert_array_equal(session.run(feeds)["y"], (x.astype(np.int32) - 7) @ w.astype(np.int32))


def skipping(*names):
    return {"providers": {"options": {"x86": {"skip_implementations": list(names)}}}}


ANY_SIZE = ["n", 16, "h", "w"]


@pytest.mark.parametrize("name, text, extents, weights", [
    ("nchw", "y = Conv<pads=[1,1,1,1]>(x, w)", [1, 3, 24, 24], (16, 3, 3, 3)),
    ("direct", "a = Conv<group=16, pads=[1,1,1,1]>(x, w)\n y = Relu(a)", ANY_SIZE, (16, 1, 3, 3)),
    ("1x1", "a = Conv(x, w)\n y = Relu(a)", ANY_SIZE, (24, 16, 1, 1)),
    ("implicit gemm", "a = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w)\n y = Relu(a)", ANY_SIZE, (32, 16, 3, 3)),
    ("loops", "a = Conv(x, w)\n y = MaxPool<kernel_shape=[2,2]>(a)", [1, 16, 12, 12], (32, 16, 1, 1)),
    ("packed", "y = MatMul(x, w)", [1, 256], (256, 512))])
def test_an_implementation_that_is_skipped_leaves_its_nodes_to_the_next(name, text, extents, weights):
    x = random(*(extent if isinstance(extent, int) else 8 for extent in extents))
    model, feeds = small_graph(text, {"x": (x, extents)}, {"w": random(*weights, seed=1)})
    chosen = [node.implementation.split(";")[0] for node in gantry.Session(model, device="CPU").placement.nodes]
    session = gantry.Session(model, device="CPU", config=skipping(name))
    told_then = [node.implementation for node in session.placement.nodes]
    assert (name in chosen) == any(f"not {name}: the options skip it" in text for text in told_then)
    assert not any(text.split(";")[0] == name for text in told_then)
    if name in ("nchw", "direct", "loops"):  # on every CPU
        assert name in chosen
    compare(list(session.run(feeds).values()), run_oracle(model, feeds), 1e-4, 1e-4)


def test_the_names_that_can_be_skipped_are_those_of_the_lists():
    """All but the last of each list, which takes everything; winograd, which has an option; what a node asks for; and those that keep sums from
    saturating."""
    lists = [re.findall(r'\{"([^"]+)", ', body) for source in (ROOT / "providers" / "x86").rglob("*.cc")
             for body in re.findall(r"constexpr Implementation \w+\[\] = \{(.*?)\};", source.read_text(), re.DOTALL)]
    assert len(lists) > 10
    expected = {name for names in lists for name in names[:-1]} - {"winograd", "int8 rows", "int8 widened to int16"}
    manifest = json.loads((ROOT / "providers" / "x86" / "x86.json").read_text())
    assert set(manifest["options"]["properties"]["skip_implementations"]["items"]["enum"]) == expected


def test_an_unknown_name_is_refused():
    with pytest.raises(gantry.Error, match="skip_implementations"):
        gantry.Session(few_channels(), device="CPU", config=skipping("dirct"))
