#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the line of text in a picture with a PP-OCR recognition model, and says where each node of the model ran.

    read_text.py MODEL [PICTURE] [--device D]

The model is PP-OCRv6_rec_small.onnx of the PyPI package "rapidocr"; its list of characters is part of its metadata.
"""

import argparse
import collections
import pathlib
import sys
import time

import numpy as np
from PIL import Image

import gantry

HEIGHT = 48  # of the lines that the model was trained on
PICTURE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images" / "line.png"


def prepare(picture: Image.Image) -> np.ndarray:
    """A line as the model takes it: [1, 3, 48, width], blue first, -1 for black to 1 for white."""
    width = max(1, round(picture.width * HEIGHT / picture.height))
    pixels = np.asarray(picture.convert("RGB").resize((width, HEIGHT), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((pixels / 127.5 - 1)[:, :, ::-1].transpose(2, 0, 1)[np.newaxis])


def alphabet(metadata: dict) -> list:
    """The character of each class: class 0 is the blank of CTC, the last one the space."""
    if "character" not in metadata:
        raise SystemExit("read_text.py: the model's metadata has no \"character\" list; a PP-OCR recognition model is needed")
    return ["", *metadata["character"].removesuffix("\n").split("\n"), " "]


def decode(scores: np.ndarray, characters: list) -> tuple:
    """CTC decoding: the best class of each column, runs of one class read once, blanks left out; and the mean confidence."""
    classes = scores.argmax(axis=1)
    is_new = np.diff(classes, prepend=0) != 0
    kept = np.flatnonzero(is_new & (classes != 0))
    text = "".join(characters[classes[column]] for column in kept)
    return text, float(scores[kept, classes[kept]].mean()) if kept.size else 0.0


def placement_summary(session: "gantry.Session") -> str:
    """A line for each device and provider: how many nodes, of which operators."""
    places = collections.defaultdict(collections.Counter)
    for node in session.placement.nodes:
        places[(node.device, node.provider or "gantry")][node.op_type] += 1
    lines = []
    for (device, provider), operators in sorted(places.items()):
        most = ", ".join(f"{count} {name}" for name, count in operators.most_common(6))
        more = f" and {len(operators) - 6} other operators" if len(operators) > 6 else ""
        lines.append(f"  {device} by provider {provider}: {operators.total()} nodes ({most}{more})")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="PP-OCRv6_rec_small.onnx")
    parser.add_argument("picture", nargs="?", default=PICTURE, help="one line of text; default: docs/images/line.png")
    parser.add_argument("--device", default="CPU", help="the device to run on; default: CPU")
    arguments = parser.parse_args()

    start = time.perf_counter()
    session = gantry.Session(arguments.model, device=arguments.device)
    loaded = time.perf_counter()
    line = prepare(Image.open(arguments.picture))
    first_start = time.perf_counter()
    session.run({session.inputs[0].name: line})
    second_start = time.perf_counter()
    scores = session.run({session.inputs[0].name: line})[session.outputs[0].name][0]
    end = time.perf_counter()
    text, confidence = decode(scores, alphabet(session.metadata))

    print(f'text: "{text}" (confidence {confidence:.3f})')
    print(
        f"time: {1e3 * (loaded - start):.0f} ms to load, {1e3 * (second_start - first_start):.1f} ms for the first run, "
        f"{1e3 * (end - second_start):.1f} ms for the second"
    )
    print("placement:")
    print(placement_summary(session))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (gantry.Error, OSError) as error:
        sys.exit(f"read_text.py: {error}")
