# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench writes, after every row anew, so that nothing is lost when it is ended: gpu-bench.json and gpu-bench.md."""

import datetime
import json
import math
import statistics

OURS = "gantry"


class Report:
    def __init__(self, gpu: str, commit: str, folder):
        self.date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.gpu, self.commit, self.folder = gpu, commit, folder
        self.rows, self.notes = {}, []

    def add(self, row: str, times: dict, missing: dict, precision: dict, starts: dict) -> None:
        """`times`: by way, the medians of its turns in ms; `starts`: likewise, of those that tell it, [loading, first run] in ms of each turn, of which
        the first may have had nothing in the caches."""
        medians = {way: round(statistics.median(turns), 4) for way, turns in times.items() if turns}
        self.rows[row] = {"median_ms": medians, "turns_ms": times, "missing": missing, "precision": precision, "starts_ms": starts}

    def ratio(self, row: str):
        """Ours over the best peer's; None where one of them is missing."""
        medians = self.rows[row]["median_ms"]
        peers = [ms for way, ms in medians.items() if not way.startswith(OURS)]
        return medians[OURS] / min(peers) if peers and OURS in medians else None

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {"date": self.date, "gpu": self.gpu, "commit": self.commit, "notes": self.notes, "rows": self.rows}
        (self.folder / "gpu-bench.json").write_text(json.dumps(known, indent=1), encoding="utf-8")
        (self.folder / "gpu-bench.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        names = list(dict.fromkeys(way for row in self.rows.values() for way in row["median_ms"]))
        lines = ["# GPU comparison", "", f"{self.date}, {self.gpu}, commit {self.commit}.",
                 "Medians of interleaved turns in ms; weights and inputs are the same for all.", "",
                 f"| model | {' | '.join(names)} | ratio to the best peer |", f"|---|{'---|' * len(names)}---|"]
        ratios = []
        for name, row in self.rows.items():
            ratio = self.ratio(name)
            ratios += [ratio] if ratio else []
            cells = [f"{row['median_ms'][way]:.3f}" if way in row["median_ms"] else "" for way in names]
            lines.append(f"| {name} | {' | '.join(cells)} | {'' if ratio is None else f'{ratio:.2f}'} |")
        if ratios:
            mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
            lines += ["", f"Ratio of gantry to the best peer: geometric mean {mean:.2f}, worst {max(ratios):.2f}, of {len(ratios)} models."]
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
