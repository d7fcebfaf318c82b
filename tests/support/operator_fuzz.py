# SPDX-License-Identifier: Apache-2.0
"""Hostile models of one node, made from ONNX's node cases: attributes, values, shapes and ranks as nobody would write them.

As a program: operator_fuzz.py FIRST END runs the models of these numbers and writes a line for each, before and behind it. A crash or a hang ends the process, so
that others watch it (see watch() below). Inputs end where a page that nobody may touch begins.
"""

import ctypes
import functools
import mmap
import pathlib
import subprocess
import sys
import threading

import numpy as np
import onnx
from onnx import helper, numpy_helper
from sanitizer import NAME as SANITIZER
from sanitizer import PATIENCE, with_largest_allocation

EXTENTS = (0, 0, 1, 1, 2, 3, 5, 8, 17, 64)
INTEGERS = (0, 1, -1, 2, -2, 3, 7, 63, 64, 255, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 40, (1 << 62), (1 << 63) - 1, -(1 << 63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-38, 1e-45, 3.4e38, -3.4e38, float("inf"), float("-inf"), float("nan"), 1e10, 2147483648.0)
TEXTS = ("", "x", "NOTSET", "SAME_UPPER", "VALID", "linear", "nearest", "cubic", "reflect", "wrap", "sum", "none", "(((", "[", "\\", "a{1000}{1000}", "(a*)*b", "\x00", "\xff", "é" * 50, "i->", "...i,...j->...", ",,,", "RGB", "BGR", "MLL")
MOST_BYTES = 2 << 30
PAGE = mmap.PAGESIZE


@functools.cache
def seeds():
    """(model, inputs) of ONNX's node cases whose inputs are tensors."""
    from onnx.backend.test.loader import load_model_tests

    found = []
    for case in sorted(load_model_tests(kind="node"), key=lambda case: case.name):
        if case.model is None or not case.data_sets:
            continue
        inputs = case.data_sets[0][0]
        if len(case.model.graph.node) == 1 and all(isinstance(x, np.ndarray) for x in inputs):
            found.append((case.model, inputs))
    return found


def _pick(rng, values):
    return values[int(rng.integers(len(values)))]


def _mutate_attribute(rng, attribute):
    kinds = onnx.AttributeProto
    if attribute.type == kinds.INT:
        attribute.i = _pick(rng, INTEGERS)
    elif attribute.type == kinds.FLOAT:
        attribute.f = _pick(rng, FLOATS)
    elif attribute.type == kinds.STRING:
        attribute.s = _pick(rng, TEXTS).encode("utf-8", "surrogateescape")
    elif attribute.type in (kinds.INTS, kinds.FLOATS, kinds.STRINGS):
        values, pool = {kinds.INTS: (attribute.ints, INTEGERS), kinds.FLOATS: (attribute.floats, FLOATS), kinds.STRINGS: (attribute.strings, [t.encode() for t in TEXTS])}[attribute.type]
        how = rng.integers(4)
        if how == 0 and len(values):
            del values[-1]
        elif how == 1 or not len(values):
            values.append(_pick(rng, pool))
        else:
            values[int(rng.integers(len(values)))] = _pick(rng, pool)


def _other_shape(rng, shape):
    shape = list(shape)
    how = rng.integers(4)
    if how == 0 and shape:
        del shape[int(rng.integers(len(shape)))]
    elif how == 1 and len(shape) < 6:
        shape.insert(int(rng.integers(len(shape) + 1)), _pick(rng, EXTENTS[:6]))
    elif shape:
        shape[int(rng.integers(len(shape)))] = _pick(rng, EXTENTS)
    return shape


def _reshaped(x, shape):
    """The elements of `x` as often as it takes."""
    count = int(np.prod(shape, dtype=np.int64))
    if x.size == 0:
        return np.zeros(shape, x.dtype) if x.dtype != object else np.full(shape, "", object)
    return np.resize(x.reshape(-1), count).reshape(shape)


def _mutate_values(rng, x):
    x = x.copy()
    flat = x.reshape(-1)
    for _ in range(min(flat.size, int(rng.integers(1, 4)))):
        place = int(rng.integers(flat.size))
        if x.dtype == object or x.dtype.kind in "US":
            flat[place] = _pick(rng, TEXTS)
        elif x.dtype.kind in "iu":
            flat[place] = np.array(_pick(rng, INTEGERS), np.int64).astype(x.dtype)
        elif x.dtype.kind == "f":
            with np.errstate(all="ignore"):
                flat[place] = np.array(_pick(rng, FLOATS)).astype(x.dtype)
    return x


def _cut(rng, x):
    """Of bytes, an image perhaps: fewer, or some of them others."""
    x = x[: int(rng.integers(x.size + 1))].copy() if rng.random() < 0.5 else x.copy()
    for _ in range(int(rng.integers(4))):
        if x.size:
            x[int(rng.integers(x.size))] = int(rng.integers(256))
    return x


def hostile(number):
    """The model with this number, and its feeds."""
    rng = np.random.default_rng(number)
    seed, inputs = seeds()[int(rng.integers(len(seeds())))]
    model = onnx.ModelProto()
    model.CopyFrom(seed)
    node = model.graph.node[0]
    for attribute in node.attribute:
        if rng.random() < 0.35:
            _mutate_attribute(rng, attribute)
    arrays = []
    for x in inputs:
        if x.dtype == np.uint8 and x.ndim == 1 and x.size > 64:
            x = _cut(rng, x)
        if rng.random() < 0.35:
            x = _reshaped(x, _other_shape(rng, x.shape))
        if x.size and rng.random() < 0.35:
            x = _mutate_values(rng, x)
        arrays.append(x)
    return _model_around(rng, model, node, arrays)


def _model_around(rng, model, node, arrays):
    """Inputs of known ranks or of none, as constants now and then; outputs whose ranks nobody has declared."""
    graph = model.graph
    names = [x.name for x in graph.input]
    types = [x.type.tensor_type.elem_type for x in graph.input]
    del graph.input[:], graph.value_info[:], graph.output[:]
    feeds, before = {}, []
    opset = next((x.version for x in model.opset_import if not x.domain), 0)
    if not opset:
        opset = 21
        model.opset_import.append(helper.make_opsetid("", opset))
    model.ir_version = max(model.ir_version, 10)
    for name, dtype, x in zip(names, types, arrays, strict=True):
        if rng.random() < 0.25 and x.dtype != object:
            graph.initializer.append(numpy_helper.from_array(x, name))
            continue
        if rng.random() < 0.5:
            keeps_zeros = {"allowzero": 1} if opset >= 14 else {}
            before.append(helper.make_node("Reshape", [f"{name}.flat", f"{name}.shape"], [name], **keeps_zeros))
            graph.input.append(helper.make_tensor_value_info(f"{name}.flat", dtype, [None]))
            graph.input.append(helper.make_tensor_value_info(f"{name}.shape", onnx.TensorProto.INT64, [None]))
            feeds[f"{name}.flat"] = x.reshape(-1)
            feeds[f"{name}.shape"] = np.array(x.shape, np.int64)
        else:
            graph.input.append(helper.make_tensor_value_info(name, dtype, [None] * x.ndim))
            feeds[name] = x
    sizes = [helper.make_node("Size", [name], [f"{name}.size"]) for name in node.output if name]
    for name in node.output:
        if name:
            graph.output.append(helper.make_tensor_value_info(f"{name}.size", onnx.TensorProto.INT64, []))
    own = onnx.NodeProto()
    own.CopyFrom(node)
    del graph.node[:]
    graph.node.extend([*before, own, *sizes])
    return model, feeds


def _guarded(x):
    """A copy of an array behind which a page stands that cannot be read."""
    if x.dtype == object or x.dtype.kind in "USO" or x.nbytes == 0:
        return x
    pages = -(-x.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(address + pages * PAGE), PAGE, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    align = max(x.dtype.itemsize, 16)
    offset = (pages * PAGE - x.nbytes) // align * align
    result = np.frombuffer(memory, x.dtype, x.size, offset).reshape(x.shape)
    result[...] = x
    return result


def run(number):
    """ "ok", or the class and message of gantry's error. Anything else is a fault and is raised."""
    import gantry

    model, feeds = hostile(number)
    try:
        session = gantry.Session(model.SerializeToString(), device="CPU", config={"session": {"threads": 1, "memory_limit_bytes": MOST_BYTES}})
        session.run({name: _guarded(x) for name, x in feeds.items()}, timeout=2)
    except gantry.Error as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return "ok"


def _main(first, end):
    import resource

    if not SANITIZER:
        resource.setrlimit(resource.RLIMIT_AS, (2 * MOST_BYTES + (4 << 30), resource.RLIM_INFINITY))
    seeds()
    for number in range(first, end):
        print(f"{number} begins", flush=True)
        print(f"{number} {run(number)}", flush=True)


def watch(first, end, limit_s=5, program=None):
    """Runs models in child processes. (number, what became of it) for each: run()'s answer, "hung", or how its process ended.

    `program`: the path and options of another one than this that takes two numbers and writes such lines.
    """
    while first < end:
        child = subprocess.Popen([sys.executable, *map(str, program or [__file__]), str(first), str(end)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=with_largest_allocation(2 * MOST_BYTES))
        number, is_hung = None, False

        def stop(child=child):
            nonlocal is_hung
            is_hung = True
            child.kill()

        errors = []
        reader = threading.Thread(target=lambda child=child, errors=errors: errors.append(child.stderr.read()))
        reader.start()
        timer = threading.Timer(60 * PATIENCE, stop)
        timer.start()
        for line in child.stdout:
            timer.cancel()
            at, _, rest = line.rstrip("\n").partition(" ")
            if rest == "begins":
                number = int(at)
                timer = threading.Timer(limit_s * PATIENCE, stop)
                timer.start()
            else:
                yield int(at), rest
                number = None
        timer.cancel()
        child.wait()
        reader.join()
        if number is None:
            if child.returncode:
                raise RuntimeError(f"{pathlib.Path((program or [__file__])[0]).name} ended with {child.returncode}: {errors[0][-2000:]}")
            return
        yield number, "hung" if is_hung else f"ended with {child.returncode}: {errors[0][-1500:]}"
        first = number + 1


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
