# SPDX-License-Identifier: Apache-2.0
"""tools/bench/compare: its arithmetic, what becomes of a runtime that refuses a model, and a small comparison from end to end."""

import json
import math
import pathlib
import subprocess
import sys
import types
import xml.etree.ElementTree

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "tools")]
from comparison import figures, picture, report, rounds, rows  # noqa: E402: the folders of scripts are no packages

EFFORT = rounds.Effort(rounds=2, round_seconds=0.01, round_runs=2)


def timed(median_ms):
    return {"median_ms": median_ms}


def test_summary():
    assert figures.summary([3, 1, 2, 10]) == {"runs": 4, "min_ms": 1, "median_ms": 2.5, "p90_ms": 10}
    assert figures.summary(range(1, 11))["p90_ms"] == 9
    assert figures.summary([7]) == {"runs": 1, "min_ms": 7, "median_ms": 7, "p90_ms": 7}


def test_ratio_is_to_the_better_peer():
    runtimes = {"gantry": timed(6), "onnxruntime": timed(8), "openvino": timed(4)}
    assert figures.better_peer(runtimes) == "openvino"
    assert figures.ratio(runtimes) == 1.5
    assert figures.ratio({**runtimes, "openvino": {"error": "no such operator"}}) == 0.75
    assert figures.ratio({"gantry": timed(6)}) is None
    assert figures.ratio({**runtimes, "gantry": {"error": "crashed"}}) is None


def test_geometric_mean():
    assert figures.geometric_mean([2, 0.5, None]) == pytest.approx(1)
    assert figures.geometric_mean([8, 2]) == pytest.approx(4)
    assert figures.geometric_mean([None]) is None


def test_difference():
    expected = [np.float32([1, -4]), np.float32([0.5])]
    assert figures.difference([np.float32([1, -3]), np.float32([0.5])], expected) == 0.25
    assert figures.difference(expected, expected) == 0
    assert figures.difference([np.int64([5])], [np.int64([4])]) == 0.25
    zeros = np.zeros(2, np.float32)
    assert figures.difference([zeros], [zeros]) == 0
    for wrong in (expected[:1], [expected[0], np.float32([math.nan])], [expected[0].reshape(2, 1), expected[1]],
                  [expected[0], np.int64([1])]):
        assert figures.difference(wrong, expected) == math.inf
    assert figures.difference([np.float32([1, 0])], [zeros]) == math.inf


def test_problems():
    measurement = {"model": "m", "limit": 1e-3, "compared_with": "onnxruntime",
                   "runtimes": {"gantry": {"difference": 2e-3}, "onnxruntime": {}, "openvino": {"error": "refused"}}}
    (problem,) = report.problems(measurement)
    assert "gantry" in problem and "0.002" in problem
    measurement["runtimes"]["gantry"] = {"error": "crashed"}
    (problem,) = report.problems(measurement)
    assert "gantry did not run m" in problem
    measurement["runtimes"]["gantry"] = {"difference": 1e-4}
    assert report.problems(measurement) == []
    measurement["runtimes"]["onnxruntime"] = {"difference": 0.3}  # sums that saturate, on CPUs without VNNI
    assert report.problems(measurement) == []


def test_quantized_models_are_compared_with_exact_sums(tmp_path):
    for name, op_type, is_quantized in (("f32", "Neg", False), ("qdq", "DynamicQuantizeLinear", True)):
        outputs = [helper.make_tensor_value_info(f"y{i}", 0, None) for i in range(3 if is_quantized else 1)]
        graph = helper.make_graph([helper.make_node(op_type, ["x"], [output.name for output in outputs])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], outputs)
        onnx.save(helper.make_model(graph), tmp_path / name)
        assert rows.is_quantized(tmp_path / name) == is_quantized


def test_rows_are_told_apart():
    names = [row.name for row in (*rows.ROWS, *rows.OTHER_ROWS)]
    assert len(set(names)) == len(names)
    assert len({row.title for row in rows.ROWS}) == len(rows.ROWS)


def test_a_refusal_is_a_line(tmp_path):
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"this is no model")
    row = rows.Row("garbage", "Garbage", lambda: garbage, lambda generator: {})
    measurement = rounds.Measurement(row, 1, ["gantry", "onnxruntime"], EFFORT).run()
    assert measurement["ratio"] is None and measurement["better_peer"] is None
    for runtime, words in (("gantry", "InvalidModelError"), ("onnxruntime", "Protobuf")):
        assert words in measurement["runtimes"][runtime]["error"]
        assert f"{runtime:12} did not run it: " in report.measurement_text(measurement)
    assert len(report.problems(measurement)) == 1


def test_a_dead_process_is_a_refusal():
    process = rounds.Process("gantry", "model", "no such inputs", 1)
    try:
        with pytest.raises(rounds.Refused, match="no such inputs"):
            process.ask("load")
        with pytest.raises(rounds.Refused, match="ended with status 1"):
            process.ask("load")
    finally:
        process.close()


def test_two_small_models(tmp_path):
    command = [sys.executable, ROOT / "tools" / "bench" / "compare", "--quick", "--rounds", "2", "--threads", "1", "--runtimes", "gantry,onnxruntime",
               "--models", "silero_vad,chained_adds", "--out", tmp_path]
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "compare.json").read_text())
    assert set(document["versions"]) == {"gantry", "onnxruntime"} and document["machine"]["cores"] >= 1
    assert [measurement["model"] for measurement in document["measurements"]] == ["silero_vad", "chained_adds"]
    for measurement in document["measurements"]:
        check_measurement(measurement)
    ratios = [measurement["ratio"] for measurement in document["measurements"]]
    assert document["geometric_mean"]["T1"] == pytest.approx(math.sqrt(ratios[0] * ratios[1]))
    drawing = xml.etree.ElementTree.parse(tmp_path / "compare.svg").getroot()
    words = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"silero_vad, one chunk", "geometric mean", f"{ratios[0]:.2f}"} <= words
    assert f"{ratios[1]:.2f}"[:3] in done.stdout


def test_an_older_instruction_set(tmp_path):
    """Which all runtimes see."""
    command = [sys.executable, ROOT / "tools" / "bench" / "compare", "--quick", "--rounds", "1", "--threads", "1", "--runtimes", "gantry,onnxruntime",
               "--isa", "native,AVX2", "--models", "silero_vad", "--out", tmp_path]
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "compare.json").read_text())
    native, held = document["measurements"]
    assert (native["isa"], held["isa"]) == (None, "AVX2") and set(native["runtimes"]) == set(held["runtimes"]) == {"gantry", "onnxruntime"}
    assert document["geometric_mean"] == {"T1": pytest.approx(native["ratio"]), "AVX2 T1": pytest.approx(held["ratio"])}
    assert "silero_vad, one chunk, 1 thread, held to AVX2" in done.stdout
    assert "AVX2, 1 thread" in (tmp_path / "compare.svg").read_text()


def test_a_limit_is_in_the_environment(monkeypatch):
    started = []
    monkeypatch.setattr(rounds, "masked", lambda isa: {"LD_AUDIT": isa})
    monkeypatch.setattr(rounds, "prepare", lambda row: ("model", "inputs"))
    monkeypatch.setattr(rounds, "is_quantized", lambda model: False)
    monkeypatch.setattr(rounds.Measurement, "_attempt", lambda self, runtime, step: step())
    monkeypatch.setattr(rounds.Measurement, "_outputs_of", lambda self, process: [])

    class Noted:
        def __init__(self, runtime, model, inputs, threads, variables=None):
            started.append((runtime, variables))

        def ask(self, *command):
            return {"is_quiet": True, "samples_ms": [1.0]}

        def close(self):
            pass

    monkeypatch.setattr(rounds, "Process", Noted)
    row = types.SimpleNamespace(name="m", title="m", limit=1)
    rounds.Measurement(row, 1, ["gantry", "onnxruntime", "openvino"], rounds.Effort(1, 0, 1), "AVX2").run()
    assert started == [(runtime, {"LD_AUDIT": "AVX2"}) for runtime in ("gantry", "onnxruntime", "openvino")]


def check_measurement(measurement):
    runtimes = measurement["runtimes"]
    for figures_of_one in runtimes.values():
        assert figures_of_one["runs"] >= 4  # two rounds of at least two
        assert 0 < figures_of_one["min_ms"] <= figures_of_one["median_ms"] <= figures_of_one["p90_ms"]
        assert figures_of_one["load_ms"] > 0 and figures_of_one["first_run_ms"] > 0
        assert figures_of_one["growth_bytes"] > 0 and figures_of_one["peak_bytes"] > 0
    assert runtimes["gantry"]["difference"] <= measurement["limit"]
    assert measurement["better_peer"] == "onnxruntime"
    assert measurement["ratio"] == pytest.approx(runtimes["gantry"]["median_ms"] / runtimes["onnxruntime"]["median_ms"])


@pytest.mark.parametrize(("option", "value", "words"), [("--models", "resnet51", 'no model "resnet51"'), ("--threads", "0", "--threads"),
                                                         ("--isa", "AVX3", 'no instruction set "AVX3"'), ("--runtimes", "tensorrt", 'no runtime "tensorrt"')])
def test_wrong_options(option, value, words):
    command = [sys.executable, str(ROOT / "tools" / "bench" / "compare"), option, value]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert words in done.stderr
