# SPDX-License-Identifier: Apache-2.0
"""What a maker makes, and how it lies in a folder."""

import dataclasses
import pathlib
import pickle

import onnx


@dataclasses.dataclass
class Made:
    """A model with inputs for it, or with runs of several steps (text_builder.py); what the framework itself answers, where it does; and how far
    answers may be apart, of their largest value, where that is more than compare_one.py's."""
    model: onnx.ModelProto
    feeds: dict | list
    expected: list = None
    bound: float = 0

    def save(self, file: pathlib.Path) -> None:
        """As FILE.onnx (with FILE.data, if it is large) and FILE.pkl."""
        file.parent.mkdir(parents=True, exist_ok=True)
        is_large = self.model.ByteSize() > 1 << 30
        onnx.save(self.model, file.with_suffix(".onnx"), save_as_external_data=is_large, location=file.with_suffix(".data").name if is_large else None)
        file.with_suffix(".pkl").write_bytes(pickle.dumps((self.feeds, self.expected, self.bound)))
