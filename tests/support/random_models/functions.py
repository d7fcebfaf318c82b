# SPDX-License-Identifier: Apache-2.0
"""A stretch of a model's nodes becomes a function of its own, or the branch of an If that is always or never taken."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def _reads(node):
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        made = {name for inner in attribute.g.node for name in inner.output} | {value.name for value in attribute.g.input}
        for inner in attribute.g.node:
            yield from (name for name in _reads(inner) if name not in made)


def _stretch(model, rng):
    """First and last node, what they read from before, and what is read of theirs behind."""
    nodes = list(model.graph.node)
    first = next((i for i, node in enumerate(nodes) if node.op_type != "Constant"), 0)
    begin = int(rng.integers(first, len(nodes)))
    end = min(len(nodes), begin + int(rng.integers(1, 6)))
    inside = nodes[begin:end]
    made = [name for node in inside for name in node.output if name]
    reads = list(dict.fromkeys(name for node in inside for name in _reads(node) if name not in made))
    later = {name for node in nodes[end:] for name in _reads(node)} | {value.name for value in model.graph.output}
    return begin, end, reads, [name for name in made if name in later]


def in_function(model, rng):
    begin, end, reads, results = _stretch(model, rng)
    inside = list(model.graph.node)[begin:end]
    if not results or not reads:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    inner = [helper.make_node("Constant", [], [name], value=constants[name]) for name in reads if name in constants]
    outer = [name for name in reads if name not in constants]
    function = helper.make_function("local", "Stretch", outer, results, inner + inside, list(model.opset_import))
    changed.functions.append(function)
    changed.opset_import.append(helper.make_opsetid("local", 1))
    del changed.graph.node[begin:end]
    changed.graph.node.insert(begin, helper.make_node("Stretch", outer, results, name="call", domain="local"))
    return changed


def in_branch(model, rng):
    begin, end, _, results = _stretch(model, rng)
    inside = list(model.graph.node)[begin:end]
    if not results:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    renamed = {name: f"in_{name}" for node in inside for name in node.output if name}

    def copies(prefix, last):
        nodes = []
        for node in inside:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name = prefix + node.name
            for names in (copy.input, copy.output):
                for i, name in enumerate(names):
                    if name in renamed:
                        names[i] = prefix + renamed[name]
            if any(attribute.HasField("g") for attribute in copy.attribute):
                return None
            nodes.append(copy)
        for name in results:
            nodes.append(helper.make_node(last, [prefix + renamed[name]], [prefix + name]))
        return helper.make_graph(nodes, prefix, [], [onnx.ValueInfoProto(name=prefix + name) for name in results])

    then, other = copies("then_", "Identity"), copies("else_", "Identity")
    if then is None:
        return model
    is_taken = bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        changed.graph.initializer.append(numpy_helper.from_array(np.array(is_taken), "taken"))
    else:
        changed.graph.input.append(helper.make_tensor_value_info("taken", TensorProto.BOOL, []))
    del changed.graph.node[begin:end]
    changed.graph.node.insert(begin, helper.make_node("If", ["taken"], results, name="branch", then_branch=then, else_branch=other))
    return changed
