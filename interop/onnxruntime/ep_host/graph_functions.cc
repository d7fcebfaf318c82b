// SPDX-License-Identifier: Apache-2.0
// The functions by which a provider reads a graph. Any thread.
#include <algorithm>
#include <cstring>
#include <string>

#include "ep_host/functions.h"
#include "ep_host/seen_graph.h"
#include "objects/api_table.h"
#include "objects/attribute_kind.h"
#include "objects/host_value.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

/// Writes as many pointers as there are; the caller made room for `room`.
template <class T, class Item>
Status* give_all(const std::vector<Item>& all, const T** out, size_t room) {
  return guarded([&] {
    if (room < all.size()) {
      throw ApiError(ErrorCode::kInvalidArgument, "room for " + std::to_string(room) +
                                                      " objects of " + std::to_string(all.size()));
    }
    std::transform(all.begin(), all.end(), out, [](const Item& item) { return &*item; });
  });
}
Status* give_all(const std::vector<const SeenValue*>& all, const SeenValue** out, size_t room) {
  return guarded([&] {
    if (room < all.size()) {
      throw ApiError(ErrorCode::kInvalidArgument, "room for " + std::to_string(room) +
                                                      " values of " + std::to_string(all.size()));
    }
    std::copy(all.begin(), all.end(), out);
  });
}

/// Functions that return a member of an object, and those that count its parts.
template <auto Member, class Object, class Result>
Status* get_member(const Object* object, Result* out) {
  *out = object->*Member;
  return nullptr;
}
template <auto Member, class Object>
Status* get_text(const Object* object, const char** out) {
  *out = (object->*Member).c_str();
  return nullptr;
}
template <auto Member, class Object>
Status* get_count(const Object* object, size_t* out) {
  *out = (object->*Member).size();
  return nullptr;
}
template <auto Member, class Object, class Part>
Status* get_parts(const Object* object, const Part** out, size_t room) {
  return give_all(object->*Member, out, room);
}

Status* get_type(const SeenValue* value, const TypeInfo** out) {
  *out = &value->type;
  return nullptr;
}
Status* get_maker(const SeenValue* value, const SeenNode** node, size_t* output) {
  *node = value->maker;
  *output = value->output;
  return nullptr;
}
Status* get_uses(const SeenValue* value, const SeenNode** nodes, int64_t* inputs, size_t room) {
  return guarded([&] {
    if (room < value->uses.size())
      throw ApiError(ErrorCode::kInvalidArgument, "there is no room for all readers of a value");
    for (size_t i = 0; i < value->uses.size(); ++i) {
      nodes[i] = value->uses[i].node;
      inputs[i] = value->uses[i].input;
    }
  });
}
Status* get_initializer(const SeenValue* value, const Value** out) {
  *out = value->constant.get();
  return nullptr;
}
Status* get_external_initializer(const SeenValue*, void** out) {
  *out = nullptr;  // all are in memory
  return nullptr;
}
Status* is_constant(const SeenValue* value, bool* out) {
  *out = value->constant != nullptr;
  return nullptr;
}
Status* is_optional_input(const SeenValue*, bool* out) {
  *out = false;
  return nullptr;
}

Status* get_model_path(const SeenGraph*, const char** out) {
  *out = "";
  return nullptr;
}
Status* get_ir_version(const SeenGraph*, int64_t* out) {
  constexpr int64_t kIrVersion = 10;
  *out = kIrVersion;
  return nullptr;
}
Status* get_opsets(const SeenGraph* graph, const char** domains, int64_t* versions, size_t room) {
  return guarded([&] {
    if (room < graph->opsets.size())
      throw ApiError(ErrorCode::kInvalidArgument, "there is no room for all operator sets");
    for (const auto& [domain, version] : graph->opsets) {
      *domains++ = domain.c_str();
      *versions++ = version;
    }
  });
}
Status* get_view(const SeenGraph* graph, const SeenNode** nodes, size_t count, SeenGraph** out) {
  return guarded([&] {
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(static_cast<uint32_t>(nodes[i]->id));
    std::sort(ids.begin(), ids.end());
    *out = new SeenGraph(graph->host, graph->from, ids);
  });
}
void release_graph(SeenGraph* graph) { delete graph; }

Status* get_attribute(const SeenNode* node, const char* name, const SeenAttribute** out) {
  const auto found = std::find_if(node->attributes.begin(), node->attributes.end(),
                                  [&](const auto& attribute) { return attribute->name == name; });
  *out = found == node->attributes.end() ? nullptr : found->get();
  return nullptr;
}
Status* get_bodies(const SeenNode* node, const SeenGraph** bodies, size_t room,
                   const char** names) {
  for (size_t i = 0; names && i < std::min(room, node->body_names.size()); ++i)
    names[i] = node->body_names[i].c_str();
  return give_all(node->bodies, bodies, room);
}
Status* get_ep_name(const SeenNode*, const char** out) {
  *out = "";  // a claim is asked for before any node is placed
  return nullptr;
}

AttributeKind kind_of(const SeenAttribute& attribute) {
  switch (attribute.from->type) {
    case GANTRY_ATTRIBUTE_INT:
      return AttributeKind::kInt;
    case GANTRY_ATTRIBUTE_INTS:
      return AttributeKind::kInts;
    case GANTRY_ATTRIBUTE_FLOAT:
      return AttributeKind::kFloat;
    case GANTRY_ATTRIBUTE_FLOATS:
      return AttributeKind::kFloats;
    case GANTRY_ATTRIBUTE_STRING:
      return AttributeKind::kString;
    case GANTRY_ATTRIBUTE_STRINGS:
      return AttributeKind::kStrings;
    case GANTRY_ATTRIBUTE_GRAPH:
      return AttributeKind::kGraph;
    case GANTRY_ATTRIBUTE_TENSOR:
      return AttributeKind::kTensor;
    default:
      return AttributeKind::kUndefined;
  }
}

Status* get_kind(const SeenAttribute* attribute, int* out) {
  *out = static_cast<int>(kind_of(*attribute));
  return nullptr;
}
Status* get_tensor(const SeenAttribute* attribute, Value** out) {
  return guarded([&] {
    if (attribute->from->type != GANTRY_ATTRIBUTE_TENSOR)
      throw ApiError(ErrorCode::kInvalidArgument, "attribute " + attribute->name + " is no tensor");
    *out = new Value(copy_of(attribute->host, *attribute->from->tensors[0]));
  });
}

/// The elements of an attribute in the form that the API has for them.
std::string bytes_of(const SeenAttribute& attribute) {
  const gantry_attribute& from = *attribute.from;
  const auto numbers = [&](const auto* data) {
    return std::string(reinterpret_cast<const char*>(data), from.count * sizeof(*data));
  };
  switch (kind_of(attribute)) {
    case AttributeKind::kInt:
    case AttributeKind::kInts:
      return numbers(from.ints);
    case AttributeKind::kFloat:
    case AttributeKind::kFloats:
      return numbers(from.floats);
    case AttributeKind::kString:
      return std::string(sdk::to_view(from.strings[0]));
    case AttributeKind::kStrings: {
      std::string all;
      for (uint64_t i = 0; i < from.count; ++i) {
        all.append(sdk::to_view(from.strings[i]));
        all += '\0';
      }
      return all;
    }
    default:
      throw ApiError(ErrorCode::kInvalidArgument,
                     "attribute " + attribute.name + " has no elements that can be read");
  }
}

Status* read_attribute(const SeenAttribute* attribute, int kind, void* data, size_t room,
                       size_t* size) {
  return guarded([&] {
    if (kind != static_cast<int>(kind_of(*attribute))) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     "attribute " + attribute->name + " is of another type");
    }
    const std::string bytes = bytes_of(*attribute);
    *size = bytes.size();
    if (room < bytes.size()) {
      throw ApiError(ErrorCode::kInvalidArgument, "room for " + std::to_string(room) +
                                                      " bytes of " + std::to_string(bytes.size()));
    }
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  });
}

}  // namespace

void add_graph_functions(ApiTable& table) {
  table.set(Slot::kGetValueInfoName, get_text<&SeenValue::name, SeenValue>);
  table.set(Slot::kGetValueInfoTypeInfo, get_type);
  table.set(Slot::kValueInfoGetValueProducer, get_maker);
  table.set(Slot::kValueInfoGetValueNumConsumers, get_count<&SeenValue::uses, SeenValue>);
  table.set(Slot::kValueInfoGetValueConsumers, get_uses);
  table.set(Slot::kValueInfoGetInitializerValue, get_initializer);
  table.set(Slot::kValueInfoGetExternalInitializerInfo, get_external_initializer);
  table.set(Slot::kValueInfoIsRequiredGraphInput,
            get_member<&SeenValue::is_input, SeenValue, bool>);
  table.set(Slot::kValueInfoIsOptionalGraphInput, is_optional_input);
  table.set(Slot::kValueInfoIsGraphOutput, get_member<&SeenValue::is_output, SeenValue, bool>);
  table.set(Slot::kValueInfoIsConstantInitializer, is_constant);
  table.set(Slot::kValueInfoIsFromOuterScope, get_member<&SeenValue::is_outer, SeenValue, bool>);

  table.set(Slot::kGraphGetName, get_text<&SeenGraph::name, SeenGraph>);
  table.set(Slot::kGraphGetModelPath, get_model_path);
  table.set(Slot::kGraphGetOnnxIrVersion, get_ir_version);
  table.set(Slot::kGraphGetNumOperatorSets, get_count<&SeenGraph::opsets, SeenGraph>);
  table.set(Slot::kGraphGetOperatorSets, get_opsets);
  table.set(Slot::kGraphGetNumInputs, get_count<&SeenGraph::inputs, SeenGraph>);
  table.set(Slot::kGraphGetInputs, get_parts<&SeenGraph::inputs, SeenGraph, SeenValue>);
  table.set(Slot::kGraphGetNumOutputs, get_count<&SeenGraph::outputs, SeenGraph>);
  table.set(Slot::kGraphGetOutputs, get_parts<&SeenGraph::outputs, SeenGraph, SeenValue>);
  table.set(Slot::kGraphGetNumInitializers, get_count<&SeenGraph::constants, SeenGraph>);
  table.set(Slot::kGraphGetInitializers, get_parts<&SeenGraph::constants, SeenGraph, SeenValue>);
  table.set(Slot::kGraphGetNumNodes, get_count<&SeenGraph::nodes, SeenGraph>);
  table.set(Slot::kGraphGetNodes, get_parts<&SeenGraph::nodes, SeenGraph, SeenNode>);
  table.set(Slot::kGraphGetParentNode, get_member<&SeenGraph::parent, SeenGraph, const SeenNode*>);
  table.set(Slot::kGraphGetGraphView, get_view);
  table.set(Slot::kReleaseGraph, release_graph);

  table.set(Slot::kNodeGetId, get_member<&SeenNode::id, SeenNode, size_t>);
  table.set(Slot::kNodeGetName, get_text<&SeenNode::name, SeenNode>);
  table.set(Slot::kNodeGetOperatorType, get_text<&SeenNode::op_type, SeenNode>);
  table.set(Slot::kNodeGetDomain, get_text<&SeenNode::domain, SeenNode>);
  table.set(Slot::kNodeGetSinceVersion, get_member<&SeenNode::since_version, SeenNode, int>);
  table.set(Slot::kNodeGetNumInputs, get_count<&SeenNode::inputs, SeenNode>);
  table.set(Slot::kNodeGetInputs, get_parts<&SeenNode::inputs, SeenNode, SeenValue>);
  table.set(Slot::kNodeGetNumOutputs, get_count<&SeenNode::outputs, SeenNode>);
  table.set(Slot::kNodeGetOutputs, get_parts<&SeenNode::outputs, SeenNode, SeenValue>);
  table.set(Slot::kNodeGetNumImplicitInputs, get_count<&SeenNode::captured, SeenNode>);
  table.set(Slot::kNodeGetImplicitInputs, get_parts<&SeenNode::captured, SeenNode, SeenValue>);
  table.set(Slot::kNodeGetNumAttributes, get_count<&SeenNode::attributes, SeenNode>);
  table.set(Slot::kNodeGetAttributes, get_parts<&SeenNode::attributes, SeenNode, SeenAttribute>);
  table.set(Slot::kNodeGetAttributeByName, get_attribute);
  table.set(Slot::kNodeGetNumSubgraphs, get_count<&SeenNode::bodies, SeenNode>);
  table.set(Slot::kNodeGetSubgraphs, get_bodies);
  table.set(Slot::kNodeGetGraph, get_member<&SeenNode::graph, SeenNode, const SeenGraph*>);
  table.set(Slot::kNodeGetEpName, get_ep_name);

  table.set(Slot::kOpAttrGetName, get_text<&SeenAttribute::name, SeenAttribute>);
  table.set(Slot::kOpAttrGetType, get_kind);
  table.set(Slot::kOpAttrGetTensorAttributeAsOrtValue, get_tensor);
  table.set(Slot::kReadOpAttr, read_attribute);
}

}  // namespace gantry::ort
