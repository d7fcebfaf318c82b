// SPDX-License-Identifier: Apache-2.0
#include "graph_description.h"

#include <gantry/sdk/error.h>
#include <gantry/session.h>

#include <cstring>
#include <string>
#include <vector>

#include "arrays.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

nb::str text_of(gantry_str text) {
  return nb::str(text.data ? text.data : "", static_cast<size_t>(text.length));
}

nb::list indices(const uint32_t* items, uint32_t count) {
  nb::list list;
  for (uint32_t i = 0; i < count; ++i) {
    if (items[i] == GANTRY_NONE) {
      list.append(nb::none());
    } else {
      list.append(items[i]);
    }
  }
  return list;
}

nb::object shape_of(const gantry_value_info& info) {
  if (info.rank < 0) return nb::none();
  nb::list extents;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    const gantry_str symbol = info.symbols ? info.symbols[axis] : gantry_str{};
    if (info.shape[axis] >= 0) {
      extents.append(info.shape[axis]);
    } else if (symbol.length > 0) {
      extents.append(text_of(symbol));
    } else {
      extents.append(nb::none());
    }
  }
  return nb::object(extents);
}

nb::object constant_of(const gantry_host* host, const gantry_value_info& info) {
  if (!info.constant) return nb::none();
  const gantry_tensor* tensor = host->value_tensor(info.constant);
  if (!tensor || tensor->size_bytes > kMostDescribedBytes) return nb::none();
  return copied_array(host, info.constant);
}

nb::dict describe_value(const gantry_host* host, const gantry_value_info& info) {
  nb::dict value;
  value["name"] = text_of(info.name);
  value["kind"] = info.kind;
  value["dtype"] = info.dtype;
  value["shape"] = shape_of(info);
  value["constant"] = constant_of(host, info);
  return value;
}

nb::list items_of(const gantry_host* host, const gantry_attribute& attribute) {
  nb::list items;
  for (uint64_t i = 0; i < attribute.count; ++i) {
    switch (attribute.type) {
      case GANTRY_ATTRIBUTE_INT:
      case GANTRY_ATTRIBUTE_INTS:
        items.append(attribute.ints[i]);
        break;
      case GANTRY_ATTRIBUTE_FLOAT:
      case GANTRY_ATTRIBUTE_FLOATS:
        items.append(attribute.floats[i]);
        break;
      case GANTRY_ATTRIBUTE_STRING:
      case GANTRY_ATTRIBUTE_STRINGS:
        items.append(nb::bytes(attribute.strings[i].data, attribute.strings[i].length));
        break;
      case GANTRY_ATTRIBUTE_TENSOR:
      case GANTRY_ATTRIBUTE_TENSORS:
        items.append(copied_array(host, attribute.tensors[i]));
        break;
      default:
        items.append(describe_graph(host, *attribute.graphs[i]));
    }
  }
  return items;
}

nb::dict describe_node(const gantry_host* host, const gantry_node& node) {
  nb::dict description;
  description["name"] = text_of(node.name);
  description["op_type"] = text_of(node.op_type);
  description["domain"] = text_of(node.domain);
  description["overload"] = text_of(node.overload);
  description["since_version"] = node.since_version;
  description["inputs"] = indices(node.inputs, node.input_count);
  description["outputs"] = indices(node.outputs, node.output_count);
  description["captures"] = indices(node.captures, node.capture_count);
  nb::list attributes;
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    const gantry_attribute& attribute = *node.attributes[i];
    attributes.append(
        nb::make_tuple(text_of(attribute.name), attribute.type, items_of(host, attribute)));
  }
  description["attributes"] = attributes;
  return description;
}

}  // namespace

nb::dict describe_graph(const gantry_host* host, const gantry_graph& graph) {
  nb::dict description;
  description["name"] = text_of(graph.name);
  description["inputs"] = indices(graph.inputs, graph.input_count);
  description["outputs"] = indices(graph.outputs, graph.output_count);
  description["captures"] = indices(graph.captures, graph.capture_count);
  nb::list values;
  for (uint32_t i = 0; i < graph.value_count; ++i)
    values.append(describe_value(host, *graph.values[i]));
  description["values"] = values;
  nb::list nodes;
  for (uint32_t i = 0; i < graph.node_count; ++i)
    nodes.append(describe_node(host, *graph.nodes[i]));
  description["nodes"] = nodes;
  return description;
}

nb::object copied_array(const gantry_host* host, const gantry_value* value) {
  const gantry_tensor* tensor = host->value_tensor(value);
  if (!tensor) return nb::none();
  const std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->rank);
  const auto dtype = static_cast<DType>(tensor->dtype);
  if (dtype != DType::kString) {
    Tensor copy(dtype, shape);
    if (tensor->size_bytes > 0) std::memcpy(copy.data(), tensor->data, tensor->size_bytes);
    return array_of(copy);
  }
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  std::vector<std::string> strings(count);
  for (uint64_t i = 0; i < count; ++i) {
    gantry_str text = {};
    sdk::check(host, host->value_string(value, i, &text));
    strings[i] = sdk::to_view(text);
  }
  return array_of(Tensor(shape, std::move(strings)));
}

}  // namespace gantry::python
