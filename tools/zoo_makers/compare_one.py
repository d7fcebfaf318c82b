# SPDX-License-Identifier: Apache-2.0
"""compare_one.py MODEL.onnx: a line of JSON for each runtime, so that what a crash leaves is told; the last is the verdict."""

import json
import pathlib
import pickle
import sys

import numpy as np
import onnxruntime

RELATIVE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}


def peer(model: str, feeds: dict) -> list:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact sums on CPUs without VNNI
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = {one.name for one in session.get_inputs()}
    return session.run(None, {name: value for name, value in feeds.items() if name in names})


def own(model: str, feeds: dict) -> list:
    import gantry.onnxruntime  # pylint: disable=import-outside-toplevel  # behind the peer, whose answer is told first
    session = gantry.onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = {one.name for one in session.get_inputs()}
    return session.run(None, {name: value for name, value in feeds.items() if name in names})


def distance(found, expected):
    """How far it is from what is expected, of its largest value; a text: what differs otherwise."""
    if isinstance(expected, (list, tuple)):
        if len(found) != len(expected):
            return f"{len(found)} items, expected {len(expected)}"
        told = [distance(*pair) for pair in zip(found, expected)]
        return next((one for one in told if isinstance(one, str)), max(told, default=0.0))
    if isinstance(expected, dict):
        return "other keys" if list(found) != list(expected) else distance(list(found.values()), list(expected.values()))
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f":
        wrong = int((found != expected).sum())
        return f"{wrong} of {expected.size} elements differ" if wrong else 0.0
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    are_same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if are_same.all():
        return 0.0
    if not np.isfinite(found[~are_same]).all() or not np.isfinite(expected[~are_same]).all():
        return "NaN or infinity in other places"
    return float(np.abs(found - expected)[~are_same].max() / max(np.abs(expected[np.isfinite(expected)]).max(initial=0), 1e-3))


def bound(values) -> float:
    kinds = {str(np.asarray(one).dtype) for one in values if not isinstance(one, (list, dict))}
    return max((RELATIVE[kind] for kind in kinds if kind in RELATIVE), default=1e-3)


def tell(**line) -> None:
    print(json.dumps(line), flush=True)


def main() -> int:
    model = sys.argv[1]
    feeds, expected, *more = pickle.loads(pathlib.Path(model).with_suffix(".pkl").read_bytes())
    refusal = ""
    try:
        theirs = peer(model, feeds)
    except Exception as error:  # pylint: disable=broad-except  # whatever it is, it is no oracle then
        if expected is None:
            tell(verdict="no oracle", why=" ".join(str(error).split())[:300])
            return 0
        theirs, refusal = expected, " ".join(str(error).split())[:300]
    tell(peer=refusal or "ran")
    try:
        ours = own(model, feeds)
    except Exception as error:  # pylint: disable=broad-except
        # What both refuse is the exporter's fault more likely than not.
        tell(verdict="no oracle" if refusal else "refused", why=f"{type(error).__name__}: {' '.join(str(error).split())[:600]}")
        return 0
    apart = distance(ours, theirs)
    if not isinstance(apart, str) and apart <= max([bound(theirs), *more]):
        tell(verdict="agrees", apart=apart)
        return 0
    why = {"from ONNX Runtime": apart}
    if expected is not None:
        why |= {"gantry from the framework": distance(ours, expected), "ONNX Runtime from the framework": distance(theirs, expected)}
    tell(verdict="differs", why=json.dumps(why))
    return 0


if __name__ == "__main__":
    sys.exit(main())
