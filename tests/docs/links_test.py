# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/: links lead somewhere; records of decisions have their form; sources name records that exist."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))
INDEX = (DECISIONS / "README.md").read_text(encoding="utf-8")


def text_of(page):
    """Without code, which is no prose."""
    return re.sub(r"^```.*?^```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page):
    """As GitHub makes them of headings: a second one of the same text gets -1."""
    seen, found = {}, set()
    for heading in re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S), re.M):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: no such file"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{target}: no such heading"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_has_its_form(record):
    text = record.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(record.name[:4])}. ")
    positions = [text.find(f"**{part}.**") for part in ("Status", "Context", "Decision", "Consequences")]
    assert -1 not in positions, "expected Status, Context, Decision and Consequences"
    assert positions == sorted(positions)
    assert len(text.splitlines()) <= 60
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 100


def test_the_index_has_each_number_once():
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", INDEX, re.M)]
    assert numbers == list(range(1, max(int(record.name[:4]) for record in RECORDS) + 1))
    for record in RECORDS:
        assert f"]({record.name}) | accepted |" in INDEX


def test_sources_name_records_that_exist():
    """A number that was merged into another record is named by that one."""
    existing = {int(record.name[:4]) for record in RECORDS}
    hits = subprocess.run(["git", "grep", "-nE", r"decisions?/[0-9]{4}|[Dd]ecision [0-9]+", "--", ":!docs/decisions", ":!tests/docs/links_test.py"],
                          cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert hits
    for hit in hits:
        for number, path in re.findall(r"[Dd]ecision (\d+)|decisions/(\d{4})", hit):
            assert int(number or path) in existing, hit
