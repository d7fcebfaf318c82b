# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench writes, after every row anew, so that nothing is lost when it is ended: gpu-bench.json and gpu-bench.md."""

import contextlib
import datetime
import json
import math
import statistics

OURS = "gantry"
TF32 = " tf32"  # suffix of candidates whose f32 may be TF32: they are compared with each other
# Twice the estimated lower bounds for a batch of one, in ms.
LATENCY_AIMS = {"ResNet-50 1 f16": 0.22, "BERT 1x128 f16": 0.34, "GPT-2 decode 256 f16": 0.34}
LOAD_AIMS = {"cold": 2000, "warm": 300}  # ms
RATIO_AIMS = {"geometric mean": 0.9, "worst": 1.0}


class Report:
    """Rows by model. Rows of the same GPU and commit that the folder already has are kept, so that the models can be measured in several calls."""

    def __init__(self, gpu: str, commit: str, folder):
        self.date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.gpu, self.commit, self.folder = gpu, commit, folder
        self.rows, self.loads, self.notes = {}, {}, []
        with contextlib.suppress(OSError, ValueError, KeyError):  # none, or none of this tool's
            before = json.loads((folder / "gpu-bench.json").read_text(encoding="utf-8"))
            if (before["gpu"], before["commit"]) == (gpu, commit):
                self.rows, self.loads = before["rows"], before["loads"]

    def add(self, row: str, times: dict, missing: dict, precision: dict, starts: dict, told: dict = None) -> None:
        """`times`: by candidate, the median of each round in ms. `starts`: by candidate that reports it, [loading, first run] of each round in ms; the
        first round may have had cold caches. `told`: by candidate, log lines of its autotuning, warnings and errors."""
        medians = {candidate: round(statistics.median(rounds), 4) for candidate, rounds in times.items() if rounds}
        self.rows[row] = {"median_ms": medians, "turns_ms": times, "missing": missing, "precision": precision, "starts_ms": starts, "told": told or {}}

    def add_load(self, row: str, loads: dict) -> None:
        """`loads`: [loading, first run] in ms, "cold" with empty caches and then "warm"; or "missing": why there are none."""
        self.loads[row] = loads

    def ratio(self, row: str, kind: str = ""):
        """Our median over the best peer's of that kind, strict or TF32; None if one of them is missing."""
        medians = self.rows[row]["median_ms"]
        peers = [ms for name, ms in medians.items() if not name.startswith(OURS) and name.endswith(TF32) == (kind == TF32)]
        return medians[OURS + kind] / min(peers) if peers and OURS + kind in medians else None

    def ratios(self) -> list:
        return [ratio for row in self.rows for kind in ("", TF32) if (ratio := self.ratio(row, kind))]

    def aims(self) -> list:
        """A line for each aim: the measured figure, and whether it reaches the aim."""
        def line(what, found, aim, unit=""):
            return f"- {what}: " + ("not measured" if found is None else f"{found:.4g}{unit}, {'reached' if found <= aim else 'missed'}") + f" (at most {aim}{unit})"
        ratios = self.ratios()
        found = {"geometric mean": math.exp(statistics.mean(math.log(one) for one in ratios)), "worst": max(ratios)} if ratios else {}
        lines = [line(f"ratio to the best peer, {what} of {len(ratios)}", found.get(what), aim) for what, aim in RATIO_AIMS.items()]
        lines += [line(f"{row}, median", self.rows.get(row, {}).get("median_ms", {}).get(OURS), aim, " ms") for row, aim in LATENCY_AIMS.items()]
        for row, loads in self.loads.items():
            lines += [line(f"{row}, {what} load and first run", sum(loads[what]) if what in loads else None, aim, " ms") for what, aim in LOAD_AIMS.items()]
        return lines

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {"date": self.date, "gpu": self.gpu, "commit": self.commit, "notes": self.notes, "rows": self.rows, "loads": self.loads}
        (self.folder / "gpu-bench.json").write_text(json.dumps(known, indent=1), encoding="utf-8")
        (self.folder / "gpu-bench.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        names = list(dict.fromkeys(candidate for row in self.rows.values() for candidate in row["median_ms"]))
        lines = ["# GPU comparison", "", f"{self.date}, {self.gpu}, commit {self.commit}.",
                 "Medians of interleaved rounds in ms; weights and inputs are the same for all. Candidates that may round f32 to TF32 are compared with each other.", "",
                 f"| model | {' | '.join(names)} | ratio to the best peer | of{TF32} |", f"|---|{'---|' * len(names)}---|---|"]
        for name, row in self.rows.items():
            cells = [f"{row['median_ms'][one]:.3f}" if one in row["median_ms"] else "" for one in names]
            cells += ["" if ratio is None else f"{ratio:.2f}" for ratio in (self.ratio(name), self.ratio(name, TF32))]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines += ["", "Aims:", "", *self.aims()]
        loads = [f"- {name}, {what}: " + (f"{found[0]:.0f} + {found[1]:.0f}" if what != "missing" else found)
                 for name, parts in self.loads.items() for what, found in parts.items()]
        if loads:
            lines += ["", "Loading and first run in ms, with cold caches and then with warm ones:", "", *loads]
        starts = [f"- {name}, {candidate}: {' then '.join(f'{load:.0f} + {first:.0f}' for load, first in rounds)}"
                  for name, row in self.rows.items() for candidate, rounds in row["starts_ms"].items()]
        if starts:
            lines += ["", "Loading and first run in ms, by round:", "", *starts]
        last_line = lambda why: why.splitlines()[-1][:300] if why else "no reason given"  # noqa: E731
        missing = dict.fromkeys(f"- {name}, {one}: {last_line(why)}" for name, row in self.rows.items() for one, why in row["missing"].items())
        if missing:
            lines += ["", "Missing:", "", *missing]
        precision = dict.fromkeys(f"- {one}: {what}" for row in self.rows.values() for one, what in row["precision"].items() if what)
        if precision:
            lines += ["", "Precision:", "", *precision]
        return "\n".join([*lines, *([""] + self.notes if self.notes else []), ""])
