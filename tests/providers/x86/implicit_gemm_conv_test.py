# SPDX-License-Identifier: Apache-2.0
"""Convolutions over images of dynamic size: windows that are multiplied where they stand, of every form, and what follows them."""

import numpy as np
import pytest
from conv_cases import CONVOLUTIONS
from cpu_flags import CPU_FLAGS
from small_graph import small_graph

import gantry

ONE_GROUP = [name for name, (x, w, attributes) in CONVOLUTIONS.items() if len(x) in (3, 4) and "group" not in attributes]


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


def written(attributes):
    texts = [f"{name}={list(value)}" if isinstance(value, list) else f'{name}="{value}"' for name, value in attributes.items()]
    return f"<{', '.join(texts)}>" if texts else ""


def open_size(x):
    return x, [x.shape[0], x.shape[1], *(f"axis{i}" for i in range(x.ndim - 2))]


def filters(*shape):
    return random(*shape, seed=1) / np.float32(np.sqrt(np.prod(shape[1:])))


def is_chosen(model):
    nodes = gantry.Session(model, device="CPU", config={"providers": {"options": {"x86": {"winograd": "off"}}}}).placement.nodes
    return any(node.implementation.startswith("implicit gemm") for node in nodes)


@pytest.mark.parametrize("name", ONE_GROUP)
def test_windows_of_every_form(agrees, name):
    x, w, attributes = CONVOLUTIONS[name]
    constants = {"w": filters(*w), "b": random(w[0])}
    agrees(*small_graph(f"y = Conv{written(attributes)}(x, w, b)", {"x": open_size(random(*x))}, constants))


@pytest.mark.parametrize("kernel", [(3, 3), (1, 5), (4, 2), (5,)])
@pytest.mark.parametrize("form", ["", "dilations", "strides", "pads", "pads strides", "dilations pads", "dilations strides pads", "auto_pad strides"])
def test_forms(agrees, form, kernel):
    """With as many channels as this code takes."""
    rank = len(kernel)
    given = {"dilations": [2, 3][:rank], "strides": [2, 3][:rank], "pads": [1, 2, 3, 0][:2 * rank], "auto_pad": "SAME_LOWER"}
    attributes = {name: given[name] for name in form.split()}
    x = random(2, 16, *(17, 19)[:rank])
    agrees(*small_graph(f"y = Conv{written(attributes)}(x, w)", {"x": open_size(x)}, {"w": filters(24, 16, *kernel)}))


@pytest.mark.skipif(not {"avx2", "fma", "f16c"} <= CPU_FLAGS, reason="this CPU has no code for it")
def test_it_is_chosen_for_images_of_open_size_alone():
    constants = {"w": filters(32, 16, 3, 3)}
    x = random(1, 16, 12, 12)
    assert is_chosen(small_graph("y = Conv<strides=[2,2]>(x, w)", {"x": open_size(x)}, constants)[0])
    assert not is_chosen(small_graph("y = Conv<strides=[2,2]>(x, w)", {"x": x}, constants)[0])


@pytest.mark.parametrize("channels", [9, 16, 40])
@pytest.mark.parametrize("columns", [11, 16, 33, 64, 100, 289])
def test_channels(agrees, columns, channels):
    """289: more panels than are finished at once."""
    text = "a = Conv<pads=[1,1,1,1], strides=[2,1]>(x, w, b)\n y = Mish(a)"
    constants = {"w": filters(columns, channels, 3, 3), "b": random(columns)}
    agrees(*small_graph(text, {"x": open_size(random(2, channels, 9, 8))}, constants))


@pytest.mark.parametrize("width", [*range(1, 16), 28, 29, 100])
def test_widths(agrees, width):
    """Every height of a tile."""
    agrees(*small_graph("y = Conv<pads=[2,0,1,3], strides=[1,2]>(x, w)", {"x": open_size(random(1, 12, 5, 2 * width))}, {"w": filters(24, 12, 3, 4)}))


@pytest.mark.parametrize("size", [(1, 300, 40, 40), (1, 600, 7, 7), (5, 64, 3, 3), (1, 32, 200, 90)])
def test_blocks_of_rows_and_groups_of_panels(agrees, size):
    """Images of more rows than are cached, and weights that are parted between threads."""
    agrees(*small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": open_size(random(*size))}, {"w": filters(size[1], size[1], 3, 3)}), atol=3e-4)


FOLLOWING = {
    "Relu": "y = Relu(a)", "Clip": "y = Clip(a, low, high)", "HardSwish": "y = HardSwish(a)", "Gelu": "y = Gelu(a)",
    "Swish": "s = Sigmoid(a)\n y = Mul(a, s)", "Add": "q = Neg(r)\n s = Add(a, q)\n y = Relu(s)", "AddLater": "t = Tanh(a)\n q = Neg(r)\n y = Add(t, q)",
    "Normalised": "y = BatchNormalization(a, scale, b, mean, variance)",
}


@pytest.mark.parametrize("following", FOLLOWING)
@pytest.mark.parametrize("columns", [48, 50])
def test_what_follows(agrees, columns, following):
    constants = {"w": filters(columns, 16, 3, 3) * 4, "b": random(columns), "low": np.float32(-0.5), "high": np.float32(2)}
    constants |= {"scale": random(columns, seed=5), "mean": random(columns, seed=6), "variance": np.abs(random(columns, seed=7)) + 1}
    inputs = {"x": open_size(random(1, 16, 10, 12)), "r": random(1, columns, 4, 5)}
    text = f"a = Conv<strides=[2,2]>(x, w, b)\n {FOLLOWING[following]}"
    used = {name: value for name, value in constants.items() if name in text.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    inputs = {name: value for name, value in inputs.items() if name == "x" or "(r)" in text}
    agrees(*small_graph(text, inputs, used))


@pytest.mark.parametrize("dtype", [np.float16, "bfloat16"])
def test_weights_that_fit_16_bits(agrees, dtype):
    w = filters(40, 24, 3, 3)
    w = w.astype(np.float16).astype(np.float32) if dtype is np.float16 else (w.view(np.uint32) & 0xFFFF0000).view(np.float32)
    agrees(*small_graph("y = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w)", {"x": open_size(random(1, 24, 30, 31))}, {"w": w}))


def test_what_is_not_a_number_stays_with_its_windows(agrees):
    x = random(1, 16, 12, 12)
    x[0, 3, 5, 5], x[0, 4, 0, 11] = np.nan, np.inf
    agrees(*small_graph("a = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w)\n y = Relu(a)", {"x": open_size(x)}, {"w": filters(32, 16, 3, 3)}))


def test_sizes_that_change_from_run_to_run_and_do_not_fit():
    model, _ = small_graph("y = Conv<strides=[2,2]>(x, w)", {"x": open_size(random(1, 16, 9, 9))}, {"w": filters(32, 16, 3, 3)})
    session = gantry.Session(model, device="CPU")
    for height, width in [(9, 9), (3, 3), (64, 5), (9, 9), (5, 128)]:
        assert session.run({"x": random(1, 16, height, width)})["y"].shape == (1, 32, (height - 1) // 2, (width - 1) // 2)
    for height, width in [(2, 9), (0, 9)]:
        assert session.run({"x": random(1, 16, height, width)})["y"].size == 0
