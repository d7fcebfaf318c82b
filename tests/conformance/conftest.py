# SPDX-License-Identifier: Apache-2.0
"""Counts what the standard's suite executed and prints it at the end."""

import pytest

OUTCOMES = []


@pytest.fixture
def record_onnx_case():
    return OUTCOMES.append


def pytest_terminal_summary(terminalreporter):
    if OUTCOMES:
        ran = sum(outcome.executions > 0 for outcome in OUTCOMES)
        passed = sum(outcome.passed for outcome in OUTCOMES)
        skipped = sum(outcome.skipped for outcome in OUTCOMES)
        terminalreporter.write_line(f"ONNX Backend suite: {len(OUTCOMES)} cases, {ran} ran a model, {passed} passed, {skipped} skipped")
