# SPDX-License-Identifier: Apache-2.0
"""The comparison as lines of text and as one JSON document."""

import json
import math
import os
import pathlib

from comparison import figures

MEBIBYTE = 1 << 20
MOST_REASON = 200  # characters of a refusal that are printed
HEADER = f"{'':14}{'min':>9}{'median':>9}{'p90':>9}{'load':>9}{'first':>9}{'growth':>9}{'peak':>9}{'of best':>9}{'apart':>9}"
UNITS = f"{'':14}{'ms':>9}{'ms':>9}{'ms':>9}{'ms':>9}{'ms':>9}{'MiB':>9}{'MiB':>9}{'peer':>9}"


def number(value):
    """Three digits that mean something."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def runtime_line(name, result, measurement):
    if "error" in result:
        reason = result["error"]  # whole in the JSON
        return f"  {name:12} did not run it: {reason if len(reason) <= MOST_REASON else reason[:MOST_REASON] + '...'}"
    peer = measurement["better_peer"]
    share = result["median_ms"] / measurement["runtimes"][peer]["median_ms"] if peer else None
    cells = [number(result[key]) for key in ("min_ms", "median_ms", "p90_ms", "load_ms", "first_run_ms")]
    cells += [number(result[key] / MEBIBYTE) for key in ("growth_bytes", "peak_bytes")]
    apart = result.get("difference")
    cells += [number(share), "" if apart is None else f"{apart:.0e}"]
    unquiet = "" if result["is_quiet"] else "  (its threads did not come to rest between rounds)"
    return f"  {name:12}" + "".join(f"{cell:>9}" for cell in cells) + unquiet


def column(measurement):
    """What its ratio stands under: the number of threads, behind the instruction set that both sides are held to."""
    threads = f"T{measurement['threads']}"
    return f"{measurement['isa']} {threads}" if measurement["isa"] else threads


def measurement_text(measurement):
    plural = "" if measurement["threads"] == 1 else "s"
    held = f", held to {measurement['isa']}" if measurement["isa"] else ""
    lines = [f"{measurement['title']}, {measurement['threads']} thread{plural}{held}"]
    lines += [runtime_line(name, result, measurement) for name, result in measurement["runtimes"].items()]
    return "\n".join([*lines, *(f"  {problem}" for problem in problems(measurement))])


def problems(measurement):
    """What makes the comparison fail: outputs of gantry that do not agree, and models that it does not run."""
    found = []
    for name, result in measurement["runtimes"].items():
        apart = result.get("difference", 0)
        if name == figures.OURS and apart > measurement["limit"]:
            found.append(f"DIFFERENT: {name} is {apart:.2g} of the largest value apart from {measurement['compared_with']}, allowed is {measurement['limit']:g}")
        if name == figures.OURS and "error" in result:
            found.append(f"FAILED: {name} did not run {measurement['model']}")
    return found


def summary_text(document):
    """The ratios of all rows, a column for each number of threads and instruction set, and their geometric means."""
    means = document["geometric_mean"]
    width = max(8, *(len(name) + 2 for name in means))
    lines = [f"{'gantry over the better peer':32}" + "".join(f"{name:>{width}}" for name in means)]
    lines += [f"  {title:30}" + "".join(f"{number(ratios.get(name)):>{width}}" for name in means) for title, ratios in rows_of(document).items()]
    lines.append(f"  {'geometric mean':30}" + "".join(f"{number(mean):>{width}}" for mean in means.values()))
    return "\n".join(lines)


def rows_of(document):
    """Title -> column -> ratio."""
    rows = {}
    for measurement in document["measurements"]:
        rows.setdefault(measurement["title"], {})[column(measurement)] = measurement["ratio"]
    return rows


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def document(measurements, load_before):
    """Everything, for JSON. Infinite differences are null there, which JSON has no number for."""
    columns = dict.fromkeys(column(measurement) for measurement in measurements)
    versions = {name: result["version"] for measurement in measurements for name, result in measurement["runtimes"].items() if "version" in result}
    means = {name: figures.geometric_mean(m["ratio"] for m in measurements if column(m) == name) for name in columns}
    machine = {"processor": processor(), "cores": len(os.sched_getaffinity(0)), "load_before": load_before, "load_after": os.getloadavg()[0]}
    return {"machine": machine, "versions": versions, "geometric_mean": means, "measurements": measurements}


def finite(value):
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path, content):
    path.write_text(json.dumps(finite(content), indent=1) + "\n", encoding="utf-8")
