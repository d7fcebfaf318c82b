#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says of each file in a folder what it contains: batches through one session, and a progress bar.

    file_types.py FOLDER [--batch 16]

The model is magika's (PyPI package "magika"), which tools/setup unpacks: it reads the first and the last 1024 bytes of a file.
"""

import argparse
import json
import pathlib
import sys

import numpy as np

import gantry

MODEL = pathlib.Path(__file__).resolve().parents[2] / "build/models/magika/magika/models/standard_v3_3"
LABELS = json.loads((MODEL / "config.min.json").read_text())["target_labels_space"]
READ, BLOCK, NO_BYTE = 1024, 4096, 256  # bytes that the model sees of either end, of those that are read; and what stands for none


def features(content: bytes) -> np.ndarray:
    """What the model takes of a file: int32 [2 * READ], both ends without the white space around them."""
    row = np.full(2 * READ, NO_BYTE, np.int32)
    first, last = content[:BLOCK], content[-BLOCK:]
    begin = (first.strip() if len(content) <= BLOCK else first.lstrip())[:READ]
    end = (last.strip() if len(content) <= BLOCK else last.rstrip())[-READ:]
    row[: len(begin)] = list(begin)
    row[2 * READ - len(end):] = list(end)
    return row


def classify(session: gantry.Session, contents: list) -> list:
    """(label, score from 0 to 1) of each content, in one run."""
    scores = session.run({"bytes": np.stack([features(content) for content in contents])})["target_label"]
    return [(LABELS[best], float(row[best])) for row, best in zip(scores, scores.argmax(axis=1), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    session = gantry.Session(MODEL / "model.onnx", device="CPU")
    files = sorted(path for path in options.folder.rglob("*") if path.is_file())
    for start in range(0, len(files), options.batch):
        batch = files[start:start + options.batch]
        for path, (label, score) in zip(batch, classify(session, [path.read_bytes() for path in batch]), strict=True):
            print(f"{label:12} {score:4.0%}  {path.relative_to(options.folder)}")
        if sys.stderr.isatty():
            done = (start + len(batch)) / len(files)
            print(f"\r[{'#' * round(30 * done):30}] {done:4.0%}", end="\n" if done == 1 else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
