# SPDX-License-Identifier: Apache-2.0
"""Resize and Upsample in all modes, against ONNX Runtime and, where it deviates or lacks a type, ONNX's reference evaluator."""

import numpy as np
import pytest
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_ort, run_reference

RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((1, 2, 6, 7)).astype(np.float32)
TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


def floats(*values):
    return np.array(values, dtype=np.float32)


def resize(image, attributes, scales=None, sizes=None, roi=None, opset=19):
    inputs = [image, roi, scales if scales is None else floats(*scales), None if sizes is None else np.array(sizes, np.int64)]
    while inputs[-1] is None:
        inputs.pop()
    return node_model("Resize", inputs, [element_type(image)], opset, attributes)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("sizes", [(1, 2, 12, 14), (1, 2, 3, 5), (1, 2, 9, 4), (1, 2, 1, 1)])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_by_sizes(transform, sizes, mode):
    model, feeds = resize(IMAGE, {"mode": mode, "coordinate_transformation_mode": transform}, sizes=sizes)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
@pytest.mark.parametrize("rule", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("sizes", [(1, 2, 12, 14), (1, 2, 3, 5), (1, 2, 9, 4)])
def test_nearest(transform, rule, sizes):
    attributes = {"mode": "nearest", "coordinate_transformation_mode": transform, "nearest_mode": rule}
    model, feeds = resize(IMAGE, attributes, sizes=sizes)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 0, 0)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("excludes", [0, 1])
@pytest.mark.parametrize("scales", [(1, 1, 0.6, 0.7), (1, 1, 0.5, 2.5), (1, 1, 3, 1)])
def test_antialias(mode, excludes, scales):
    attributes = {"mode": mode, "antialias": 1, "exclude_outside": excludes}
    model, feeds = resize(IMAGE, attributes, scales=scales)
    compare(run_gantry(model, feeds), run_reference(model, feeds), 1e-4, 1e-5)


@pytest.mark.parametrize("scales", [(1, 1, 0.6, 1.7), (1, 1, 2, 2)])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales(mode, scales):
    for opset in (11, 13, 18):
        roi = np.array([], np.float32)
        model, feeds = resize(IMAGE, {"mode": mode}, scales=scales, roi=roi, opset=opset)
        compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_crop_and_resize(mode):
    roi = floats(0, 0, 0.4, -0.2, 1, 1, 0.9, 0.7)
    attributes = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0}
    model, feeds = resize(IMAGE, attributes, sizes=(1, 2, 4, 5), roi=roi)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_aspect_ratio(policy):
    attributes = {"mode": "linear", "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    model, feeds = resize(IMAGE, attributes, sizes=(9, 20), opset=18)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


def test_axes_in_any_order():
    attributes = {"mode": "linear", "axes": [3, -2]}
    model, feeds = resize(IMAGE, attributes, scales=(2.0, 0.5), opset=18)
    expected, expected_feeds = resize(IMAGE, {"mode": "linear"}, scales=(1, 1, 0.5, 2.0))
    compare(run_gantry(model, feeds), run_gantry(expected, expected_feeds), 0, 0)


@pytest.mark.parametrize("type_name", ["uint8", "int8", "int32", "int64", "float16", "bfloat16", "double", "uint16"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_of_types(type_name, mode):
    image = (np.arange(42).reshape(6, 7) % 11).astype(NUMPY_OF[type_name])
    model, feeds = resize(image, {"mode": mode}, scales=(1.5, 2))
    (actual,) = run_gantry(model, feeds)
    wide_model, wide_feeds = resize(image.astype(np.float64), {"mode": mode}, scales=(1.5, 2))
    (exact,) = run_gantry(wide_model, wide_feeds)
    assert actual.dtype == image.dtype
    if np.issubdtype(image.dtype, np.integer):
        limits = np.iinfo(image.dtype)
        np.testing.assert_array_equal(actual, np.clip(np.round(exact), limits.min, limits.max).astype(image.dtype))
    else:
        np.testing.assert_allclose(actual.astype(np.float64), exact, 1e-2, 1e-2)


@pytest.mark.parametrize("type_name", ["string", "bool", "complex64", "bfloat16", "uint64", "complex128"])
def test_nearest_moves_every_type(type_name):
    image = np.arange(12).reshape(3, 4)
    image = image.astype(str).astype(object) if type_name == "string" else image.astype(NUMPY_OF[type_name])
    expected = image[np.arange(6) // 2][:, np.arange(8) // 2]
    model, feeds = resize(image, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, scales=(2, 2))
    compare(run_gantry(model, feeds), [expected], 0, 0)


@pytest.mark.parametrize("scales", [(1, 1, 2, 3), (1, 1, 1.5, 2), (1, 1, 0.5, 0.4)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_of_opset_10(scales, mode):
    model, feeds = node_model("Resize", [IMAGE, floats(*scales)], [1], 10, {"mode": mode})
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode):
    scales = (1.0, 1.0, 2.0, 1.5)
    cases = [
        node_model("Upsample", [IMAGE], [1], 7, {"mode": mode, "scales": scales}),
        node_model("Upsample", [IMAGE, floats(*scales)], [1], 9, {"mode": mode}),
    ]
    expected = run_ort(*cases[0])
    for model, feeds in cases:
        compare(run_gantry(model, feeds), expected, 1e-5, 1e-5)


def test_channels_last():
    image = RNG.standard_normal((1, 5, 6, 3)).astype(np.float32)
    model, feeds = resize(image, {"mode": "linear"}, sizes=(1, 9, 4, 3))
    swapped, swapped_feeds = resize(np.ascontiguousarray(image.transpose(0, 3, 1, 2)), {"mode": "linear"}, sizes=(1, 3, 9, 4))
    (actual,) = run_gantry(model, feeds)
    (expected,) = run_gantry(swapped, swapped_feeds)
    np.testing.assert_allclose(actual, expected.transpose(0, 2, 3, 1), 1e-5, 1e-6)


@pytest.mark.parametrize("scales", [(1, 1, 0, 1), (1, 1, -1, 1), (1, 1, float("nan"), 1), (1, 1, 1e30, 1), (1, 1, 2)])
def test_bad_scales_are_errors(scales):
    import gantry

    model, feeds = resize(IMAGE, {}, scales=scales)
    with pytest.raises(gantry.Error):
        run_gantry(model, feeds)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 0.5, 2.5), (1, 1, 2, 2), (1, 1, 0.75, 1.25)])  # that f32 holds
@pytest.mark.parametrize("transform", TRANSFORMS[:4])
def test_truth_values_are_blended(mode, scales, transform):
    """As 0 and 1, and true where that is not 0; the evaluator does not know the least and the largest truth value, so it gets numbers."""
    image = RNG.random((1, 2, 8, 9)) < 0.15
    attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    expected = run_reference(*resize(image.astype(np.float64), attributes, scales=scales))[0] != 0
    assert 0 < expected.mean() < 1
    compare(run_gantry(*resize(image, attributes, scales=scales)), [expected])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("scales", [(1, 1, 0.6, 1.7), (1, 1, 2, 2)])
def test_complex_numbers_are_blended(mode, dtype, scales):
    """Part by part."""
    image = (RNG.standard_normal((1, 2, 6, 7)) + 1j * RNG.standard_normal((1, 2, 6, 7))).astype(dtype)
    (y,) = run_gantry(*resize(image, {"mode": mode}, scales=scales))
    real, imaginary = (run_gantry(*resize(np.ascontiguousarray(part), {"mode": mode}, scales=scales))[0] for part in (image.real, image.imag))
    compare([y], [(real + 1j * imaginary).astype(dtype)], 1e-6, 1e-6)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 0.6, 1.7), (1, 1, 2, 2), (1, 1, 3, 0.3)])
def test_strings_are_taken_by_weight(mode, scales):
    """The one with the largest weight stands for those that a number would be blended of: the nearest, of two as near the first."""
    image = RNG.integers(0, 1000, (1, 2, 6, 7)).astype(str).astype(object)
    (y,) = run_gantry(*resize(image, {"mode": mode}, scales=scales))
    (expected,) = run_gantry(*resize(image.astype(np.float64), {"mode": "nearest", "nearest_mode": "round_prefer_floor"}, scales=scales))
    assert y.astype(str).tolist() == expected.astype(int).astype(str).tolist()


@pytest.mark.parametrize("opset", [7, 9])
def test_upsample_blends_truth_values(opset):
    image = RNG.random((1, 1, 4, 5)) < 0.3
    scales = floats(1, 1, 2, 3)
    inputs, attributes = ([image], {"scales": scales.tolist()}) if opset == 7 else ([image, scales], {})
    model, feeds = node_model("Upsample", inputs, [element_type(image)], opset, {"mode": "linear", **attributes})
    wide = [image.astype(np.float32), *inputs[1:]]
    numbers, number_feeds = node_model("Upsample", wide, [element_type(wide[0])], opset, {"mode": "linear", **attributes})
    expected = run_ort(numbers, number_feeds)[0] != 0
    assert 0 < expected.mean() < 1
    compare(run_gantry(model, feeds), [expected])


def nearest_line(extent, output, rule, transform, by_scales=False):
    """Of the integers 0, 1, ... on a line; by arithmetic of whole numbers: the coordinate of position i is a / b."""
    i = np.arange(output, dtype=np.int64)
    a, b = (i * extent, output) if transform == "asymmetric" else ((2 * i + 1) * extent - output, 2 * output)
    floor, twice = a // b, 2 * (a % b)
    picked = {"floor": floor, "ceil": -(-a // b), "round_prefer_floor": floor + (twice > b), "round_prefer_ceil": floor + (twice >= b)}[rule]
    expected = np.clip(picked.astype(np.int64), 0, extent - 1)
    x = np.arange(extent, dtype=np.int32).reshape(1, 1, extent)
    attributes = {"mode": "nearest", "coordinate_transformation_mode": transform, "nearest_mode": rule}
    sizes = {"scales": (1, 1, output / extent)} if by_scales else {"sizes": (1, 1, output)}
    model, feeds = resize(x, attributes, **sizes)
    (y,) = run_gantry(model, feeds)
    np.testing.assert_array_equal(y.ravel(), expected, err_msg=f"{extent} to {output}, {rule}, {transform}")


@pytest.mark.parametrize("rule", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("transform", ["asymmetric", "half_pixel"])
def test_neighbours_of_every_pair_of_sizes(rule, transform):
    for extent in range(1, 33):
        for output in range(1, 33):
            nearest_line(extent, output, rule, transform)


@pytest.mark.parametrize("extent, output", [(14, 2), (49, 7), (63, 21), (5, 15), (6, 9), (30, 12)])
@pytest.mark.parametrize("rule", ["round_prefer_floor", "floor", "ceil"])
def test_neighbours_by_scales_that_are_rounded_fractions(extent, output, rule):
    nearest_line(extent, output, rule, "asymmetric", by_scales=True)


@pytest.mark.parametrize("rule", ["round_prefer_floor", "round_prefer_ceil", "floor"])
@pytest.mark.parametrize("factor", [2, 3])
def test_neighbours_on_long_lines(rule, factor):
    nearest_line(1 << 20, factor << 20, rule, "half_pixel")
    nearest_line((1 << 20) + 1, factor * ((1 << 20) + 1), rule, "asymmetric", by_scales=True)
