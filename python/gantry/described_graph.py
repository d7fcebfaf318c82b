# SPDX-License-Identifier: Apache-2.0
"""Converts the C++ description of a graph (graph_description.h) to ONNX protobuf messages."""

from __future__ import annotations

import typing

FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS = range(1, 11)  # onnx.AttributeProto.AttributeType
FIELDS = {FLOAT: "f", INT: "i", STRING: "s", TENSOR: "t", GRAPH: "g", FLOATS: "floats", INTS: "ints", STRINGS: "strings", TENSORS: "tensors",
          GRAPHS: "graphs"}

# Description: a dict of graph_description.h, of a graph, node or value. Message: a protobuf message of the package onnx.
Description = dict[str, typing.Any]
Message = typing.Any


def all_tensors(model: Message) -> typing.Iterator[Message]:
    """Every tensor of the model: initializers and attributes, including those of subgraphs and functions."""
    def of_nodes(nodes: typing.Iterable[Message]) -> typing.Iterator[Message]:
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors
                for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    yield from of_graph(graph)

    def of_graph(graph: Message) -> typing.Iterator[Message]:
        yield from graph.initializer
        yield from of_nodes(graph.node)

    yield from of_graph(model.graph)
    for function in model.functions:
        yield from of_nodes(function.node)


def is_of_one_opset(nodes: list[Description]) -> bool:
    """True if one opset per domain gives every node its schema version."""
    import onnx.defs

    newest: dict[str, int] = {}
    for node in nodes:
        newest[node["domain"]] = max(newest.get(node["domain"], 1), node["since_version"])
    for node in nodes:
        if onnx.defs.has(node["op_type"], newest[node["domain"]], node["domain"]):
            if onnx.defs.get_schema(node["op_type"], newest[node["domain"]], node["domain"]).since_version != node["since_version"]:
                return False
    return True


def model_of(graph: Description, indices: list[int]) -> Message:
    """The nodes as an onnx.ModelProto. Inputs are the values that they read but do not produce, outputs those that other nodes read."""
    import onnx
    from onnx import helper

    nodes = [graph["nodes"][i] for i in indices]
    values = graph["values"]
    made = {i for node in nodes for i in node["outputs"] if i is not None}
    read_inside = [i for node in nodes for i in [*node["inputs"], *node["captures"]] if i is not None]
    read = list(dict.fromkeys(i for i in read_inside if i not in made))
    constants = [i for i in read if values[i]["constant"] is not None]
    chosen = set(indices)
    read_outside = {i for other, node in enumerate(graph["nodes"]) if other not in chosen for i in [*node["inputs"], *node["captures"]]}
    read_outside.update(graph["outputs"])
    outputs = [i for i in made if i in read_outside] or list(made)
    names = {i: value["name"] for i, value in enumerate(values)}
    opsets: dict[str, int] = {}
    for node in every_node(nodes):
        opsets[node["domain"]] = max(opsets.get(node["domain"], 1), node["since_version"])
    proto = helper.make_graph(
        [node_of(node, names) for node in nodes], graph["name"] or "graph", [info_of(values[i]) for i in read if i not in constants],
        [info_of(values[i]) for i in sorted(outputs)], [tensor_of(values[i]["constant"], names[i]) for i in constants])
    return helper.make_model(proto, opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
                             ir_version=min(onnx.IR_VERSION, 10))


def every_node(nodes: list[Description]) -> typing.Iterator[Description]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for _, kind, items in node["attributes"]:
            if kind in (GRAPH, GRAPHS):
                for body in items:
                    yield from every_node(body["nodes"])


def node_of(node: Description, names: dict[int, str]) -> Message:
    from onnx import helper

    def listed(indices: list[int | None]) -> list[str]:
        return [names[i] if i is not None else "" for i in indices]

    proto = helper.make_node(node["op_type"], listed(node["inputs"]), listed(node["outputs"]), name=node["name"], domain=node["domain"])
    for name, kind, items in node["attributes"]:
        attribute = proto.attribute.add(name=name, type=kind)
        if kind in (TENSOR, TENSORS):
            items = [tensor_of(item, f"{name}_{i}") for i, item in enumerate(items)]
        elif kind in (GRAPH, GRAPHS):
            items = [body_of(body, node, names, f"{node['name']}/{name}_{i}/") for i, body in enumerate(items)]
        if kind in (TENSOR, GRAPH):
            getattr(attribute, FIELDS[kind]).CopyFrom(items[0])
        elif kind in (FLOAT, INT, STRING):
            setattr(attribute, FIELDS[kind], items[0])
        else:
            getattr(attribute, FIELDS[kind]).extend(items)
    return proto


def body_of(body: Description, node: Description, outer_names: dict[int, str], prefix: str) -> Message:
    """A subgraph as a GraphProto. Captured values have their names in the enclosing graph."""
    from onnx import helper

    values = body["values"]
    names = {i: prefix + value["name"] for i, value in enumerate(values)}
    for own, outer in zip(body["captures"], node["captures"]):
        if own is not None:
            names[own] = outer_names[outer]
    constants = [i for i, value in enumerate(values) if value["constant"] is not None]
    return helper.make_graph(
        [node_of(inner, names) for inner in body["nodes"]], body["name"] or "body", [info_of(values[i], names[i]) for i in body["inputs"] if i is not None],
        [info_of(values[i], names[i]) for i in body["outputs"]], [tensor_of(values[i]["constant"], names[i]) for i in constants])


def info_of(value: Description, name: str | None = None) -> Message:
    from onnx import helper

    return helper.make_tensor_value_info(name or value["name"], value["dtype"], value["shape"])


def tensor_of(array: typing.Any, name: str) -> Message:
    from onnx import numpy_helper

    return numpy_helper.from_array(array, name)
