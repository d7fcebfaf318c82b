# SPDX-License-Identifier: Apache-2.0
"""docs/configuration.md against the schema, both ways: every member is described with its default, every described member exists,
every JSON example is a good configuration."""

import json
import pathlib
import re

import pytest
from command_line import facts

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)


def members(schema, pointer=""):
    """Pointer -> default, as JSON or nothing, of every member that the schema names."""
    found = {}
    for name, part in schema.get("properties", {}).items():
        here = f"{pointer}/{name}"
        found[here] = json.dumps(part["default"]) if "default" in part else ""
        found.update(members(part, here))
        found.update(members(part.get("items", {}), f"{here}/*"))
        others = part.get("additionalProperties")
        found.update(members(others if isinstance(others, dict) else {}, f"{here}/*"))
    return found


def described():
    """Pointer -> (default, given to, meaning) of the table's rows."""
    rows = re.findall(r"^\| `(/[^`]*)` \| (.*?) ?\| (.*?) ?\| (.*?) \|$", PAGE, re.M)
    assert len(rows) == len({row[0] for row in rows}), "a member is described twice"
    return {pointer: (default.strip("`"), place, meaning) for pointer, default, place, meaning in rows}


def test_every_member_is_described_and_exists():
    schema = json.loads((ROOT / "configs" / "gantry.schema.json").read_text(encoding="utf-8"))
    known = members(schema)
    table = described()
    assert set(known) == set(table)
    assert {pointer: row[0] for pointer, row in table.items()} == known
    for pointer, (_, place, meaning) in table.items():
        is_group = pointer.count("/") == 1 and pointer != "/$schema"
        assert place in ([""] if is_group else ["runtime", "both"]), pointer
        assert meaning, pointer


def test_the_schema_describes_every_member():
    def check(schema, pointer):
        for name, part in schema.get("properties", {}).items():
            assert part.get("description"), f"{pointer}/{name} has no description"
            check(part, f"{pointer}/{name}")
            check(part.get("items", {}), f"{pointer}/{name}/*")
            others = part.get("additionalProperties")
            check(others if isinstance(others, dict) else {}, f"{pointer}/{name}/*")

    check(json.loads((ROOT / "configs" / "gantry.schema.json").read_text(encoding="utf-8")), "")


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_good(example, tmp_path):
    file = tmp_path / "example.json"
    file.write_text(example, encoding="utf-8")
    assert facts("config", "check", file)["valid"] is True


def test_there_are_examples():
    assert EXAMPLES
