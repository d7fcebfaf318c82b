# SPDX-License-Identifier: Apache-2.0
"""What the tests of the provider share: a run on it whose kernels are known."""

import pytest

import gantry
from oracle import compare, run_oracle

# Sums as the library adds them; winograd_test.py has the other way, whose errors are a part of the largest result.
CONFIG = {"providers": {"options": {"x86": {"winograd": "off"}}}}
RTOL, ATOL = 1e-4, 1e-4  # sums of many products: the oracle adds in another order


def kernels_of(session):
    """The kernels of the nodes, in order."""
    return [node.kernel for node in session.placement.nodes]


@pytest.fixture
def agrees():
    """agrees(model, feeds, kernels=...): equal to the oracle on one and two threads, twice each; returns the kernels of the nodes."""

    def check(model, feeds, kernels=None, rtol=RTOL, atol=ATOL):
        expected = run_oracle(model, feeds)
        for threads in (1, 2):
            session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}, **CONFIG})
            for _ in range(2):  # the second from the plan of memory
                results = session.run(feeds)
                compare([results[output.name] for output in model.graph.output], expected, rtol, atol)
        found = kernels_of(session)
        if kernels is not None:
            assert found == kernels
        return found

    return check
