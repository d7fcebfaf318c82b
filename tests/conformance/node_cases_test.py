# SPDX-License-Identifier: Apache-2.0
"""The standard's test cases on the CPU: every case that the provider claims must give the right result.

    pytest tests/conformance -k test_conv

expected.txt lists the cases that must be claimed too: one that is no longer fails. expected_failures.txt lists those that must fail, each with the
reason: one that passes is taken out of it. After adding operators,

    python tests/conformance/node_cases_test.py

rewrites it with what passes now, and never drops a case that was in it.
"""

import pathlib
import sys

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from onnx_cases import assert_similar, collect_cases

import gantry


def read_list(name):
    text = (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


EXPECTED = pathlib.Path(__file__).parent / "expected.txt"

# Random numbers: their values are not the standard's to say.
RANDOM = ("test_bernoulli",)

CASES = collect_cases()
MUST_FAIL = dict(line.split(": ", 1) for line in read_list("expected_failures.txt"))
MUST_PASS = set(read_list("expected.txt"))


def run_case(case):
    """Runs a case and asserts its results; gantry.UnsupportedError if a node of it is not claimed."""
    session = gantry.Session(case.model, device="CPU")
    names = [value.name for value in case.model.graph.input]
    for inputs, expected in case.data_sets:
        results = list(session.run(dict(zip(names, inputs))).values())
        assert len(results) == len(expected)
        for actual, value in zip(results, expected, strict=True):
            if case.name.startswith(RANDOM):
                assert (actual.shape, actual.dtype) == (value.shape, value.dtype)
            else:
                assert_similar(actual, value, case.rtol, case.atol)


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    if name in MUST_FAIL:
        with pytest.raises(AssertionError):
            run_case(CASES[name])
        return
    try:
        run_case(CASES[name])
    except gantry.UnsupportedError as error:
        if name in MUST_PASS:
            raise
        pytest.skip(str(error))


def test_expected_cases_exist():
    assert MUST_PASS
    assert (MUST_PASS | MUST_FAIL.keys()) - CASES.keys() == set()
    assert MUST_PASS & MUST_FAIL.keys() == set()


def passes(case):
    try:
        run_case(case)
    except (gantry.Error, AssertionError) as error:
        if not isinstance(error, gantry.UnsupportedError):
            print(f"{case.name}: {error}".strip().splitlines()[0])
        return False
    return True


def main():
    passing = {name for name, case in CASES.items() if passes(case)}
    lost = sorted(MUST_PASS - passing)
    header = [line for line in EXPECTED.read_text().splitlines() if line.startswith("#")]
    EXPECTED.write_text("\n".join([*header, *sorted(MUST_PASS | passing)]) + "\n")
    print(f"{len(passing)} of {len(CASES)} cases pass, {len(passing - MUST_PASS)} of them newly; no longer: {', '.join(lost) or 'none'}")


if __name__ == "__main__":
    main()
