# SPDX-License-Identifier: Apache-2.0
"""tools/bench/operators: that no operator is forgotten, and that a run gives sane figures."""

import json
import pathlib
import subprocess
import sys

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "bench"))
import operator_cases  # noqa: E402: the folder of scripts is no package

COMMAND = [sys.executable, str(ROOT / "tools" / "bench" / "operators")]


def test_every_operator_has_a_case():
    have = {op for case in operator_cases.ALL for op in (case.op, *case.covers)}
    standard = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain in ("", "ai.onnx.ml")}
    assert standard - have == set(operator_cases.NEWER_THAN_ONNX_RUNTIME)
    assert have <= standard


def test_names_are_unique():
    names = [case.name for case in operator_cases.ALL]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("op", operator_cases.NEWER_THAN_ONNX_RUNTIME)
def test_newer_operators_are_newer(op):
    since = onnx.defs.get_schema(op).since_version
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", since)], ir_version=10)
    with pytest.raises(Exception, match="opset"):
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_a_run(tmp_path):
    """One plain operator, one with texts, one graph of several nodes, one that ONNX Runtime lacks, one that draws random numbers."""
    out = tmp_path / "operators.json"
    done = subprocess.run([*COMMAND, "--ops", "Det,StringConcat,SequenceLength,ImageDecoder,Multinomial", "--rounds", "1", "--out", str(out)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(out.read_text())
    rows = {row["op"]: row for row in document["cases"]}
    assert set(rows) == {"Det", "StringConcat", "SequenceConstruct", "Multinomial"}
    for row in rows.values():
        assert row["ratio"] == pytest.approx(row["gantry_ms"] / row["onnxruntime_ms"])
        assert row["gantry_ms"] > 0 and row["onnxruntime_ms"] > 0
    assert rows["Det"]["difference"] < 1e-4 and rows["StringConcat"]["difference"] == 0
    assert "difference" not in rows["Multinomial"]
    ratios = [row["ratio"] for row in document["cases"]]
    assert ratios == sorted(ratios, reverse=True)
    (refused,) = document["refused"]
    assert refused["op"] == "ImageDecoder" and refused["gantry_ms"] > 0 and "ImageDecoder" in refused["refusal"]
    assert document["summary"]["cases"] == 4
    assert document["summary"]["over_goal"] == sum(ratio > 1.5 for ratio in ratios)
    assert "not in ONNX Runtime" in done.stdout


def test_an_unknown_operator():
    done = subprocess.run([*COMMAND, "--ops", "Frobnicate"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no case of Frobnicate" in done.stderr
