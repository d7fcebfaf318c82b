# SPDX-License-Identifier: Apache-2.0
"""Trace files: what is in them for a real model, over devices, threads, control flow, and the phases of loading."""

import collections
import gc
import os

import numpy as np
import onnx
import pytest
from broken_models import add_model, make_model, value
from command_line import complaint, facts, gantry
from model_files import light_file
from onnx import TensorProto, helper, numpy_helper
from trace_files import TraceFile

import gantry as runtime

RUNS = 3


def traced(model, path, inputs, runs=RUNS, **config):
    """Runs the model a few times; returns (trace, its placement)."""
    config.setdefault("session", {})["profile"] = str(path)
    session = runtime.Session(model, config=config)
    for _ in range(runs):
        session.run(inputs)
    placement = session.placement
    del session
    gc.collect()
    return TraceFile(path), placement


def test_every_node_of_a_real_model_once_a_run(tmp_path):
    image = np.zeros((1, 3, 224, 224), np.float32)
    model = light_file("resnet50")
    trace, placement = traced(model, tmp_path / "t.json", {runtime.Session(model).inputs[0].name: image})
    runs = trace.named("run")
    assert len(runs) == RUNS
    expected = collections.Counter(node.node for node in placement.nodes)
    for run in runs:
        steps = [span for span in run.all_inner() if span.category == "kernel"]
        assert collections.Counter(node for step in steps for node in step.args.get("nodes", [step.args["node"]])) == expected
        assert {(step.args["device"], step.args["provider"]) for step in steps} == {(n.device, n.provider) for n in placement.nodes}
        assert all(step.args["kernel"] for step in steps)
    conv = trace.of_category("kernel")[0]
    assert conv.args["op_type"] == "x86.conv+BatchNormalization+Relu"
    assert conv.args["inputs"][0] == "float32[1,3,224,224]" and conv.args["outputs"] == ["float32[1,64,112,112]"]
    assert trace.about["dropped"] == 0 and trace.about["model"] == str(model)
    assert len(trace.named("first run of these shapes")) == 1


def test_phases_of_loading(tmp_path):
    model = light_file("squeezenet")
    image = np.zeros((1, 3, 224, 224), np.float32)
    feeds = {runtime.Session(model).inputs[0].name: image}
    trace, placement = traced(model, tmp_path / "t.json", feeds, runs=1, session={"artefact_cache": "off"})  # whose plan needs no passes
    (load,) = trace.named("load")
    phases = [span.name for span in load.inner]
    assert phases[0] == "placement" and phases[-1] == "compile"
    assert "passes" in phases
    (imported,) = trace.named("import")  # on a thread of its own, while providers are opened
    assert load.start <= imported.start and imported.end <= load.inner[0].start
    (passes,) = trace.named("passes")
    assert {"constant_folding", "dead_code"} <= {span.name for span in passes.inner}
    (compiling,) = trace.named("compile")
    kernels = trace.of_category("kernel")
    compiled = trace.of_category("compile")  # on all cores
    assert sorted(span.args["detail"] for span in compiled) == sorted(kernel.args["provider"] for kernel in kernels)
    assert all(span.name.startswith("compile ") for span in compiled)
    assert all(compiling.start <= span.start and span.end <= compiling.end + 0.001 for span in compiled)


def test_a_plan_from_an_artefact_needs_no_passes(tmp_path):
    model = light_file("squeezenet")
    feeds = {runtime.Session(model).inputs[0].name: np.zeros((1, 3, 224, 224), np.float32)}
    phases = []
    for start in range(2):
        trace, _ = traced(model, tmp_path / f"{start}.json", feeds, runs=1, session={"artefact_cache": str(tmp_path / "cache")})
        (load,) = trace.named("load")
        phases.append([span.name for span in load.inner])
    assert "passes" in phases[0] and "plan from the artefact" not in phases[0]
    assert phases[1] == ["plan from the artefact", "placement", "compile"]


def test_captured_steps_are_one_event(tmp_path):
    """The first run is recorded for its memory and the next warms up; then the stretch is recorded, launched, and launched again."""
    nodes = [helper.make_node("Add", ["x", "x"], ["a"], name="one"), helper.make_node("Mul", ["a", "x"], ["b"], name="two"), helper.make_node("Relu", ["b"], ["y"], name="three")]
    model = make_model(nodes, [value("x", shape=(4, 16))], [value("y", shape=(4, 16))])
    trace, _ = traced(model, tmp_path / "t.json", {"x": np.ones((4, 16), np.float32)}, runs=5, placement={"prefer": ["SIM:0"]})
    names = ["Add \"one\"", "Mul \"two\"", "Relu \"three\""]
    (device,) = [process for process, name in trace.processes.items() if name == "SIM:0"]
    runs = trace.named("run")
    for number, run in enumerate(runs):
        inner = list(run.all_inner())
        replays = [span for span in inner if span.name == "captured: 3 steps"]
        assert [span.name for span in inner if span.category == "kernel"] == ([] if number >= 2 else names)
        assert [span.name for span in inner if span.name == "record"] == (["record"] if number == 2 else [])
        assert [span.category for span in replays] == (["capture"] if number >= 2 else [])
        done = [span for span in trace.spans if span.process == device and run.start <= span.start <= run.end and span.name in (*names, "captured: 3 steps")]
        assert [span.name for span in done] == (names if number < 2 else ["captured: 3 steps"])
        for span in [*replays, *(span for span in done if number >= 2)]:
            assert span.args["device"] == "SIM:0" and span.args["provider"] == "sim" and span.args["nodes"] == ["one", "two", "three"]
        if number >= 2:
            assert replays[0].start <= done[0].start < done[0].end <= run.end
    times = runtime.Session(model, device="SIM:0", profile=True)
    for _ in range(5):
        times.run({"x": np.ones((4, 16), np.float32)})
    assert {row.node: row.runs for row in times.profile() if row.op_type in ("Add", "Mul", "Relu")} == {"one": 5, "two": 5, "three": 5}


def mixed_model():
    """MatMul and Add on the accelerator, Tanh on the CPU."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
        helper.make_node("Tanh", ["product"], ["bent"], name="bend"),
        helper.make_node("Add", ["bent", "x"], ["y"], name="sum"),
    ]
    weight = numpy_helper.from_array(np.ones((16, 16), np.float32), "w")
    return make_model(nodes, [value("x", shape=("n", 16))], [value("y", shape=("n", 16))], [weight])


def test_copies_and_streams_of_a_device(tmp_path):
    placing = {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}
    trace, placement = traced(mixed_model(), tmp_path / "t.json", {"x": np.ones((4, 16), np.float32)}, placement=placing)
    assert placement.copies >= 3
    (device,) = [process for process, name in trace.processes.items() if name == "SIM:0"]
    ((key, on_stream),) = [(key, spans) for key, spans in trace.outermost.items() if key[0] == device]
    assert trace.threads[key] == "stream"
    runs = trace.named("run")
    took = []
    for run in runs:
        copies = [span for span in run.all_inner() if span.category == "copy"]
        assert len(copies) == placement.copies
        assert all(copy.args["bytes"] == 4 * 16 * 4 and copy.args["device"] == "SIM:0" for copy in copies)
        waits = [span for span in run.all_inner() if span.category == "wait"]
        assert {span.name for span in waits} == {"wait for the device", "wait for the devices"}
        issued = [span for span in run.all_inner() if span.category in ("kernel", "copy") and span.args["device"] == "SIM:0"]
        done = [span for span in on_stream if run.start <= span.start <= run.end]
        assert [span.name for span in done] == [span.name for span in issued]
        for host, there in zip(issued, done, strict=True):
            assert there.start >= host.start and there.end <= run.end
        took.append([there.end - there.start for there in done])
    # The latency is 50 us; a clock that knew nothing of it would be faster. Work whose predecessor's end was told late has waited already.
    assert all(max(times) >= 40 for times in zip(*took, strict=True)), took
    (upload,) = trace.named("upload")
    assert upload.args["detail"] == "w"
    assert [span.name for span in trace.of_category("provider")] == ["plan and enqueue"] * RUNS
    assert all(any(inner.category == "provider" for inner in span.inner) for span in trace.named('MatMul "product"') if span.process != device)
    assert {name for _, name, _ in trace.counters} == {"host memory", "SIM:0 memory"}
    assert max(values["arena"] for _, name, values in trace.counters if name == "SIM:0 memory") > 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: the pool has no workers")
def test_parts_on_the_threads_of_the_pool(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "x"], ["a"], name="product"), helper.make_node("Exp", ["a"], ["y"], name="power")]
    # Parts of tens of milliseconds: a worker that has to wait for a processor of a busy machine still finds one to take.
    model = make_model(nodes, [value("x", shape=(2048, 2048))], [value("y", shape=(2048, 2048))])
    x = {"x": np.zeros((2048, 2048), np.float32)}
    for attempt in range(8):  # a machine that is busy enough runs both parts on the caller's thread
        trace, _ = traced(model, tmp_path / f"{attempt}.json", x, runs=5, session={"threads": 2})
        parts = trace.of_category("part")
        workers = {key for key, name in trace.threads.items() if name.startswith("worker ")}
        assert {span.args["node"] for span in parts} <= {"product", "power"} and parts
        if any((span.process, span.thread) in workers for span in parts):
            break
    else:
        pytest.fail("no worker took a part in 40 runs")
    assert all((run.process, run.thread) not in workers for run in trace.named("run"))
    for step in trace.of_category("kernel"):
        inside = [p for p in parts if p.args["node"] == step.args["node"] and step.start <= p.start <= step.end]
        ranges = sorted((p.args["first"], p.args["end"]) for p in inside)
        assert all(p.end <= step.end + 0.001 for p in inside)
        # A step may call parallel_for more than once: each call's parts begin at 0.
        assert ranges == [] or ranges[0][0] == 0


def loop_model():
    """Three rounds of total = total + x."""
    inner = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"], name="keep"), helper.make_node("Add", ["before", "x"], ["after"], name="more")],
        "body",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("before", shape=(4,))],
        [value("go_on", TensorProto.BOOL, ()), value("after", shape=(4,))],
    )
    constants = [numpy_helper.from_array(np.array(3), "rounds"), numpy_helper.from_array(np.array(True), "yes")]
    node = helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], name="rounds_of_it", body=inner)
    return make_model([node], [value("x", shape=(4,))], [value("y", shape=(4,))], constants)


def test_bodies_are_inside_their_nodes(tmp_path):
    trace, _ = traced(loop_model(), tmp_path / "t.json", {"x": np.ones(4, np.float32)})
    loops = trace.named('Loop "rounds_of_it"')
    assert len(loops) == RUNS
    for loop in loops:
        assert loop.category == "control flow"
        assert [span.name for span in loop.inner] == ["iteration"] * 3
        for iteration in loop.inner:
            assert [span.args["node"] for span in iteration.inner].count("rounds_of_it/body/more") == 1


def test_each_session_has_a_file(tmp_path):
    path = tmp_path / "t.json"
    config = {"session": {"profile": str(path)}}
    sessions = [runtime.Session(add_model(), config=config) for _ in range(2)]
    del sessions
    gc.collect()
    assert TraceFile(path).named("load") and TraceFile(tmp_path / "t.2.json").named("load")


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(runtime.UnavailableError, match="session.profile: .*nowhere.*cannot be written"):
        runtime.Session(add_model(), config={"session": {"profile": str(tmp_path / "nowhere" / "t.json")}})


def test_bench_writes_a_trace(tmp_path):
    onnx.save(loop_model(), tmp_path / "loop.onnx")
    arguments = [tmp_path / "loop.onnx", "--seconds", "0.01", "--warm-up", "0", "--nodes", "--profile", tmp_path / "t.json"]
    result = facts("bench", *arguments)
    assert result["profile"] == str(tmp_path / "t.json")
    assert len(TraceFile(tmp_path / "t.json").named("run")) == 21
    rows = {row["node"]: row for row in result["nodes"]}
    inner, outer = rows["rounds_of_it/body/more"], rows["rounds_of_it"]
    assert (outer["depth"], inner["depth"]) == (0, 1) and inner["runs"] == 3 * outer["runs"] and inner["total_us"] < outer["total_us"]
    assert "trace     " in gantry("bench", *arguments)[0]
    assert "cannot be written" in complaint("bench", *arguments[:-1], tmp_path / "nowhere" / "t.json")
