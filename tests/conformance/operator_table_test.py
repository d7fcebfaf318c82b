# SPDX-License-Identifier: Apache-2.0
"""The table of covered operators: what it is counted from, what is read back from it, and that it stands where readers look."""

import pathlib

import operator_table as table
import pytest
from browser import Browser
from onnx import defs
from operator_coverage import Covered, Operator, Use, count, probe_operators, refused_types, suite_line, uses_of
from operator_probe import default_types, parse_type, probe_model, variables

import gantry

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = [schema for schema in defs.get_all_schemas_with_history() if not schema.deprecated]


@pytest.fixture(scope="module")
def operators():
    return probe_operators()


def some_operators():
    add = Operator("", "Add", "cpu", Covered({1, 6, 7}, {7}), Covered({"T: float", "T: int8"}, {"T: float", "T: int8"}),
                   Covered({"axis"}, set()), Covered({"test_add", "test_sum"}, {"test_add"}))
    return {("", "Add"): add, ("my.<domain>", "Odd"): Operator("my.<domain>", "Odd", "", Covered({1}), cases=Covered())}


def test_every_version_of_every_operator_can_be_asked_about(operators):
    """A probe that is no valid model raises InvalidModelError."""
    newest = {(schema.domain, schema.name): schema for schema in sorted(SCHEMAS, key=lambda schema: schema.since_version)}
    assert operators.keys() == newest.keys()
    assert sum(len(operator.versions.all) for operator in operators.values()) == len(SCHEMAS)
    without_types = {key for key, operator in operators.items() if not operator.types.all}
    assert without_types == {key for key, schema in newest.items() if not variables(schema)}


def test_probes_have_the_version_and_types_that_they_are_made_for():
    schema = defs.get_schema("Cast", 13)
    model = probe_model(schema, default_types(schema) | {"T1": "tensor(int8)", "T2": "tensor(bfloat16)"})
    assert model.opset_import[0].version == 13
    assert model.graph.input[0].type == parse_type("tensor(int8)")
    assert model.graph.output[0].type.tensor_type.elem_type == parse_type("tensor(bfloat16)").tensor_type.elem_type


def test_what_the_device_refuses_is_not_covered(monkeypatch):
    real = gantry.check

    def without_old_floor(model, device):
        node = model.graph.node[0]
        if node.op_type == "Floor" and (model.opset_import[0].version == 6 or model.graph.input[0].type == parse_type("tensor(double)")):
            raise gantry.UnsupportedError("not this one")
        return real(model, device)

    monkeypatch.setattr(gantry, "check", without_old_floor)
    floor = probe_operators()["", "Floor"]
    assert floor.versions.missing == [6]
    assert floor.types.missing == ["T: double"]
    assert floor.provider == "cpu"


def test_cases_count_for_the_operators_in_them():
    uses = frozenset({Use("", "Add", frozenset(), True), Use("", "Gemm", frozenset({"alpha"}), False)})
    outcomes = {"test_good": (uses, True), "test_bad": (uses | {Use("", "Relu", frozenset(), True)}, False)}
    counted = count(outcomes)
    assert (counted["", "Add"].cases.covered, counted["", "Add"].cases.missing) == ({"test_good"}, ["test_bad"])
    assert counted["", "Gemm"].attributes.covered == {"alpha"}
    assert counted["", "Relu"].cases.covered == set()
    assert suite_line(outcomes) == f"Operators (passed/loaded/total): 1/2/{len(defs.get_all_schemas())}"


def test_operators_of_bodies_and_functions_are_seen():
    schema = defs.get_schema("Loop")
    names = {(use.op_type, use.is_top_level) for use in uses_of(probe_model(schema, default_types(schema)))}
    assert names == {("Loop", True), ("Identity", False)}


def test_numbers_are_read_back():
    markdown = table.to_markdown(some_operators(), "Operators (passed/loaded/total): 1/2/3", "onnx 1", (4, 5))
    numbers = table.read_numbers(markdown)
    assert numbers == {
        ("Add", "versions"): 1, ("Add", "types"): 2, ("Add", "attributes"): 0, ("Add", "cases"): 1,
        ("my.<domain>.Odd", "versions"): 0, ("my.<domain>.Odd", "types"): 0, ("my.<domain>.Odd", "attributes"): 0,
        ("my.<domain>.Odd", "cases"): 0, ("suite", "passed"): 1, ("suite", "loaded"): 2,
    }  # fmt: skip


def test_only_what_went_down_is_told():
    before = {("Add", "types"): 5, ("Sub", "cases"): 2, ("suite", "passed"): 7}
    assert table.shrunk(before, before | {("Mul", "types"): 1}) == []
    assert table.shrunk(before, {("Add", "types"): 4, ("suite", "passed"): 8}) == ["Add: 5 types, now 4", "Sub: 2 cases, now 0"]


def test_the_page_escapes_and_marks():
    page = table.to_html(some_operators(), "a < b", "onnx 1", (4, 5))
    assert "my.&lt;domain&gt;.Odd" in page and "a &lt; b" in page and "<domain>" not in page
    assert '<td class="number part" title="1, 6">1/3</td>' in page


def test_the_page_filters_its_rows(tmp_path):
    (tmp_path / "page.html").write_text(table.to_html(some_operators(), "a line", "onnx 1", (4, 5)), encoding="utf-8")
    browser = Browser()
    try:
        browser.driver.get((tmp_path / "page.html").as_uri())
        shown = lambda: [row.text.split()[0] for row in browser.all("tbody tr") if row.is_displayed()]
        assert shown() == ["Add", "my.<domain>.Odd"]
        browser.one("#filter").send_keys("NOBODY odd")
        assert shown() == ["my.<domain>.Odd"]
        assert browser.complaints() == []
    finally:
        browser.close()


def test_the_committed_table_is_complete(operators):
    committed = table.read_numbers(table.TABLE.read_text(encoding="utf-8"))
    assert {name for name, _ in committed} == {operator.name for operator in operators.values()} | {"suite"}


def test_the_readme_says_what_the_table_says():
    line = table.read_line(table.TABLE.read_text(encoding="utf-8"))
    assert line is not None
    assert table.read_line((ROOT / "README.md").read_text(encoding="utf-8")) == line


def test_every_type_of_every_version_is_taken():
    """The table counts the newest version's types one by one; this asks about all versions, and about types of two inputs together."""
    refused, asked = refused_types()
    assert refused == {}
    assert asked > 10000
