# SPDX-License-Identifier: Apache-2.0
"""A number becomes a model with its inputs."""

import numpy as np
import onnx

from random_models import control, elementwise, functions, images, integers, movement, quantized, sequences, transformers
from random_models.builder import Builder, Unusable, finish

FAMILIES = {"elementwise": elementwise.STEPS, "movement": movement.STEPS, "images": images.STEPS, "sequences": sequences.STEPS, "quantized": quantized.STEPS, "control": control.STEPS,
            "transformers": transformers.STEPS, "integers": integers.STEPS}

# How much of each family a model of a kind has.
KINDS = {
    "images": {"images": 6, "elementwise": 2, "movement": 1},
    "sequences": {"sequences": 6, "elementwise": 2, "movement": 2},
    "quantized images": {"quantized": 6, "images": 1, "elementwise": 0.5},
    "quantized sequences": {"quantized": 5, "sequences": 2, "elementwise": 0.5},
    "transformers": {"transformers": 5, "sequences": 3, "elementwise": 1, "quantized": 0.5},
    "movement": {"movement": 5, "elementwise": 4, "integers": 1},
    "control": {"control": 4, "elementwise": 3, "movement": 1, "sequences": 1, "integers": 1},
    "all": {"images": 1, "sequences": 1, "quantized": 1, "elementwise": 1, "movement": 1, "control": 0.5, "integers": 0.5},
}


def _drawn(rng, weights):
    names = list(weights)
    shares = np.array([weights[name] for name in names], float)
    return names[int(rng.choice(len(names), p=shares / shares.sum()))]


def generate(seed):
    """The model of a number and what to feed it, and the kind of model it is; None: nothing came of it."""
    rng = np.random.default_rng(seed)
    kind = _drawn(rng, {"images": 4, "sequences": 3, "quantized images": 3, "quantized sequences": 1.5, "transformers": 2, "movement": 2, "control": 1, "all": 1})
    # Bodies of com.microsoft's operators are written for opset 13 and newer.
    b = Builder(rng, int(rng.choice([13 if kind == "transformers" else 11, 13, 13, 17, 17, 18, 20, 21, 22, 23])))
    if "images" in kind:
        images.image(b)
    elif "sequences" in kind or kind == "transformers":
        sequences.rows(b)
    else:
        shape = b.one_of((2, 3, 4, 5), (1, 16, 8, 8), (2, 6, 12), (3, 8), (1, 4, 1, 7), (33,), (2, 0, 3), (1, 24, 24), (4, 4), ())
        b.input(b.numbers(*shape))
    wanted = int(rng.integers(1, 8))
    for _ in range(4 * wanted):
        step = _drawn(rng, FAMILIES[_drawn(rng, KINDS[kind])])
        nodes = len(b.nodes)
        try:
            step(b)
        except Unusable:
            continue
        wanted -= len(b.nodes) > nodes
        if wanted == 0:
            break
    try:
        model, feeds = finish(b, rng)
    except Unusable:
        return None
    how = rng.random()
    if how < 0.07:
        model = functions.in_function(model, rng)
    elif how < 0.14:
        model = functions.in_branch(model, rng)
    if any(value.name == "taken" for value in model.graph.input):
        feeds["taken"] = np.array(bool(rng.random() < 0.5))
    if rng.random() < 0.25:
        _open_extents(model, rng)
    return model, feeds, kind


def _open_extents(model, rng):
    """Some extents of inputs become names; outputs say their rank only."""
    for value in [*model.graph.input, *model.graph.output]:
        is_input = value in model.graph.input
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if not is_input:
                dim.Clear()
            elif rng.random() < (0.9 if i == 0 else 0.3):
                dim.dim_param = f"d{i}_{dim.dim_value}"


def narrowed(model, feeds, dtype):
    """The model with f32 made `dtype`, with the same values as far as that has them, and the f32 model with such values."""
    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    narrow, wide = onnx.ModelProto(), onnx.ModelProto()
    narrow.CopyFrom(model)
    wide.CopyFrom(model)
    _narrow_graph(narrow.graph, wide.graph, dtype, to)
    given = {name: array.astype(dtype) if array.dtype == np.float32 else array for name, array in feeds.items()}
    return narrow, given, wide, {name: array.astype(np.float32) if array.dtype == dtype else array for name, array in given.items()}


def _narrow_graph(narrow, wide, dtype, to):
    is_float = lambda tensor: tensor.data_type == onnx.TensorProto.FLOAT
    for one, other in zip(narrow.initializer, wide.initializer, strict=True):
        if is_float(one):
            _narrow_tensor(one, other, dtype)
    for one, other in zip(narrow.node, wide.node, strict=True):
        for mine, theirs in zip(one.attribute, other.attribute, strict=True):
            if mine.HasField("t") and is_float(mine.t):
                _narrow_tensor(mine.t, theirs.t, dtype)
            if mine.name == "to" and mine.i == onnx.TensorProto.FLOAT:
                mine.i = to
            if mine.HasField("g"):
                _narrow_graph(mine.g, theirs.g, dtype, to)
    for value in [*narrow.input, *narrow.output]:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = to


def _narrow_tensor(one, other, dtype):
    rounded = onnx.numpy_helper.to_array(one).astype(dtype)
    one.CopyFrom(onnx.numpy_helper.from_array(rounded, one.name))
    other.CopyFrom(onnx.numpy_helper.from_array(rounded.astype(np.float32), other.name))
