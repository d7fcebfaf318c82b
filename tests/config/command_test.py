# SPDX-License-Identifier: Apache-2.0
"""`gantry config` and --config: what is wrong and where, what a configuration comes to and why, the schema."""

import json

import pytest
from broken_models import add_model
from command_line import ERROR, NO, USAGE, complaint, facts, gantry


@pytest.fixture(name="model")
def save_model(tmp_path):
    file = tmp_path / "add.onnx"
    file.write_bytes(add_model().SerializeToString())
    return file


@pytest.fixture(name="write")
def make_writer(tmp_path):
    def write(content, name="c.json"):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return file

    return write


WRONG = """{
  "placement": {"prefer": ["CPU"], "falback": "warn"},
  "providers": {"options": {"sim": {"latency_us": -1,
                                    "memory": 5000}}},
  "session": {"threads": "2"}
}
"""


# ---- check ----


def test_check_tells_everything_by_line(write):
    file = write(WRONG)
    report = facts("config", "check", file, status=NO)
    assert report["valid"] is False
    (row,) = report["files"]
    assert row["file"] == str(file) and row["valid"] is False
    assert [(f["severity"], f["line"], f["column"], f["pointer"], f["suggestion"]) for f in row["findings"]] == [
        ("error", 2, 36, "/placement/falback", '"fallback"'),
        ("error", 3, 51, "/providers/options/sim/latency_us", ""),
        ("error", 4, 37, "/providers/options/sim/memory", '"memory_bytes"'),
        ("error", 5, 26, "/session/threads", "2"),
    ]
    output, error = gantry("config", "check", file, status=NO)
    assert error == ""
    assert output.splitlines()[0] == (
        f"error: {file}:2:36: /placement/falback: unknown member; expected one of cost_model, fallback, prefer and rules. "
        'Did you mean "fallback"?')
    assert len(output.splitlines()) == 4


def test_a_wrong_entry_of_trust_is_one_finding_among_others(write):
    wrong = write({"providers": {"trust": ["bob", "user:nobody of this name", "user:0"], "isolation": {"sim": "proces"}}})
    other = write({"session": {"thread": 1}}, "other.json")
    rows = facts("config", "check", wrong, other, status=NO)["files"]
    assert [(f["severity"], f["pointer"], f["suggestion"]) for f in rows[0]["findings"]] == [
        ("error", "/providers/trust/0", '"user:bob"'),
        ("warning", "/providers/trust/1", ""),
        ("error", "/providers/isolation/sim", '"process"'),
    ]
    assert [f["pointer"] for f in rows[1]["findings"]] == ["/session/thread"]


def test_every_command_tells_the_same(write, model):
    file = write(WRONG)
    for command in (["devices"], ["doctor"], ["check", model], ["explain", model], ["run", model, "--random"], ["bench", model],
                    ["config", "show"], ["config", "schema", "--all-providers"]):
        _, error = gantry(*command, "--config", file, status=ERROR)
        for part in (f"gantry: {file}:2:36: /placement/falback: ", f"\n{file}:5:26: /session/threads: expected an integer"):
            assert part in error, (command, error)


def test_check_shows_what_is_no_json(write):
    file = write('{\n  "session": {"threads": 2,}\n}')
    output, _ = gantry("config", "check", file, status=NO)
    assert output == (
        f"error: {file}:2:28: not valid JSON: unexpected '}}'; expected string literal; the comma before it is one too many\n"
        '      "session": {"threads": 2,}\n'
        "                               ^\n")


@pytest.mark.parametrize(("content", "parts"), [
    ('{"session": {}, "session": {}}', [":1:17: /session: expected each member once, found it twice"]),
    ('{"a": ' * 20 + "1" + "}" * 20, [":1:97: ", "at most 16 levels"]),
    ("{}" + " " * 1024 * 1024, ["at most 1048576 bytes"]),
    ("{} null", [":1:4: not valid JSON"]),
    ("", [":1:1: expected a JSON object, found an empty text"]),
    ("[]", [":1:1: expected an object, found an array"]),
])
def test_check_refuses(content, parts, write):
    output, _ = gantry("config", "check", write(content), status=NO)
    for part in parts:
        assert part in output


def test_check_refuses_what_is_not_utf8(tmp_path):
    file = tmp_path / "latin.json"
    file.write_bytes(b'{"session": {"profile": "caf\xe9.json"}}')
    assert f"{file}:1:30: not valid JSON: invalid string: ill-formed UTF-8 byte" in gantry("config", "check", file, status=NO)[0]


def test_check_of_several_files(write, tmp_path):
    good = write({"$schema": "gantry.schema.json", "session": {"threads": 2}}, "good.json")
    bad = write({"session": {"thread": 2}}, "bad.json")
    assert gantry("config", "check", good)[0] == f"{good}: good\n"
    report = facts("config", "check", good, bad, status=NO)
    assert [row["valid"] for row in report["files"]] == [True, False]
    assert "gone.json" in complaint("config", "check", good, tmp_path / "gone.json", "--json").replace("\n", "")
    complaint("config", "check", status=USAGE)
    complaint("config", "chekc", status=USAGE)
    assert "config" in complaint("config", status=USAGE)


def test_warnings(write):
    file = write("""{
  "providers": {"disable": ["sim"], "options": {"sim": {}, "cpuu": {}}},
  "placement": {"prefer": ["SIM:1", "CPU"], "rules": [{"op_type": "Add", "device": "CPU_:1"}]}
}""")
    (row,) = facts("config", "check", file)["files"]
    assert row["valid"] is True
    assert [(f["severity"], f["line"], f["column"], f["pointer"], f["suggestion"]) for f in row["findings"]] == [
        ("warning", 2, 49, "/providers/options/sim", ""),
        ("warning", 2, 60, "/providers/options/cpuu", '"cpu"'),
        ("warning", 3, 28, "/placement/prefer/0", ""),
        ("warning", 3, 84, "/placement/rules/0/device", '"CPU:1"'),
    ]
    assert "turned off by /providers/disable" in row["findings"][2]["message"]
    assert facts("config", "check", "--strict", file, status=NO)["valid"] is False


def test_warnings_of_what_has_no_effect(write, tmp_path, model):
    """Names and places that are not there: a slip must not be without effect in silence."""
    file = write(f"""{{
  "providers": {{"search": ["{tmp_path}", "{tmp_path}/gone"],
                "disable": ["simm", "vendor-*", "cuda"],
                "priority": {{"x8": 5, "cpu": 300}},
                "isolation": {{"smi": "process"}}}}
}}""")
    (row,) = facts("config", "check", file)["files"]
    assert row["valid"] is True
    assert [(f["severity"], f["line"], f["column"], f["pointer"], f["suggestion"]) for f in row["findings"]] == [
        ("warning", 2, 28 + len(f'"{tmp_path}", '), "/providers/search/1", ""),
        ("warning", 3, 29, "/providers/disable/0", '"sim"'),
        ("warning", 4, 30, "/providers/priority/x8", '"x86"'),
        ("warning", 5, 31, "/providers/isolation/smi", '"sim"'),
    ]
    assert f"found nothing at {tmp_path}/gone" in row["findings"][0]["message"]
    _, error = gantry("check", model, "--config", file)
    assert error.count("gantry warning: ") == 4 and "none is turned off" in error


def test_a_former_name_of_a_provider_works_with_a_notice(write, model):
    """The provider x86 was called onednn, and files of that time are still about."""
    file = write("""{
  "providers": {"disable": ["onednn"], "options": {"onednn": {"winograd": "off"}}}
}""")
    (row,) = facts("config", "check", file)["files"]
    assert row["valid"] is True
    assert {(f["severity"], f["pointer"]) for f in row["findings"]} == {
        ("warning", "/providers/disable/0"), ("warning", "/providers/options/onednn")}
    assert all("\"onednn\" is called \"x86\" now" in f["message"] for f in row["findings"] if "is called" in f["message"])
    providers = {node["provider"] for node in facts("explain", model, "--config", file)["nodes"]}
    assert "x86" not in providers
    (row,) = facts("config", "check", write('{"providers": {"options": {"onednn": {"winograd": "offf"}}}}'), status=NO)["files"]
    assert row["valid"] is False and "/providers/options/onednn/winograd" in {f["pointer"] for f in row["findings"]}


def test_limits_of_a_process_that_there_is_not(write, model):
    """A sandbox that holds nobody must not look like one."""
    file = write("""{
  "providers": {"isolation": {"sim": "process"}, "worker": {"sim": {"sandbox": true},
                                                            "cpu": {"sandbox": true}}}
}""")
    (row,) = facts("config", "check", file)["files"]
    (finding,) = row["findings"]
    assert (finding["severity"], finding["line"], finding["column"], finding["pointer"]) == ("warning", 3, 61, "/providers/worker/cpu")
    assert '{"isolation": {"cpu": "process"}}' in finding["message"]
    _, error = gantry("check", model, "--config", file)
    assert error.count("gantry warning: ") == 1 and "/providers/worker/cpu" in error
    _, error = gantry("check", model, "--config", file, env={"GANTRY_ISOLATION": "cpu=process"})
    assert error == ""


def test_a_precision_that_nobody_takes_is_warned_of(write):
    (row,) = facts("config", "check", write({"session": {"precision": "f16"}}))["files"]
    (finding,) = row["findings"]
    assert (finding["severity"], finding["pointer"]) == ("warning", "/session/precision")
    assert 'no provider on this machine computes in "f16"; ' in finding["message"] and '"x86" takes f32 and bf16' in finding["message"]
    (row,) = facts("config", "check", write({"session": {"precision": "bf16"}}))["files"]
    assert row["findings"] == []


def test_a_provider_that_cannot_be_used_is_named(write):
    file = write({"placement": {"prefer": ["SIM:1", "CPU"]}})
    (row,) = facts("config", "check", file, env={"GANTRY_PROVIDERS_DISABLE": "sim"})["files"]
    (finding,) = row["findings"]
    assert finding["message"] == 'the provider of SIM:1, "sim", cannot be used; gantry doctor tells why'
    (row,) = facts("config", "check", write({"placement": {"prefer": ["SMI:1"]}}))["files"]
    assert row["findings"][0]["message"].count("CPU") == 1  # each type once, whoever has it


# ---- show ----


def shown(*arguments, env=None):
    return {row["pointer"]: (row["value"], row["origin"]) for row in facts("config", "show", *arguments, env=env)["values"]}


def test_show_has_every_member_with_its_origin(write):
    values = shown()
    assert values["/placement/fallback"] == ("error", "default")
    assert values["/placement/prefer"] == (["CPU"], "default")
    assert values["/session/threads"][0] >= 1 and values["/session/threads"][1] == "default"
    assert values["/session/profile"] == (None, "default")
    assert values["/providers/options/sim/latency_us"][1] == "default"
    schema = json.loads(gantry("config", "schema")[0])
    for section, part in schema["properties"].items():
        for name in part.get("properties", {}):
            assert name == "options" or f"/{section}/{name}" in values

    text = json.dumps({"session": {"threads": 1, "optimization": "none"}, "providers": {"options": {"sim": {"latency_us": 7}}}})
    site = write(text, "site.json")
    own = write('{\n "session": {"threads": 3},\n "placement": {"prefer": ["CPU", "SIM"]}\n}', "own.json")
    values = shown("--config", own, env={"GANTRY_CONFIG": str(site)})
    assert values["/session/threads"] == (3, f"{own}:2:25")
    assert values["/placement/prefer"] == (["CPU", "SIM"], f"{own}:3:26")
    assert values["/session/optimization"] == ("none", f"GANTRY_CONFIG {site}:1:{text.index('none')}")
    assert values["/providers/options/sim/latency_us"] == (7, f"GANTRY_CONFIG {site}:1:{text.index('7') + 1}")
    assert values["/session/precision"] == ("f32", "default")

    output, _ = gantry("config", "show", "--config", own)
    assert any(line.split() == ["/session/threads", "3", f"{own}:2:25"] for line in output.splitlines())
    assert any(line.split() == ["/session/profile", "not", "set", "default"] for line in output.splitlines())


def test_the_environment_has_errors_with_lines_too(write):
    file = write('{\n "session": {"threads": 0}}')
    assert complaint("devices", env={"GANTRY_CONFIG": str(file)}) == (
        f"GANTRY_CONFIG {file}:2:25: /session/threads: expected an integer from 1 to 1024, found the number 0")
    assert "gone.json" in complaint("devices", env={"GANTRY_CONFIG": "gone.json"})


def test_later_documents_win(write, model):
    site = {"GANTRY_CONFIG": str(write({"placement": {"prefer": ["SIM:1"]}}, "site.json"))}
    own = write({"placement": {"prefer": ["SIM:0"]}}, "own.json")

    def device(*arguments, env=None):
        (node,) = facts("check", model, *arguments, env=env)["nodes"]
        return node["device"]

    assert device() == "CPU:0"
    assert device(env=site) == "SIM:1"
    assert device("--config", own, env=site) == "SIM:0"
    assert device("--config", own, "--device", "CPU", env=site) == "CPU:0"


# ---- schema ----


def test_schema(tmp_path):
    schema = json.loads(gantry("config", "schema")[0])
    assert schema["title"] == "gantry configuration"
    assert "properties" not in schema["properties"]["providers"]["properties"]["options"]
    filled = json.loads(gantry("config", "schema", "--provider", "sim")[0])
    options = filled["properties"]["providers"]["properties"]["options"]
    assert list(options["properties"]) == ["sim"]
    assert options["properties"]["sim"]["properties"]["latency_us"]["minimum"] == 0
    assert options["additionalProperties"] == {"type": "object"}
    filled = json.loads(gantry("config", "schema", "--all-providers")[0])
    assert {"cpu", "sim"} <= filled["properties"]["providers"]["properties"]["options"]["properties"].keys()
    assert 'Did you mean "sim"?' in complaint("config", "schema", "--provider", "smi")


def test_options_by_the_manifest_alone(write):
    """A vendor's provider whose library is not there: its schema is known all the same, references within it too."""
    schema = {"type": "object", "additionalProperties": False, "definitions": {"mode": {"enum": ["fast", "exact"]}},
              "properties": {"mode": {"$ref": "#/definitions/mode"}, "cores": {"type": "integer", "default": 4}}}
    manifest = write({"manifest_version": 1, "name": "acme", "version": "1", "library": "libacme.so", "abi": {"major": 1, "minor": 0},
                      "devices": ["ACME"], "options": schema}, "acme.json")
    env = {"GANTRY_ADD_PROVIDER_FILES": str(manifest)}
    filled = json.loads(gantry("config", "schema", "--provider", "acme", env=env)[0])
    assert filled["properties"]["providers"]["properties"]["options"]["properties"]["acme"] == {
        **schema, "$id": "gantry-provider-acme.json"}
    wrong = write({"providers": {"options": {"acme": {"mode": "slow", "core": 1}}}})
    findings = facts("config", "check", wrong, status=NO, env=env)["files"][0]["findings"]
    assert {f["pointer"]: f["suggestion"] for f in findings} == {
        "/providers/options/acme/mode": "", "/providers/options/acme/core": '"cores"'}
    assert shown(env=env)["/providers/options/acme/cores"] == (4, "default")


# ---- what a placement says of its configuration ----


def test_rules_that_meet_no_node(write, model):
    rules = [{"op_type": "Ad", "device": "SIM:1"}, {"op_type": "Add", "device": "CPU"}, {"name": "nothing/*", "device": "CPU"},
             {"op_type": "Add", "domain": "elsewhere", "device": "CPU"}]
    file = write(json.dumps({"placement": {"rules": rules}}, indent=1))
    warnings = facts("check", model, "--config", file)["warnings"]
    assert len(warnings) == 3
    assert warnings[0] == (f'{file}:5:16: /placement/rules/0/op_type: no node of the model has the operator "Ad"; there are Add. '
                           'Did you mean "Add"?')
    assert f"{file}:13:13: /placement/rules/2/name: no node" in warnings[1]
    assert f"{file}:16:4: /placement/rules/3: no node of the model matches all members" in warnings[2]
    output, error = gantry("explain", model, "--config", file)
    assert f"warning: {warnings[0]}" in output
    assert warnings[0] in error and warnings[1] not in error  # no operator of ONNX is called so: that is a slip for sure
    assert facts("explain", model, "--config", file)["warnings"] == warnings


def test_absent_devices_are_passed_over_by_policy(write, model):
    prefer = ["SIM:7", "NOWHERE:1", "SIM:1"]
    strict = write({"placement": {"prefer": prefer}})
    assert f"{strict}:1:27: /placement/prefer/0: device \"SIM:7\": there is no such device" in complaint("check", model, "--config", strict)
    for policy in ("warn", "allow"):
        file = write({"placement": {"prefer": prefer, "fallback": policy}}, f"{policy}.json")
        output, error = gantry("explain", model, "--json", "--config", file)
        verdict = json.loads(output)
        assert verdict["nodes"][0]["device"] == "SIM:1"
        assert [warning.split(": ")[1] for warning in verdict["warnings"]] == ["/placement/prefer/0", "/placement/prefer/1"]
        assert ("SIM:7" in error) == (policy == "warn")
        # A device that the caller names has to be there.
        assert "NOWHERE" in complaint("check", model, "--config", file, "--device", "NOWHERE:1").splitlines()[-1]


def test_optimization_is_obeyed(write, tmp_path):
    import onnx
    from onnx import helper

    nodes = [helper.make_node("Constant", [], ["three"], value_float=3.0), helper.make_node("Constant", [], ["six"], value_float=6.0),
             helper.make_node("Sub", ["three", "three"], ["zero"], name="folded"),
             helper.make_node("Identity", ["x"], ["same"], name="removed"),
             helper.make_node("Add", ["same", "three"], ["sum"], name="moved"),
             helper.make_node("Clip", ["sum", "zero", "six"], ["clipped"], name="clipped"),
             helper.make_node("Div", ["clipped", "six"], ["y"], name="scaled")]
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    file = tmp_path / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:]), opset_imports=[helper.make_opsetid("", 21)],
                                ir_version=10), file)
    expected = {"none": ["Sub", "Identity", "Add", "Clip", "Div"], "basic": ["Add", "Clip", "Div"], "all": ["HardSigmoid"]}
    for level, operators in expected.items():
        config = write({"session": {"optimization": level}}, f"{level}.json")
        assert [node["op_type"] for node in facts("explain", file, "--config", config)["nodes"]] == operators, level
