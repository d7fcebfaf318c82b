# SPDX-License-Identifier: Apache-2.0
"""Steps with bodies, which read values from around them, and rewritings of a finished model: nodes in a branch or in a function of their own."""

import numpy as np
from onnx import TensorProto, helper


def _info(name, dtype=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def _constant(name, array):
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.ravel().tolist()))


def _same_shape(b, x):
    fits = [value for value in b.values if value.shape == x.shape and value.is_float]
    return fits[int(b.rng.integers(len(fits)))]


def loop(b):
    """A state that each turn changes by a value from outside; each turn's state is kept, too."""
    x = b.pick(lambda value: value.array.size < 4000)
    other = _same_shape(b, x)
    tag = b.name("b")
    turns = b.one_of(0, 1, 2, 3, 5)
    nodes = [
        helper.make_node(b.one_of("Add", "Sub", "Max"), [f"{tag}s", other.name], [f"{tag}t"]),
        helper.make_node(b.one_of("Tanh", "Sigmoid", "Relu"), [f"{tag}t"], [f"{tag}u"]),
        helper.make_node("Identity", [f"{tag}c"], [f"{tag}d"]) if b.chance(0.6) else helper.make_node("Less", [f"{tag}i", f"{tag}k"], [f"{tag}d"]),
        helper.make_node("Mul", [f"{tag}u", f"{tag}s" if b.chance(0.5) else other.name], [f"{tag}o"]),
    ]
    if nodes[2].op_type == "Less":
        nodes.insert(0, _constant(f"{tag}k", np.array(1, np.int64)))
    has_scan = b.chance(0.6) and x.rank < 5
    body = helper.make_graph(
        nodes, f"{tag}body", [_info(f"{tag}i", TensorProto.INT64, []), _info(f"{tag}c", TensorProto.BOOL, []), _info(f"{tag}s")],
        [_info(f"{tag}d", TensorProto.BOOL, []), _info(f"{tag}u"), *([_info(f"{tag}o")] if has_scan else [])])
    inputs = [b.constant(np.array(turns, np.int64)), b.constant(np.array(True)) if b.chance(0.6) else None, x]
    return b.add("Loop", inputs, outputs=2 if has_scan else 1, captured=[] if other.name == x.name else [other], body=body)


def scan(b):
    x = b.pick(lambda value: value.rank >= 2 and 0 < value.array.size < 4000)
    tag = b.name("b")
    state = b.constant(b.numbers(*x.shape[1:]))
    factor = b.constant(b.numbers(*x.shape[1:], scale=0.3))
    nodes = [
        helper.make_node("Mul", [f"{tag}s", factor.name], [f"{tag}m"]),
        helper.make_node("Add", [f"{tag}m", f"{tag}x"], [f"{tag}n"]),
        helper.make_node("Tanh", [f"{tag}n"], [f"{tag}o"]),
    ]
    body = helper.make_graph(nodes, f"{tag}body", [_info(f"{tag}s"), _info(f"{tag}x")], [_info(f"{tag}n", shape=x.shape[1:]), _info(f"{tag}o", shape=x.shape[1:])])
    return b.add("Scan", [state, x], outputs=2, captured=[factor], body=body, num_scan_inputs=1, scan_input_directions=b.one_of(None, [1]), scan_output_directions=b.one_of(None, [1]))


def branch(b):
    """If, by a constant or by what the values say, with values from outside in both branches."""
    x = b.pick(lambda value: value.rank and 0 < value.array.size < 4000)
    other = _same_shape(b, x)
    if b.chance(0.3):
        condition = b.constant(np.array(b.chance(0.5)))
    else:
        least = b.add("ReduceMax", [x], keep=False, keepdims=0)
        condition = b.add("Greater", [least, b.constant(np.float32(b.one_of(0.0, 5.0)))], keep=False)
    tag = b.name("b")

    def body(name, first, second):
        nodes = [helper.make_node(first, [x.name, other.name], [f"{name}t"]), helper.make_node(second, [f"{name}t"], [f"{name}o"])]
        if b.chance(0.2):
            nodes, result = [helper.make_node("Identity", [other.name], [f"{name}o"])], f"{name}o"
        else:
            result = f"{name}o"
        return helper.make_graph(nodes, name, [], [_info(result)])

    captured = [x] if x.name == other.name else [x, other]
    return b.add("If", [condition], captured=captured, then_branch=body(f"{tag}then", b.one_of("Add", "Mul"), "Relu"), else_branch=body(f"{tag}else", "Sub", b.one_of("Tanh", "Abs")))


STEPS = {loop: 1, scan: 0.7, branch: 1}
