# SPDX-License-Identifier: Apache-2.0
"""Random models by gantry, in several ways, and by ONNX Runtime as they are written.

As a program: `compare.py --seeds FIRST END [--keep FOLDER]` writes a line for each number before and behind it, so that a crash and a hang are seen (by operator_fuzz.watch), and
keeps the models on which the two disagree, for shrink.py. Judged are, for each model: two runs on one thread, which must be equal bit for bit; two threads; `cpu` alone; the graph as it is
written; several runs at once, equal bit for bit to one alone; a start from an artefact, equal bit for bit to the one that made it; other extents where some are open, and the first ones again; infinities and
other special values among the inputs; denormals among inputs and constants; constants one step beside; the model in float16 and bfloat16.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import threading

import ml_dtypes
import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import gantry  # noqa: E402
from oracle import run_exact  # noqa: E402
from random_models.constants import DENORMAL, DENORMAL_SHARE, flushed, models_beside, sprinkled, with_denormals, without_denormals  # noqa: E402
from random_models.generate import generate, narrowed  # noqa: E402

LARGEST_DIFFERENCE = 1e-4  # of the largest value of an output, for f32
LEAST = 1e-6  # of models whose values are near 1
JUMPS = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QLinearAdd", "MatMulNBits", "ArgMax", "Greater", "Less", "GreaterOrEqual", "Equal", "TopK", "If", "Loop", "ThresholdedRelu", "Cast", "Resize"}


class Disagreement(AssertionError):
    pass


def _nodes(model):
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(inner for attribute in node.attribute for inner in attribute.g.node)


class Expected:
    """ONNX Runtime's results, and how much they change if the inputs do so in their last digits."""

    def __init__(self, model, feeds, share=LARGEST_DIFFERENCE):
        self.results = run_exact(model, feeds)
        self.names = [output.name for output in model.graph.output]
        self.share = share
        self.jumps = any(node.op_type in JUMPS for node in _nodes(model))
        # Of weights of few bits ONNX Runtime may round the other matrix, row by row.
        self.mean_share = 0.015 if any(node.op_type == "MatMulNBits" for node in _nodes(model)) else 0.004
        self.limits = [share * _largest(result) + LEAST for result in self.results]
        rng = np.random.default_rng(0)
        for size in (share / 100, share / 30):
            moved = run_exact(model, {name: _moved(array, rng, size) for name, array in feeds.items()})
            for i, (one, other) in enumerate(zip(self.results, moved, strict=True)):
                if one.shape == other.shape and one.dtype.kind == "f":
                    self.limits[i] = max(self.limits[i], 30 * _largest(one - other))

    def check(self, found):
        if list(found) != self.names:
            raise Disagreement(f"outputs {list(found)}, expected {self.names}")
        for name, wanted, limit in zip(self.names, self.results, self.limits, strict=True):
            self._check_one(name, found[name], wanted, limit)

    def _check_one(self, name, actual, wanted, limit):
        if actual.shape != wanted.shape:
            raise Disagreement(f"{name}: shape {actual.shape}, expected {wanted.shape}")
        if actual.dtype != wanted.dtype:
            raise Disagreement(f"{name}: type {actual.dtype}, expected {wanted.dtype}")
        if wanted.dtype.kind != "f":
            if not self.jumps and not np.array_equal(actual, wanted):
                raise Disagreement(f"{name}: {actual.ravel()[:8]}, expected {wanted.ravel()[:8]}")
            return
        difference = np.abs(actual.astype(np.float64) - wanted)
        if not np.isfinite(difference).all():
            raise Disagreement(f"{name}: not all values are finite")
        if difference.max(initial=0) <= limit:
            return
        largest = _largest(wanted)
        # A step of a rounding more or less, in few places, or what came of it.
        if self.jumps and difference.mean() <= self.mean_share * largest and (difference.max() <= 0.1 * largest or (difference > limit).mean() < 0.001):
            return
        raise Disagreement(f"{name}: largest difference {difference.max():.3g}, allowed {limit:.3g}, mean {difference.mean():.3g}, of {largest:.3g}, {(difference > limit).sum()} of {difference.size}")


def _largest(array):
    return float(np.abs(array.astype(np.float64)).max(initial=0))


def _moved(array, rng, size):
    return array if array.dtype.kind != "f" else (array * (1 + size * rng.standard_normal(array.shape))).astype(array.dtype)


def _session(model, threads=1, **config):
    return gantry.Session(model, device="CPU", config={**config, "session": {"threads": threads, **config.get("session", {})}})


def _same(one, other, what):
    for name in one:
        if one[name].tobytes() != other[name].tobytes() or one[name].shape != other[name].shape:
            raise Disagreement(f"{what}: {name} differs by {np.abs(one[name].astype(np.float64) - other[name]).max() if one[name].shape == other[name].shape else one[name].shape}")


def _twice(model, feeds, expected):
    session = _session(model)
    first = session.run(feeds)
    expected.check(first)
    _same(first, session.run(feeds), "second run")


def _threads(model, feeds, expected):
    session = _session(model, 2)
    expected.check(session.run(feeds))
    expected.check(session.run(feeds))


def _alone(model, feeds, expected):
    expected.check(_session(model, providers={"disable": ["x86"]}).run(feeds))


def _as_written(model, feeds, expected):
    expected.check(_session(model, session={"optimization": "none"}).run(feeds))


def _at_once(model, feeds, expected):
    session = _session(model)
    first = session.run(feeds)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for other in pool.map(lambda _: session.run(feeds), range(6)):
            _same(first, other, "a run beside others")


def _artefact(model, feeds, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        onnx.save(model, path)
        config = {"session": {"artefact_cache": str(pathlib.Path(folder, "cache"))}}
        cold = _session(str(path), **config).run(feeds)
        expected.check(cold)
        _same(cold, _session(str(path), **config).run(feeds), "artefact")


def _other_extents(model, feeds, expected):
    places = {}
    for value in model.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                places.setdefault(dim.dim_param, []).append((value.name, i))
    if not places:
        return
    session = _session(model)
    first = session.run(feeds)
    for more in (1, 3):
        other = dict(feeds)
        for where in places.values():
            for name, i in where:
                other[name] = np.concatenate([other[name]] + [other[name].take([0] if other[name].shape[i] else [], axis=i) * 0.5] * more, axis=i).astype(other[name].dtype)
        try:
            wanted = Expected(model, other)
        except Exception:  # the model is for these extents only
            continue
        wanted.check(session.run(other))
    _same(first, session.run(feeds), "the first extents again")


def _narrow(dtype, share):
    def run(model, feeds, expected):
        if expected.jumps or any(node.op_type in ("Resize", "MatMulInteger", "DequantizeLinear", "DynamicQuantizeLinear") for node in _nodes(model)):
            return
        narrow, given, wide, wide_feeds = narrowed(model, feeds, dtype)
        wanted = Expected(wide, wide_feeds, share)
        try:
            onnx.checker.check_model(narrow, full_check=True)
        except Exception:  # an operator that has not the type
            return
        try:
            session = _session(narrow)
        except gantry.InvalidModelError as error:
            if "unsupported type" in str(error):  # of an operator behind one of another domain, where ONNX's checker sees no types
                return
            raise
        wanted.check({name: array.astype(np.float32) if array.dtype == dtype else array for name, array in session.run(given).items()})
    return run


# Those below the normal ones have a sweep of their own.
SPECIAL = np.float32([np.inf, -np.inf, 3.4028235e38, -3.4028235e38, 1e30, -1e30, 1.2e-38, -1.2e-38, 0.0, -0.0])
# Without large numbers, of which one order of sums makes infinities, and so what is no number, and another does not.
NO_NUMBERS = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0])
SPECIAL_SHARE = 0.02  # of the numbers of an input
NEAR_THE_LARGEST = 1e35  # from here on sums in another order may overflow, or not
LARGE = 1e30


def _plain(model):
    """As it is written, node by node in `cpu`."""
    return _session(model, providers={"disable": ["x86"]}, session={"optimization": "none"})


def _special_values(model, feeds, expected):
    """Infinities, what is no number, the largest and the least numbers among the inputs. What the graph as it is written, node by node in `cpu`, and ONNX Runtime
    agree on has to come out: finite numbers near theirs, each by its own measure, nothing ordinary where they have infinities, and nothing at all where they have
    no number. Winograd's convolutions are left out: they mix neighbours, so that what is no number is none for all of them."""
    session = _session(model)
    if expected.jumps or any(node.implementation.startswith("winograd") for node in session.placement.nodes):
        return
    plain = _plain(model)
    for values in (SPECIAL, NO_NUMBERS):
        rng = np.random.default_rng(1)
        given = {name: sprinkled(array, rng, values, SPECIAL_SHARE) for name, array in feeds.items()}
        with np.errstate(all="ignore"):
            wanted = plain.run(given)
            others = [dict(zip(expected.names, run_exact(model, given), strict=True))]
            others += [plain.run({name: _moved(array, rng, size) for name, array in given.items()}) for size in (1e-6, 3e-6, 1e-5)]
            _check_special(expected.names, expected.limits, session.run(given), wanted, others, keeps_none=values is NO_NUMBERS)


def _check_special(names, limits, found, wanted, others, keeps_none):
    for name, limit in zip(names, limits, strict=True):
        if wanted[name].dtype != np.float32 or any(other[name].shape != wanted[name].shape for other in others):
            continue
        actual, sure = found[name].astype(np.float64), wanted[name].astype(np.float64)
        apart = np.maximum.reduce([np.abs(other[name] - sure) for other in others])
        is_sure = (np.abs(sure) < NEAR_THE_LARGEST) & np.isfinite(apart)
        is_right = np.abs(actual - sure) <= limit + 30 * apart + LARGEST_DIFFERENCE * np.abs(sure)
        is_infinite = np.logical_and.reduce([np.isinf(sure), *(other[name] == sure for other in others)])
        is_none = np.logical_and.reduce([np.isnan(sure), *(np.isnan(other[name]) for other in others)])
        wrong = (is_sure & ~is_right) | (is_infinite & (np.abs(actual) < LARGE)) | (keeps_none & is_none & ~np.isnan(actual))
        if wrong.any():
            raise Disagreement(f"{name}: {wrong.sum()} of {wrong.size} wrong, {actual[wrong][:4]}, expected {sure[wrong][:4]}")


# Whose kernels in `x86` count denormal numbers as zero (docs/decisions/0077-nan-and-infinity.md); all others keep them.
FLUSHING = ("Conv", "MatMul", "Gemm", "Pool", "Attention", "LSTM", "GRU", "RNN", "Einsum")
SMALL = 1e-30  # what came of denormals
LEAST_STEPS = 1e-42  # some steps of the least number, by which roundings differ


def _denormals(model, feeds, expected):
    """Numbers below the normal ones among inputs and constants. They are kept to their digits, or count as zero where a kernel of FLUSHING may see them."""
    if expected.jumps:
        return
    rng = np.random.default_rng(2)
    changed = with_denormals(model, rng)
    given = {name: sprinkled(array, rng, DENORMAL, DENORMAL_SHARE) for name, array in feeds.items()}
    try:
        others = [dict(zip(expected.names, run_exact(changed, given), strict=True))]
    except Exception:  # ONNX Runtime refuses the number
        return
    plain = _plain(changed)
    others += [plain.run({name: _moved(array, rng, size) for name, array in given.items()}) for size in (1e-6, 3e-6, 1e-5)]
    wanted = plain.run(given)
    limits = expected.limits
    if any(kind in node.op_type for node in _nodes(model) for kind in FLUSHING):
        others.append(_plain(without_denormals(changed)).run({name: flushed(array) for name, array in given.items()}))
    else:
        limits = [np.where((wanted[name] != 0) & (np.abs(wanted[name]) < SMALL), LEAST_STEPS, limit) for name, limit in zip(expected.names, limits, strict=True)]
    _check_special(expected.names, limits, _session(changed).run(given), wanted, others, keeps_none=True)


QUANTIZED = ("Linear", "Integer", "NBits")
MOST_BESIDE = 4  # of a model


def _is_finite(results):
    return all(np.isfinite(result).all() for result in results if result.dtype.kind == "f")


def _constants_beside(model, feeds, expected):
    """With a constant one step beside: it has to be computed with, and not taken for the one that a pattern asks for. Not of quantized models, whose scales are
    powers of two so that ONNX Runtime is exact."""
    if any(kind in node.op_type for node in _nodes(model) for kind in QUANTIZED):
        return
    before = _session(model).run(feeds)
    try:
        expected.check(before)
    except Disagreement:  # which "default" tells
        return
    for changed, what in models_beside(model, np.random.default_rng(3), MOST_BESIDE, has_exponents=not expected.jumps):  # which cannot be told of NaN
        try:
            wanted = Expected(changed, feeds)
        except Exception:  # ONNX Runtime refuses the number
            continue
        plain, found = _plain(changed).run(feeds), _session(changed).run(feeds)
        # A root or a power of a negative number, which ONNX Runtime's LSTM makes finite again.
        if not _is_finite([*wanted.results, *plain.values()]):
            for name, result in zip(wanted.names, wanted.results, strict=True):
                _check_nan(name, result, plain[name], found[name], what)
            continue
        try:
            wanted.check(found)
            if not expected.jumps:
                _check_change(expected, before, wanted, found)
        except Disagreement as error:
            raise Disagreement(f"{error}, {what}") from None


def _check_nan(name, wanted, plain, found, what):
    """Where ONNX Runtime and the model as it is written agree on it."""
    if wanted.dtype == np.float32 and wanted.shape == plain.shape and np.array_equal(np.isnan(wanted), np.isnan(plain)) and not np.array_equal(np.isnan(found), np.isnan(wanted)):
        raise Disagreement(f"{name}: {np.isnan(found).sum()} numbers are NaN, expected {np.isnan(wanted).sum()}, {what}")


def _check_change(expected, before, wanted, found):
    """More closely than the limits of results: what was found is not nearer to the result of the constant that was there before."""
    for name, old, new in zip(expected.names, expected.results, wanted.results, strict=True):
        if new.dtype != np.float32 or new.shape != old.shape or not new.size:
            continue
        rounding = 10 * np.abs(before[name] - old).max() + 1e-6 * _largest(new)
        apart = np.abs(found[name] - new)
        if apart.max() > rounding and np.abs(found[name] - old).max() < apart.max():
            raise Disagreement(f"{name}: as if nothing was changed, {apart.max():.3g} apart, rounding {rounding:.3g}")


WAYS = {"default": _twice, "threads": _threads, "cpu alone": _alone, "as written": _as_written, "at once": _at_once, "artefact": _artefact, "other extents": _other_extents, "special values": _special_values, "denormals": _denormals, "constants beside": _constants_beside,
        "float16": _narrow(np.float16, 1e-2), "bfloat16": _narrow(ml_dtypes.bfloat16, 6e-2)}


def check(model, feeds, ways=WAYS):
    """What disagrees, by the way in which the model was run."""
    try:
        expected = Expected(model, feeds)
    except Exception:  # ONNX Runtime refuses what it ran node by node: there is nothing to compare with
        return {}
    found = {}
    for name in ways:
        try:
            WAYS[name](model, feeds, expected)
        except (Disagreement, gantry.Error) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def save(model, feeds, folder):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "feeds.npz", **feeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, required=True, metavar=("FIRST", "END"))
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models on which there was a disagreement")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    given = parser.parse_args()
    for seed in range(*given.seeds):
        print(seed, "begins", flush=True)
        made = generate(seed)
        if made is None:
            print(seed, "nothing", flush=True)
            continue
        model, feeds, kind = made
        found = check(model, feeds, given.ways)
        if found and given.keep:
            save(model, feeds, given.keep / str(seed))
        for way, message in found.items():
            print(seed, f"{way} [{kind}]: {message}".replace("\n", " "), flush=True)
        if not found:
            print(seed, "ok", flush=True)


if __name__ == "__main__":
    main()
