# SPDX-License-Identifier: Apache-2.0
"""ImageDecoder against Pillow: every format that the standard names, gray and colour, and files that are none."""

import io
import struct
import zlib

import numpy as np
import PIL.Image
import pytest
from onnx import TensorProto, helper
from oracle import run_gantry

import gantry

FORMATS = [("BMP", {}), ("PNG", {}), ("PPM", {}), ("TIFF", {}), ("TIFF", {"compression": "tiff_lzw"}), ("JPEG", {}), ("JPEG", {"subsampling": 0}),
           ("JPEG", {"progressive": True}), ("JPEG2000", {}), ("WEBP", {}), ("WEBP", {"lossless": True})]


def decoder(pixel_format="RGB"):
    node = helper.make_node("ImageDecoder", ["x"], ["y"], name="node", pixel_format=pixel_format)
    graph = helper.make_graph(
        [node], "graph", [helper.make_tensor_value_info("x", TensorProto.UINT8, [None])], [helper.make_tensor_value_info("y", TensorProto.UINT8, [None] * 3)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def decode(data, pixel_format="RGB"):
    return run_gantry(decoder(pixel_format), {"x": np.frombuffer(data, np.uint8)})[0]


def picture(mode="RGB", size=(37, 21)):
    width, height = size
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    planes = np.stack([x * 6, y * 11, (x + y) * 4], -1).astype(np.uint8)
    return PIL.Image.fromarray(planes).convert(mode)


def encode(image, kind, **options):
    file = io.BytesIO()
    image.save(file, format=kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind, options", FORMATS)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_formats(kind, options, mode):
    data = encode(picture(mode), kind, **options)
    opened = PIL.Image.open(io.BytesIO(data))
    expected = np.array(opened.convert("RGB"))
    np.testing.assert_array_equal(decode(data), expected)
    np.testing.assert_array_equal(decode(data, "BGR"), expected[..., ::-1])
    np.testing.assert_array_equal(decode(data, "Grayscale"), np.array(opened.convert("RGB").convert("L"))[..., None])


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_alpha_is_left_out(kind):
    image = picture()
    image.putalpha(PIL.Image.fromarray(np.full((21, 37), 255, np.uint8)))
    options = {"lossless": True} if kind == "WEBP" else {}
    np.testing.assert_array_equal(decode(encode(image, kind, **options)), np.array(picture()))


@pytest.mark.parametrize("kind", ["BMP", "PNG", "TIFF", "PPM"])
def test_bits_and_palettes(kind):
    bits = picture("1")
    np.testing.assert_array_equal(decode(encode(bits, kind)), np.array(bits.convert("RGB")))
    if kind != "PPM":
        palette = picture().quantize(16)
        np.testing.assert_array_equal(decode(encode(palette, kind)), np.array(palette.convert("RGB")))


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"P3 # text\n2 1 255\n1 2 3  4 5 6\n", [[[1, 2, 3], [4, 5, 6]]]),
        (b"P2\n2 1\n10\n0 10", [[[0, 0, 0], [255, 255, 255]]]),
        (b"P1\n3 1\n101", [[[0, 0, 0], [255, 255, 255], [0, 0, 0]]]),
        (b"P5 1 1 65535\n\x80\x00", [[[128, 128, 128]]]),
    ],
)
def test_portable_formats(data, expected):
    np.testing.assert_array_equal(decode(data), np.array(expected, np.uint8))


@pytest.mark.parametrize("kind, options", FORMATS)
def test_broken_files_have_no_pixels_and_do_no_harm(kind, options):
    data = encode(picture(), kind, **options)
    rng = np.random.default_rng(1)
    for size in [3, 8, 17, 40, len(data) // 2]:
        assert decode(data[:size]).shape[2] == 3
    for _ in range(40):
        broken = bytearray(data)
        # The first bytes stay, which hold the sizes.
        for place in rng.integers(40 if kind != "PPM" else 12, len(data), 5):
            broken[place] = int(rng.integers(0, 256))
        assert decode(bytes(broken)).shape[2] == 3


def test_what_is_no_image():
    for data in [b"", b"x", b"hello, this is text", b"P6", b"P6\n-1 5 255\n", b"P6\n999999999 999999999 255\nabc", b"BM\0\0"]:
        assert decode(data).shape == (0, 0, 3)
        assert decode(data, "Grayscale").shape == (0, 0, 1)


def enlarged(kind, width, height):
    """A small picture whose header says that it is of another size."""
    data = bytearray(encode(picture(), kind))
    if kind == "PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    elif kind == "TIFF":
        first = struct.unpack_from("<I", data, 4)[0]
        for at in range(first + 2, first + 2 + 12 * struct.unpack_from("<H", data, first)[0], 12):
            extent = {256: width, 257: height, 278: height}.get(struct.unpack_from("<H", data, at)[0])
            if extent:  # as one number of 32 bits
                data[at + 2 : at + 12] = struct.pack("<HII", 4, 1, extent)
    elif kind == "JPEG":
        at = data.index(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    elif kind == "WEBP":
        data[26:30] = struct.pack("<HH", width, height)
    elif kind == "JPEG2000":
        at = data.index(b"ihdr")
        data[at + 4 : at + 12] = struct.pack(">II", height, width)
        at = data.index(b"\xff\x51")
        data[at + 6 : at + 14] = data[at + 22 : at + 30] = struct.pack(">II", width, height)
    elif kind == "BMP":
        data[18:26] = struct.pack("<ii", width, height)
    else:
        data = data.replace(b"37 21", f"{width} {height}".encode())
    return np.frombuffer(bytes(data), np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG", "WEBP", "JPEG2000"])
def test_pictures_that_are_large_by_their_header_take_no_more_than_the_session_may_have(kind):
    session = gantry.Session(decoder(), config={"session": {"memory_limit_bytes": 64 << 20}})
    with pytest.raises(gantry.OutOfMemoryError, match="session.memory_limit_bytes allows 67108864"):
        session.run({"x": enlarged(kind, 11_000, 11_000)})
    with pytest.raises(gantry.UnsupportedError, match='ImageDecoder "node": the image has 16000 x 16000 pixels by its header, expected at most 134217728'):
        session.run({"x": enlarged(kind, 16_000, 16_000)})
    assert session.run({"x": np.frombuffer(encode(picture(), kind), np.uint8)})["y"].shape == (21, 37, 3)


@pytest.mark.parametrize("kind", ["BMP", "PPM"])
def test_pictures_of_more_pixels_than_their_file_has_are_none(kind):
    session = gantry.Session(decoder(), config={"session": {"memory_limit_bytes": 64 << 20}})
    for extent in (11_000, 16_000):
        assert session.run({"x": enlarged(kind, extent, extent)})["y"].size == 0
