# SPDX-License-Identifier: Apache-2.0
"""Nodes that work element by element, in one pass: which ones go together, and what they make."""

import numpy as np
import pytest

import gantry
from oracle import compare, run_oracle
from small_graph import small_graph

KERNEL = "x86.elementwise"


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (16,), (3, 7), (2, 3, 5, 7), (1023,), (1024,), (1025,), (3, 50, 33), (2, 1 << 16)])
def test_sizes(agrees, shape):
    model, feeds = small_graph("a = Add(x, z)\n b = Mul(a, x)\n y = Sub(b, z)", {"x": random(*shape), "z": random(*shape, seed=9)})
    agrees(model, feeds, [KERNEL] * 3)


@pytest.mark.parametrize("function", ["Neg(a)", "Abs(a)", "Relu(a)", "Sigmoid(a)", "Tanh(a)", "Exp(a)", "Reciprocal(a)", "LeakyRelu<alpha=0.3>(a)",
                                      "HardSigmoid<alpha=0.3, beta=0.4>(a)", "HardSwish(a)", "Pow(a, two)", "Pow(a, three)", "Div(x, a)", "Max(a, x)", "Min(x, a)", "Sum(a, x)", "Sub(x, a)", 'Gelu<approximate="tanh">(a)'])
def test_functions(agrees, function):
    constants = {"two": np.float32(2), "three": np.float32(3), "low": np.float32(-0.5), "high": np.float32(0.25)}
    model, feeds = small_graph(f"a = Add(x, x)\n y = {function}", {"x": random(3, 41)}, {k: v for k, v in constants.items() if k in function})
    agrees(model, feeds, [KERNEL] * 2)


@pytest.mark.parametrize("function", ["Clip(a, low, high)", "Clip(a, low)"])
def test_bounds(agrees, function):
    """Not behind an addition: that may be a part of a HardSwish."""
    constants = {"low": np.float32(-0.5), "high": np.float32(0.25)}
    model, feeds = small_graph(f"c = Mul(x, x)\n a = Sub(x, c)\n y = {function}", {"x": random(3, 41)},
                               {k: v for k, v in constants.items() if k in function})
    agrees(model, feeds, [KERNEL] * 3)


def test_a_set_beside_another_whose_result_is_broadcast(agrees):
    """Neg's set is not free any more when the set behind it is compiled; that must be found as it was claimed."""
    text = "q = Exp(z)\n p = Neg(q)\n m = MatMul(x, v)\n a = Abs(m)\n b = Add(a, p)\n y = Relu(b)"
    kernels = agrees(*small_graph(text, {"x": random(3, 4), "v": random(4, 4), "z": random(1, 4)}))
    assert kernels.count(KERNEL) == 5, kernels


def test_root(agrees):
    model, feeds = small_graph("a = Abs(x)\n y = Sqrt(a)", {"x": random(77)})
    agrees(model, feeds, [KERNEL] * 2)


def test_digits_of_tanh():
    """Against NumPy in 64 bits, as ONNX Runtime's is off by more: small numbers, and where one formula follows on the other."""
    x = np.concatenate([np.linspace(-11, 11, 400_001), np.geomspace(1e-37, 1, 100_000), np.linspace(0.6, 0.65, 100_000)]).astype(np.float32)
    model, feeds = small_graph("a = Mul(x, w)\n t = Tanh(a)\n y = Mul(t, w)", {"x": x, "w": np.ones_like(x)})
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes] == [KERNEL] * 3
    exact = np.tanh(x.astype(np.float64))
    assert (np.abs(session.run(feeds)["y"] - exact) <= 3 * np.spacing(np.abs(exact).astype(np.float32))).all()


NONE = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 200, -200, 88.5, 89, -100, 1, -1, 2, 3, 4], np.float32)


@pytest.mark.parametrize("function", ["Relu(a)", "Sigmoid(a)", "Tanh(a)", "Exp(a)", "Max(a, z)", "Min(a, z)", "Max(z, a)", "Min(z, a)", "HardSwish(a)",
                                      "Clip(a, low, high)", "LeakyRelu(a)", "HardSigmoid(a)", "Reciprocal(a)"])
def test_what_is_no_number_and_what_is_none_finite(agrees, function):
    with np.errstate(invalid="ignore"):
        inputs = {"x": NONE, "z": NONE[::-1].copy()} if "z" in function else {"x": NONE}
        constants = {"low": np.float32(-0.5), "high": np.float32(0.25)} if "low" in function else {}
        model, feeds = small_graph(f"a = Neg(x)\n y = {function}", inputs, constants)
        agrees(model, feeds, [KERNEL] * 2)


@pytest.mark.parametrize("shape", [(1,), (), (7,), (5, 1), (1, 1, 7), (3, 1, 1), (2, 1, 5, 1), (2, 3, 5, 7), (1, 3, 1, 7), (3, 5, 1), (2, 1, 1, 7)])
@pytest.mark.parametrize("is_constant", [False, True])
def test_broadcasts(agrees, shape, is_constant):
    given = {"z": random(*shape, seed=3)}
    model, feeds = small_graph("a = Mul(x, x)\n b = Sub(z, a)\n y = Add(b, x)", {"x": random(2, 3, 5, 7), **({} if is_constant else given)},
                               given if is_constant else {})
    agrees(model, feeds, [KERNEL] * 3)


def test_results_that_no_operand_has_the_shape_of(agrees):
    model, feeds = small_graph("a = Add(x, z)\n y = Neg(a)", {"x": random(40, 1), "z": random(1, 70)})
    agrees(model, feeds, [KERNEL] * 2)


def test_several_results(agrees):
    """Of which the first is read again after it was made."""
    model, feeds = small_graph("a = Add(x, z)\n b = Mul(a, z)\n c = Identity(a)\n y = Sub(b, a)\n v = Neg(b)\n w = Abs(c)", {"x": random(9, 300), "z": random(9, 300, seed=4)})
    kernels = agrees(model, feeds)
    assert kernels.count(KERNEL) >= 4


def test_many_values_at_once(agrees):
    """More of them wait to be read than there are places for at first."""
    lines = [f"v{i} = Add({f'v{i - 1}' if i else 'x'}, z)" for i in range(30)]
    lines += [f"s{i} = Mul(v{29 - i}, {f's{i - 1}' if i else 'x'})" for i in range(30)]
    model, feeds = small_graph("\n".join(lines), {"x": 1 + random(2100) * np.float32(0.01), "z": np.full(2100, 0.01, np.float32)})
    agrees(model, feeds, [KERNEL] * 60)


def test_no_way_out_and_back(agrees):
    """The sum could not be joined to the first node: a product lies between."""
    model, feeds = small_graph("a = Neg(x)\n p = MatMul(a, z)\n s = Add(a, p)\n y = Abs(s)", {"x": random(8, 8), "z": random(8, 8, seed=1)})
    kernels = agrees(model, feeds)
    assert kernels[0] != KERNEL
    assert kernels[2:] == [KERNEL] * 2


def test_operands_stay_as_they_are(agrees):
    """The result may stand where an operand did; not where the caller still has it, or another node reads it."""
    model, feeds = small_graph("h = Neg(x)\n t = Transpose<perm=[1,0]>(h)\n a = Add(t, t)\n y = Mul(a, t)\n w = Transpose<perm=[1,0]>(t)", {"x": random(33, 65)})
    agrees(model, feeds)


def test_shapes_that_change_from_run_to_run():
    inputs = {"x": (random(2, 5), ["n", "m"]), "z": (random(2, 5), ["n", "m"]), "r": (random(2, 1), ["n", 1])}
    model, _ = small_graph("a = Add(x, z)\n b = Mul(a, r)\n y = Relu(b)", inputs)
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 2}})
    assert [node.kernel for node in session.placement.nodes] == [KERNEL] * 3
    for n, m in [(2, 5), (1, 1), (300, 700), (0, 4), (2, 5)]:
        feeds = {"x": random(n, m), "z": random(n, m, seed=2), "r": random(n, 1, seed=3)}
        compare([session.run(feeds)["y"]], run_oracle(model, feeds), 1e-6, 1e-6)


def test_spellings_of_greater_operators_stay_whole(agrees):
    """GELU by the hyperbolic tangent and a normalisation, which the host raises to one node each."""
    numbers = {"three": np.float32(3), "c": np.float32(0.044715), "f": np.float32(np.sqrt(2 / np.pi)), "one": np.float32(1), "half": np.float32(0.5)}
    model, feeds = small_graph("""p = Pow(x, three)
                                  q = Mul(p, c)
                                  s = Add(x, q)
                                  i = Mul(s, f)
                                  t = Tanh(i)
                                  o = Add(t, one)
                                  h = Mul(x, half)
                                  y = Mul(h, o)""", {"x": random(4, 20)}, numbers)
    session = gantry.Session(model, device="CPU")
    assert [node.op_type for node in session.placement.nodes] == ["Gelu"]
    compare([session.run(feeds)["y"]], run_oracle(model, feeds), 1e-5, 1e-5)


EDGES = np.array([0, -0.0, 1e-45, -1e-45, 1.2e-38, -1.2e-38, 1, -1, 50, -50, 87, -87, 88.5, -88.5, 104, -104, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan], np.float32)


OF_EDGES = {
    "y = Sigmoid(x)": lambda x: 1 / (1 + np.exp(-x)),
    "s = Sigmoid(x)\n y = Mul(x, s)": lambda x: x * (1 / (1 + np.exp(-x))),
    "m = Mul(x, k)\n s = Sigmoid(m)\n y = Mul(s, x)": lambda x: x * (1 / (1 + np.exp(-1.5 * x))),
    "t = Tanh(x)\n y = Neg(t)": lambda x: -np.tanh(x),
}


@pytest.mark.parametrize("text", OF_EDGES)
def test_functions_at_the_edges_of_floats(text):
    """Against doubles. What is no normal number may be 0; nothing else may differ."""
    x = np.tile(EDGES, 5)
    model, feeds = small_graph(text, {"x": x}, {"k": np.float32(1.5)} if "k" in text else None)
    with np.errstate(all="ignore"):
        expected = OF_EDGES[text](x.astype(np.float64))
    (found,) = gantry.Session(model, device="CPU").run(feeds).values()
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=4e-36)


SPECIAL = np.float32([np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e30, -1e30, 104, -104, 0, -0.0, 1.2e-38, -1.2e-38, 1, -1])


@pytest.mark.parametrize("function", ["Relu(q)", "LeakyRelu(q)", "HardSigmoid(q)", "HardSwish(q)", "Clip(q, low, high)", "Sigmoid(q)", "Tanh(q)", "Gelu(q)", 'Gelu<approximate="tanh">(q)'])
def test_special_values_of_activations(function):
    """As `cpu` has them, node by node."""
    x = np.resize(SPECIAL, (1, 16, 8, 10))
    constants = {"w": np.ones((16, 1, 1, 1), np.float32), **({"low": np.float32(-2), "high": np.float32(2)} if "Clip" in function else {})}
    model, feeds = small_graph(f"c = Conv<group=16>(x, w)\n q = MaxPool<kernel_shape=[1, 1]>(c)\n y = {function}", {"x": x}, constants)
    session = gantry.Session(model, device="CPU")
    assert session.placement.nodes[-1].kernel == "x86.eltwise"
    expected = gantry.Session(model, device="CPU", config={"session": {"optimization": "none"}, "providers": {"disable": ["x86"]}}).run(feeds)["y"]
    np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=1e-5, atol=1e-6)
