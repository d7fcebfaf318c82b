# SPDX-License-Identifier: Apache-2.0
"""The file with the times of a session's nodes."""

import itertools
import json
import os
import time
from typing import Any

import gantry
from gantry.onnxruntime.providers import provider_of

__all__ = ["ProfileFile"]

_numbers = itertools.count()  # of the process's profiles, whose files must not overwrite each other


class ProfileFile:
    """A trace of a session that measures: one event for each node, with its time over all runs in microseconds."""

    def __init__(self, session: gantry.Session, prefix: str, providers: dict[str, str]) -> None:
        """`providers`: names of those that the session was given, by device."""
        self._session: gantry.Session | None = session  # None: written
        self._prefix = prefix
        self._providers = providers
        self._process = os.getpid()

    def write(self) -> str:
        """Writes the file and returns its name; "" if it was written before, or is a parent process's to write."""
        if self._session is None or os.getpid() != self._process:
            return ""
        rows = self._session.profile()
        self._session = None
        # As ONNX Runtime's own readers of profiles want them: whole microseconds, a kernel's name with this ending.
        events = [self._event("Session", "session_initialization", 0, 0, {})]
        start = 0
        for index, row in enumerate(rows):
            provider = self._providers.get(row.device, provider_of(row.device))
            arguments = {"op_name": row.op_type, "provider": provider, "node_index": str(index), "implementation": row.provider, "device": row.device, "runs": row.runs}
            duration = round(row.total_ns / 1000)
            events.append(self._event("Node", f"{row.node}_kernel_time", start, duration, arguments))
            start += duration
        events.append(self._event("Session", "model_run", 0, start, {}))
        name = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{os.getpid()}_{next(_numbers)}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(events, file)
        return name

    def _event(self, category: str, name: str, start_us: int, duration_us: int, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"cat": category, "name": name, "ph": "X", "pid": self._process, "tid": 0, "ts": start_us, "dur": duration_us, "args": arguments}
