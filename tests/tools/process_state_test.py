# SPDX-License-Identifier: Apache-2.0
"""core/base/process_state.h lists all state of which a process has one: its rows and the sources of core agree."""

import pathlib
import re

CORE = pathlib.Path(__file__).resolve().parents[2] / "core"
LIST = (CORE / "base" / "process_state.h").read_text()
SOURCES = {str(path.relative_to(CORE).with_suffix("")): path.read_text() for path in sorted(CORE.rglob("*.cc"))}
HEADERS = {str(path.relative_to(CORE)): path.read_text() for path in sorted(CORE.rglob("*.h"))}
# An object that is made once and may change: pointers to constants and constants are none.
STATIC = re.compile(r"^\s+static (?:auto\* const|(?!const\b|constexpr\b|auto\b)[\w:<>, ]+?&?) (\w+)(?: GANTRY_\w+\([^)]*\))?(?:;|\{| = )", re.MULTILINE)
GLOBAL = re.compile(
    r"^(?!using|return|extern|typedef|namespace|constexpr|const|class|struct|enum|template|friend|thread_local|goto)"
    r"(?:static )?(?:[\w:]+(?:<.*>)?) ([\w:]+)(?:;|\{[^()]*\};| = [^()]*;)",
    re.MULTILINE,
)


def rows() -> dict:
    """State -> its owner, as the list has them."""
    enum = LIST[LIST.index("enum class ProcessState") : LIST.index("};")]
    return {state: owner for owner, state in re.findall(r"/// ([a-z_/]+): (?:.*\n(?:  ///.*\n)*)  (k\w+),", enum)}


def test_each_state_is_reached_by_its_owner_alone():
    found = [(state, name) for name, text in SOURCES.items() for state in re.findall(r"kState = ProcessState::(k\w+);", text)]
    assert len(rows()) == LIST.count("  k") > 0
    assert sorted(found) == sorted(rows().items())


def test_other_state_of_the_process_is_none_that_the_list_does_not_name():
    flags = LIST[LIST.index("// Flags and counters") : LIST.index("#pragma once")]
    listed = {*rows().values(), *re.findall(r"[a-z]+/[a-z_/]+", flags)}
    for name, text in SOURCES.items():
        variables = [*STATIC.findall(text), *GLOBAL.findall(text)]
        assert not variables or name in listed, f"core/{name}.cc: {variables}: state of the process has its row in base/process_state.h"


def test_the_expressions_see_what_is_there():
    assert STATIC.findall("  static auto* const all = new Marks;\n  static Mutex mutex;\n  static std::atomic<int> n{0};\n") == ["all", "mutex", "n"]
    assert GLOBAL.findall("std::atomic<bool> forked{false};\nMarkFile nowhere;\nstd::atomic<int> runs = 0;\n") == ["forked", "nowhere", "runs"]
    assert not STATIC.findall("  static const auto* const names = new Names;\n  static const bool can = true;\n")
    assert [name for name in SOURCES if GLOBAL.search(SOURCES[name])], "the flags that the list names"
    assert not [name for name, text in HEADERS.items() if re.search(r"^(?:inline |static )(?!const).*\bstd::atomic\b", text, re.MULTILINE)]
