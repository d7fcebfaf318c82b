# SPDX-License-Identifier: Apache-2.0
"""Sampling between elements (GridSample, RoiAlign, MaxRoiPool, DeformConv), back from windows (Col2Im, MaxUnpool), Det: against ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto
from oracle import compare, element_type, node_model, run_gantry, run_ort, run_reference

import gantry


def run(op_type, inputs, opset, attributes=None, output_type=None):
    model, feeds = node_model(op_type, inputs, [output_type or element_type(inputs[0])], opset, attributes)
    return model, feeds, run_gantry(model, feeds)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("opset", [16, 20])
def test_grid_sample(mode, padding, align, opset):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 5, 7)).astype(np.float32)
    grid = rng.uniform(-2.3, 2.3, (2, 4, 6, 2)).astype(np.float32)
    name = mode if opset >= 20 or mode == "nearest" else f"bi{mode}"
    model, feeds, y = run("GridSample", [x, grid], opset, {"mode": name, "padding_mode": padding, "align_corners": align})
    compare(y, run_ort(model, feeds), 1e-4, 1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_of_volumes(mode, padding):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 2, 3, 4, 5)).astype(np.float32)
    grid = rng.uniform(-1.5, 1.5, (1, 2, 3, 4, 3)).astype(np.float32)
    model, feeds, y = run("GridSample", [x, grid], 20, {"mode": mode, "padding_mode": padding})
    compare(y, run_ort(model, feeds), 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float64, np.float16, np.bool_, np.complex64, np.object_])
def test_grid_sample_types(dtype):
    x = (np.arange(12) % 2 if dtype == np.bool_ else np.arange(12)).reshape(1, 1, 3, 4)
    x = x.astype(str).astype(object) if dtype == np.object_ else x.astype(dtype)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 4), indexing="ij")
    grid = np.stack([columns, rows], -1)[None].astype(np.float32)
    _, _, (y,) = run("GridSample", [x, grid], 20, {"mode": "nearest", "align_corners": 1})
    compare(y, x)
    if dtype not in (np.bool_, np.object_):
        _, _, (y,) = run("GridSample", [x, grid], 20, {"mode": "linear", "align_corners": 1})
        np.testing.assert_allclose(y.astype(np.complex128), x.astype(np.complex128), atol=1.01 if np.dtype(dtype).kind in "iu" else 1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_grid_sample_between_truth_values(mode):
    """As of 0 and 1, and true where that is not 0."""
    rng = np.random.default_rng(3)
    x = rng.random((2, 2, 5, 6)) < 0.2
    grid = rng.uniform(-1.2, 1.2, (2, 7, 8, 2)).astype(np.float32)
    grid[0, 0, :3] = [[-0.5, -0.6], [0, 0], [1, 1]]
    for padding in ("zeros", "border"):
        attributes = {"mode": mode, "padding_mode": padding}
        _, _, (y,) = run("GridSample", [x, grid], 20, attributes)
        numbers, feeds = node_model("GridSample", [x.astype(np.float64), grid], [TensorProto.DOUBLE], 20, attributes)
        expected = run_gantry(numbers, feeds)[0] != 0
        assert y.dtype == np.bool_ and 0 < expected.mean() < 1
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_between_strings(mode, padding):
    """Nothing lies between two strings: the nearest is taken, and of padding with zeros the empty one."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1000, (2, 3, 4, 5)).astype(str).astype(object)
    grid = rng.uniform(-1.6, 1.6, (2, 6, 7, 2)).astype(np.float32)
    _, _, (y,) = run("GridSample", [x, grid], 20, {"mode": mode, "padding_mode": padding})
    model, feeds = node_model("GridSample", [x.astype(np.float64) + 1, grid], [TensorProto.DOUBLE], 20, {"mode": "nearest", "padding_mode": padding})
    expected = run_reference(model, feeds)[0]
    assert (expected == 0).any() == (padding == "zeros")
    np.testing.assert_array_equal(y, np.vectorize(lambda number: str(int(number) - 1) if number else "", otypes=[object])(expected))


def test_grid_sample_survives_any_grid():
    x = np.ones((1, 1, 2, 2), np.float32)
    grid = np.array([np.nan, np.inf, -np.inf, 1e38, -1e38, 0.0], np.float32).reshape(1, 1, 3, 2)
    for mode in ["nearest", "linear", "cubic"]:
        for padding in ["zeros", "border", "reflection"]:
            _, _, (y,) = run("GridSample", [x, grid], 20, {"mode": mode, "padding_mode": padding})
            assert y.shape == (1, 1, 1, 3)
            if mode == "nearest" and padding == "border":
                np.testing.assert_array_equal(y, 1)  # every picture element is 1


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_grid_sample_of_many_points(mode):
    """More than a block of points, in several channels and pictures."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 3, 9, 11)).astype(np.float32)
    grid = rng.uniform(-1.2, 1.2, (2, 13, 17, 2)).astype(np.float32)
    model, feeds, y = run("GridSample", [x, grid], 20, {"mode": mode})
    compare(y, run_ort(model, feeds), 1e-4, 1e-5)


def test_grid_sample_beside_infinity():
    """Padding is 0 whatever the elements are."""
    x = np.full((1, 1, 4, 4), np.inf, np.float32)
    grid = np.full((1, 1, 40, 2), -3, np.float32)
    _, _, (y,) = run("GridSample", [x, grid], 20, {"mode": "linear"})
    np.testing.assert_array_equal(y, 0)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("place, opset", [(None, 10), ("half_pixel", 16), ("output_half_pixel", 16)])
def test_roi_align(mode, ratio, place, opset):
    rng = np.random.default_rng(3)
    x = rng.uniform(0.1, 1, (2, 3, 11, 13)).astype(np.float32)
    rois = np.array([[1, 1, 9, 8], [0, 0, 30, 25], [5.5, 4.5, 5.6, 4.7], [-3, -3, 2, 2]], np.float32)
    batch = np.array([0, 1, 1, 0], np.int64)
    attributes = {"mode": mode, "sampling_ratio": ratio, "output_height": 3, "output_width": 4, "spatial_scale": 0.8}
    if place:
        attributes["coordinate_transformation_mode"] = place
    model, feeds, y = run("RoiAlign", [x, rois, batch], opset, attributes)
    compare(y, run_ort(model, feeds), 1e-4, 1e-5)


def test_roi_align_checks_its_regions():
    x, rois = np.zeros((1, 1, 4, 4), np.float32), np.array([[0, 0, 1, 1]], np.float32)
    with pytest.raises(gantry.Error, match="batch index 3 is outside"):
        run("RoiAlign", [x, rois, np.array([3], np.int64)], 16)
    with pytest.raises(gantry.Error, match="too large or not a number"):
        run("RoiAlign", [x, rois * np.float32(np.inf), np.array([0], np.int64)], 16)


def test_max_roi_pool():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 3, 12, 10)).astype(np.float32)
    rois = np.array([[0, 0, 0, 9, 11], [1, 2, 3, 7, 9], [0, 5, 5, 5, 5]], np.float32)
    model, feeds, y = run("MaxRoiPool", [x, rois], 7, {"pooled_shape": [3, 2], "spatial_scale": 1.0})
    compare(y, run_ort(model, feeds))
    with pytest.raises(gantry.Error, match="batch index is outside"):
        run("MaxRoiPool", [x, np.array([[9, 0, 0, 1, 1]], np.float32)], 7, {"pooled_shape": [1, 1]})


@pytest.mark.parametrize("groups, offset_groups, has_mask", [(1, 1, False), (2, 1, True), (1, 2, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_deform_conv(groups, offset_groups, has_mask, dtype):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 4, 7, 6)).astype(dtype)
    w = rng.normal(size=(6, 4 // groups, 3, 2)).astype(dtype)
    rows, columns = (7 + 2 - 3) // 2 + 1, 6 + 1 - 2 + 1
    offset = rng.normal(0, 1.5, (2, offset_groups * 6 * 2, rows, columns)).astype(dtype)
    mask = rng.uniform(0, 1, (2, offset_groups * 6, rows, columns)).astype(dtype) if has_mask else None
    attributes = {"group": groups, "offset_group": offset_groups, "strides": [2, 1], "pads": [1, 1, 1, 0], "kernel_shape": [3, 2]}
    inputs = [x, w, offset, rng.normal(size=6).astype(dtype), mask]
    model, feeds, y = run("DeformConv", inputs, 19, attributes)
    tolerance = 2e-2 if dtype == np.float16 else 1e-4
    compare(y, [run_reference(model, feeds)[0].astype(dtype)], tolerance, tolerance)


def between(x, at):
    """The element of `x` at a place between elements; outside it is 0 all around."""
    low = np.floor(at).astype(int)
    total = 0.0
    for side in np.ndindex((2,) * x.ndim):
        place = low + side
        if all(0 <= p < extent for p, extent in zip(place, x.shape)):
            total += x[tuple(place)] * np.prod(np.where(side, at - low, 1 - (at - low)))
    return total


@pytest.mark.parametrize("extents, kernel", [((90,), (2,)), ((9, 10), (2, 2)), ((4, 5, 6), (1, 2, 2))])
@pytest.mark.parametrize("reach", [0.4, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deform_conv_over_any_axes(extents, kernel, reach, dtype):
    """More windows than are handled at once, those at the edges and outside among them."""
    rng = np.random.default_rng(11)
    rank, outputs, taps = len(extents), tuple(e - k + 1 for e, k in zip(extents, kernel)), list(np.ndindex(kernel))
    x, w = rng.normal(size=(1, 2, *extents)), rng.normal(size=(3, 2, *kernel))
    offset, mask = rng.normal(0, reach, (1, len(taps) * rank, *outputs)), rng.uniform(0, 1, (1, len(taps), *outputs))
    expected = np.zeros((1, 3, *outputs))
    for place in np.ndindex(outputs):
        for t, tap in enumerate(taps):
            at = np.add(place, tap) + [offset[0, t * rank + axis][place] for axis in range(rank)]
            seen = np.array([between(channel, at) for channel in x[0]]) * mask[0, t][place]
            expected[(0, slice(None), *place)] += w[(slice(None), slice(None), *tap)] @ seen
    _, _, y = run("DeformConv", [x.astype(dtype), w.astype(dtype), offset.astype(dtype), None, mask.astype(dtype)], 19)
    compare(y, [expected.astype(dtype)], *((1e-4, 1e-4) if dtype == np.float32 else ()))


def test_deform_conv_survives_far_offsets():
    x, w = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 1, 1), np.float32)
    offset = np.zeros((1, 2, 3, 3), np.float32)
    offset[0, 0] = [[np.nan, np.inf, -np.inf], [1e38, -1e38, 0], [2, -1, 0.5]]
    run("DeformConv", [x, w, offset], 19)
    with pytest.raises(gantry.Error, match="input 2 has shape"):
        run("DeformConv", [x, w, offset[:, :1]], 19)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.complex64])
def test_col2im(dtype):
    rng = np.random.default_rng(6)
    image, block = np.array([5, 6], np.int64), np.array([2, 3], np.int64)
    attributes = {"strides": [2, 1], "dilations": [2, 1], "pads": [1, 0, 1, 2]}
    blocks = ((5 + 2 - 2 - 1) // 2 + 1) * (6 + 2 - 2 - 1 + 1)
    x = rng.integers(-9, 9, (2, 3 * 6, blocks)).astype(dtype)
    model, feeds, y = run("Col2Im", [x, image, block], 18, attributes)
    compare(y, [run_reference(model, feeds)[0].astype(dtype)])
    with pytest.raises(gantry.Error, match="do not fit blocks"):
        run("Col2Im", [x[:, :5], image, block], 18, attributes)


def test_col2im_of_strings():
    """Each goes to the place where a number of its own would, and what no window reaches is empty."""
    image, block = np.array([4, 7], np.int64), np.array([2, 2], np.int64)
    attributes = {"strides": [2, 3], "pads": [0, 1, 0, 0]}
    numbers = np.arange(1, 2 * 8 * 6 + 1, dtype=np.int64).reshape(2, 8, 6)
    _, _, (places,) = run("Col2Im", [numbers, image, block], 18, attributes)
    _, _, (y,) = run("Col2Im", [numbers.astype(str).astype(object), image, block], 18, attributes)
    assert (places == 0).any() and len(np.unique(places)) > 70
    np.testing.assert_array_equal(y, np.where(places == 0, "", places.astype(str)))


def test_strings_on_one_pixel_have_no_sum():
    x = np.array([["a", "b"], ["c", ""]], object)[None]
    image, block = np.array([3], np.int64), np.array([2], np.int64)
    with pytest.raises(gantry.InvalidArgumentError, match='Col2Im "node": two strings fall on one pixel of the image'):
        run("Col2Im", [x, image, block], 18)
    x[0, 1, 0] = ""
    _, _, (y,) = run("Col2Im", [x, image, block], 18)
    assert y.tolist() == [[["a", "b", ""]]]


@pytest.mark.parametrize("opset", [9, 11])
def test_max_unpool(opset):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(1, 1, 4, 6)).astype(np.float32)
    pooled, feeds = node_model("MaxPool", [x], [TensorProto.FLOAT, TensorProto.INT64], 12, {"kernel_shape": [2, 2], "strides": [2, 2]})
    values, indices = run_gantry(pooled, feeds)
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    model, feeds, y = run("MaxUnpool", [values, indices], opset, attributes)
    compare(y, run_ort(model, feeds))
    with pytest.raises(gantry.Error, match="index 99 is outside"):
        run("MaxUnpool", [values, np.full_like(indices, 99)], opset, attributes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4), (3, 9, 9), (0, 2, 2), (2, 0, 0)])
def test_det(dtype, shape):
    x = np.random.default_rng(8).normal(size=shape).astype(dtype)
    _, _, (y,) = run("Det", [x], 11)
    compare(y, np.asarray(np.linalg.det(x.astype(np.float64)).astype(dtype)), 1e-2 if dtype == np.float16 else 1e-5, 1e-2 if dtype == np.float16 else 1e-6)
    singular = np.ones((3, 3), dtype)
    _, _, (y,) = run("Det", [singular], 11)
    assert y == 0


@pytest.mark.parametrize("size", [(2, 3, 5, 7), (2, 1, 3, 4, 5)])
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_affine_grid(size, align, dtype):
    axes = len(size) - 2
    theta = np.random.default_rng(6).normal(size=(2, axes, axes + 1)).astype(dtype)
    model, feeds, y = run("AffineGrid", [theta, np.array(size)], 20, {"align_corners": align})
    compare(y, [expected.astype(dtype) for expected in run_reference(model, feeds)], 1e-5, 1e-5)  # it answers in f32


def test_affine_grid_refuses_other_sizes():
    with pytest.raises(gantry.Error, match="do not fit a size"):
        run("AffineGrid", [np.zeros((2, 2, 3), np.float32), np.array([3, 1, 4, 4])], 20)
