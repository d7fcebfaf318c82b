# SPDX-License-Identifier: Apache-2.0
"""The scripts for a machine with a GPU, on one without: what they say there, and what they would run, over the stand-ins for NVIDIA's libraries."""

import fnmatch
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from cuda_worker import BUILD, FAKE
from small_graph import small_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpubench import models, small  # noqa: E402: the folder of the tools is no package


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


@pytest.fixture(name="models_folder", scope="module")
def write_models(tool, tmp_path_factory):
    """With the small models that travel, at models/."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "models").mkdir()
    subprocess.run([sys.executable, "-c", tool.WRITE_SMALL_MODELS, ROOT / "tools", folder / "models"], check=True)
    assert len(list(folder.glob("models/small_*.onnx"))) == 30
    return folder


@pytest.fixture(name="gpu")
def with_gpu(tool):
    """This machine's own."""
    gpu = tool.gpu_of(BUILD)
    if gpu["state"] != "ready":
        pytest.skip(f"CUDA:0 is {gpu['state']}: {gpu.get('reason', 'no reason is given')}")


def test_without_a_gpu_it_says_why(tool, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if tool.gpu_of(BUILD)["state"] == "ready":
        pytest.skip("this machine has a GPU")
    assert tool.test(BUILD, tmp_path) == 3
    assert "no GPU to test on: CUDA:0 is" in capsys.readouterr().out
    assert not (tmp_path / "gpu-test.json").exists()


def test_checks_are_counted(tool, fakes):
    result = tool.duties(BUILD, {"own_kernels": True}, "--level", "2", "--only", "memory.*", "--only", "copies.*")
    assert (result["status"], result["failed"], result["crashed"]) == (0, {}, 0), result
    assert result["passed"] >= 4


def test_what_hangs_is_ended_and_what_came_before_is_told(tool, fakes, tmp_path, monkeypatch):
    """A child that holds the output open does not hold the test up, and the checks that were made count."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "gantry"
    script.write_text("#!/bin/sh\necho 'passed    4 case.test_abs [P19]'\necho 'failed    4 case.test_add [P19]: 3 elements: differ'\nsleep 60 &\nsleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(tool.gantry, "__kwdefaults__", {"prefix": (), "limit": 2})
    start = time.monotonic()
    result = tool.duties(tmp_path, {})
    assert time.monotonic() - start < 20
    assert (result["passed"], result["failed"].keys(), result["status"]) == (1, {"case.test_add", "all"}, 124)
    assert result["failed"]["case.test_add"] == "failed: 3 elements: differ" and result["failed"]["all"] == "ended after 2 s, behind case.test_add"
    monkeypatch.setattr(tool, "end", [time.monotonic()])
    assert tool.duties(tmp_path, {})["failed"] == {"all": "not begun for want of time"}


def test_what_fails_is_told(tool, fakes, monkeypatch):
    monkeypatch.setenv("GANTRY_FAKE_CUDA", "fail=cuStreamCreate:2")
    result = tool.duties(BUILD, {}, "--level", "2", "--only", "copies.*")
    assert result["status"] == 1
    assert result["failed"]


def test_a_lost_device_costs_one_check(tool, fakes, monkeypatch):
    """A device stays lost for its process, so what follows runs in a new one: each loses its device at its fourth launch, one to a check."""
    monkeypatch.setenv("GANTRY_FAKE_CUDA", "lost=4")
    result = tool.duties(BUILD, {}, "--only", "random.Neg/*", "--only", "random.Abs/*")
    count = result["passed"] + len(result["failed"])
    assert count >= 8 and len(result["failed"]) == count // 4, result


def test_results_are_read_without_numpy(tool, tmp_path):
    for dtype in (np.float16, np.float32, np.float64, np.int64, np.bool_):
        values = np.array([[0, 1, 0.5], [3, -2, 7]]).astype(dtype)
        np.save(tmp_path / "v.npy", values)
        assert tool.read_floats(tmp_path / "v.npy") == values.reshape(-1).tolist()


@pytest.mark.parametrize("name", ["small_mobilenet_f16", "small_llama_int4_f16", "small_llama_int4_rows_f16", "small_llama_int4_prefill_f16", "small_int8_f32",
                                  *(f"small_{name}_f16" for name in small.OPERATORS)])
def test_the_small_models_agree(tool, fakes, models_folder, name):
    assert tool.compare_model(BUILD, models_folder / "models" / f"{name}.onnx") == {"status": 0, "failed": {}}


@pytest.mark.parametrize("name", [*small.SMALL, *small.OPERATORS])
def test_the_small_models_agree_on_a_gpu(gpu, tool, tmp_path, name):
    wanted = f"small_{name}_f16"
    (model,) = [model for known, model in small.small_models() if known == wanted]
    (tmp_path / f"{wanted}.onnx").write_bytes(model.SerializeToString())
    assert tool.compare_model(BUILD, tmp_path / f"{wanted}.onnx") == {"status": 0, "failed": {}}


def test_a_gpu_does_its_duties(gpu, tool):
    result = tool.duties(BUILD, {}, "--level", "2")
    assert (result["status"], result["failed"], result["crashed"]) == (0, {}, 0), result


def test_models_are_compared_with_the_cpu(tool, fakes, tmp_path, monkeypatch):
    model, _ = small_graph("a = MatMul(x, w)\n y = Softmax(a)", {"x": np.ones((3, 5), np.float32)}, {"w": np.eye(5, dtype=np.float32)})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert tool.compare_model(BUILD, tmp_path / "m.onnx") == {"status": 0, "failed": {}}
    for wrong in (1.0, float("nan")):
        monkeypatch.setattr(tool, "read_floats", lambda file, wrong=wrong: [2.0, wrong] if "CUDA" in str(file) else [2.0, 2.0])
        assert tool.compare_model(BUILD, tmp_path / "m.onnx")["failed"]


def test_memory_is_watched_over_changing_shapes(tool, fakes, tmp_path, models_folder, monkeypatch):
    real = tool.gantry
    monkeypatch.setattr(tool, "gantry", lambda _, *arguments, **more: real(BUILD, *arguments, **more))
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\nexit 9\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("GANTRY_FAKE_CUDA", "latency_us=0")
    told = {f"MiB in {count} runs of {shapes} shapes": None for shapes in (12, 64) for count in (20, 200)}
    assert tool.memory_growth(models_folder, runs=200) == {"status": 0, **told, "failed": {}}

    # What grows is told, whoever tells of it.
    smi.write_text(f"#!{sys.executable}\nimport pathlib\nfile = pathlib.Path({str(tmp_path / 'used')!r})\n"
                   "file.write_text(str(int(file.read_text()) + 100 if file.exists() else 500))\nprint(file.read_text())\n")
    told = {"early_memory": {"arena_bytes": 64, "pool_bytes": 0}, "memory": {"arena_bytes": 64, "pool_bytes": 1}}

    def grown(*_, **__):
        time.sleep(1)
        return 0, f"note\n{json.dumps(told)}"
    monkeypatch.setattr(tool, "gantry", grown)
    result = tool.memory_growth(models_folder, runs=200)
    assert result["MiB in 200 runs of 64 shapes"] > result["MiB in 20 runs of 64 shapes"] > 500
    assert "64 bytes after each shape's first runs, and 65 in the end" in result["failed"]["session, 200 runs of 64 shapes"]
    assert "MiB in use during 20 runs" in result["failed"]["device, 12 shapes"]
    monkeypatch.setattr(tool, "gantry", lambda *_, **__: (3, "no such device"))
    assert tool.memory_growth(models_folder, runs=200)["failed"] == {"20 runs of 12 shapes": "no such device"}


def test_a_folder_that_is_too_large_does_not_travel(tool, tmp_path):
    for name, size in (("small", 10), ("large", 3000)):
        (tmp_path / name).write_bytes(b"0" * size)
    with pytest.raises(SystemExit, match="large .*, small"):
        tool.require_size(tmp_path, 3000)
    assert tool.require_size(tmp_path, 3010) == 3010


def test_the_folder_that_travels(tool, tmp_path, capsys, monkeypatch):
    """It is small enough, and what it holds runs where only it is."""
    if not (BUILD / "bin" / "gantry").exists():
        pytest.skip("gantry's command is not built")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if tool.gpu_of(BUILD)["state"] == "ready":
        pytest.skip("this machine has a GPU")
    folder = tmp_path / "gantry-gpu"
    tool.pack(folder, [])
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 60 << 20
    assert f"{folder}.tar:" in capsys.readouterr().out
    assert tool.machine.is_packed(folder) and not (folder / "bin").exists() and not tool.machine.is_packed(ROOT / "tools")
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    for script in ("gpu-test", "gpu-bench"):
        done = subprocess.run([sys.executable, folder / script, "--out", tmp_path / "out"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 3 and "CUDA:0 is absent: NVIDIA's driver library" in done.stdout, done.stdout + done.stderr
    assert len(list(tool.unpack_cases(folder, tmp_path).iterdir())) > 1800
    assert len(list((folder / "models").glob("*.onnx"))) == 30 and len(list((folder / "outlines").glob("*.onnx"))) == len(models.ROWS)


def test_shares_have_every_case_once(tool, tmp_path):
    names = [f"test_{a}{b}_{number}" for a in "abc" for b in "xyz" for number in range(ord(a) - 90)]
    for name in names:
        (tmp_path / name).mkdir()
    shares = [words[1::2] for words in tool.shares_of(tmp_path, 4)]
    assert len(shares) == 4
    for name in names:
        assert sum(fnmatch.fnmatch(f"case.{name}", word) for share in shares for word in share) == 1


def test_what_breaks_in_a_part_is_a_row(tool, fakes, tmp_path, monkeypatch):
    """Neither a failure of the test's own nor a device that cannot be used ends the run without a report."""
    def broken(folder, model):
        raise KeyError(model.name)
    folder = tmp_path / "pack"
    for name in ("bin", "lib", "models", "cases/test_add"):
        (folder / name).mkdir(parents=True)
    shutil.make_archive(str(folder / "cases"), "gztar", folder, "cases")
    (folder / "models" / "m.onnx").write_bytes(b"")
    real = tool.gantry
    monkeypatch.setattr(tool, "gantry", lambda _, *arguments, **more: real(BUILD, *[BUILD / "lib" / "gantry" / "providers.d" / "cuda.json"
                                                                                  if str(word).endswith("cuda.json") else word for word in arguments], **more))
    monkeypatch.setattr(tool, "compare_model", broken)
    monkeypatch.setattr(tool, "duties", lambda *_, **__: {"status": 0, "failed": {}})
    assert tool.test(folder, tmp_path / "out") == 1
    told = json.loads((tmp_path / "out" / "gpu-test.json").read_text())
    assert told["parts"]["model m.onnx"]["failed"] == {"all": "KeyError: 'm.onnx'"}
    assert told["parts"]["node cases by own kernels, share 1"]["status"] == 0
    assert tool.test(folder, tmp_path / "some", ["own kernels, share", "duties"]) == 0
    assert list(json.loads((tmp_path / "some" / "gpu-test.json").read_text())["parts"]) == ["duties", "node cases by own kernels, share 1"]
    assert tool.test(folder, tmp_path / "none", ["nothing"]) == 1
    monkeypatch.setenv("GANTRY_FAKE_CUDA", "capability=75")
    assert tool.test(folder, tmp_path / "old") == 1
    assert "compute capability is 7.5" in (tmp_path / "old" / "gpu-test.json").read_text()


def test_libraries_of_python_packages_are_found(tool, tmp_path, monkeypatch):
    beside = tmp_path / "site-packages" / "nvidia" / "cu13" / "lib"
    beside.mkdir(parents=True)
    (tmp_path / "site-packages" / "nvidia" / "other" / "lib").mkdir(parents=True)
    (beside / "libnvrtc.so.13").write_bytes(b"")
    monkeypatch.setattr(tool.machine, "python_folders", lambda: [str(tmp_path / "site-packages")])
    monkeypatch.setattr(tool.machine, "TOOLKITS", [])
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/said/by/the/caller")
    assert tool.machine.library_folders() == [str(beside)]
    assert tool.machine.environment_of(BUILD)["LD_LIBRARY_PATH"] == f"{BUILD / 'lib'}:/said/by/the/caller:{beside}"
