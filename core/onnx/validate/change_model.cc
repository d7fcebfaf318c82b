// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/change_model.h"

#include <gantry/error.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/names.h"
#include "base/value.h"

namespace gantry {
namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// "a", "b", ... of names for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    text += (text.empty() ? "" : ", ") + quoted(names[i]);
  if (names.size() > kMostNamed) text += ", ...";
  return text.empty() ? "none" : text;
}

std::vector<std::string> initializer_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
    names.push_back(tensor.values().name());
  return names;
}

// The initializer of that name, a sparse one made dense; null: there is none. Of two with one name
// the last one counts.
onnx::TensorProto* find_initializer(onnx::GraphProto& graph, const std::string& name) {
  auto& dense = *graph.mutable_initializer();
  for (int i = dense.size() - 1; i >= 0; --i) {
    if (dense[i].name() == name) return &dense[i];
  }
  auto& sparse = *graph.mutable_sparse_initializer();
  for (int i = sparse.size() - 1; i >= 0; --i) {
    if (sparse[i].values().name() != name) continue;
    onnx::TensorProto* tensor = dense.Add();
    tensor->set_name(name);
    tensor->set_data_type(sparse[i].values().data_type());
    *tensor->mutable_dims() = sparse[i].dims();
    sparse.DeleteSubrange(i, 1);
    return tensor;
  }
  return nullptr;
}

void require_same_type(const onnx::TensorProto& tensor, const Value& value) {
  const std::string subject = "initializer " + quoted(tensor.name());
  const auto dtype = static_cast<DType>(tensor.data_type());
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (!value.handle()) throw Error(Code::kInvalidArgument, subject + ": the value is empty");
  const gantry_value& given = *value.handle();
  if (given.device) {
    throw Error(Code::kInvalidArgument, subject +
                                            ": expected a tensor in host memory, found one on " +
                                            given.device->name.to_string());
  }
  if (given.kind != GANTRY_KIND_TENSOR || given.dtype != dtype || given.shape != shape) {
    throw Error(Code::kInvalidArgument, subject + ": expected " + describe(dtype, shape) +
                                            " as in the model, found " + describe(given));
  }
}

// Calls visit(TensorShapeProto::Dimension&) for the extents of a type's tensors. A tensor of
// unknown rank has none, and stays without a shape.
template <class Visit>
void for_each_extent(onnx::TypeProto& type, const Visit& visit) {
  if (type.has_tensor_type() && type.tensor_type().has_shape()) {
    for (auto& extent : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) visit(extent);
  } else if (type.has_sequence_type()) {
    for_each_extent(*type.mutable_sequence_type()->mutable_elem_type(), visit);
  } else if (type.has_optional_type()) {
    for_each_extent(*type.mutable_optional_type()->mutable_elem_type(), visit);
  } else if (type.has_map_type()) {
    for_each_extent(*type.mutable_map_type()->mutable_value_type(), visit);
  }
}

// The same for the values of a list.
template <class Visit>
void for_each_extent(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values,
                     const Visit& visit) {
  for (onnx::ValueInfoProto& value : values) {
    if (value.has_type()) for_each_extent(*value.mutable_type(), visit);
  }
}

// Extents by name alone: what stands for a denotation becomes the names of the dimensions of inputs
// that have it, or their extents at once if they have no name. Takes out of `unused` what an input
// has, and adds the names of the inputs' dimensions to `known`.
std::map<std::string, int64_t> by_name(onnx::GraphProto& graph,
                                       const std::map<std::string, int64_t>& extents,
                                       std::set<std::string>& unused,
                                       std::set<std::string>& known) {
  std::map<std::string, int64_t> named;
  for_each_extent(*graph.mutable_input(), [&](auto& extent) {
    if (extent.has_dim_value()) return;
    if (!extent.dim_param().empty()) known.insert(extent.dim_param());
    auto found = extents.find(extent.dim_param());
    if (found == extents.end()) found = extents.find(extent.denotation());
    if (found == extents.end() || found->first.empty()) return;
    unused.erase(found->first);
    if (extent.dim_param().empty()) return extent.set_dim_value(found->second);
    named.emplace(extent.dim_param(), found->second);
  });
  return named;
}

std::set<std::string> value_names(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const std::string& name : initializer_names(graph)) names.insert(name);
  for (const onnx::NodeProto& node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  names.erase("");
  return names;
}

}  // namespace

void replace_initializers(onnx::ModelProto& model, const std::map<std::string, Value>& values,
                          std::vector<Payload>& payloads) {
  for (const auto& [name, value] : values) {
    onnx::TensorProto* tensor = find_initializer(*model.mutable_graph(), name);
    if (!tensor) {
      const std::vector<std::string> names = initializer_names(model.graph());
      throw Error(Code::kInvalidArgument, "initializer " + quoted(name) +
                                              ": the model has no such initializer; it has " +
                                              some_of(names) + suggest_nearest(name, names));
    }
    require_same_type(*tensor, value);
    set_value(*tensor, value.handle(), payloads);
  }
}

std::vector<std::string> fix_dimensions(onnx::ModelProto& model,
                                        const std::map<std::string, int64_t>& extents) {
  if (extents.empty()) return {};
  std::set<std::string> unused;
  std::set<std::string> known;
  for (const auto& [name, extent] : extents) unused.insert(name);
  const auto named = by_name(*model.mutable_graph(), extents, unused, known);
  onnx::for_each_graph(*model.mutable_graph(), [&](onnx::GraphProto& graph) {
    const auto fix = [&](auto& extent) {
      const auto found = named.find(extent.dim_param());
      if (extent.has_dim_param() && found != named.end()) extent.set_dim_value(found->second);
    };
    for_each_extent(*graph.mutable_input(), fix);
    for_each_extent(*graph.mutable_output(), fix);
    for_each_extent(*graph.mutable_value_info(), fix);
  });
  std::vector<std::string> sentences;
  sentences.reserve(unused.size());
  const std::vector<std::string> all(known.begin(), known.end());
  for (const std::string& name : unused) {
    sentences.push_back("session.dimensions has " + quoted(name) +
                        ", which no dimension of an input is called; they are called " +
                        some_of(all) + suggest_nearest(name, all));
  }
  return sentences;
}

void choose_outputs(onnx::ModelProto& model, const std::vector<std::string>& names) {
  if (names.empty()) return;
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::set<std::string> values = value_names(graph);
  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& info : graph.value_info()) declared[info.name()] = &info;
  for (const auto& info : graph.input()) declared[info.name()] = &info;
  for (const auto& info : graph.output()) declared[info.name()] = &info;
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> outputs;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    if (!values.contains(name)) {
      const std::vector<std::string> all(values.begin(), values.end());
      throw Error(Code::kInvalidArgument, "output " + quoted(name) +
                                              ": the model's graph has no value of that name" +
                                              suggest_nearest(name, all));
    }
    if (!taken.insert(name).second)
      throw Error(Code::kInvalidArgument, "output " + quoted(name) + ": it is named twice");
    const auto known = declared.find(name);
    if (known != declared.end()) {
      *outputs.Add() = *known->second;
    } else {
      outputs.Add()->set_name(name);  // its type is inferred
    }
  }
  graph.mutable_output()->Swap(&outputs);
}

void open_ranks(onnx::ModelProto& model, const std::set<std::string>& inputs) {
  if (inputs.empty()) return;
  const auto forget_number = [](onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type()) return;
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    if (tensor.has_shape() && tensor.shape().dim().empty()) tensor.clear_shape();
  };
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    const bool is_main = &graph == &model.graph();
    for (auto& input : *graph.mutable_input()) {
      if (!is_main || inputs.contains(input.name())) forget_number(input);
    }
    for (auto& output : *graph.mutable_output()) forget_number(output);
    for (auto& value : *graph.mutable_value_info()) forget_number(value);
  });
}

}  // namespace gantry
