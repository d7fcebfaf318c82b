# SPDX-License-Identifier: Apache-2.0
"""One model on many threads at once."""

from many_threads import check_runs_at_once


def test_runs_at_once():
    session = check_runs_at_once(device="CPU")
    assert {node.provider for node in session.placement.nodes} <= {"cpu", "core"}
