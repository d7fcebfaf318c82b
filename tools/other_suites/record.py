# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that writes what becomes of each test to the file SUITE_RECORD, as lines of JSON, and leaves out the tests that it names already.

A test that begins and does not end took the process with it. With SUITE_RUNTIME=gantry, gantry is in ONNX Runtime's place.
"""

import json
import os
import pathlib

import pytest

if os.environ["SUITE_RUNTIME"] == "gantry":
    from gantry.onnxruntime.in_place import put_in_place
    put_in_place()

RECORD = pathlib.Path(os.environ["SUITE_RECORD"])


def tell(**line) -> None:
    with open(RECORD, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    begun = {line["test"] for line in map(json.loads, RECORD.read_text(encoding="utf-8").splitlines()) if "test" in line}
    left_out = [item for item in items if item.nodeid in begun]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid not in begun]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is a test that failed."""
    if report.failed:
        tell(test=report.nodeid, outcome="failed", why=str(report.longrepr)[-2000:])


def pytest_runtest_logstart(nodeid: str) -> None:
    tell(test=nodeid)


def chain_of(error: BaseException | None) -> str:
    """What was raised, and what it was raised for, down to what began it."""
    told = []
    while error is not None and len(told) < 4:
        told.append(f"{type(error).__name__}: {str(error)[:1000]}")
        error = error.__cause__ or error.__context__
    return " <- ".join(told)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = (yield).get_result()
    if report.when == "call" or report.outcome != "passed":
        # An expected failure is no pass of anybody.
        outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
        tell(test=item.nodeid, outcome=outcome, why="" if report.passed else chain_of(call.excinfo.value) if call.excinfo else str(report.longrepr)[-1000:])
