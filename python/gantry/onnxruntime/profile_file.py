# SPDX-License-Identifier: Apache-2.0
"""The file with the times of a session's nodes."""

import itertools
import json
import os
import time

import gantry

__all__ = ["ProfileFile"]

_numbers = itertools.count()  # of the process's profiles, whose files must not overwrite each other


class ProfileFile:
    """A trace of a session that measures: one event for each node, with its time over all runs in microseconds."""

    def __init__(self, session: gantry.Session, prefix: str) -> None:
        self._session: gantry.Session | None = session  # None: written
        self._prefix = prefix

    def write(self) -> str:
        """Writes the file and returns its name; "" if it was written before."""
        if self._session is None:
            return ""
        rows = self._session.profile()
        self._session = None
        events = []
        start = 0.0
        for row in rows:
            events.append({"name": row.node, "cat": "Node", "ph": "X", "pid": os.getpid(), "tid": 0, "ts": start, "dur": row.total_ns / 1000,
                           "args": {"op_name": row.op_type, "provider": row.provider, "device": row.device, "runs": row.runs}})
            start += row.total_ns / 1000
        name = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{os.getpid()}_{next(_numbers)}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(events, file)
        return name
