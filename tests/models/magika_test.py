# SPDX-License-Identifier: Apache-2.0
"""magika standard_v3_3, which tells the type of a file from 2,048 of its bytes."""

import json
import pathlib

import numpy as np
from compare_models import Pair
from model_files import model_file

PADDING = 256
HALF = 1024


def features(content):
    """The first and the last 1,024 bytes, padded, as the model takes them."""
    head = list(content[:HALF]) + [PADDING] * max(0, HALF - len(content))
    tail = [PADDING] * max(0, HALF - len(content)) + list(content[-HALF:])
    return head + tail


def test_files():
    file = model_file("magika/magika/models/standard_v3_3/model.onnx")
    labels = json.loads((file.parent / "config.min.json").read_text())["target_labels_space"]
    pair = Pair(file)
    python = pathlib.Path(__file__).read_bytes()
    picture = (pathlib.Path(__file__).parents[2] / "docs" / "images" / "line.png").read_bytes()
    (scores,) = pair.run({"bytes": np.array([features(python), features(picture)], np.int32)}).values()
    assert [labels[best] for best in scores.argmax(axis=1)] == ["python", "png"]
    pair.run({"bytes": np.array([features(b"#!/bin/sh\necho hello\n")], np.int32)})
    pair.run({"bytes": np.random.default_rng(0).integers(0, PADDING, (5, 2 * HALF)).astype(np.int32)})
