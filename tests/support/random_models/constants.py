# SPDX-License-Identifier: Apache-2.0
"""A model once more with other constants: one step beside those that a pattern asks for, or below the normal numbers."""

import numpy as np
import onnx
from onnx import numpy_helper

DENORMAL = np.float32([1.4e-45, -1.4e-45, 1e-40, -1e-40, 1.1754942e-38, -1.1754942e-38])
DENORMAL_SHARE = 0.02  # of the numbers of an input or a constant

# How far beside: the next number, what a rounded literal is off, and what only a careless matcher takes for the same.
STEPS = (1e-6, 1e-4, 2e-3, 3e-2)


def _nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _all_nodes(model):
    return [*_nodes(model.graph), *(node for function in model.functions for node in _nodes(function))]


def _tensors(model):
    """Of float32, wherever they stand."""
    tensors = [*model.graph.initializer]
    for node in _all_nodes(model):
        tensors += [attribute.t for attribute in node.attribute if attribute.HasField("t")]
    return [tensor for tensor in tensors if tensor.data_type == onnx.TensorProto.FLOAT]


def _numbers(model, has_exponents):
    """Scalars, and attributes that are one number: epsilon, alpha and their like."""
    exponents = {name for node in _all_nodes(model) if node.op_type == "Pow" for name in node.input}
    for tensor in _tensors(model):
        if np.prod(tensor.dims, dtype=int) == 1 and (has_exponents or tensor.name not in exponents):
            yield tensor
    for node in _all_nodes(model):
        yield from (attribute for attribute in node.attribute if attribute.type == onnx.AttributeProto.FLOAT)


def beside(number, rng):
    number = np.float32(number)
    if number == 0:
        return np.float32(rng.choice([1e-6, -1e-6, 1e-3, -1e-3]))
    step = rng.choice([0, *STEPS])
    sign = rng.choice([-1, 1])
    return np.nextafter(number, np.float32(sign * np.inf)) if step == 0 else np.float32(number * (1 + sign * step))


def models_beside(model, rng, most, has_exponents=True):
    """Each with one number changed, and what was changed, in words; `most` at most. Without exponents: a power that is no whole one makes NaN of negative numbers."""
    count = len(list(_numbers(model, has_exponents)))
    for which in sorted(rng.permutation(count)[:most]):
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        place = list(_numbers(changed, has_exponents))[which]
        before = place.f if isinstance(place, onnx.AttributeProto) else numpy_helper.to_array(place).item()
        after = beside(before, rng)
        if isinstance(place, onnx.AttributeProto):
            place.f = after
        else:
            place.CopyFrom(numpy_helper.from_array(np.full(place.dims, after, np.float32), place.name))
        yield changed, f"{place.name or 'a scalar'} {np.float32(before)!s} made {after!s}"


def sprinkled(array, rng, values, share):
    """The array with some of its numbers replaced, if they are of float32."""
    if array.dtype != np.float32:
        return array
    result = array.copy()
    where = rng.random(array.shape) < share
    result[where] = rng.choice(values, array.shape)[where]
    return result


def flushed(array):
    """The array with zeros for its denormal numbers."""
    return np.where(np.abs(array) < np.finfo(np.float32).tiny, array * 0, array) if array.dtype == np.float32 else array


def _with_constants(model, change):
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for tensor in _tensors(changed):
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(numpy_helper.to_array(tensor))), tensor.name))
    return changed


def with_denormals(model, rng):
    """Among the numbers of constants; one that is a number alone seldom becomes one."""
    return _with_constants(model, lambda array: sprinkled(array, rng, DENORMAL, DENORMAL_SHARE))


def without_denormals(model):
    return _with_constants(model, flushed)
