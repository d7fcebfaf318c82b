# SPDX-License-Identifier: Apache-2.0
"""What convolutions and products take along, and tensors that stay channels-last between kernels."""

import numpy as np
import pytest

import gantry
from oracle import compare, run_oracle
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


X = random(2, 6, 12, 13)
W = random(8, 6, 3, 3)
NORM = {"scale": random(8, seed=1), "shift": random(8, seed=2), "mean": random(8, seed=3), "variance": np.abs(random(8, seed=4)) + 0.1}

ONE_KERNEL = {
    "relu": ("a = Conv(x, w)\n y = Relu(a)", {}),
    "normalisation": ("a = Conv(x, w)\n y = BatchNormalization<epsilon=0.01>(a, scale, shift, mean, variance)", NORM),
    "normalisation_with_bias": ("a = Conv(x, w, bias)\n b = BatchNormalization(a, scale, shift, mean, variance)\n y = Relu(b)",
                                {**NORM, "bias": random(8, seed=5)}),
    "scale_and_shift": ("a = Conv(x, w)\n b = Mul(a, m)\n c = Add(p, b)\n d = Sub(c, s)\n e = Div(d, q)\n y = LeakyRelu<alpha=0.2>(e)",
                        {"m": random(8, 1, 1), "p": random(1, 8, 1, 1), "s": random(1), "q": np.float32(1.7)}),
    "clip": ("a = Conv(x, w)\n y = Clip(a, low, high)", {"low": np.float32(-0.5), "high": np.float32(6)}),
    "clip_above": ("a = Conv(x, w)\n y = Clip(a, , high)", {"high": np.float32(1)}),
    "sigmoid": ("a = Conv(x, w)\n y = Sigmoid(a)", {}),
    "tanh": ("a = Conv(x, w)\n y = Tanh(a)", {}),
    "one_slope": ("a = Conv(x, w)\n y = PRelu(a, slope)", {"slope": np.full((1, 1, 1), 0.2, np.float32)}),
    "elu": ("a = Conv(x, w)\n y = Elu<alpha=0.7>(a)", {}),
    "hard_sigmoid": ("a = Conv(x, w)\n y = HardSigmoid<alpha=0.3, beta=0.4>(a)", {}),
    "hard_swish": ("a = Conv(x, w)\n y = HardSwish(a)", {}),
    "gelu": ("a = Conv(x, w)\n y = Gelu(a)", {}),
    "gelu_tanh": ("a = Conv(x, w)\n y = Gelu<approximate=\"tanh\">(a)", {}),
    "mish": ("a = Conv(x, w)\n y = Mish(a)", {}),
    "swish": ("a = Conv(x, w)\n s = Sigmoid(a)\n y = Mul(a, s)", {}),
    "hard_swish_in_parts": ("a = Conv(x, w)\n s = HardSigmoid<alpha=0.1666666716, beta=0.5>(a)\n y = Mul(s, a)", {}),
    "hard_swish_spelled": ("a = Conv(x, w)\n s = Add(a, three)\n c = Clip(s, zero, six)\n d = Div(c, six)\n y = Mul(a, d)",
                           {"three": np.float32(3), "zero": np.float32(0), "six": np.float32(6)}),
    "hard_swish_divided_last": ("a = Conv(x, w)\n s = Add(a, three)\n c = Clip(s, zero, six)\n d = Mul(a, c)\n y = Div(d, six)",
                                {"three": np.float32(3), "zero": np.float32(0), "six": np.float32(6)}),
    "swish_of_multiples": ("a = Conv(x, w)\n f = Mul(k, a)\n s = Sigmoid(f)\n y = Mul(a, s)", {"k": np.float32(1.702)}),
    "mish_in_parts": ("a = Conv(x, w)\n p = Softplus(a)\n t = Tanh(p)\n y = Mul(a, t)", {}),
    "two_activations": ("a = Conv(x, w)\n b = Relu(a)\n y = Tanh(b)", {}),
}


@pytest.mark.parametrize("case", ONE_KERNEL)
def test_a_convolution_takes_along(agrees, case):
    text, constants = ONE_KERNEL[case]
    model, feeds = small_graph(text, {"x": X}, {"w": W, **constants})
    kernels = agrees(model, feeds)
    assert len(set(kernels)) == 1 and kernels[0].startswith("x86.conv+"), kernels


@pytest.mark.parametrize("add", ["Add", "Sum"])
def test_a_residual_is_added_in_the_same_pass(agrees, add):
    model, feeds = small_graph(
        f"""a = Conv<pads=[1,1,1,1]>(x, w)
            b = Relu(a)
            c = Conv<pads=[1,1,1,1]>(b, v)
            d = {add}(b, c)
            e = Relu(d)
            f = Conv<pads=[1,1,1,1]>(e, v)
            g = {add}(f, e)
            y = Relu(g)""", {"x": X}, {"w": W, "v": random(8, 8, 3, 3) / 8})
    kernels = agrees(model, feeds)
    assert kernels[2] == kernels[3] == kernels[4] == f"x86.conv+{add}+Relu"
    assert kernels[5] == kernels[7] == f"x86.conv+{add}+Relu"


def test_a_residual_from_outside_in_dense_order(agrees):
    model, feeds = small_graph("a = Conv(x, w)\n b = Add(a, r)\n y = Relu(b)", {"x": X, "r": random(2, 8, 10, 11)}, {"w": W})
    assert set(agrees(model, feeds)) == {"x86.conv+Add+Relu"}


@pytest.mark.parametrize("spatial", [(12, 13), (3, 3)])
def test_a_residual_whose_memory_the_result_takes_over(agrees, spatial):
    # Both in dense order: Abs and Neg are another provider's. A window over all of 3 x 3 leaves one place, which is both orders at once.
    h, w = (extent - 2 for extent in spatial)
    model, feeds = small_graph("r = Abs(q)\n a = Conv(x, w)\n b = Add(a, r)\n c = Relu(b)\n y = Neg(c)",
                               {"x": random(2, 6, *spatial), "q": random(2, 8, h, w)}, {"w": W})
    assert agrees(model, feeds)[1:4] == ["x86.conv+Add+Relu"] * 3


def test_a_residual_that_would_be_broadcast_is_left(agrees):
    model, feeds = small_graph("a = Conv(x, w)\n b = Add(a, r)\n y = Relu(b)", {"x": X, "r": random(2, 8, 1, 11)}, {"w": W})
    assert agrees(model, feeds)[0] == "x86.conv"


@pytest.mark.parametrize("text", [
    "a = Conv(x, w)\n y = Relu(a)\n z = Tanh(a)",  # read twice
    "a = Conv(x, w)\n b = Relu(a)\n s = Shape(a)\n y = Reshape(b, s)",
    "a = Conv(x, w)\n y = BatchNormalization(a, scale, shift, mean, given)",  # not constant
])
def test_what_is_not_taken_along(agrees, text):
    inputs = {"x": X, **({"given": NORM["variance"]} if "given" in text else {})}
    model, feeds = small_graph(text, inputs, {"w": W, **(NORM if "given" in text else {})})
    assert agrees(model, feeds)[0] == "x86.conv"


POINTWISE = {
    "activation": "y = Relu(b)",
    "normalisation": "c = BatchNormalization(b, scale, shift, mean, variance)\n y = Relu(c)",
    "sum": "c = Conv(b, u)\n d = Add(c, b)\n e = Add(d, c)\n y = Relu(e)",
    "gate": "p = GlobalAveragePool(b)\n q = Conv(p, u)\n s = Sigmoid(q)\n y = Mul(b, s)",
    "gate_first": "p = GlobalAveragePool(b)\n q = Conv(p, u)\n s = Sigmoid(q)\n y = Mul(s, b)",
    "constant_first": "y = Sub(one, b)",
    "maximum": "c = Conv(b, u)\n d = Max(b, c)\n y = Min(d, b)",
    "concat": "c = Conv(b, u)\n d = Concat<axis=1>(b, c, b)\n y = Conv(d, t)",
    "concat_with_dense": "d = Concat<axis=1>(b, r)\n e = Identity(d)\n y = Conv(e, s14)",
}


@pytest.mark.parametrize("case", POINTWISE)
def test_between_convolutions(agrees, case):
    # The MaxPool parts what follows from the convolution before it.
    inputs = {"x": X, **({"r": random(2, 6, 10, 11)} if case == "concat_with_dense" else {})}
    model, feeds = small_graph("a = Conv(x, w)\n b = MaxPool<kernel_shape=[1,1]>(a)\n" + POINTWISE[case], inputs,
                               {"w": W, **NORM, "u": random(8, 8, 1, 1), "t": random(5, 24, 1, 1), "s14": random(3, 14, 1, 1),
                                "one": np.float32(1)})
    kernels = agrees(model, feeds)
    assert all(kernel.startswith("x86.") for kernel in kernels), kernels


def test_a_reader_that_wants_the_dense_order_gets_it(agrees):
    # `a` is read channels-last by a convolution, in dense order by two others, and leaves the model too.
    model, feeds = small_graph(
        """a = Conv(x, w)
           y0 = Conv(a, u)
           y1 = ReduceMax(a)
           y2 = Transpose<perm=[3,0,1,2]>(a)
           y3 = Identity(a)""", {"x": X}, {"w": W, "u": random(4, 8, 1, 1)})
    kernels = agrees(model, feeds)
    assert kernels[0] == kernels[1] == "x86.conv"


def test_bodies_read_the_dense_order(agrees):
    model, feeds = small_graph("a = Conv(x, w)\n y = Conv(a, u)\n c = Identity(cond)\n"
                               "z = If<then_branch = t () => (float[n,c,h,w] p) { p = Abs(a) },"
                               " else_branch = e () => (float[n,c,h,w] q) { q = Neg(a) }>(c)",
                               {"x": X, "cond": np.array(True)}, {"w": W, "u": random(4, 8, 1, 1)})
    agrees(model, feeds)


@pytest.mark.parametrize("rank", [3, 5])
def test_other_ranks(agrees, rank):
    spatial = [9, 8, 7][:rank - 2]
    window = ",".join(["1"] * (2 * (rank - 2)))
    model, feeds = small_graph(
        f"a = Conv<pads=[{window}]>(x, w)\n b = BatchNormalization(a, scale, shift, mean, variance)\n c = Relu(b)\n"
        f"d = Conv<pads=[{window}]>(c, v)\n e = Add(d, c)\n y = Sigmoid(e)",
        {"x": random(2, 5, *spatial)}, {"w": random(8, 5, *[3] * (rank - 2)), "v": random(8, 8, *[3] * (rank - 2)), **NORM})
    assert set(agrees(model, feeds)) == {"x86.conv+BatchNormalization+Relu", "x86.conv+Add+Sigmoid"}


def test_two_sessions_and_runs_at_once():
    import threading

    model, feeds = small_graph("a = Conv(x, w)\n b = Relu(a)\n y = Conv(b, u)", {"x": X}, {"w": W, "u": random(4, 8, 1, 1)})
    (expected,) = run_oracle(model, feeds)
    sessions = [gantry.Session(model, device="CPU") for _ in range(2)]
    failures = []

    def work(session):
        try:
            for _ in range(30):
                compare(session.run(feeds)["y"], expected, 1e-4, 1e-4)
        except Exception as failure:  # told by the main thread
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(sessions[i % 2],)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Constants behind a convolution or a matmul whose product is beyond f32, or near 0, while each step of the graph is not.
FAR = {
    "overflow": (1e-10, "b = Mul(a, c)\n y = Mul(b, d)", {"c": np.float32(1e30), "d": np.float32(1e15)}),
    "vanish": (1e10, "b = Mul(a, c)\n y = Mul(b, d)", {"c": np.float32(1e-30), "d": np.float32(1e-15)}),
    "by_way_of_0": (1, "b = Div(a, c)\n e = Div(b, c)\n y = Mul(e, d)", {"c": np.float32(1e25), "d": np.float32(1e30)}),
    "of_weights": (1e-20, "b = Mul(a, c)\n y = Mul(b, d)", {"c": np.float32(1e30), "d": np.float32(1e20)}),
    "shift": (1, "b = Add(a, c)\n y = Mul(b, d)", {"c": np.float32(1e20), "d": np.float32(1e15)}),
}


@pytest.mark.parametrize("root", ["a = Conv(x, w)", "a = MatMul(x, w)", "a = Gemm(x, w)"])
@pytest.mark.parametrize("case", FAR)
def test_scales_far_from_1(agrees, case, root):
    size, behind, constants = FAR[case]
    is_conv = "Conv" in root
    x = np.abs(random(1, 6, 7, 7) if is_conv else random(5, 6)) + np.float32(1)
    w = (np.abs(random(8, 6, 1, 1) if is_conv else random(6, 8)) * np.float32(size)).astype(np.float32)
    model, feeds = small_graph(f"{root}\n {behind}", {"x": x}, {"w": w, **constants})
    agrees(model, feeds, rtol=1e-5, atol=0)


def test_a_sixth_is_a_sixth(agrees):
    """Of a constant that only bfloat16 takes for a sixth, and of a double, HardSigmoid would make another function."""
    near = np.float32(0.1669921875)
    text = "s = Add(x, three)\n c = Clip(s, zero, six)\n y = Mul(c, sixth)"
    constants = {"three": np.float32(3), "zero": np.float32(0), "six": np.float32(6)}
    model, feeds = small_graph(text, {"x": random(4, 5)}, {**constants, "sixth": near})
    agrees(model, feeds, rtol=1e-6, atol=0)
    wide = {name: np.float64(value) for name, value in constants.items()}
    model, feeds = small_graph(text, {"x": random(4, 5).astype(np.float64)}, {**wide, "sixth": np.float64(1) / 6})
    agrees(model, feeds, rtol=1e-14, atol=0)
