# SPDX-License-Identifier: Apache-2.0
"""Counts what the standard's suite executed and prints it at the end."""

import pytest

OUTCOMES = []  # of this process
REMOTE = []  # of the processes that tests are divided among: of each its figures


@pytest.fixture
def record_onnx_case():
    return OUTCOMES.append


def figures():
    return [len(OUTCOMES), *(sum(map(has, OUTCOMES)) for has in (lambda x: x.executions > 0, lambda x: x.passed, lambda x: x.skipped))]


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["onnx_backend"] = figures()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    REMOTE.append(getattr(node, "workeroutput", {}).get("onnx_backend", [0] * 4))


def pytest_terminal_summary(terminalreporter):
    cases, ran, passed, skipped = map(sum, zip(figures(), *REMOTE, strict=True))
    if cases:
        terminalreporter.write_line(f"ONNX Backend suite: {cases} cases, {ran} ran a model, {passed} passed, {skipped} skipped")
