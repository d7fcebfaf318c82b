# SPDX-License-Identifier: Apache-2.0
"""Operators of images and regions with shapes that ONNX's cases do not have, compared with the CPU provider."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph, typed_outputs

TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
TOLERANCES = {"f32": (1e-4, 1e-5), "f16": (1e-2, 5e-3), "bf16": (4e-2, 4e-2), "f64": (1e-10, 1e-11)}


def random(*shape, dtype=np.float32, seed=0, scale=1.0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(dtype)


def check(worker, text, feeds, constants=None, opset=22, tolerance="f32"):
    op_type = text.split("=", 1)[1].split("<")[0].split("(")[0].strip()
    rtol, atol = TOLERANCES[tolerance]
    model, feeds = small_graph(text, feeds, constants, opset)
    assert compare_all(worker, typed_outputs(model, feeds["x" if "x" in feeds else "t"].dtype), feeds, rtol=rtol, atol=atol) == [op_type]


# Places inside and outside, at the borders and between elements, some that are none.
def grid(*shape, dtype=np.float32):
    places = random(*shape, dtype=np.float64, seed=1) * 0.9
    places.flat[::7] = np.round(places.flat[::7])
    places.flat[3] = 40.0
    return places.astype(dtype)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("image, places", [((2, 3, 5, 7), (2, 4, 3, 2)), ((1, 2, 3, 4, 5), (1, 2, 3, 2, 3)), ((2, 1, 9), (2, 6, 1))])
def test_grid_sample(cuda, mode, padding, corners, image, places):
    text = f'y = GridSample<mode="{mode}", padding_mode="{padding}", align_corners={corners}>(x, g)'
    check(cuda, text, {"x": random(*image), "g": grid(*places)})


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample_of_types(cuda, kind, mode):
    feeds = {"x": random(2, 20, 6, 5, dtype=TYPES[kind]), "g": grid(2, 9, 11, 2, dtype=TYPES[kind])}
    check(cuda, f'y = GridSample<mode="{mode}", padding_mode="border">(x, g)', feeds, tolerance=kind)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("mode", ["nearest", "cubic"])
def test_grid_sample_of_integers(cuda, dtype, mode):
    x = np.random.default_rng(1).integers(0, 2 if dtype == np.bool_ else 256, (1, 2, 5, 4)).astype(dtype)
    check(cuda, f'y = GridSample<mode="{mode}">(x, g)', {"x": x, "g": grid(1, 7, 3, 2)})


def test_grid_sample_of_an_earlier_version(cuda):
    for mode in ["bilinear", "bicubic"]:
        check(cuda, f'y = GridSample<mode="{mode}">(x, g)', {"x": random(1, 2, 5, 4), "g": grid(1, 7, 3, 2)}, opset=16)


def test_many_channels_of_a_point(cuda):
    # So many that a thread has several of them.
    check(cuda, "y = GridSample(x, g)", {"x": random(2, 67, 30, 31), "g": grid(2, 90, 100, 2)})


@pytest.mark.parametrize("size", [[2, 3, 5, 7], [1, 1, 1, 1], [3, 2, 4, 1, 6], [1, 4, 1, 3, 2]])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("kind", ["f32", "f16", "f64"])
def test_affine_grid(cuda, size, corners, kind):
    axes = len(size) - 2
    theta = random(size[0], axes, axes + 1, dtype=TYPES[kind])
    check(cuda, f"y = AffineGrid<align_corners={corners}>(t, s)", {"t": theta}, {"s": np.array(size)}, tolerance=kind)


REGIONS = [[0, 0, 9, 9], [1.2, 2.7, 5.1, 4.9], [-3, -2, 4, 20], [6, 6, 2, 1], [30, 30, 40, 44], [2, 3, 2, 3]]


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("place", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("samples", [0, 1, 3])
@pytest.mark.parametrize("kind", TYPES)
def test_roi_align(cuda, mode, place, samples, kind):
    text = (f'y = RoiAlign<mode="{mode}", coordinate_transformation_mode="{place}", sampling_ratio={samples}, output_height=3, output_width=2, '
            "spatial_scale=0.75>(x, r, b)")
    feeds = {"x": random(3, 5, 9, 11, dtype=TYPES[kind]), "r": np.array(REGIONS).astype(TYPES[kind]), "b": np.array([0, 2, 1, 1, 0, 2])}
    check(cuda, text, feeds, tolerance=kind)


def test_regions_of_an_earlier_version(cuda):
    feeds = {"x": random(1, 2, 9, 11), "r": np.array(REGIONS, np.float32), "b": np.zeros(6, np.int64)}
    check(cuda, "y = RoiAlign<output_height=2, output_width=2, sampling_ratio=2>(x, r, b)", feeds, opset=10)


def test_a_region_that_is_none(cuda):
    regions = np.array([[0, 0, 3, 3], [0, 0, np.nan, 3], [0, 0, 1e9, 3]], np.float32)
    model, feeds = small_graph("y = RoiAlign(x, r, b)", {"x": random(1, 2, 9, 11), "r": regions, "b": np.zeros(3, np.int64)})
    y = cuda.run(model, feeds)[1]["y"]
    assert np.isfinite(y[0]).all() and np.isnan(y[1:]).all()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(cuda, kind, scale):
    regions = np.concatenate([np.array([[0], [2], [1], [1], [0], [2]]), np.array(REGIONS)], axis=1)
    feeds = {"x": random(3, 5, 9, 11, dtype=TYPES[kind]), "r": regions.astype(TYPES[kind])}
    check(cuda, f"y = MaxRoiPool<pooled_shape=[3, 2], spatial_scale={scale}>(x, r)", feeds, tolerance=kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("size, beta", [(1, 0.75), (5, 0.75), (4, 0.5), (30, 1.5)])
def test_lrn(cuda, kind, size, beta):
    text = f"y = LRN<size={size}, alpha=0.3, beta={beta}, bias=1.5>(x)"
    check(cuda, text, {"x": random(2, 7, 5, 3, dtype=TYPES[kind], scale=2)}, tolerance=kind)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 4, 17, 19), (2, 2, 3, 4, 5)])
def test_global_lp_pool(cuda, order, shape):
    check(cuda, f"y = GlobalLpPool<p={order}>(x)", {"x": random(*shape)})


def test_global_lp_pool_of_the_first_version(cuda):
    check(cuda, "y = GlobalLpPool<p=3.0>(x)", {"x": random(2, 3, 5, 4)}, opset=1)
    with pytest.raises(RuntimeError, match="norms of the order 2.5"):
        model, feeds = small_graph("y = GlobalLpPool<p=2.5>(x)", {"x": random(2, 3, 5, 4)}, opset=1)
        cuda.run(typed_outputs(model, np.float32), feeds)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape, attributes", [((2, 3, 8, 9), "kernel_shape=[2, 3], strides=[2, 3]"), ((1, 2, 12), "kernel_shape=[4], strides=[3], pads=[1, 0]"),
                                               ((1, 2, 4, 4, 6), "kernel_shape=[2, 2, 2], strides=[2, 2, 2]")])
def test_max_unpool(cuda, kind, shape, attributes):
    x = random(*shape, dtype=TYPES[kind])
    pooled = f"v, i = MaxPool<{attributes}>(x)"
    names = compare_all(cuda, *small_graph(f"{pooled}\n y = MaxUnpool<{attributes}>(v, i)", {"x": x}, opset=22))
    assert names == ["MaxPool", "MaxUnpool"]
    larger = np.array([extent + 2 for extent in shape])
    compare_all(cuda, *small_graph(f"{pooled}\n y = MaxUnpool<{attributes}>(v, i, s)", {"x": x}, {"s": larger}, opset=22))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("image, block, attributes", [([5, 7], [2, 3], ""), ([9], [3], "<strides=[2], pads=[1, 1]>"), ([6, 5], [3, 2], "<dilations=[2, 1], strides=[1, 2]>"),
                                                      ([4, 5, 3], [2, 2, 1], "<pads=[1, 0, 0, 0, 1, 0]>")])
def test_col2im(cuda, dtype, image, block, attributes):
    numbers = {name: [int(n) for n in attributes.split(name + "=[")[1].split("]")[0].split(",")] if name in attributes else [default] * (len(image) * twice)
               for name, default, twice in [("strides", 1, 1), ("dilations", 1, 1), ("pads", 0, 2)]}
    axes = range(len(image))
    windows = [(image[i] + numbers["pads"][i] + numbers["pads"][len(image) + i] - numbers["dilations"][i] * (block[i] - 1) - 1) // numbers["strides"][i] + 1 for i in axes]
    x = (random(2, 3 * int(np.prod(block)), int(np.prod(windows))) * 4).astype(dtype)
    constants = {"i": np.array(image), "b": np.array(block)}
    check(cuda, f"y = Col2Im{attributes}(x, i, b)", {"x": x}, constants, tolerance="f16" if dtype == np.float16 else "f32")


FORMS = {
    "plain": {}, "one_axis": {"axes": 1}, "three_axes": {"axes": 3}, "strides": {"attributes": "strides=[2, 1], pads=[1, 2, 0, 1], dilations=[1, 2]"},
    "groups": {"group": 2}, "offset_groups": {"offset_group": 3}, "both": {"group": 3, "offset_group": 2, "optional": "bm"},
    "bias": {"optional": "b"}, "mask": {"optional": "m"}, "many": {"batch": 3, "extent": 17, "optional": "bm"},
}


def deform_conv(axes=2, attributes="", group=1, offset_group=1, optional="", batch=2, extent=6, dtype=np.float32):
    kernel = [2, 3, 2][:axes]
    image = [extent, extent + 1, 5][:axes]
    channels, features = 6, 6
    w = random(features, channels // group, *kernel, dtype=dtype, seed=1)
    numbers = {name: [int(n) for n in attributes.split(name + "=[")[1].split("]")[0].split(",")] if name in attributes else [default] * (axes * twice)
               for name, default, twice in [("strides", 1, 1), ("dilations", 1, 1), ("pads", 0, 2)]}
    out = [(image[i] + numbers["pads"][i] + numbers["pads"][axes + i] - numbers["dilations"][i] * (kernel[i] - 1) - 1) // numbers["strides"][i] + 1 for i in range(axes)]
    taps = offset_group * int(np.prod(kernel))
    feeds = {"x": random(batch, channels, *image, dtype=dtype), "o": random(batch, taps * axes, *out, dtype=dtype, seed=2, scale=1.5)}
    constants = {"w": w}
    names = ["x", "w", "o", "", ""]
    if "b" in optional:
        constants["b"], names[3] = random(features, dtype=dtype, seed=3), "b"
    if "m" in optional:
        feeds["m"], names[4] = random(batch, taps, *out, dtype=dtype, seed=4), "m"
    while not names[-1]:
        names.pop()
    given = ", ".join(filter(None, [f"group={group}, offset_group={offset_group}", attributes]))
    return f"y = DeformConv<{given}>({', '.join(names)})", feeds, constants


@pytest.mark.parametrize("worker", ["cuda", "cuda_blas"])
@pytest.mark.parametrize("form", FORMS)
def test_deform_conv(worker, form, request):
    check(request.getfixturevalue(worker), *deform_conv(**FORMS[form]))


@pytest.mark.parametrize("kind", TYPES)
def test_deform_conv_of_types(cuda_blas, kind):
    rtol, atol = TOLERANCES[kind]
    text, feeds, constants = deform_conv(optional="bm", dtype=TYPES[kind])
    # What the taps see is rounded before it is multiplied.
    compare_all(cuda_blas, *small_graph(text, feeds, constants, 22), rtol=rtol, atol=atol * (20 if kind in ("f16", "bf16") else 1))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_upsample(cuda, mode, dtype):
    x = (random(2, 3, 4, 5) * 20).astype(dtype)
    scales = [1, 1, 3, 3.4]  # of integers none falls in the middle of two
    check(cuda, f'y = Upsample<mode="{mode}", scales=[{", ".join(map(str, map(float, scales)))}]>(x)', {"x": x}, opset=7, tolerance="f16" if dtype == np.float16 else "f32")
    check(cuda, f'y = Upsample<mode="{mode}">(x, s)', {"x": x}, {"s": np.array(scales, np.float32)}, opset=9, tolerance="f16" if dtype == np.float16 else "f32")


def test_upsample_of_the_first_version(cuda):
    check(cuda, "y = Upsample<height_scale=2.0, width_scale=1.5>(x)", {"x": random(1, 2, 3, 4)}, opset=1)


def test_resize_of_the_first_version(cuda):
    for mode in ["nearest", "linear"]:
        for scales in [[1, 1, 2.5, 2], [1, 1, 0.6, 0.5], [1, 1, 0.5, 2]]:
            check(cuda, f'y = Resize<mode="{mode}">(x, s)', {"x": random(2, 2, 7, 9)}, {"s": np.array(scales, np.float32)}, opset=10)


SCALES = [[1, 1, 2.5, 3], [1, 1, 0.4, 0.3], [1, 1, 0.15, 2.2], [1, 0.7, 1, 0.6]]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("attributes", ["antialias=1", "exclude_outside=1", "antialias=1, exclude_outside=1"])
@pytest.mark.parametrize("scales", SCALES)
def test_filters(cuda, mode, attributes, scales):
    check(cuda, f'y = Resize<mode="{mode}", {attributes}>(x, , s)', {"x": random(2, 5, 19, 23)}, {"s": np.array(scales, np.float32)})


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.uint8, np.int32])
def test_filters_of_types(cuda, dtype):
    feeds = {"x": (random(1, 2, 19, 23) * 50).astype(dtype)}
    check(cuda, 'y = Resize<mode="linear", antialias=1>(x, , s)', feeds, {"s": np.array([1, 1, 0.4, 0.3], np.float32)}, tolerance="f16" if dtype == np.float16 else "f32")


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("region", [[0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9], [0, 0, -0.3, 0.5, 1, 1, 0.6, 1.4], [0, 0, 0, 0, 1, 1, 1, 1]])
@pytest.mark.parametrize("size", [[2, 3, 7, 6], [2, 3, 1, 9], [2, 3, 5, 4]])
def test_parts_that_are_resized(cuda, mode, region, size):
    text = f'y = Resize<mode="{mode}", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5>(x, r, , s)'
    check(cuda, text, {"x": random(2, 3, 5, 4)}, {"r": np.array(region, np.float32), "s": np.array(size)})


def test_a_part_by_a_filter(cuda):
    text = 'y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-2.5, antialias=1, axes=[3, 2]>(x, r, , s)'
    check(cuda, text, {"x": random(1, 2, 30, 40)}, {"r": np.array([-0.2, 0.1, 0.9, 1.2], np.float16), "s": np.array([9, 7])})


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sizes_that_keep_the_aspect_ratio(cuda, policy, mode):
    text = f'y = Resize<mode="{mode}", keep_aspect_ratio_policy="{policy}", axes=[2, 3]>(x, , , s)'
    check(cuda, text, {"x": random(1, 2, 9, 14)}, {"s": np.array([7, 21])})


def test_half_pixels_of_an_earlier_version(cuda):
    text = 'y = Resize<mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor">(x, r, s)'
    constants = {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2.3, 0.6], np.float32)}
    check(cuda, text, {"x": random(1, 2, 9, 14)}, constants, opset=11)


@pytest.mark.parametrize("axes, shape", [("", [4, 9, 3]), ("<axes=[0, -1]>", [3, 4]), ("<axes=[1]>", [0])])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64, np.bool_, np.float16])
def test_center_crop_pad(cuda, axes, shape, dtype):
    x = np.random.default_rng(1).integers(0, 2, (5, 6, 7)).astype(dtype)
    check(cuda, f"y = CenterCropPad{axes}(x, s)", {"x": x}, {"s": np.array(shape, np.int64)})
