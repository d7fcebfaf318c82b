# SPDX-License-Identifier: Apache-2.0
"""compare_one.py MODEL.onnx: a line of JSON for each runtime, so that what a crash leaves is told; the last is the verdict."""

import json
import pathlib
import pickle
import sys

import numpy as np
import onnxruntime

RELATIVE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}


def peer(model: str, feeds) -> list:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact sums on CPUs without VNNI
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")  # weights of 4 bits times floats, as a QDQ graph says
    return answers(onnxruntime, onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]), feeds)


def own(model: str, feeds) -> list:
    import gantry.onnxruntime  # pylint: disable=import-outside-toplevel  # behind the peer, whose answer is told first
    return answers(gantry.onnxruntime, gantry.onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]), feeds)


def answers(runtime, session, feeds):
    """The outputs; of a list of runs (text_builder.py), those of every step by name. Runs that ONNX Runtime refuses leave the list, unless all do."""
    if isinstance(feeds, dict):
        names = {one.name for one in session.get_inputs()}
        return session.run(None, {name: value for name, value in feeds.items() if name in names})
    found, refusals = {}, []
    for run in list(feeds):
        try:
            found |= (run_with_shared_caches if run["is_shared"] else run_with_own_caches)(runtime, session, run)
        except Exception as error:  # pylint: disable=broad-except
            if runtime is not onnxruntime:
                raise
            refusals.append(error)
            feeds[:] = [other for other in feeds if other is not run]
    if not feeds:
        raise refusals[0]
    return found


def run_with_own_caches(_, session, run) -> dict:
    """Each step's caches are the step's before."""
    names = [one.name for one in session.get_outputs()]
    caches, found = {}, {}
    for number, feeds in enumerate(run["steps"]):
        outputs = dict(zip(names, session.run(None, {**caches, **feeds})))
        caches = {name: outputs[output] for name, output in run["carried"].items()}
        found |= meaningful_outputs(run, number, outputs)
    return found


def run_with_shared_caches(runtime, session, run) -> dict:
    """Each cache is one array, which every step reads and writes."""
    names = [one.name for one in session.get_outputs()]
    caches = {name: runtime.OrtValue.ortvalue_from_numpy(run["steps"][0][name].copy()) for name in run["carried"]}
    places = {output: caches[name] for name, output in run["carried"].items()}
    found = {}
    for number, feeds in enumerate(run["steps"]):
        binding = session.io_binding()
        for name, value in feeds.items():
            if name not in caches:
                binding.bind_cpu_input(name, value)
        for name, cache in caches.items():
            binding.bind_ortvalue_input(name, cache)
        for name in names:
            if name in places:
                binding.bind_ortvalue_output(name, places[name])
            else:
                binding.bind_output(name)
        session.run_with_iobinding(binding)
        found |= meaningful_outputs(run, number, {name: np.array(value) for name, value in zip(names, binding.copy_outputs_to_cpu())})
    return found


def meaningful_outputs(run, number, outputs) -> dict:
    """What a step's outputs mean, by name: of some the first rows alone, how many for each row of the batch."""
    found = {}
    for name, value in outputs.items():
        axis, counts = run["seen"][number][name] or (1, [])
        parts = [row.take(range(count), axis - 1) for row, count in zip(value, counts)]
        found |= {f"{run['name']}, step {number}, {name}": parts or value}
    return found


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
    values = list(values.values()) if isinstance(values, dict) else values
    parts = [part for one in values for part in (one if isinstance(one, list) else [one])]
    kinds = {str(np.asarray(part).dtype) for part in parts if not isinstance(part, dict)}
    return max((RELATIVE[kind] for kind in kinds if kind in RELATIVE), default=1e-3)


def is_near(apart, expected, more) -> bool:
    return not isinstance(apart, str) and apart <= max([bound(expected), *more])


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
    if is_near(apart, theirs, more):
        tell(verdict="agrees", apart=apart)
        return 0
    why = {"from ONNX Runtime": apart}
    if isinstance(theirs, dict):
        why["the first that differs"] = next((name for name in theirs if not is_near(distance(ours[name], theirs[name]), theirs, more)), "")
    if expected is not None:
        why |= {"gantry from the framework": distance(ours, expected), "ONNX Runtime from the framework": distance(theirs, expected)}
    tell(verdict="differs", why=json.dumps(why))
    return 0


if __name__ == "__main__":
    sys.exit(main())
