# SPDX-License-Identifier: Apache-2.0
"""docs/command-line.md against the commands: each prints JSON whose keys the page describes, and every command that any page shows is one, with
options that it has."""

import json
import pathlib
import re
import shutil

import numpy as np
import onnx
import pytest
from command_line import BINARY, ERROR, NO, facts, gantry
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
PROVIDERS = BINARY.parents[1] / "lib" / "gantry" / "providers.d"

# Members whose names are the model's or the configuration's own.
FREE = {"metadata", "opsets", "value"}

# By section of the page, others that it refers to.
SECTIONS = {"explain MODEL": ["check MODEL"], "bench MODEL": ["explain MODEL"]}


@pytest.fixture(name="model", scope="module")
def save_model(tmp_path_factory):
    """y = x w, in a body too, with recorded values in test_data_set_0."""
    folder = tmp_path_factory.mktemp("model")
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xyz"]
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["inner"], name="relu")], "body", [], [helper.make_tensor_value_info("inner", TensorProto.FLOAT, [2, 4])])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
             helper.make_node("If", ["yes"], ["z"], name="choice", then_branch=body, else_branch=body)]
    weights = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    yes = helper.make_tensor_value_info("yes", TensorProto.BOOL, [])
    model = helper.make_model(helper.make_graph(nodes, "g", [info[0], yes], info[1:], [weights]), opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8)
    onnx.save(model, folder / "model.onnx")
    values = folder / "test_data_set_0"
    values.mkdir()
    x = np.ones((2, 4), np.float32)
    for name, value in (("input_0", x), ("input_1", np.array(True)), ("output_0", x), ("output_1", x)):
        (values / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    return folder / "model.onnx"


def section(title):
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found


def described(title):
    text = "".join(section(each) for each in [title, *SECTIONS.get(title, [])])
    return set(re.findall(r"`([a-z_0-9]+)`", text))


def keys(document):
    if isinstance(document, list):
        return {key for item in document for key in keys(item)}
    if not isinstance(document, dict):
        return set()
    return set(document) | {key for name, item in document.items() if name not in FREE for key in keys(item)}


def expect_described(title, *arguments, status=0, env=None):
    found = keys(facts(*arguments, status=status, env=env))
    assert found and found - described(title) == set()


def test_devices_and_doctor(tmp_path):
    expect_described("devices", "devices")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "cache").mkdir(mode=0o700)
    env = {"GANTRY_ADD_PROVIDER_FILES": str(tmp_path / "broken.json"), "GANTRY_ARTEFACT_CACHE": str(tmp_path / "cache")}
    expect_described("doctor", "doctor", status=NO, env=env)


def test_commands_on_a_model(model, tmp_path):
    config = tmp_path / "split.json"
    config.write_text(json.dumps({"placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}))
    expect_described("check MODEL", "check", model, "--config", config)
    expect_described("explain MODEL", "explain", model, "--config", config, "--measure", "2", "--html", tmp_path / "page.html")
    expect_described("run MODEL", "run", model, "--random", "--out", tmp_path / "out")
    expect_described("run MODEL", "run", model, "--verify", model.parent)
    expect_described("bench MODEL", "bench", model, "--seconds", "0.01", "--warm-up", "0", "--nodes", "--profile", tmp_path / "trace.json")
    expect_described("inspect MODEL", "inspect", model)


def test_config(tmp_path):
    (tmp_path / "wrong.json").write_text('{"session": {"thread": 1}, "providers": {"disable": ["simm"]}}')
    expect_described("config check FILE...", "config", "check", tmp_path / "wrong.json", status=NO)
    expect_described("config show", "config", "show")
    assert "$schema" in facts("config", "schema", "--all-providers")


def test_provider(tmp_path):
    expect_described("provider new NAME", "provider", "new", "acme", "--dir", tmp_path / "acme")
    for name in ("sim.json", "libgantry_sim.so"):
        shutil.copy(PROVIDERS / name, tmp_path / name)
    (tmp_path / "sim.json").write_text((PROVIDERS / "sim.json").read_text().replace('"vendor"', '"vendro"'))
    expect_described("provider lint MANIFEST", "provider", "lint", tmp_path / "sim.json", status=NO)
    expect_described("provider test MANIFEST", "provider", "test", PROVIDERS / "sim.json", "--level", "1")


def test_an_error_prints_no_json(model):
    output, error = gantry("check", model, "--device", "SIM:9", "--json", status=ERROR)
    assert output == "" and error.startswith("gantry: ")


def shown_commands():
    """(page, words) of each line that calls gantry in a block of commands, and of each such call in a sentence."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
        lines = [line.removeprefix("$ ").split("#")[0] for language, block in blocks if language in ("", "sh") for line in block.splitlines()]
        rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for line in [*lines, *re.findall(r"`([^`\n]+)`", rest)]:
            words = line.split()
            if words[:1] == ["gantry"] and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
                yield page.name, tuple(words[1:])


def help_of(*command):
    """The help of a command, which the help of the one around it lists."""
    if command:
        assert re.search(rf"^  {command[-1]} ", help_of(*command[:-1]), re.M), command
    return gantry(*command, "--help")[0]


def options_of(words):
    """The help of a command, which may consist of two words; of several with | between, of the first."""
    if words[0] not in ("config", "provider"):
        return help_of(words[0])
    return [help_of(words[0], name) for name in words[1].split("|")][0]


@pytest.mark.parametrize(("page", "words"), sorted(set(shown_commands())), ids=lambda part: part if isinstance(part, str) else " ".join(part)[:60])
def test_shown_commands_exist(page, words):
    known = options_of(words)
    for word in words:
        option = word.strip("[]").split("=")[0]
        assert not option.startswith("--") or option in known, f"{page}: gantry {' '.join(words)}"
