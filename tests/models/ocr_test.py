# SPDX-License-Identifier: Apache-2.0
"""PP-OCRv6: recognition, detection and text direction, with several sizes in one session."""

import pathlib

import numpy as np
import pytest
from compare_models import Pair
from model_files import model_file
from PIL import Image

LINE = pathlib.Path(__file__).parents[2] / "docs" / "images" / "line.png"


def picture(width, height):
    """The line of text as the models take pictures: [1, 3, height, width], -1 to 1."""
    pixels = np.asarray(Image.open(LINE).convert("RGB").resize((width, height)), np.float32)
    return np.ascontiguousarray((pixels / 127.5 - 1).transpose(2, 0, 1)[np.newaxis])


def noise(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


@pytest.fixture(name="recognition", scope="module")
def open_recognition():
    return Pair(model_file("rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx"))


@pytest.fixture(name="detection", scope="module")
def open_detection():
    return Pair(model_file("rapidocr/rapidocr/models/PP-OCRv6_det_small.onnx"))


@pytest.mark.parametrize("width", [320, 33, 480, 96, 320])
def test_recognition_width(recognition, width):
    (scores,) = recognition.run({"x": picture(width, 48)}).values()
    np.testing.assert_allclose(scores.sum(axis=-1), 1, rtol=1e-3)


def test_recognition_batch(recognition):
    recognition.run({"x": noise(3, 3, 48, 160)})


@pytest.mark.parametrize(("height", "width"), [(64, 320), (160, 96), (32, 32), (224, 160), (64, 320)])
def test_detection_size(detection, height, width):
    (probabilities,) = detection.run({"x": picture(width, height)}).values()
    assert probabilities.shape == (1, 1, height, width)


def test_detection_batch(detection):
    detection.run({"x": noise(2, 3, 64, 96)})


@pytest.mark.parametrize("batch", [1, 4])
def test_direction(batch):
    pair = Pair(model_file("rapidocr/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"))
    upright = picture(192, 48)
    turned = upright[:, :, ::-1, ::-1]
    lines = np.concatenate([upright, turned] * batch)[:batch]
    pair.run({"x": np.ascontiguousarray(lines)})
