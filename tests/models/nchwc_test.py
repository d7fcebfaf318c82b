# SPDX-License-Identifier: Apache-2.0
"""Models that ONNX Runtime saved with all optimizations, whose convolutions are of the domain com.microsoft.nchwc: the same as the model before."""

import numpy as np
import onnx
import onnxruntime
import pytest

import gantry
from oracle import run_oracle
from small_graph import small_graph

DOMAIN = "com.microsoft.nchwc"


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


def optimized(model, folder):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # not that the file is for this CPU alone
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


FIRST = "a = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w, b)\n "
WEIGHTS = {"w": random(32, 3, 3, 3), "b": random(32)}
CASES = {
    "an_image": ("y = Conv<pads=[1,1,1,1]>(x, w, b)", WEIGHTS),
    "relu": (FIRST + "y = Relu(a)", WEIGHTS),
    "leaky_relu": (FIRST + "y = LeakyRelu<alpha=0.2>(a)", WEIGHTS),
    "clip": (FIRST + "y = Clip(a, low, high)", {**WEIGHTS, "low": np.float32(-0.1), "high": np.float32(0.2)}),
    "sigmoid": (FIRST + "y = Sigmoid(a)", WEIGHTS),
    "hard_sigmoid": (FIRST + "y = HardSigmoid<alpha=0.3, beta=0.4>(a)", WEIGHTS),
    "hard_swish": (FIRST + "y = HardSwish(a)", WEIGHTS),
    "many_reorders": (FIRST + "\n ".join(f"t{i} = Softplus({'a' if i == 0 else f'u{i - 1}'})\n u{i} = Conv(t{i}, v)" for i in range(40)) + "\n y = Relu(u39)",
                      {**WEIGHTS, "v": random(32, 32, 1, 1)}),
    "blocks": (FIRST + "y = Conv<pads=[0,1,2,1]>(a, v)", {**WEIGHTS, "v": random(48, 32, 3, 3)}),
    "dilated": (FIRST + "y = Conv<dilations=[2,1]>(a, v)", {**WEIGHTS, "v": random(16, 32, 3, 3)}),
    "filled_up": (FIRST + "c = Conv(a, v)\n y = Conv<pads=[1,1,1,1]>(c, u)", {**WEIGHTS, "v": random(20, 32, 1, 1), "u": random(36, 20, 3, 3)}),
    "addition": (FIRST + "c = Conv(a, v)\n d = Conv<pads=[1,1,1,1]>(c, u)\n e = Add(d, c)\n y = Relu(e)",
                 {**WEIGHTS, "v": random(20, 32, 1, 1), "u": random(20, 20, 3, 3)}),
    "each_channel": (FIRST + "y = Conv<group=32, pads=[1,1,1,1]>(a, v)", {**WEIGHTS, "v": random(32, 1, 3, 3)}),
    "groups": (FIRST + "y = Conv<group=2>(a, v)", {**WEIGHTS, "v": random(32, 16, 3, 3)}),
    "one_behind_the_other": (FIRST + "c = Conv(a, v)\n d = Concat<axis=1>(a, c)\n y = Conv(d, u)", {**WEIGHTS, "v": random(16, 32, 1, 1), "u": random(16, 48, 1, 1)}),
    "max_pool": (FIRST + "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(a)", WEIGHTS),
    "average_pool": (FIRST + "y = AveragePool<kernel_shape=[3,2], pads=[1,0,1,0], count_include_pad=1>(a)", WEIGHTS),
    "global_pools": (FIRST + "m = GlobalMaxPool(a)\n g = GlobalAveragePool(a)\n y = Sub(m, g)", WEIGHTS),
    "nearest": (FIRST + 'y = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(a, , s)',
                {**WEIGHTS, "s": np.float32([1, 1, 2, 3])}),
    "linear": (FIRST + 'y = Resize<mode="linear">(a, , s)', {**WEIGHTS, "s": np.float32([1, 1, 2, 2])}),
    "normalisation": (FIRST + "y = BatchNormalization(a, s, t, m, v)",
                      {**WEIGHTS, "s": random(32), "t": random(32, seed=1), "m": random(32, seed=2), "v": np.abs(random(32, seed=3)) + 1}),
    "channels_from_outside": ("c = Conv(x, v)\n y = Relu(c)", {"v": random(24, 20, 3, 3)}),
}


def check(text, constants, channels, opset, folder):
    model, feeds = small_graph(text, {"x": (random(2, channels, 13, 16), ["n", channels, 13, 16])}, constants, opset=opset)
    saved = optimized(model, folder)
    assert any(node.domain == DOMAIN for node in saved.graph.node)
    (expected,) = run_oracle(model, feeds)
    (found,) = gantry.Session(saved.SerializeToString(), device="CPU").run(feeds).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_model_before(case, tmp_path):
    check(*CASES[case], 20 if case == "channels_from_outside" else 3, 17, tmp_path)


OLDER = {
    "max_pool": (FIRST + "y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(a)", WEIGHTS),
    "average_pool": (FIRST + "y = AveragePool<kernel_shape=[2,2]>(a)", WEIGHTS),
    "channels_from_outside": ("y = Conv(x, v)", {"v": random(24, 20, 3, 3)}),
    "upsampled": (FIRST + 'y = {}<mode="nearest">(a, s)', {**WEIGHTS, "s": np.float32([1, 1, 2, 2])}),
}


# Upsample with factors that are an input is of opset 9, Resize without modes of opset 10.
@pytest.mark.parametrize("case, opset", [(case, opset) for case in OLDER for opset in ([9, 10] if case == "upsampled" else [8, 9, 10, 11, 13])])
def test_older_opsets(case, opset, tmp_path):
    """Whose pools lack attributes that are written all the same, and whose Slice, Pad and Resize take others."""
    text, constants = OLDER[case]
    check(text.format("Upsample" if opset == 9 else "Resize"), constants, 20 if case == "channels_from_outside" else 3, opset, tmp_path)


@pytest.mark.parametrize("channels", [32, 20])
def test_channels_that_only_a_run_knows(channels, tmp_path):
    """Of a slice by extents of the input, as torchvision's ShuffleNet has them."""
    text = "s = Shape(x)\n c = Gather(s, one)\n h = Div(c, two)\n e = Unsqueeze(h, zeros)\n p = Slice(x, e, s1, one1)\n y = Conv<pads=[1,1,1,1]>(p, w)"
    constants = {"one": np.int64(1), "two": np.int64(2), "zeros": np.array([0]), "s1": np.array([2**40]), "one1": np.array([1]), "w": random(32, channels, 3, 3)}
    model, feeds = small_graph(text, {"x": (random(2, 2 * channels, 9, 8), ["n", "c", "h", "w"])}, constants, opset=17)
    saved = optimized(model, tmp_path)
    assert "ReorderInput" in {node.op_type for node in saved.graph.node}
    (found,) = gantry.Session(saved, device="CPU").run(feeds).values()
    np.testing.assert_allclose(found, run_oracle(model, feeds)[0], rtol=1e-4, atol=1e-5)


def test_blocks_of_another_cpu_are_refused(tmp_path):
    """Their number of channels says so."""
    model, _ = small_graph("y = Conv(x, w)", {"x": random(1, 3, 8, 8)}, {"w": random(32, 3, 3, 3)}, opset=17)
    saved = optimized(model, tmp_path)
    (weights,) = saved.graph.initializer
    weights.CopyFrom(onnx.numpy_helper.from_array(random(20, 3, 3, 3), weights.name))
    with pytest.raises(gantry.UnsupportedError, match="com.microsoft.nchwc"):
        gantry.Session(saved.SerializeToString(), device="CPU")
