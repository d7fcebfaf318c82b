# SPDX-License-Identifier: Apache-2.0
"""The ways that tools/gpu-bench compares. Each is a command that runs in a process of its own, has a limit of time, and prints one line of JSON:
the times of its runs in ms and in which precision it computed. What it cannot do it says on its last line of standard error."""

import dataclasses
import json
import os
import statistics
import subprocess
import time

from gpubench import machine


@dataclasses.dataclass
class Way:
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


def run(way: Way, limit_s: float) -> dict:
    """What the way prints. RuntimeError: why there is nothing."""
    try:
        done = machine.run(way.command, max(limit_s, 1), {**os.environ, **way.environment})
    except subprocess.TimeoutExpired as expired:
        raise RuntimeError(f"ended after {expired.timeout:.0f} s") from expired
    except OSError as error:
        raise RuntimeError(str(error)) from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        told = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise RuntimeError(told[-1][:400] if told else f"ended with status {done.returncode}")
    return json.loads(lines[-1])


def compare(row: str, all_ways: dict, rounds: int, limit_s: float, report) -> None:
    """Turns of all ways one after the other, `rounds` times or as long as there is time; what fails once is left out from then on."""
    times, missing, precision, starts, told = {}, {}, {}, {}, {}
    end = time.monotonic() + limit_s
    for round_number in range(rounds):
        for number, (name, way) in enumerate(all_ways.items()):
            left = end - time.monotonic()
            if name in missing or (left < 1 and round_number > 0):
                continue
            # In the first round each of those that follow is left its share.
            share = left / (len(all_ways) - number) if round_number == 0 else left
            try:
                result = run(way, share)
                median = round(statistics.median(result["times_ms"]), 4)
            except (RuntimeError, ValueError, KeyError) as error:  # it failed, or printed something else
                if round_number == 0:
                    missing[name] = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
                continue
            times.setdefault(name, []).append(median)
            precision[name] = result.get("precision", "")
            if result.get("told"):
                told.setdefault(name, result["told"])  # the first turn, which has nothing in its caches, has most to tell
            if "load_ms" in result:
                starts.setdefault(name, []).append([result["load_ms"], result["first_run_ms"]])
    report.add(row, times, missing, precision, starts, told)
    report.write()


def torch_inputs(torch, model, feeds, device):
    """Tensors in the order of the model's inputs; bf16 comes as uint16."""
    made = []
    for info in model.graph.input:
        value = torch.from_numpy(feeds[info.name].view("int16") if feeds[info.name].dtype == "uint16" else feeds[info.name])
        made.append((value.view(torch.bfloat16) if feeds[info.name].dtype == "uint16" else value).to(device))
    return made
