# SPDX-License-Identifier: Apache-2.0
"""Outlines: models without their weights, which are generated on the target machine. A list has the layout of the model's external data file.
Needs nothing but Python."""

import json
import pathlib
import random
import struct

FILE = "model.data"
ALIGNMENT = 4096
BLOCK = 1 << 16  # random elements, repeated where more are wanted
BYTES = {"UINT8": 1, "FLOAT16": 2, "BFLOAT16": 2, "FLOAT": 4}


class Weights:
    """The layout of random tensors in one file."""

    def __init__(self):
        self.rows = []
        self.end = 0

    def add(self, kind: str, count: int, mean: float, deviation: float) -> dict:
        """Adds a tensor of `count` elements; returns its position as ONNX external data. `kind`: of BYTES."""
        position = {"location": FILE, "offset": self.end, "length": count * BYTES[kind]}
        self.rows.append({"kind": kind, "count": count, "offset": self.end, "mean": mean, "deviation": deviation})
        self.end = -(-(self.end + position["length"]) // ALIGNMENT) * ALIGNMENT
        return position


def save(folder: pathlib.Path, name: str, model: bytes, rows: list) -> None:
    """Writes an outline; `name`: of the model, for load_all."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{len(list(folder.glob('*.onnx'))):02}.onnx"
    file.write_bytes(model)
    file.with_suffix(".json").write_text(json.dumps({"name": name, "weights": rows}), encoding="utf-8")


def load_all(folder: pathlib.Path) -> dict:
    """The outlines in a folder, by name, in the order in which they were saved: each a function that writes the model into a folder."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        known = json.loads(file.read_text(encoding="utf-8"))
        found[known["name"]] = lambda room, file=file, rows=known["weights"]: write(file.with_suffix(".onnx"), rows, room)
    return found


def write(outline: pathlib.Path, rows: list, room: pathlib.Path) -> pathlib.Path:
    """Writes the model with weights into a folder; returns its path."""
    model = room / "model.onnx"
    model.write_bytes(outline.read_bytes())
    blocks = {}
    with open(room / FILE, "wb") as file:
        for row in rows:
            file.seek(row["offset"])
            key = row["kind"], row["mean"], row["deviation"]
            if key not in blocks:
                blocks[key] = block_of(*key)
            left = row["count"] * BYTES[row["kind"]]
            for _ in range(left // len(blocks[key])):
                file.write(blocks[key])
            file.write(blocks[key][:left % len(blocks[key])])
    return model


def block_of(kind: str, mean: float, deviation: float) -> bytes:
    """BLOCK elements."""
    numbers = random.Random(kind)
    if kind == "UINT8":
        return numbers.getrandbits(8 * BLOCK).to_bytes(BLOCK, "little")
    values = [numbers.gauss(mean, deviation) for _ in range(BLOCK)]
    if kind == "BFLOAT16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{BLOCK}{'e' if kind == 'FLOAT16' else 'f'}", *values)
