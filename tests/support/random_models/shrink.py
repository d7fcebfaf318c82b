# SPDX-License-Identifier: Apache-2.0
"""Cuts a model on which two disagree down to what they disagree on: `shrink.py FOLDER WAY`, a folder that compare.py kept; prints the model and keeps it as FOLDER/small.onnx."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from oracle import run_exact  # noqa: E402
from random_models import compare  # noqa: E402


def all_values(model, feeds):
    """Every value of the main graph, as ONNX Runtime computes it."""
    names = [name for node in model.graph.node for name in node.output if name]
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    del wider.graph.output[:]
    wider.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    found = dict(zip(names, run_exact(wider, feeds), strict=True))
    return found | feeds | {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def _info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def part(model, nodes, outputs, values, constants):
    """The model of these nodes; what they read from elsewhere is an input, or a constant where the model had one. Extents stay open."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    infos = {value.name: value for value in [*inferred.input, *inferred.output, *inferred.value_info]}
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if any(name in needed for name in node.output):
            kept.insert(0, node)
            needed.update(_reads(node))
    made = {name for node in kept for name in node.output}
    free = sorted(name for name in needed if name not in made and name in values)
    initializers = [numpy_helper.from_array(values[name], name) for name in free if name in constants]
    inputs = {name: values[name] for name in free if name not in constants}
    graph = helper.make_graph(kept, "small", [infos.get(name) or _info(name, array) for name, array in inputs.items()],
                              [infos.get(name) or _info(name, values[name]) for name in outputs], initializers)
    return helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version, functions=list(model.functions)), inputs


def _reads(node):
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _reads(inner)


def shrink(model, feeds, way):
    """The smallest model found, and its inputs, on which the same way fails in the same kind."""
    values = all_values(model, feeds)
    constants = {tensor.name for tensor in model.graph.initializer} | {name for node in model.graph.node if node.op_type == "Constant" for name in node.output}
    kind = compare.check(model, feeds, [way])[way].split(":")[0]

    def fails(nodes, outputs):
        if not outputs:
            return False
        found = compare.check(*part(model, nodes, outputs, values, constants), [way])
        return found.get(way, "").split(":")[0] == kind

    nodes = list(model.graph.node)
    outputs = [value.name for value in model.graph.output]
    if not fails(nodes, outputs):
        return model, feeds
    has_changed = True
    while has_changed:
        has_changed = False
        for name in list(outputs):
            if len(outputs) > 1 and fails(nodes, [other for other in outputs if other != name]):
                outputs.remove(name)
                has_changed = True
        for node in list(nodes):
            rest = [other for other in nodes if other is not node]
            made = {name for other in rest for name in other.output}
            still = [name for name in outputs if name not in node.output]
            before = [name for name in dict.fromkeys(_reads(node)) if name in made and name not in constants and name not in still]
            for wanted in (still, still + before):
                if fails(rest, wanted):
                    nodes, outputs, has_changed = rest, wanted, True
                    break
    return part(model, nodes, outputs, values, constants)


def main():
    folder, way = pathlib.Path(sys.argv[1]), sys.argv[2]
    model = onnx.load(folder / "model.onnx")
    with np.load(folder / "feeds.npz") as file:
        feeds = dict(file)
    model, feeds = shrink(model, feeds, way)
    onnx.save(model, folder / "small.onnx")
    np.savez(folder / "small.npz", **feeds)
    for tensor in model.graph.initializer:
        print(tensor.name, numpy_helper.to_array(tensor).dtype, list(tensor.dims), numpy_helper.to_array(tensor).ravel()[:6])
    print(onnx.printer.to_text(model.graph)[:6000])
    for name, message in compare.check(model, feeds).items():
        print(name, message)


if __name__ == "__main__":
    main()
