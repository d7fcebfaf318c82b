# SPDX-License-Identifier: Apache-2.0
"""The scripts for a machine with a GPU, on one without: what they say there, and what they would run, over the stand-ins for NVIDIA's libraries."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from cuda_worker import BUILD, FAKE
from small_graph import small_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(name="tool", scope="module")
def load_tool():
    loader = importlib.machinery.SourceFileLoader("gpu_test", str(ROOT / "tools" / "gpu-test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_test", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(name="fakes")
def with_fakes(monkeypatch):
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip(f"{FAKE} is not built (-DGANTRY_BUILD_TESTS=ON)")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE))
    monkeypatch.setenv("XDG_CACHE_HOME", str(BUILD / "tests" / "fake_cuda_cache"))


def test_without_a_gpu_it_says_why(tool, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if tool.gpu_of(BUILD)["state"] == "ready":
        pytest.skip("this machine has a GPU")
    assert tool.test(BUILD, tmp_path) == 3
    assert "no GPU to test on: CUDA:0 is" in capsys.readouterr().out
    assert not (tmp_path / "gpu-test.json").exists()


def test_checks_are_counted(tool, fakes):
    result = tool.duties(BUILD, {"own_kernels": True}, "--level", "2", "--only", "memory.*", "--only", "copies.*")
    assert (result["status"], result["failed"], result["crashed"]) == (0, {}, 0)
    assert result["passed"] >= 4


def test_what_fails_is_told(tool, fakes, monkeypatch):
    monkeypatch.setenv("GANTRY_FAKE_CUDA", "fail=cuStreamCreate:2")
    result = tool.duties(BUILD, {}, "--level", "2", "--only", "copies.*")
    assert result["status"] == 1
    assert result["failed"]


def test_results_are_read_without_numpy(tool, tmp_path):
    for dtype in (np.float16, np.float32, np.float64, np.int64, np.bool_):
        values = np.array([[0, 1, 0.5], [3, -2, 7]]).astype(dtype)
        np.save(tmp_path / "v.npy", values)
        assert tool.read_floats(tmp_path / "v.npy") == values.reshape(-1).tolist()


@pytest.mark.parametrize("name", ["small_mobilenet_f16", "small_llama_int4_f16"])
def test_the_small_models_agree(tool, fakes, tmp_path, name):
    subprocess.run([sys.executable, "-c", tool.WRITE_SMALL_MODELS, ROOT / "tools", tmp_path], check=True)
    assert len(list(tmp_path.glob("small_*.onnx"))) == 11
    assert tool.compare_model(BUILD, tmp_path / f"{name}.onnx") == {"status": 0, "failed": {}}


def test_models_are_compared_with_the_cpu(tool, fakes, tmp_path, monkeypatch):
    model, _ = small_graph("a = MatMul(x, w)\n y = Softmax(a)", {"x": np.ones((3, 5), np.float32)}, {"w": np.eye(5, dtype=np.float32)})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert tool.compare_model(BUILD, tmp_path / "m.onnx") == {"status": 0, "failed": {}}
    monkeypatch.setattr(tool, "read_floats", lambda file: [1.0] if "CUDA" in str(file) else [2.0])
    assert tool.compare_model(BUILD, tmp_path / "m.onnx")["failed"]
