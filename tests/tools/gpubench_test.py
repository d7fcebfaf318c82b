# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench is made of, on a machine without a GPU: its models in small, the same numbers by everything that runs them, and the report."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest
from cuda_worker import BUILD, FAKE
from small_graph import small_graph

import gantry

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpubench import candidates, models, onnx_torch, outline, peer_gantry, report  # noqa: E402: the folder of the tools is no package

SMALL = {
    "resnet": lambda **more: models.resnet50(size=32, blocks=(1, 1, 1, 1), **more),
    "mobilenet": lambda **more: models.mobilenet_v2(size=32, repeats=0.3, **more),
    "bert": lambda **more: models.bert(length=6, width=32, heads=4, layers=2, words=100, **more),
    "vit": lambda **more: models.vit(size=32, patch=16, width=32, heads=4, layers=2, **more),
    "gpt2": lambda **more: models.gpt2(past=5, width=32, heads=4, layers=2, words=100, **more),
    "llama_decode": lambda dtype="f32", **more: models.llama(dtype, past=5, width=64, heads=4, kv_heads=2, layers=2, inner=96, words=100, **more),
    "llama_prefill": lambda dtype="f32", **more: models.llama(dtype, past=0, length=6, width=64, heads=4, kv_heads=2, layers=2, inner=96, words=100, **more),
}


@pytest.mark.parametrize("name", SMALL)
def test_models_run(name):
    model = SMALL[name]()
    found = gantry.Session(model, device="CPU").run(models.random_inputs(model))
    assert found and all(np.isfinite(value).all() and np.abs(value).max() > 1e-3 for value in found.values())


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_pytorch_computes_the_same(name, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    model = SMALL[name](dtype=dtype)
    feeds = models.random_inputs(model)
    with torch.no_grad():
        found = onnx_torch.make_module(model)(*candidates.torch_inputs(torch, model, feeds, "cpu"))
    if dtype == "bf16":  # nothing to compare with but that it runs in that type
        assert all(value.dtype == torch.bfloat16 and torch.isfinite(value).all() for value in found)
        return
    expected = gantry.Session(model, device="CPU").run(feeds)
    for info, value in zip(model.graph.output, found):
        np.testing.assert_allclose(value.numpy(), expected[info.name], rtol=1e-3, atol=1e-4)


def test_every_operator_has_a_form_in_pytorch():
    for name, make in SMALL.items():
        assert onnx_torch.supported(make()) == [], name
    assert onnx_torch.supported(SMALL["llama_decode"](int4=True)) == ["MatMulNBits"]


def test_four_bits_run():
    model = SMALL["llama_decode"](int4=True)
    found = gantry.Session(model, device="CPU").run(models.random_inputs(model))
    assert np.isfinite(found["y"]).all()


@pytest.mark.parametrize("name, more", [*((name, {"dtype": "f16"}) for name in SMALL), ("gpt2", {}), ("llama_decode", {"dtype": "bf16"}),
                                        ("llama_decode", {"int4": True, "dtype": "f16"})])
def test_outlines_are_the_models_but_for_the_numbers(tmp_path, name, more):
    """On a machine without numpy and onnx weights are written by Python alone; what is read there is a model of the same tensors."""
    model, rows = models.outline_of(SMALL[name], **more)
    whole = SMALL[name](**more)
    assert model.ByteSize() < whole.ByteSize() and [node.op_type for node in model.graph.node] == [node.op_type for node in whole.graph.node]
    assert [list(one.dims) for one in model.graph.initializer] == [list(one.dims) for one in whole.graph.initializer]
    outline.save(tmp_path / "outlines", "a row", model.SerializeToString(), rows)
    (tmp_path / "room").mkdir()
    path = outline.load_all(tmp_path / "outlines")["a row"](tmp_path / "room")
    if more.get("dtype") == "bf16":
        return
    found = gantry.Session(str(path), device="CPU").run(models.random_inputs(whole))
    assert found and all(np.isfinite(value).all() and np.abs(value).max() > 1e-3 for value in found.values())


def test_rows_are_of_models_that_are_built():
    for make, arguments in models.ROWS.values():
        assert make.__module__ == models.__name__ and set(arguments) <= set(make.__code__.co_varnames)


def test_a_candidate_that_fails_ends_nothing(tmp_path):
    """Each candidate runs in a process of its own: what is missing or breaks is one line of the report, and the others go on."""
    started = report.Report("a GPU", "abc", tmp_path)
    fakes = {"good": candidates.Candidate([sys.executable, "-c", "print('{\"times_ms\": [2.0, 4.0, 3.0], \"precision\": \"f16\"}')"]),
             "absent": candidates.Candidate([sys.executable, "-c", "import sys; sys.exit('no such package here')"]),
             "endless": candidates.Candidate([sys.executable, "-c", "import time; time.sleep(60)"])}
    candidates.compare("row", fakes, rounds=2, limit_s=4, report=started)
    row = started.rows["row"]
    assert row["median_ms"] == {"good": 3.0} and row["precision"] == {"good": "f16"}
    assert row["missing"]["absent"] == "no such package here" and "ended after" in row["missing"]["endless"]
    written = json.loads((tmp_path / "gpu-bench.json").read_text())
    assert written["rows"]["row"]["median_ms"] == {"good": 3.0} and written["gpu"] == "a GPU" and written["commit"] == "abc"
    assert "| row | 3.000 |" in (tmp_path / "gpu-bench.md").read_text() and "no such package here" in (tmp_path / "gpu-bench.md").read_text()


def test_the_times_of_the_command_are_read():
    assert peer_gantry.times_of('note\n{"latency_us": {"p50": 1500.0}, "load_ms": 7.5, "first_run_ms": 2}') == {"times_ms": [1.5], "load_ms": 7.5, "first_run_ms": 2}


@pytest.mark.parametrize("script, more, said", [("peer_torch.py", ["eager"], "PyTorch (is not installed|finds no GPU)"),
                                                ("peer_onnxruntime.py", [], "no CUDA provider|does not start|not installed")])
def test_peers_say_what_is_missing(tmp_path, script, more, said):
    model = SMALL["bert"]()
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "feeds.npz", **models.random_inputs(model))
    candidate = candidates.Candidate([sys.executable, ROOT / "tools" / "gpubench" / script, tmp_path / "m.onnx", tmp_path / "feeds.npz", "0.1", *more])
    with pytest.raises(RuntimeError, match=said):
        print(candidates.run(candidate, 60))
        pytest.skip("this machine has a GPU")


def test_gantry_is_timed_by_its_command(tmp_path, monkeypatch):
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip(f"{FAKE} is not built (-DGANTRY_BUILD_TESTS=ON)")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE))
    monkeypatch.setenv("XDG_CACHE_HOME", str(BUILD / "tests" / "fake_cuda_cache"))
    model = SMALL["gpt2"]()
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "feeds.npz", **models.random_inputs(model))
    candidate = candidates.Candidate([sys.executable, ROOT / "tools" / "gpubench" / "peer_gantry.py", tmp_path / "m.onnx", tmp_path / "feeds.npz", "0.1", BUILD,
                    json.dumps({"own_kernels": True})])
    result = candidates.run(candidate, 120)
    assert len(result["times_ms"]) == 1 and result["times_ms"][0] > 0 and "f32 strict" in result["precision"]
    candidate.command[3] = "-"
    assert candidates.run(candidate, 120)["load_ms"] > 0


def test_what_was_timed_is_told(tmp_path, monkeypatch):
    """So that a report of a machine that is gone says which implementation was chosen for what, and how long the others took."""
    fakes = BUILD / "tests" / "fake_cuda_blas"
    if not (fakes / "libcublasLt.so.13").exists():
        pytest.skip(f"{fakes} is not built (-DGANTRY_BUILD_TESTS=ON)")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fakes))
    rng = np.random.default_rng(0)
    model, feeds = small_graph("y = MatMul(a, b)", {"a": rng.random((20, 64)).astype(np.float16), "b": rng.random((64, 24)).astype(np.float16)})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "feeds.npz", **feeds)
    candidate = candidates.Candidate([sys.executable, ROOT / "tools" / "gpubench" / "peer_gantry.py", tmp_path / "m.onnx", tmp_path / "feeds.npz", "0.1", BUILD,
                    json.dumps({"cache": str(tmp_path / "cache")})])
    bench = report.Report("a GPU", "abc", tmp_path)
    candidates.compare("row", {"gantry": candidate}, 2, 120, bench)
    told = json.loads((tmp_path / "gpu-bench.json").read_text())["rows"]["row"]["told"]["gantry"]
    assert any("CUDA:0: the fastest of 2 for tiles 1|" in line and line.endswith(" us") for line in told), told
    assert any("for cuBLASLt's " in line for line in told)
    assert peer_gantry.told_in("gantry warning: one\ngantry info: other\ngantry info: cuda: the fastest of 2\n") == ["warning: one", "cuda: the fastest of 2"]


def files_under(folders) -> dict:
    """Bytes of each file, by path."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_loading_is_measured_with_empty_caches(tmp_path, monkeypatch):
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip(f"{FAKE} is not built (-DGANTRY_BUILD_TESTS=ON)")
    loader = importlib.machinery.SourceFileLoader("gpu_bench", str(ROOT / "tools" / "gpu-bench"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_bench", loader))
    loader.exec_module(tool)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE))
    model, _ = small_graph("y = Softmax(x)", {"x": np.ones((3, 5), np.float32)})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    run, seen = candidates.run, []

    def watched_run(candidate, limit_s):
        folders = [pathlib.Path(value) for text in candidate.command[-2:] for value in json.loads(text).values()]
        before = files_under(folders)
        result = run(candidate, limit_s)
        seen.append((before, files_under(folders)))
        return result

    monkeypatch.setattr(candidates, "run", watched_run)
    found = tool.loads_of(BUILD, tmp_path / "m.onnx", "-", 120)
    assert found.keys() == {"cold", "warm"} and all(time > 0 for times in found.values() for time in times)
    # The first compiles the kernel and the plan, the second finds both and makes nothing.
    (empty, after_cold), (before_warm, after_warm) = seen
    assert empty == {} and len({path.parent for path in after_cold}) >= 2 and after_cold == before_warm == after_warm
    assert "no such file" in tool.loads_of(BUILD, tmp_path / "none.onnx", "-", 60)["missing"].lower()


def test_ratios_are_to_the_best_peer(tmp_path):
    made = report.Report("a GPU", "abc", tmp_path)
    for row, ours, best in (("a", 1.0, 2.0), ("b", 4.0, 2.0)):
        made.add(row, {"gantry": [ours], "PyTorch eager": [9.0], "PyTorch graph": [best]}, {}, {}, {"gantry": [[300, 40], [12, 3]]})
    made.add("c f32", {"gantry": [1.0], "gantry tf32": [0.6], "PyTorch graph": [2.0], "PyTorch graph tf32": [0.5]}, {}, {}, {})
    made.write()
    assert made.ratio("a") == 0.5 and made.ratio("b") == 2.0
    assert made.ratio("c f32") == 0.5 and made.ratio("c f32", report.TF32) == 1.2 and made.ratio("a", report.TF32) is None
    assert "- a, gantry: 300 + 40 then 12 + 3" in (tmp_path / "gpu-bench.md").read_text()
    assert "geometric mean of 4: 0.8801, reached (at most 0.9)" in (tmp_path / "gpu-bench.md").read_text()
    assert "worst of 4: 2, missed (at most 1.0)" in (tmp_path / "gpu-bench.md").read_text()


def test_aims_are_told_and_earlier_rows_stay(tmp_path):
    first = report.Report("a GPU", "abc", tmp_path)
    assert "- ResNet-50 1 f16, median: not measured (at most 0.22 ms)" in first.aims()
    first.add("ResNet-50 1 f16", {"gantry": [0.2]}, {}, {}, {})
    first.add_load("ResNet-50 1 f16", {"cold": [1500, 700], "warm": [100, 50]})
    first.write()
    second = report.Report("a GPU", "abc", tmp_path)
    second.add("BERT 1x128 f16", {"gantry": [0.5]}, {}, {}, {})
    second.write()
    text = (tmp_path / "gpu-bench.md").read_text()
    for line in ("- ResNet-50 1 f16, median: 0.2 ms, reached (at most 0.22 ms)", "- BERT 1x128 f16, median: 0.5 ms, missed (at most 0.34 ms)",
                 "- ResNet-50 1 f16, cold load and first run: 2200 ms, missed (at most 2000 ms)",
                 "- ResNet-50 1 f16, warm load and first run: 150 ms, reached (at most 300 ms)", "- ResNet-50 1 f16, cold: 1500 + 700"):
        assert line in text, text
    assert not report.Report("a GPU", "another commit", tmp_path).rows and not report.Report("another", "abc", tmp_path).rows
    (tmp_path / "gpu-bench.json").write_text("{}")
    assert not report.Report("a GPU", "abc", tmp_path).rows
