# SPDX-License-Identifier: Apache-2.0
"""Models whose inputs leave extents open, as exporters write what will be served with pictures, texts and caches of any size."""


def opened(model, axes):
    """The model with names in place of extents of its inputs, `axes`: {input or its beginning: {axis: name}}, and nothing said of what it makes."""
    graph = model.graph
    for value in graph.input:
        for name, extents in axes.items():
            if not value.name.startswith(name):
                continue
            for axis, symbol in extents.items():
                value.type.tensor_type.shape.dim[axis].dim_param = symbol
    for value in graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
    del graph.value_info[:]
    return model
