# SPDX-License-Identifier: Apache-2.0
"""Reads trace files and holds them to the rules of the Trace Event Format by which Perfetto draws them."""

import json
import math
from dataclasses import dataclass, field

SLACK_US = 1e-3  # a nanosecond, which is what times are counted in


@dataclass
class Span:
    """A complete event, with the spans inside it on its thread."""

    name: str
    category: str
    start: float
    end: float
    process: int
    thread: int
    args: dict
    inner: list = field(default_factory=list)

    def all_inner(self):
        for span in self.inner:
            yield span
            yield from span.all_inner()


class TraceFile:
    """`spans`: all, in the file's order; `outermost`: by (process, thread); `counters`: (time, name, values)."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.about = document["otherData"]
        self.processes, self.threads, self.spans, self.counters = {}, {}, [], []
        for event in document["traceEvents"]:
            self._take(event)
        self.outermost = self._nest()

    def _take(self, event):
        assert isinstance(event["name"], str) and event["name"] and type(event["pid"]) is int
        if event["ph"] == "M":
            names = {"process_name": self.processes, "thread_name": self.threads}[event["name"]]
            key = event["pid"] if event["name"] == "process_name" else (event["pid"], event["tid"])
            assert key not in names, f"{key} is named twice"
            names[key] = event["args"]["name"]
            return
        assert is_number(event["ts"]) and event["ts"] >= 0
        if event["ph"] == "C":
            assert event["args"] and all(is_number(value) for value in event["args"].values())
            self.counters.append((event["ts"], event["name"], event["args"]))
            return
        assert event["ph"] == "X", f"an event of kind {event['ph']}"
        assert is_number(event["dur"]) and event["dur"] >= 0 and type(event["tid"]) is int and event["cat"]
        self.spans.append(Span(event["name"], event["cat"], event["ts"], event["ts"] + event["dur"], event["pid"], event["tid"],
                               event.get("args", {})))

    def _nest(self):
        """Every thread's spans as a tree; two that overlap without one holding the other are an error."""
        threads = {}
        for span in sorted(self.spans, key=lambda span: (span.start, -span.end)):
            assert (span.process, span.thread) in self.threads, f"{span.name} is on a thread without a name"
            assert span.process in self.processes
            outer, open_spans = threads.setdefault((span.process, span.thread), ([], []))
            while open_spans and span.start >= open_spans[-1].end - SLACK_US:
                open_spans.pop()
            if open_spans:
                assert span.end <= open_spans[-1].end + SLACK_US, f"{span.name} begins in {open_spans[-1].name} and ends after it"
            (open_spans[-1].inner if open_spans else outer).append(span)
            open_spans.append(span)
        return {key: outer for key, (outer, _) in threads.items()}

    def of_category(self, category):
        return [span for span in self.spans if span.category == category]

    def named(self, name):
        return [span for span in self.spans if span.name == name]


def is_number(value):
    return type(value) in (int, float) and math.isfinite(value)
