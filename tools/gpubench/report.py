# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench writes, after every row anew, so that nothing is lost when it is ended: gpu-bench.json and gpu-bench.md."""

import contextlib
import datetime
import json
import math
import statistics

OURS = "gantry"
TF32 = " tf32"  # ends the names of ways whose f32 may be TF32: they are compared with each other
# Twice the floors that the project's estimate gives batches of one, in ms.
LATENCY_AIMS = {"ResNet-50 1 f16": 0.22, "BERT 1x128 f16": 0.34, "GPT-2 decode 256 f16": 0.34}
LOAD_AIMS = {"cold": 2000, "warm": 300}  # ms
RATIO_AIMS = {"geometric mean": 0.9, "worst": 1.0}


class Report:
    """Rows by model. Those that the folder has already of the same GPU and commit stay, so that the models may be measured in several calls."""

    def __init__(self, gpu: str, commit: str, folder):
        self.date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.gpu, self.commit, self.folder = gpu, commit, folder
        self.rows, self.loads, self.notes = {}, {}, []
        with contextlib.suppress(OSError, ValueError, KeyError):  # none, or none of this tool's
            before = json.loads((folder / "gpu-bench.json").read_text(encoding="utf-8"))
            if (before["gpu"], before["commit"]) == (gpu, commit):
                self.rows, self.loads = before["rows"], before["loads"]

    def add(self, row: str, times: dict, missing: dict, precision: dict, starts: dict, told: dict = None) -> None:
        """`times`: by way, the medians of its turns in ms; `starts`: likewise, of those that tell it, [loading, first run] in ms of each turn, of which
        the first may have had nothing in the caches; `told`: lines that a way told of what it chose, for who asks later why it took as long."""
        medians = {way: round(statistics.median(turns), 4) for way, turns in times.items() if turns}
        self.rows[row] = {"median_ms": medians, "turns_ms": times, "missing": missing, "precision": precision, "starts_ms": starts, "told": told or {}}

    def add_load(self, row: str, loads: dict) -> None:
        """`loads`: [loading, first run] in ms, "cold" with empty caches and then "warm"; or "missing": why there are none."""
        self.loads[row] = loads

    def ratio(self, row: str, kind: str = ""):
        """Ours over the best peer's of that kind, strict or TF32; None where one of them is missing."""
        medians = self.rows[row]["median_ms"]
        peers = [ms for way, ms in medians.items() if not way.startswith(OURS) and way.endswith(TF32) == (kind == TF32)]
        return medians[OURS + kind] / min(peers) if peers and OURS + kind in medians else None

    def ratios(self) -> list:
        return [ratio for row in self.rows for kind in ("", TF32) if (ratio := self.ratio(row, kind))]

    def aims(self) -> list:
        """A line for each figure that is aimed at: what was found, and whether that reaches it."""
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
        names = list(dict.fromkeys(way for row in self.rows.values() for way in row["median_ms"]))
        lines = ["# GPU comparison", "", f"{self.date}, {self.gpu}, commit {self.commit}.",
                 "Medians of interleaved turns in ms; weights and inputs are the same for all. Ways that may round f32 to TF32 are compared with each other.", "",
                 f"| model | {' | '.join(names)} | ratio to the best peer | of{TF32} |", f"|---|{'---|' * len(names)}---|---|"]
        for name, row in self.rows.items():
            cells = [f"{row['median_ms'][way]:.3f}" if way in row["median_ms"] else "" for way in names]
            cells += ["" if ratio is None else f"{ratio:.2f}" for ratio in (self.ratio(name), self.ratio(name, TF32))]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines += ["", "Aims:", "", *self.aims()]
        loads = [f"- {name}, {what}: " + (f"{found[0]:.0f} + {found[1]:.0f}" if what != "missing" else found)
                 for name, parts in self.loads.items() for what, found in parts.items()]
        if loads:
            lines += ["", "Loading and first run in ms, with empty caches and then with what that filled:", "", *loads]
        starts = [f"- {name}, {way}: {' then '.join(f'{load:.0f} + {first:.0f}' for load, first in turns)}"
                  for name, row in self.rows.items() for way, turns in row["starts_ms"].items()]
        if starts:
            lines += ["", "Loading and first run in ms, turn by turn:", "", *starts]
        last_line = lambda why: why.splitlines()[-1][:300] if why else "no reason told"  # noqa: E731
        missing = dict.fromkeys(f"- {name}, {way}: {last_line(why)}" for name, row in self.rows.items() for way, why in row["missing"].items())
        if missing:
            lines += ["", "Missing:", "", *missing]
        precision = dict.fromkeys(f"- {way}: {what}" for row in self.rows.values() for way, what in row["precision"].items() if what)
        if precision:
            lines += ["", "Precision:", "", *precision]
        return "\n".join([*lines, *([""] + self.notes if self.notes else []), ""])
