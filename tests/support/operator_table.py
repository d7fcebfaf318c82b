# SPDX-License-Identifier: Apache-2.0
"""The table of operator_coverage.py as Markdown and as a page, and what of it can be read back."""

import html
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"
COLUMNS = ("versions", "types", "attributes", "cases")
_LINE = re.compile(r"Operators \(passed/loaded/total\): (\d+)/(\d+)/(\d+)")
_ROW = re.compile(r"\| (\S+) \| [^|]* " + r"\| (\d+)/(\d+) " * len(COLUMNS) + r"\|")


def _sorted(operators):
    return sorted(operators.values(), key=lambda operator: (operator.domain, operator.op_type))


def _counts(operator):
    return [(len(getattr(operator, column).covered), len(getattr(operator, column).all)) for column in COLUMNS]


def _missing(operator):
    """ "types T1: int8, ..." of what the device refuses."""
    return [f"{column} {', '.join(str(item) for item in getattr(operator, column).missing)}" for column in ("versions", "types")
            if getattr(operator, column).missing]


def to_markdown(operators, line, standard, cases):
    """`line`: suite_line(); `cases`: (passed, all) of the suite."""
    text = f"""# Operators

What of each operator of the standard ({standard}) runs on the CPU. Written by `tools/conformance`; a test fails when a number goes down.

    {line}

So begins the report of the standard's own suite, of whose {cases[1]} cases {cases[0]} pass; `tests/conformance/expected_failures.txt` says why the others do not.

- **provider**: who runs a node of the newest version: a provider, the core itself, or the operator's function body, whose nodes run instead.
- **versions**: of the operator's schema, those that are taken; **types**: of the newest version, the pairs of a type variable and a type that are taken.
  Both are what the device answers to a model of one such node.
- **attributes**: of the newest version, those that a case which passed gives a value; **cases**: of the suite, with the operator in them, those that passed.

| operator | provider | {" | ".join(COLUMNS)} |
|---|---|{"---|" * len(COLUMNS)}
"""
    for operator in _sorted(operators):
        cells = " | ".join(f"{covered}/{total}" for covered, total in _counts(operator))
        text += f"| {operator.name} | {operator.provider or 'nobody'} | {cells} |\n"
    text += "\n## Not taken\n\n"
    refused = [f"- {operator.name}: {'; '.join(missing)}\n" for operator in _sorted(operators) if (missing := _missing(operator))]
    text += "".join(refused) or "Nothing.\n"
    unseen = [f"`{operator.name}`" for operator in _sorted(operators) if not operator.cases.covered]
    text += f"\n## In no case of the suite that passes\n\n{', '.join(unseen)}. Tests of our own: `tests/providers/cpu`.\n"
    return text


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>gantry: operators</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; background: #fff }}
h1 {{ font-size: 1.5rem; margin: 0 0 .3rem }}
p {{ margin: .2rem 0; color: #52606d }}
code {{ font-size: 1rem; color: #1c2733 }}
input {{ font: inherit; margin: 1rem 0; padding: .35rem .6rem; width: 16rem; border: 1px solid #b8c4ce; border-radius: 4px }}
table {{ border-collapse: collapse; width: 100% }}
th {{ position: sticky; top: 0; background: #eef2f5; text-align: left; font-weight: 600 }}
th, td {{ padding: .25rem .7rem; border-bottom: 1px solid #e3e8ed }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums }}
td.part {{ background: #fff3d6 }}
td.none {{ background: #fde2df }}
td[title] {{ cursor: help }}
</style>
<h1>Operators on the CPU</h1>
<p><code>{line}</code></p>
<p>{standard}; {passed} of {total} cases of the standard's suite pass. Point at a marked number to see what is missing.</p>
<input id="filter" placeholder="operator or provider" aria-label="Show only operators with">
<table><thead><tr><th>operator</th><th>provider</th>{head}</tr></thead><tbody>
{rows}</tbody></table>
<script>
const rows = [...document.querySelectorAll("tbody tr")];
document.getElementById("filter").addEventListener("input", event => {{
  const words = event.target.value.toLowerCase().split(/\\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
}});
</script>
</html>
"""


def _cell(operator, column):
    part = getattr(operator, column)
    covered, total = len(part.covered), len(part.all)
    style = "" if covered == total else " part" if covered else " none"
    title = f' title="{html.escape(", ".join(str(item) for item in part.missing))}"' if part.missing else ""
    return f'<td class="number{style}"{title}>{covered}/{total}</td>'


def to_html(operators, line, standard, cases):
    """The same as a page of its own, with a filter; needs nothing else."""
    rows = ""
    for operator in _sorted(operators):
        cells = "".join(_cell(operator, column) for column in COLUMNS)
        rows += f"<tr><td>{html.escape(operator.name)}</td><td>{html.escape(operator.provider or 'nobody')}</td>{cells}</tr>\n"
    head = "".join(f'<th class="number">{column}</th>' for column in COLUMNS)
    return _PAGE.format(line=html.escape(line), standard=html.escape(standard), passed=cases[0], total=cases[1], head=head, rows=rows)


def read_line(text):
    """The suite's line in a text; None if there is none."""
    found = _LINE.search(text)
    return found.group(0) if found else None


def replace_line(text, line):
    """The text with its suite's line brought up to date."""
    return _LINE.sub(line, text)


def read_numbers(markdown):
    """What may not go down: (operator, column) -> covered; ("suite", "passed" or "loaded") -> operators."""
    numbers = {}
    for match in _ROW.finditer(markdown):
        for i, column in enumerate(COLUMNS):
            numbers[match.group(1), column] = int(match.group(2 + 2 * i))
    line = _LINE.search(markdown)
    if line:
        numbers["suite", "passed"], numbers["suite", "loaded"] = int(line.group(1)), int(line.group(2))
    return numbers


def shrunk(before, now):
    """What has gone down from one set of numbers to another, a sentence for each."""
    return [f"{name}: {number} {column}, now {now.get((name, column), 0)}" for (name, column), number in sorted(before.items())
            if now.get((name, column), 0) < number]
