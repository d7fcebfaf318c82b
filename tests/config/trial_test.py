# SPDX-License-Identifier: Apache-2.0
"""The integrator's trial: a configuration with one slip is put right from the message alone. What the message suggests is written
over what stands at its line and column, by a program that knows nothing of gantry; then the model runs as it was meant to."""

import json
import re

import pytest
from command_line import ERROR, GOOD, gantry
from model_files import model_file

MODEL = "rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx"

RIGHT = """{
  "providers": {
    "options": {"sim": {"latency_us": 1, "operators": ["MatMul", "Add"]}}
  },
  "placement": {
    "prefer": ["CPU"],
    "fallback": "error",
    "rules": [
      {"op_type": "MatMul", "device": "SIM:1"}
    ]
  },
  "session": {"threads": 2, "optimization": "all"}
}
"""

# What the integrator wrote, and where the right document has something else.
SLIPS = {
    "section": ('"placement"', '"placment"'),
    "member": ('"fallback"', '"fallbak"'),
    "member of a rule": ('"op_type"', '"optype"'),
    "member of the options": ('"latency_us"', '"latency"'),
    "value of a member": ('"error"', '"eror"'),
    "value in the options": ('["MatMul"', '["Matmul"'),
    "device that is none": ('"SIM:1"', '"SIM-1"'),
    "device in lower case": ('"SIM:1"', '"sim:1"'),
    "device of no provider": ('"SIM:1"', '"SMI:1"'),
    "operator": ('"op_type": "MatMul"', '"op_type": "MatMull"'),
    "number between quotes": ("2,", '"2",'),
    "no list": ('["CPU"]', '"CPU"'),
    "no list of operators": ('["MatMul", "Add"]', '"MatMul, Add"'),
    "one rule without a list": ('[\n      {"op_type": "MatMul", "device": "SIM:1"}\n    ]', '{"op_type": "MatMul", "device": "SIM:1"}'),
    "number with a point": ("2,", "2.0,"),
    "provider": ('{"sim"', '{"simm"'),
}


def explain(config, status):
    output, error = gantry("explain", model_file(MODEL), "--config", config, "--run", "--random", "--dim", "DynamicDimension.0=1",
                           "--dim", "DynamicDimension.1=64", "--json", status=status)
    return (json.loads(output) if status == GOOD else None), error


def put_right(config, messages):
    """Follows the first suggestion: FILE:LINE:COLUMN: ... Did you mean JSON?"""
    found = re.search(rf"^(?:gantry\S* \S*: |gantry: )?{re.escape(str(config))}:(\d+):(\d+): .*Did you mean (.+?)\?", messages, re.M)
    assert found, messages
    line, column, suggestion = int(found[1]), int(found[2]), found[3]
    lines = config.read_text().splitlines(keepends=True)
    text = lines[line - 1]
    wrong = json.JSONDecoder().raw_decode(text[column - 1:])[1]
    lines[line - 1] = text[:column - 1] + suggestion + text[column - 1 + wrong:]
    config.write_text("".join(lines))


def is_as_meant(explanation):
    places = {(node["op_type"], node["device"]) for node in explanation["nodes"] if node["op_type"] in ("MatMul", "Conv")}
    return places == {("MatMul", "SIM:1"), ("Conv", "CPU:0")} and explanation["copies"] > 0


def test_the_right_one_is_right(tmp_path):
    config = tmp_path / "own.json"
    config.write_text(RIGHT)
    explanation, messages = explain(config, GOOD)
    assert is_as_meant(explanation) and messages == ""


@pytest.mark.parametrize("slip", SLIPS)
def test_is_put_right_from_the_message_alone(slip, tmp_path):
    right, wrong = SLIPS[slip]
    assert RIGHT.count(right) == 1
    config = tmp_path / "own.json"
    config.write_text(RIGHT.replace(right, wrong))
    # Two slips do not make the run fail: they are told of in the log.
    _, messages = explain(config, GOOD if slip in ("operator", "provider") else ERROR)
    put_right(config, messages)
    explanation, messages = explain(config, GOOD)
    assert is_as_meant(explanation) and messages == ""
