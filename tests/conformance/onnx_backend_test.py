# SPDX-License-Identifier: Apache-2.0
"""The standard's own test suite for backends, onnx.backend.test.BackendTest, on gantry.backend: every case on the CPU.

    pytest tests/conformance -k test_conv

Every case is executed and has to pass: one that the suite skips, or that never runs a model, fails here, as does one whose results differ. The
suite's inputs, expected values and tolerances are used as they are. expected_failures.txt lists the cases that must fail, each with the reason; one that passes
is taken out of it. What is random by definition stands there as `NAME: random: REASON`; of it types and shapes must be right.

tools/conformance runs all of them without pytest, takes the cases that pass out of the list, and writes docs/operators.md, which may not go down.
"""

import dataclasses
import pathlib
import unittest
import warnings

import numpy as np
import operator_coverage as coverage
import operator_table as table
import pytest
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests

import gantry.backend

LIST = pathlib.Path(__file__).parent / "expected_failures.txt"
CASE_COUNT = 2033  # of onnx 1.23.2: 1884 nodes, 9 real models, 23 simple models, 117 from PyTorch

# A reason that the failure has to give. The suite skips a real model of which is_compatible says no; that counts as this failure.
UNCLAIMED = "no kernel for operator "

# Values of the case differ, and neither types nor shapes nor anything else.
VALUES_DIFFER = "Not equal to tolerance"


@dataclasses.dataclass
class Outcome:
    executions: int  # runs of a prepared model that returned
    skipped: bool
    failure: str  # "": none
    uses: frozenset = frozenset()  # operators of the model, operator_coverage.Use

    @property
    def passed(self):
        return self.executions > 0 and not self.skipped and not self.failure


def collect():
    """The suite's cases on the CPU: name, without "_cpu" -> unittest.TestCase."""
    np.random.seed(0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        suite = BackendTest(gantry.backend, __name__)
    found = [case(name) for case in suite.test_cases.values() for name in dir(case) if name.startswith("test_") and name.endswith("_cpu")]
    cases = {case._testMethodName.removesuffix("_cpu"): case for case in found}
    assert len(cases) == len(found)
    return cases


def read_list():
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def run_case(case):
    executions = 0
    uses = set()
    run, prepare = gantry.backend.BackendRep.run, gantry.backend.prepare

    def counting_run(*arguments, **options):
        nonlocal executions
        outputs = run(*arguments, **options)
        executions += 1
        return outputs

    def noting_prepare(model, *arguments, **options):
        uses.update(coverage.uses_of(model))
        return prepare(model, *arguments, **options)

    result = unittest.TestResult()
    gantry.backend.BackendRep.run, gantry.backend.prepare = counting_run, noting_prepare
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            case.run(result)
    finally:
        gantry.backend.BackendRep.run, gantry.backend.prepare = run, prepare
    failure = "".join(text for _, text in result.failures + result.errors)
    return Outcome(executions, bool(result.skipped), failure, frozenset(uses))


def complaint(name, outcome, expected):
    """What is not as it should be; "" if all is well."""
    reason = expected.get(name)
    if reason is None:
        return outcome.failure or ("" if outcome.passed else "it ended without running the model")
    if reason.startswith(UNCLAIMED) and outcome.failure and reason not in outcome.failure:
        return f"it was to fail by `{reason}` and fails otherwise: {outcome.failure}"
    if reason.startswith("random: "):
        return "" if outcome.passed or VALUES_DIFFER in outcome.failure else outcome.failure
    return "it passes: take it out of expected_failures.txt" if outcome.passed else ""


def take_from_list(passing):
    """Takes cases out of the list, but not random ones, which may pass or not."""
    kept = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, _, reason = line.partition(": ")
        if line.startswith("#") or name not in passing or reason.startswith("random: "):
            kept.append(line)
    LIST.write_text("\n".join(kept) + "\n", encoding="utf-8")


def for_coverage(outcomes):
    """Outcomes as operator_coverage.py counts them; a random case may pass by chance, so it does not count."""
    is_random = {name for name, reason in EXPECTED.items() if reason.startswith("random: ")}
    return {name: (outcome.uses, outcome.passed and name not in is_random) for name, outcome in outcomes.items()}


CASES = collect()
EXPECTED = read_list()
RAN = {}  # case -> Outcome, of those that this process ran


@pytest.fixture(scope="module", autouse=True)
def model_data(tmp_path_factory):
    """Where the suite puts the inputs that it makes up for the real models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_HOME", str(tmp_path_factory.mktemp("onnx")))
        patch.delenv("ONNX_MODELS", raising=False)
        yield


@pytest.mark.parametrize("name", CASES)
def test_case(name, record_onnx_case):
    outcome = RAN[name] = run_case(CASES[name])
    record_onnx_case(outcome)
    said = complaint(name, outcome, EXPECTED)
    if said:
        pytest.fail(said, pytrace=False)


def test_all_cases_are_here():
    assert len(CASES) == CASE_COUNT
    assert EXPECTED.keys() - CASES.keys() == set()
    assert all(EXPECTED.values())


def test_loop_over_an_absent_sequence():
    """test_loop16_seq_none, whose expected values no comparison of the suite lets through, compared here."""
    case = next(case for case in load_model_tests(kind="node") if case.name == "test_loop16_seq_none")
    (inputs, expected), = case.data_sets
    with pytest.raises(TypeError, match="Unable to compare"):
        BackendTest.assert_similar_outputs(expected, expected, case.rtol, case.atol)
    (items,) = gantry.backend.run_model(case.model, inputs)
    assert [(item.dtype, item.tolist()) for item in items] == [(item.dtype, item.tolist()) for item in expected[0]]


def test_coverage_has_not_shrunk():
    if RAN.keys() != CASES.keys():
        pytest.skip("only after all cases of the suite")
    outcomes = for_coverage(RAN)
    markdown = table.to_markdown(coverage.count(outcomes), coverage.suite_line(outcomes), coverage.standard(), (0, 0))
    committed = table.TABLE.read_text(encoding="utf-8")
    assert table.shrunk(table.read_numbers(committed), table.read_numbers(markdown)) == []
