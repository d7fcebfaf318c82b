# SPDX-License-Identifier: Apache-2.0
"""Attention as exporters write it, in one kernel."""

import numpy as np
import onnx
import pytest

import gantry
from oracle import compare, run_oracle
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


def heads(batch, count, queries, keys, depth, value_depth):
    return {"q": random(batch, count, queries, depth), "k": random(batch, count, keys, depth, seed=1), "v": random(batch, count, keys, value_depth, seed=2)}


PLAIN = """t = Transpose<perm=[0,1,3,2]>(k)
           s = MatMul(q, t)
           d = Div(s, scale)
           p = Softmax<axis=-1>(d)
           y = MatMul(p, v)"""
SCALE = {"scale": np.float32(4)}


@pytest.mark.parametrize("queries, keys", [(1, 1), (1, 257), (3, 64), (4, 18), (7, 33), (130, 96), (6, 16)])
@pytest.mark.parametrize("depth, value_depth", [(8, 8), (64, 64), (40, 24), (17, 70)])
def test_sizes(agrees, queries, keys, depth, value_depth):
    model, feeds = small_graph(PLAIN, heads(2, 3, queries, keys, depth, value_depth), SCALE)
    assert agrees(model, feeds) == ["x86.attention"] * 5


def test_more_threads_than_heads(agrees):
    model, feeds = small_graph(PLAIN, heads(1, 1, 100, 50, 16, 16), SCALE)
    assert agrees(model, feeds) == ["x86.attention"] * 5


@pytest.mark.parametrize("mask", [(2, 1, 1, 20), (1, 1, 9, 20), (2, 3, 9, 20), (20,), (9, 1), (1, 1, 1, 1)])
def test_masks(agrees, mask):
    bits = np.random.default_rng(3).uniform(size=mask) < 0.3
    text = PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(d, m)\n p = ")
    model, feeds = small_graph(text, {**heads(2, 3, 9, 20, 16, 16), "m": np.where(bits, np.float32(-1e9), random(*mask))}, SCALE)
    assert agrees(model, feeds) == ["x86.attention"] * 6


@pytest.mark.parametrize("mask", [(1, 3, 9, 20), (20,), (9, 1)])
def test_masks_that_are_constant(agrees, mask):
    text = PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(m, d)\n p = ")
    model, feeds = small_graph(text, heads(2, 3, 9, 20, 16, 16), {**SCALE, "m": random(*mask)})
    assert agrees(model, feeds) == ["x86.attention"] * 6


def test_a_constant_mask_of_the_operator(agrees):
    """It is read in each run, as others are."""
    model, feeds = small_graph("y = Attention(q, k, v, m)", heads(2, 3, 20, 20, 16, 16), {"m": random(2, 1, 1, 20)}, opset=23)
    assert agrees(model, feeds) == ["x86.attention"]


@pytest.mark.parametrize("queries", [2, 19])
@pytest.mark.parametrize("key", ["ka = Transpose<perm=[0,2,1,3]>(k)\n t = Transpose<perm=[0,1,3,2]>(ka)", "t = Transpose<perm=[0,2,3,1]>(k)"])
def test_axes_are_exchanged(agrees, key, queries):
    x = random(2, queries, 3, 16)
    text = f"""qa = Transpose<perm=[0,2,1,3]>(q)
               {key}
               va = Transpose<perm=[0,2,1,3]>(v)
               s = MatMul(qa, t)
               d = Mul(scale, s)
               p = Softmax(d)
               r = MatMul(p, va)
               y = Transpose<perm=[0,2,1,3]>(r)"""
    model, feeds = small_graph(text, {"q": x, "k": random(2, 11, 3, 16, seed=1), "v": random(2, 11, 3, 24, seed=2)}, {"scale": np.float32(0.25)})
    kernels = agrees(model, feeds)
    assert kernels == ["x86.attention"] * len(kernels)


@pytest.mark.parametrize("queries, mask", [(1, None), (21, None), (21, (6, 1, 30)), (21, (21, 30)), (2, (6, 2, 30))])
def test_rank_3(agrees, queries, mask):
    """Heads of all batches in one axis, as older exporters have them."""
    inputs = {"q": random(6, queries, 16), "k": random(6, 30, 16, seed=1), "v": random(6, 30, 24, seed=2)}
    text = "t = Transpose<perm=[0,2,1]>(k)\n s = MatMul(q, t)\n p = Softmax<axis=-1>(s)\n y = MatMul(p, v)"
    if mask:
        inputs["m"] = random(*mask, seed=3)
        text = text.replace("Softmax<axis=-1>(s)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(s, m)\n p = ")
    model, feeds = small_graph(text, inputs)
    assert agrees(model, feeds) == ["x86.attention"] * (5 if mask else 4)


BEHIND = """kt = Transpose<perm=[0,1,3,2]>(k)
    s = MatMul({query}, kt)
    p = Softmax<axis=-1>(s)
    r = MatMul(p, v)
    y = Transpose<perm=[0,2,1,3]>(r)"""
WHICH = {"zero": np.int64(0), "one": np.int64(1), "two": np.int64(2), "root": np.float32(0.25)}
GATHERS = """q = Gather<axis={axis}>({x}, zero)
    k = Gather<axis={axis}>({x}, one)
    v = Gather<axis={axis}>({x}, two)
    qs = Mul(q, root)
"""


@pytest.mark.parametrize("queries", [1, 5, 50])
@pytest.mark.parametrize("way", ["transposed", "behind", "split"])
def test_what_one_product_made(agrees, way, queries):
    """Queries, keys and values that lie together, taken apart as exporters write it, the queries scaled before."""
    constants = {**WHICH, "axes": np.array([0])}
    if way == "transposed":
        text = "t = Transpose<perm=[2,0,3,1,4]>(x)\n" + GATHERS.format(axis=0, x="t") + BEHIND.format(query="qs")
    elif way == "behind":
        turned = GATHERS.format(axis=2, x="x").replace("q =", "qo =").replace("k =", "ko =").replace("v =", "vo =").replace("qs = Mul(q, root)", "")
        turns = "".join(f"{name} = Transpose<perm=[0,2,1,3]>({name}o)\n" for name in "qkv")
        text = turned + turns + "qs = Mul(q, root)\n" + BEHIND.format(query="qs")
    else:
        text = ("t = Transpose<perm=[2,0,3,1,4]>(x)\n q1, k1, v1 = Split<axis=0, num_outputs=3>(t)\n"
                + "".join(f"{name} = Squeeze({name}1, axes)\n" for name in "qkv") + "qs = Div(q, root)\n" + BEHIND.format(query="qs"))
    model, feeds = small_graph(text, {"x": (random(2, queries, 3, 4, 16), [2, "n", 3, 4, 16])}, constants)
    kernels = agrees(model, feeds)
    assert kernels == ["x86.attention"] * len(kernels)


def test_keys_and_values_that_one_product_made(agrees):
    text = ("t = Transpose<perm=[2,0,3,1,4]>(x)\n k = Gather<axis=0>(t, one)\n v = Gather<axis=0>(t, zero)\n"
            "q = Transpose<perm=[0,2,1,3]>(qo)\n" + BEHIND.format(query="q"))
    model, feeds = small_graph(text, {"x": random(2, 37, 2, 4, 16), "qo": random(2, 60, 4, 16)}, WHICH)
    kernels = agrees(model, feeds)
    assert kernels == ["x86.attention"] * len(kernels)


def test_what_others_read_too_is_still_made(agrees):
    text = "t = Transpose<perm=[2,0,3,1,4]>(x)\n" + GATHERS.format(axis=0, x="t") + BEHIND.format(query="qs")
    x = {"x": random(2, 20, 3, 4, 16)}
    assert agrees(*small_graph(text + "\n z = Neg(t)", x, WHICH)).count("x86.attention") == 9
    assert agrees(*small_graph(text + "\n z = Neg(v)", x, WHICH)).count("x86.attention") == 8
    parts = "t = Transpose<perm=[2,0,3,1,4]>(x)\n q1, k1, v1 = Split<axis=0, num_outputs=3>(t)\n"
    parts += "".join(f"{name} = Squeeze({name}1, axes)\n" for name in "qkv")
    text = parts + BEHIND.format(query="q") + "\n z = Neg(v1)"
    assert agrees(*small_graph(text, x, {"axes": np.array([0])})).count("x86.attention") == 5


def test_an_index_that_is_not_there(agrees):
    text = "t = Transpose<perm=[2,0,3,1,4]>(x)\n" + GATHERS.format(axis=0, x="t") + BEHIND.format(query="qs")
    model, feeds = small_graph(text, {"x": (random(2, 20, 3, 4, 16), [2, 20, "n", 4, 16])}, WHICH)
    agrees(model, feeds)
    with pytest.raises(gantry.InvalidArgumentError, match="index 2 along axis 2 is read, which has 2 elements"):
        gantry.Session(model, device="CPU").run({"x": random(2, 20, 2, 4, 16)})


def test_keys_that_stand_transposed(agrees):
    for queries in (1, 12):
        model, feeds = small_graph("s = MatMul(q, k)\n p = Softmax(s)\n y = MatMul(p, v)",
                                   {"q": random(1, 2, queries, 8), "k": random(1, 2, 8, 21, seed=1), "v": random(1, 2, 21, 8, seed=2)})
        assert agrees(model, feeds) == ["x86.attention"] * 3


def test_keys_that_all_heads_share(agrees):
    inputs = {**heads(2, 4, 5, 12, 16, 16), "k": random(2, 1, 12, 16, seed=1), "v": random(1, 1, 12, 16, seed=2)}
    model, feeds = small_graph(PLAIN, inputs, SCALE)
    assert agrees(model, feeds) == ["x86.attention"] * 5


REPEATED = """kp = Concat<axis=2>(pk, k)
    vp = Concat<axis=2>(pv, v)
    ku = Unsqueeze(kp, two)
    ke = Expand(ku, wide)
    kr = Reshape(ke, merged)
    vu = Unsqueeze(vp, two)
    ve = Expand(vu, wide)
    vr = Reshape(ve, merged)
    t = Transpose<perm=[0,1,3,2]>(kr)
    s = MatMul(q, t)
    d = Div(s, scale)
    p = Softmax<axis=-1>(d)
    y = MatMul(p, vr)"""


def repeated(batch, key_heads, group, queries, past):
    """A step of a decoder: its keys and values leave the session, and `group` heads of queries read each."""
    keys = past + queries
    inputs = {"q": random(batch, key_heads * group, queries, 16), **{name: random(batch, key_heads, length, 16, seed=seed)
              for seed, (name, length) in enumerate([("k", queries), ("v", queries), ("pk", past), ("pv", past)])}}
    constants = {**SCALE, "two": np.array([2]), "wide": np.array([batch, key_heads, group, keys, 16]),
                 "merged": np.array([batch, key_heads * group, keys, 16])}
    model, feeds = small_graph(REPEATED, inputs, constants)
    for name in ("kp", "vp"):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [batch, key_heads, keys, 16]))
    return model, feeds


@pytest.mark.parametrize("batch, key_heads, group", [(1, 4, 4), (2, 3, 2), (1, 1, 7), (1, 2, 5)])
@pytest.mark.parametrize("queries, past", [(1, 40), (3, 18), (9, 30), (40, 1)])
def test_heads_that_are_repeated(agrees, batch, key_heads, group, queries, past):
    kernels = agrees(*repeated(batch, key_heads, group, queries, past))
    assert kernels.count("x86.attention") == 11


@pytest.mark.parametrize("mask", [(20,), (1, 6, 1, 20), (2, 1, 1, 20)])
def test_heads_that_are_repeated_with_a_mask(agrees, mask):
    text = REPEATED.replace("p = Softmax<axis=-1>(d)", "a = Add(d, m)\n p = Softmax<axis=-1>(a)")
    inputs = {"q": random(2, 6, 1, 16), "k": random(2, 3, 1, 16), "v": random(2, 3, 1, 16), "pk": random(2, 3, 19, 16), "pv": random(2, 3, 19, 16),
              "m": random(*mask)}
    constants = {**SCALE, "two": np.array([2]), "wide": np.array([1, 1, 2, 1, 1]), "merged": np.array([0, 6, -1, 16])}
    assert agrees(*small_graph(text, inputs, constants)).count("x86.attention") == 12


LENGTHS = """ks = Shape(kp)
    kb = Slice(ks, zero, one)
    kl = Slice(ks, two, three)
    wide = Concat<axis=0>(kb, counts, kl, width)
    merged = Concat<axis=0>(kb, heads, kl, width)
    """


def test_heads_that_are_repeated_and_lengths_that_are_not_known():
    """As dynamic exports have it: shapes are computed, and say along which axis alone there is more."""
    numbers = {"zero": 0, "one": 1, "two": 2, "three": 3, "width": 16, "heads": 6}
    constants = {**SCALE, **{name: np.array([number]) for name, number in numbers.items()}, "counts": np.array([3, 2])}
    feeds = {"q": random(2, 6, 1, 16), **{name: random(2, 3, 1 if len(name) == 1 else 4, 16) for name in ("k", "v", "pk", "pv")}}
    shapes = {name: ["n", value.shape[1], "p" if len(name) > 1 else "s", 16] for name, value in feeds.items()}
    lines = REPEATED.splitlines()
    text = "\n".join([*lines[:2], LENGTHS, *lines[2:]])
    model, _ = small_graph(text, {name: (value, shapes[name]) for name, value in feeds.items()}, constants)
    model.graph.output.append(onnx.helper.make_tensor_value_info("kp", onnx.TensorProto.FLOAT, ["n", 3, "t", 16]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("vp", onnx.TensorProto.FLOAT, ["n", 3, "t", 16]))
    del model.graph.value_info[:]  # what is known is what gantry infers
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes].count("x86.attention") == 11
    for batch, past, new in ((2, 4, 1), (1, 30, 1), (2, 4, 1), (1, 3, 20)):
        feeds = {"q": random(batch, 6, new, 16), **{name: random(batch, 3, new if len(name) == 1 else past, 16) for name in ("k", "v", "pk", "pv")}}
        results = session.run(feeds)
        compare([results[output.name] for output in model.graph.output], run_oracle(model, feeds), 1e-4, 1e-4)


def test_repeats_of_other_kinds(agrees):
    """Heads in another order, or with an axis that is put elsewhere, are no groups."""
    for axis, wide in ((1, [1, 2, 3, 8, 16]), (2, [1, 3, 2, 8, 16])):
        inputs = {"q": random(1, 6, 9, 16), "k": random(1, 3, 8, 16), "v": random(1, 6, 8, 16, seed=1)}
        text = "ku = Unsqueeze(k, at)\n ke = Expand(ku, wide)\n kr = Reshape(ke, merged)\n" + PLAIN.replace("(k)", "(kr)")
        constants = {**SCALE, "at": np.array([axis]), "wide": np.array(wide), "merged": np.array([1, 6, 8, 16])}
        kernels = agrees(*small_graph(text, inputs, constants))
        assert kernels.count("x86.attention") == (8 if axis == 2 else 5)


def test_views_of_what_leaves_the_session():
    """Reshapes of outputs read where these stand, which is elsewhere in each run."""
    text = "a = Concat<axis=0>(x, x)\n b = Reshape(a, flat)\n c = Unsqueeze(b, zero)\n y = Softmax<axis=1>(c)\n n = Neg(b)"
    model, feeds = small_graph(text, {"x": random(4, 16)}, {"flat": np.array([-1]), "zero": np.array([0])})
    for name, shape in (("a", [8, 16]), ("n", [128])):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
    session = gantry.Session(model, device="CPU")
    kept = []
    for seed in range(4):
        feeds["x"] = random(4, 16, seed=seed)
        results = session.run(feeds)
        compare([results[output.name] for output in model.graph.output], run_oracle(model, feeds), 1e-6, 1e-6)
        kept.append((results, {name: value.copy() for name, value in results.items()}))
    for results, copies in kept:
        for name, value in copies.items():
            np.testing.assert_array_equal(results[name], value)


def test_lengths_that_change_from_run_to_run():
    inputs = {"q": (random(1, 2, 3, 8), [1, 2, "n", 8]), "k": (random(1, 2, 5, 8), [1, 2, "m", 8]), "v": (random(1, 2, 5, 8), [1, 2, "m", 8])}
    model, _ = small_graph(PLAIN, inputs, SCALE)
    session = gantry.Session(model, device="CPU")
    assert session.placement.nodes[0].kernel == "x86.attention"
    for queries, keys in [(3, 5), (1, 40), (64, 64), (3, 5), (2, 0)]:
        feeds = heads(1, 2, queries, keys, 8, 8)
        expected = np.zeros((1, 2, queries, 8), np.float32) if keys == 0 else run_oracle(model, feeds)[0]
        compare(session.run(feeds)["y"], expected, 1e-5, 1e-5)


def test_what_is_not_a_number():
    model, _ = small_graph(PLAIN, heads(1, 1, 2, 20, 8, 8), SCALE)
    feeds = heads(1, 1, 2, 20, 8, 8)
    feeds["q"][0, 0, 1, 3] = np.nan
    result = gantry.Session(model, device="CPU").run(feeds)["y"]
    assert np.isnan(result[0, 0, 1]).all()
    assert not np.isnan(result[0, 0, 0]).any()


@pytest.mark.parametrize("scale", [-2.0, 1e-3, 1e30, np.inf])
@pytest.mark.parametrize("queries, keys", [(1, 19), (15, 19), (29, 75)])
def test_scales(agrees, queries, keys, scale):
    """Also where scores turn their order, are all the same, or only one of them counts."""
    model, feeds = small_graph(PLAIN, heads(1, 2, queries, keys, 16, 16), {"scale": np.float32(scale)})
    assert agrees(model, feeds) == ["x86.attention"] * 5


def test_infinities():
    """As the standard's: a query that scores infinity is no number, a key of minus infinity counts nothing."""
    feeds = heads(1, 1, 20, 35, 8, 8)
    feeds["q"] = np.abs(feeds["q"])
    feeds["k"][0, 0, 5] = -np.inf
    model, _ = small_graph(PLAIN, feeds, SCALE)
    compare(gantry.Session(model, device="CPU").run(feeds)["y"], run_oracle(model, feeds)[0], 1e-5, 1e-5)
    feeds["k"][0, 0, 6, 2] = np.inf
    assert np.isnan(gantry.Session(model, device="CPU").run(feeds)["y"]).all()


def test_lengths_that_do_not_fit():
    inputs = {"q": (random(1, 2, 3, 8), [1, 2, 3, "a"]), "k": (random(1, 2, 5, 8), [1, 2, "m", "b"]), "v": (random(1, 2, 5, 8), [1, 2, "n", 8])}
    session = gantry.Session(small_graph(PLAIN, inputs, SCALE)[0], device="CPU")
    with pytest.raises(gantry.InvalidArgumentError, match="as many values as keys were expected, 5, and there are 6"):
        session.run({"q": random(1, 2, 3, 8), "k": random(1, 2, 5, 8), "v": random(1, 2, 6, 8)})
    with pytest.raises(gantry.InvalidArgumentError, match="a query was expected to be as long as a key, 9, and is 8"):
        session.run({"q": random(1, 2, 3, 8), "k": random(1, 2, 5, 9), "v": random(1, 2, 5, 8)})


@pytest.mark.parametrize("text", [PLAIN.replace("axis=-1", "axis=2"),
                                  PLAIN + "\n z = Neg(p)",
                                  PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(d, wide)\n p = ")])
def test_what_is_none(agrees, text):
    inputs = heads(1, 2, 1, 6, 8, 8)
    if "wide" in text:
        inputs["wide"] = random(1, 1, 4, 6)  # more queries than there are
    model, feeds = small_graph(text, inputs, SCALE)
    assert "x86.attention" not in agrees(model, feeds)


def test_scores_of_unknown_rank(agrees):
    inputs = {**heads(1, 2, 3, 6, 8, 8), "shape": np.array([1, 2, 3, 8]), "m": random(1, 1, 3, 6)}
    text = """q4 = Reshape(q, shape)
              t = Transpose<perm=[0,1,3,2]>(k)
              s = MatMul(q4, t)
              a = Add(s, m)
              p = Softmax<axis=-1>(a)
              y = MatMul(p, v)"""
    inputs["shape"] = (inputs["shape"], ["n"])
    model, feeds = small_graph(text, inputs)
    del model.graph.value_info[:]
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [1, 2, 3, 6]))
    assert "x86.attention" not in agrees(model, feeds)


def small_attention(inputs, attributes="", arguments="q, k, v", constants=None):
    node = f"y = Attention<{attributes}>({arguments})" if attributes else f"y = Attention({arguments})"
    model, feeds = small_graph(node, inputs, constants, 23)
    for value in model.graph.input:
        for axis in (0, 2):
            value.type.tensor_type.shape.dim[axis].Clear()  # the batch, and the numbers of queries and keys
    return model, feeds


@pytest.mark.parametrize("queries, keys", [(1, 5), (9, 1), (33, 70), (130, 96)])
@pytest.mark.parametrize("depth, value_depth", [(64, 64), (40, 24), (17, 70)])
@pytest.mark.parametrize("attributes", ["", "scale=0.3"])
def test_the_standard_operator(agrees, queries, keys, depth, value_depth, attributes):
    assert agrees(*small_attention(heads(2, 3, queries, keys, depth, value_depth), attributes)) == ["x86.attention"]


@pytest.mark.parametrize("mask", [None, (9, 20), (2, 1, 1, 20), (4, 9, 20), (2, 4, 9, 14), (9, 1)])
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_standard_ones_with_masks_and_fewer_heads_of_keys(agrees, mask, key_heads):
    inputs = {"q": random(2, 4, 9, 16), "k": random(2, key_heads, 20, 16), "v": random(2, key_heads, 20, 24)}
    if mask:
        inputs["m"] = np.where(np.random.default_rng(5).uniform(size=mask) < 0.2, np.float32(-np.inf), random(*mask))
        inputs["m"][..., 0] = 0  # what ONNX Runtime makes of a query that sees nothing is tested below
    kernels = agrees(*small_graph(f"y = Attention(q, k, v{', m' if mask else ''})", inputs, opset=24))
    assert kernels == ["x86.attention"]


def test_queries_that_see_nothing_are_zero_and_hidden_keys_may_be_anything():
    mask = np.zeros((9, 20), np.float32)
    mask[3] = -np.inf
    mask[4, 7] = -np.inf
    feeds = {**heads(1, 2, 9, 20, 16, 16), "m": mask}
    session = gantry.Session(small_graph("y = Attention(q, k, v, m)", feeds, opset=24)[0], device="CPU")
    assert session.placement.nodes[0].kernel == "x86.attention"
    expected = session.run(feeds)["y"]
    assert (expected[0, :, 3] == 0).all()
    feeds["k"][0, 0, 7] = np.nan
    result = session.run(feeds)["y"]
    compare(result[0, 0, 4], expected[0, 0, 4], 1e-6, 1e-6)
    assert np.isnan(result[0, 0, 5]).all()


@pytest.mark.parametrize("attributes, arguments, change", [
    ("is_causal=1", "q, k, v", {}), ("softcap=2.0", "q, k, v", {}), ("", "q, k, v, m", {"m": random(9, 20) > 0}),
])
def test_standard_ones_that_are_left_to_others(agrees, attributes, arguments, change):
    inputs = {**heads(2, 3, 9, 20, 16, 16), **change}
    node = f"y = Attention<{attributes}>({arguments})" if attributes else f"y = Attention({arguments})"
    assert agrees(*small_graph(node, inputs, opset=23)) == ["Attention"]


def test_a_few_queries_are_left_to_others(agrees):
    assert agrees(*small_graph("y = Attention(q, k, v)", heads(2, 3, 4, 20, 16, 16), opset=23)) == ["Attention"]


LEAST = np.finfo(np.float32).min


@pytest.mark.parametrize("queries, keys", [(1, 1), (3, 5), (9, 20), (70, 130)])
@pytest.mark.parametrize("constant", [False, True])
def test_rows_that_are_masked_whole(agrees, queries, keys, constant):
    """By the least float, as exporters mask padding: all scores become that, and all weights equal."""
    text = PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(d, m)\n p = ")
    mask = np.where(np.arange(queries)[:, None] % 2 == 0, LEAST, np.where(np.arange(keys) % 3 == 1, LEAST, np.float32(0)))[None, None]
    inputs = heads(1, 2, queries, keys, 16, 16)
    model, feeds = small_graph(text, inputs if constant else {**inputs, "m": mask}, {**SCALE, "m": mask} if constant else SCALE)
    agrees(model, feeds)


@pytest.mark.parametrize("least", [LEAST, np.float32(-np.inf)])
@pytest.mark.parametrize("queries, keys, before", [(60, 60, 0), (33, 90, 57), (100, 100, 40)])
@pytest.mark.parametrize("window", [1000, 20])
@pytest.mark.parametrize("spoilt", ["", "k", "v"])
def test_keys_beside_those_that_are_seen(agrees, least, queries, keys, before, window, spoilt):
    """A causal mask, and one of a window: what it hides counts for nothing, unless it is not a number."""
    text = PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(d, m)\n p = ")
    seen = np.tri(queries, keys, before, dtype=bool) & ~np.tri(queries, keys, before - window, dtype=bool)
    inputs = {**heads(1, 2, queries, keys, 16, 24), "m": np.where(seen, np.float32(0), least)}
    if spoilt:
        inputs[spoilt][0, 1, -1] = np.nan
    assert agrees(*small_graph(text, inputs, SCALE)) == ["x86.attention"] * 6


@pytest.mark.parametrize("size", [1e-30, 1e9, 1e18])
@pytest.mark.parametrize("masked", [False, True])
def test_scores_of_any_size(agrees, size, masked):
    """The largest score has the weight 1, however large it is."""
    text = PLAIN.replace("Softmax<axis=-1>(d)", "Softmax<axis=-1>(a)").replace("p = ", "a = Add(d, m)\n p = ") if masked else PLAIN
    inputs = heads(1, 2, 9, 21, 16, 16)
    inputs["q"] = inputs["q"] * np.float32(size)
    model, feeds = small_graph(text, {**inputs, "m": random(9, 21)} if masked else inputs, SCALE)
    agrees(model, feeds)
