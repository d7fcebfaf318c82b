// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/kernel_info.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "objects/api_table.h"
#include "objects/memory.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

std::optional<KernelInfo::Attribute> attribute_of(const gantry_host* host,
                                                  const gantry_attribute& from) {
  switch (from.type) {
    case GANTRY_ATTRIBUTE_INT:
      return from.ints[0];
    case GANTRY_ATTRIBUTE_FLOAT:
      return from.floats[0];
    case GANTRY_ATTRIBUTE_STRING:
      return std::string(sdk::to_view(from.strings[0]));
    case GANTRY_ATTRIBUTE_INTS:
      return std::vector<int64_t>(from.ints, from.ints + from.count);
    case GANTRY_ATTRIBUTE_FLOATS:
      return std::vector<float>(from.floats, from.floats + from.count);
    case GANTRY_ATTRIBUTE_STRINGS: {
      std::vector<std::string> texts;
      for (uint64_t i = 0; i < from.count; ++i) texts.emplace_back(sdk::to_view(from.strings[i]));
      return texts;
    }
    case GANTRY_ATTRIBUTE_TENSOR:
      if (!host->value_tensor(from.tensors[0])) return std::nullopt;
      return copy_of(host, *from.tensors[0]);
    default:
      return std::nullopt;
  }
}

std::vector<NodeValue> values_of(const gantry_graph& graph, const uint32_t* ids, uint32_t count) {
  std::vector<NodeValue> all(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (ids[i] == GANTRY_NONE) continue;
    const gantry_value_info& info = *graph.values[ids[i]];
    all[i].name = sdk::to_view(info.name);
    all[i].type.dtype = info.dtype;
    if (info.rank > 0) all[i].type.shape.assign(info.shape, info.shape + info.rank);
  }
  return all;
}

// Copies a text with its terminator, or tells the size that it needs if `out` is null.
void give_text(const std::string& text, char* out, size_t* size) {
  const size_t needed = text.size() + 1;
  const size_t room = std::exchange(*size, needed);
  if (!out) return;
  if (room < needed) {
    throw ApiError(ErrorCode::kInvalidArgument,
                   "room for " + std::to_string(room) + " bytes of " + std::to_string(needed));
  }
  std::memcpy(out, text.c_str(), needed);
}

// Likewise of numbers; sizes are in elements.
template <class T>
void give_numbers(const std::vector<T>& numbers, T* out, size_t* size) {
  const size_t room = std::exchange(*size, numbers.size());
  if (!out) return;
  if (room < numbers.size()) {
    throw ApiError(
        ErrorCode::kInvalidArgument,
        "room for " + std::to_string(room) + " elements of " + std::to_string(numbers.size()));
  }
  std::copy(numbers.begin(), numbers.end(), out);
}

template <class T>
const T& find(const KernelInfo& info, const char* name) {
  const auto found = info.attributes.find(std::string_view(name));
  const T* attribute = found == info.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (!attribute) {
    throw ApiError(ErrorCode::kFail, info.label() + " has no attribute \"" + name + "\"" +
                                         (found == info.attributes.end() ? "" : " of that type"));
  }
  return *attribute;
}

Status* get_float(const KernelInfo* info, const char* name, float* out) {
  return guarded([&] { *out = find<float>(*info, name); });
}
Status* get_int(const KernelInfo* info, const char* name, int64_t* out) {
  return guarded([&] { *out = find<int64_t>(*info, name); });
}
Status* get_string(const KernelInfo* info, const char* name, char* out, size_t* size) {
  return guarded([&] { give_text(find<std::string>(*info, name), out, size); });
}
Status* get_floats(const KernelInfo* info, const char* name, float* out, size_t* size) {
  return guarded([&] { give_numbers(find<std::vector<float>>(*info, name), out, size); });
}
Status* get_ints(const KernelInfo* info, const char* name, int64_t* out, size_t* size) {
  return guarded([&] { give_numbers(find<std::vector<int64_t>>(*info, name), out, size); });
}
Status* get_tensor(const KernelInfo* info, const char* name, Allocator*, Value** out) {
  return guarded([&] { *out = new Value(find<Value>(*info, name)); });
}

const NodeValue& at(const std::vector<NodeValue>& values, size_t index) {
  if (index >= values.size()) {
    throw ApiError(
        ErrorCode::kInvalidArgument,
        "value " + std::to_string(index) + " of a node that has " + std::to_string(values.size()));
  }
  return values[index];
}

Status* get_input_count(const KernelInfo* info, size_t* out) {
  *out = info->inputs.size();
  return nullptr;
}
Status* get_output_count(const KernelInfo* info, size_t* out) {
  *out = info->outputs.size();
  return nullptr;
}
Status* get_input_name(const KernelInfo* info, size_t index, char* out, size_t* size) {
  return guarded([&] { give_text(at(info->inputs, index).name, out, size); });
}
Status* get_output_name(const KernelInfo* info, size_t index, char* out, size_t* size) {
  return guarded([&] { give_text(at(info->outputs, index).name, out, size); });
}
Status* get_input_type(const KernelInfo* info, size_t index, TypeInfo** out) {
  return guarded([&] { *out = new TypeInfo{.tensor = at(info->inputs, index).type}; });
}
Status* get_output_type(const KernelInfo* info, size_t index, TypeInfo** out) {
  return guarded([&] { *out = new TypeInfo{.tensor = at(info->outputs, index).type}; });
}
Status* get_name(const KernelInfo* info, char* out, size_t* size) {
  return guarded([&] { give_text(info->name, out, size); });
}
Status* get_domain(const KernelInfo* info, char* out, size_t* size) {
  return guarded([&] { give_text(info->domain, out, size); });
}
Status* get_op_type(const KernelInfo* info, char* out, size_t* size) {
  return guarded([&] { give_text(info->op_type, out, size); });
}
Status* get_since_version(const KernelInfo* info, int* out) {
  *out = info->since_version;
  return nullptr;
}

Status* get_constant(KernelInfo* info, size_t index, int* is_constant, const Value** out) {
  return guarded([&] {
    *out = info->constant(index);
    *is_constant = *out ? 1 : 0;
  });
}
Status* get_logger(const KernelInfo* info, const Logger** out) {
  *out = &info->logger;
  return nullptr;
}
Status* get_allocator(const KernelInfo*, int, Allocator** out) {
  *out = &host_allocator();
  return nullptr;
}

Status* copy_info(const KernelInfo* info, KernelInfo** out) {
  return guarded([&] {
    auto copy = std::make_unique<KernelInfo>(*info);
    copy->forget_graph();
    *out = copy.release();
  });
}
void release_info(KernelInfo* info) { delete info; }

}  // namespace

KernelInfo::KernelInfo(const gantry_host* host, const gantry_graph& graph, const gantry_node& node)
    : name(sdk::to_view(node.name)),
      op_type(sdk::to_view(node.op_type)),
      domain(sdk::to_view(node.domain)),
      since_version(node.since_version),
      inputs(values_of(graph, node.inputs, node.input_count)),
      outputs(values_of(graph, node.outputs, node.output_count)),
      logger{host} {
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    const gantry_attribute& from = *node.attributes[i];
    if (auto attribute = attribute_of(host, from))
      attributes.emplace(sdk::to_view(from.name), *std::move(attribute));
  }
  for (uint32_t i = 0; i < node.input_count; ++i) {
    const gantry_value* value =
        node.inputs[i] == GANTRY_NONE ? nullptr : graph.values[node.inputs[i]]->constant;
    if (value && host->value_tensor(value)) borrowed.emplace(i, value);
  }
}

const Value* KernelInfo::constant(size_t input) {
  if (const auto known = constants.find(input); known != constants.end()) return &known->second;
  const auto found = borrowed.find(input);
  if (found == borrowed.end()) return nullptr;
  return &constants.emplace(input, copy_of(logger.host, *found->second)).first->second;
}

void add_kernel_info_functions(ApiTable& table) {
  table.set(Slot::kKernelInfoGetAttributeFloat, get_float);
  table.set(Slot::kKernelInfoGetAttributeInt64, get_int);
  table.set(Slot::kKernelInfoGetAttributeString, get_string);
  table.set(Slot::kKernelInfoGetAttributeArrayFloat, get_floats);
  table.set(Slot::kKernelInfoGetAttributeArrayInt64, get_ints);
  table.set(Slot::kKernelInfoGetAttributeTensor, get_tensor);
  table.set(Slot::kKernelInfoGetInputCount, get_input_count);
  table.set(Slot::kKernelInfoGetOutputCount, get_output_count);
  table.set(Slot::kKernelInfoGetInputName, get_input_name);
  table.set(Slot::kKernelInfoGetOutputName, get_output_name);
  table.set(Slot::kKernelInfoGetInputTypeInfo, get_input_type);
  table.set(Slot::kKernelInfoGetOutputTypeInfo, get_output_type);
  table.set(Slot::kKernelInfoGetNodeName, get_name);
  table.set(Slot::kKernelInfoGetOperatorDomain, get_domain);
  table.set(Slot::kKernelInfoGetOperatorType, get_op_type);
  table.set(Slot::kKernelInfoGetOperatorSinceVersion, get_since_version);
  table.set(Slot::kKernelInfoGetConstantInputTensor, get_constant);
  table.set(Slot::kKernelInfoGetLogger, get_logger);
  table.set(Slot::kKernelInfoGetAllocator, get_allocator);
  table.set(Slot::kCopyKernelInfo, copy_info);
  table.set(Slot::kReleaseKernelInfo, release_info);
}

}  // namespace gantry::ort
