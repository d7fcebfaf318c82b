// SPDX-License-Identifier: Apache-2.0
#include "host_fragment.h"

#include <gantry/error.h>

#include <cstring>
#include <exception>

#include "host.h"
#include "model_writer.h"

namespace gantry::checks {
namespace {

[[noreturn]] void unsupported(const gantry_node& node, const std::string& what) {
  throw Error(Code::kUnsupported, "fragment_model: the checks write no model of " +
                                      to_string(node.op_type) + " with " + what);
}

ModelAttribute attribute_of(const gantry_node& node, const gantry_attribute& from) {
  ModelAttribute to{to_string(from.name), {}};
  switch (from.type) {
    case GANTRY_ATTRIBUTE_INT:
      to.value = from.ints[0];
      return to;
    case GANTRY_ATTRIBUTE_FLOAT:
      to.value = from.floats[0];
      return to;
    case GANTRY_ATTRIBUTE_STRING:
      to.value = to_string(from.strings[0]);
      return to;
    case GANTRY_ATTRIBUTE_INTS:
      to.value = std::vector<int64_t>(from.ints, from.ints + from.count);
      return to;
    default:
      unsupported(node, "an attribute of type " + std::to_string(from.type));
  }
}

// Copies a constant of the checks' graphs, a numeric tensor.
Tensor copy_of(const gantry_value& constant) {
  const gantry_tensor& from = reinterpret_cast<const HostValue&>(constant).tensor;
  Tensor to(static_cast<DType>(from.dtype), {from.shape, from.shape + from.rank});
  std::memcpy(to.data(), from.data, to.size_bytes());
  return to;
}

std::vector<std::byte> model_of(const HostFragment& fragment) {
  const gantry_graph& graph = *fragment.graph;
  const gantry_node& node = *graph.nodes[fragment.node];
  OneNodeModel model;
  model.op_type = to_string(node.op_type);
  model.domain = to_string(node.domain);
  model.opset = node.since_version;
  for (uint32_t i = 0; i < node.input_count; ++i) {
    ModelInput& input = model.inputs.emplace_back();
    if (node.inputs[i] == GANTRY_NONE) continue;
    const gantry_value_info& value = *graph.values[node.inputs[i]];
    input.name = to_string(value.name);
    if (value.constant) input.constant = copy_of(*value.constant);
    input.dtype = static_cast<DType>(value.dtype);
    for (int32_t axis = 0; axis < value.rank; ++axis) input.shape.push_back(value.shape[axis]);
  }
  for (uint32_t i = 0; i < node.output_count; ++i) {
    const gantry_value_info& value = *graph.values[node.outputs[i]];
    model.outputs.push_back(static_cast<DType>(value.dtype));
    model.output_names.push_back(to_string(value.name));
  }
  for (uint32_t i = 0; i < node.attribute_count; ++i)
    model.attributes.push_back(attribute_of(node, *node.attributes[i]));
  return serialize(model);
}

gantry_error* fragment_model(gantry_fragment* fragment, void* target,
                             void (*write)(void* target, const void* data, uint64_t size_bytes)) {
  if (!fragment || !write)
    return make_error(GANTRY_INVALID_ARGUMENT, "fragment_model: expected the fragment, found null");
  try {
    const auto bytes = model_of(*reinterpret_cast<const HostFragment*>(fragment));
    write(target, bytes.data(), bytes.size());
    return nullptr;
  } catch (const Error& error) {
    return make_error(static_cast<uint32_t>(error.code()), error.message());
  } catch (const std::exception& error) {
    return make_error(GANTRY_INTERNAL, error.what());
  }
}

gantry_error* fragment_weight(gantry_fragment*, uint64_t index, const void**, uint64_t*) {
  return make_error(GANTRY_INVALID_ARGUMENT, "fragment_weight: index " + std::to_string(index) +
                                                 " is out of range; the model names no weights");
}

}  // namespace

void add_fragment_services(gantry_host& table) {
  table.fragment_model = fragment_model;
  table.fragment_weight = fragment_weight;
}

}  // namespace gantry::checks
