# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md, run as they stand, and what the page says that they print."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_examples():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    examples = [block for language, block in blocks if language == "python"]
    assert len(examples) >= 6
    done = subprocess.run([sys.executable, "-c", "\n".join(examples)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [block for language, block in blocks if not language]
    assert printed
    for lines in printed:
        assert lines in done.stdout
    assert "data_0 tensor float32 [1, 3, 224, 224]\n" in done.stdout


def test_a_provider_of_onnxruntime(tmp_path):
    text = (ROOT / "docs" / "onnxruntime-provider.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    shutil.copy(ROOT / "build" / "models" / "onnx" / "light" / "light_squeezenet.onnx", tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, "-c", example + "print(session.get_providers())"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "['GantryExecutionProvider', 'CPUExecutionProvider']\n"
