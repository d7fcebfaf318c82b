# SPDX-License-Identifier: Apache-2.0
"""The candidates that tools/gpu-bench compares: frameworks in their modes. Each is a command that runs in a process of its own with a time limit and
prints one line of JSON: the times of its runs in ms, and in which precision it computed. On failure, its last line of standard error says why."""

import dataclasses
import json
import os
import statistics
import subprocess
import time

from gpubench import machine


@dataclasses.dataclass
class Candidate:
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


def run(candidate: Candidate, limit_s: float) -> dict:
    """What the candidate prints. RuntimeError: it failed, and why."""
    try:
        done = machine.run(candidate.command, max(limit_s, 1), {**os.environ, **candidate.environment})
    except subprocess.TimeoutExpired as expired:
        raise RuntimeError(f"ended after {expired.timeout:.0f} s") from expired
    except OSError as error:
        raise RuntimeError(str(error)) from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        told = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise RuntimeError(told[-1][:400] if told else f"ended with status {done.returncode}")
    return json.loads(lines[-1])


def compare(row: str, candidates: dict, rounds: int, limit_s: float, report) -> None:
    """Runs all candidates in turn, `rounds` times or until the time is over. One that fails is left out of later rounds."""
    times, missing, precision, starts, told = {}, {}, {}, {}, {}
    end = time.monotonic() + limit_s
    for round_number in range(rounds):
        for index, (name, candidate) in enumerate(candidates.items()):
            left = end - time.monotonic()
            if name in missing or (left < 1 and round_number > 0):
                continue
            # In the first round, time is left for the candidates that follow.
            share = left / (len(candidates) - index) if round_number == 0 else left
            try:
                result = run(candidate, share)
                median = round(statistics.median(result["times_ms"]), 4)
            except (RuntimeError, ValueError, KeyError) as error:  # it failed, or printed something else
                if round_number == 0:
                    missing[name] = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
                continue
            times.setdefault(name, []).append(median)
            precision[name] = result.get("precision", "")
            if result.get("told"):
                told.setdefault(name, result["told"])  # the first round has cold caches, so its log has the autotuning
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
