# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the comparison: of samples, of ratios, of how far outputs are apart."""

import math

import numpy as np

OURS = "gantry"


def summary(samples_ms):
    """Minimum, median and 90th percentile (the least sample that 90 % do not exceed)."""
    ordered = sorted(samples_ms)
    return {"runs": len(ordered), "min_ms": ordered[0], "median_ms": float(np.median(ordered)),
            "p90_ms": ordered[math.ceil(0.9 * len(ordered)) - 1]}


def better_peer(runtimes):
    """The name of the peer with the smallest median, or None if no peer ran. `runtimes`: name -> summary, or a dict with "error"."""
    peers = {name: figures["median_ms"] for name, figures in runtimes.items() if name != OURS and "median_ms" in figures}
    return min(peers, key=peers.get) if peers else None


def ratio(runtimes):
    """Our median over the better peer's: below 1 is ahead. None if we or all peers did not run."""
    peer = better_peer(runtimes)
    if peer is None or "median_ms" not in runtimes.get(OURS, {}):
        return None
    return runtimes[OURS]["median_ms"] / runtimes[peer]["median_ms"]


def geometric_mean(ratios):
    """Of the ratios that there are; None if there are none."""
    logarithms = [math.log(value) for value in ratios if value is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def difference(actual, expected):
    """The largest absolute difference over the largest absolute value, of the worst of two lists of outputs.

    Infinite if counts, shapes or element kinds differ or a value is not finite.
    """
    if len(actual) != len(expected):
        return math.inf
    return max((_array_difference(a, e) for a, e in zip(actual, expected)), default=0.0)


def _array_difference(actual, expected):
    if actual.shape != expected.shape or actual.dtype.kind != expected.dtype.kind:
        return math.inf
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return math.inf
    largest = np.abs(expected).max(initial=0.0)
    apart = np.abs(actual - expected).max(initial=0.0)
    return float(apart / largest) if largest > 0 else (0.0 if apart == 0 else math.inf)
