// SPDX-License-Identifier: Apache-2.0
#include "onnx/check.h"

#include <gantry/error.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/order.h"
#include "onnx/schema.h"
#include "onnx/schema_store.h"

namespace gantry {
namespace {

using Dims = google::protobuf::RepeatedField<int64_t>;

constexpr size_t kLongestMessage = 500;

// The text between `before` and `after`; empty if one is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  return text.substr(0, text.find(after));
}

// `Add "a"` out of "(op_type:Add, node name: a): ...", which is taken off the text.
std::string take_node(std::string_view& text) {
  const size_t end = text.find("): ");
  const std::string_view head = text.substr(0, end);
  if (!head.starts_with("(op_type:") || end == std::string_view::npos) return {};
  text.remove_prefix(end + 3);
  return std::string(between(head, "(op_type:", ",")) + " \"" +
         std::string(between(head, ", node name: ", "\n")) + "\"";
}

// The library, built without reflection, names element types by number: "elem type: (1) vs (7)".
std::string name_types(std::string text) {
  constexpr std::string_view kStart = "elem type: (";
  const size_t start = text.find(kStart);
  int inferred = 0;
  int declared = 0;
  if (start == std::string::npos ||
      std::sscanf(text.c_str() + start, "elem type: (%d) vs (%d)", &inferred, &declared) != 2) {
    return text;
  }
  return text.substr(0, start) +
         "elem type: " + std::string(to_string(static_cast<DType>(inferred))) + " is not " +
         std::string(to_string(static_cast<DType>(declared)));
}

// Makes the library's message one sentence: without its tags and context lines and, of several, the
// first only.
std::string sentence(std::string_view text) {
  std::string node;
  constexpr std::string_view kContext = "\n\n==> Context: Bad node spec for node. Name: ";
  if (const size_t context = text.find(kContext); context != std::string_view::npos) {
    const std::string_view rest = text.substr(context);
    node = std::string(between(rest, " OpType: ", "\n")) + " \"" +
           std::string(between(rest, kContext, " OpType: ")) + "\"";
    text = text.substr(0, context);
  }
  constexpr std::string_view kTags[] = {"[TypeInferenceError] ", "[ShapeInferenceError] ",
                                        "Inference error(s): "};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view tag : kTags) {
      if (!text.starts_with(tag)) continue;
      text.remove_prefix(tag.size());
      again = true;
    }
    if (std::string inner = take_node(text); !inner.empty()) {
      node = std::move(inner);
      again = true;
    }
  }
  std::string result = node.empty() ? "" : node + ": ";
  for (const char c : text.substr(0, text.find("\n(op_type:"))) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_space || !result.ends_with(' ')) result += is_space ? ' ' : c;
    if (result.size() > kLongestMessage) return result + "...";
  }
  while (result.ends_with(' ')) result.pop_back();
  return name_types(std::move(result));
}

[[noreturn]] void rejected(const char* by, const std::exception& error) {
  throw Error(Code::kInvalidModel, std::string("the model breaks a rule of ONNX (") + by +
                                       "): " + sentence(error.what()));
}

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1 &&
         !node.output(0).empty() && node.attribute_size() == 1 &&
         node.attribute(0).ref_attr_name().empty();
}

// Moves the value of a Constant node into an initializer of the graph. False: the attribute has
// another form.
bool move_constant(onnx::NodeProto& node, onnx::GraphProto& graph) {
  onnx::AttributeProto& attribute = *node.mutable_attribute(0);
  const std::string& form = attribute.name();
  if (form == "sparse_value" && attribute.has_sparse_tensor()) {
    onnx::SparseTensorProto* sparse = graph.add_sparse_initializer();
    sparse->Swap(attribute.mutable_sparse_tensor());
    sparse->mutable_values()->set_name(node.output(0));
    return true;
  }
  onnx::TensorProto tensor;
  if (form == "value" && attribute.has_t()) {
    tensor.Swap(attribute.mutable_t());
  } else if (form == "value_int" || form == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    if (form == "value_int") tensor.add_int64_data(attribute.i());
    tensor.mutable_int64_data()->MergeFrom(attribute.ints());
    if (form == "value_ints") tensor.add_dims(attribute.ints_size());
  } else if (form == "value_float" || form == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    if (form == "value_float") tensor.add_float_data(attribute.f());
    tensor.mutable_float_data()->MergeFrom(attribute.floats());
    if (form == "value_floats") tensor.add_dims(attribute.floats_size());
  } else if (form == "value_string" || form == "value_strings") {
    tensor.set_data_type(onnx::TensorProto::STRING);
    if (form == "value_string") tensor.add_string_data(attribute.s());
    tensor.mutable_string_data()->MergeFrom(attribute.strings());
    if (form == "value_strings") tensor.add_dims(attribute.strings_size());
  } else {
    return false;
  }
  tensor.set_name(node.output(0));
  graph.add_initializer()->Swap(&tensor);
  return true;
}

// Takes the initializers that are inputs too out of the graph.
void move_defaults(onnx::GraphProto& graph, std::vector<onnx::TensorProto>& defaults) {
  std::unordered_set<std::string> inputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  google::protobuf::RepeatedPtrField<onnx::TensorProto> all;
  all.Swap(graph.mutable_initializer());
  for (onnx::TensorProto& tensor : all) {
    if (inputs.contains(tensor.name())) {
      defaults.emplace_back().Swap(&tensor);
    } else {
      graph.add_initializer()->Swap(&tensor);
    }
  }
}

void normalize_graph(onnx::GraphProto& graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    if (!is_constant(node) || !move_constant(node, graph)) graph.add_node()->Swap(&node);
  }
  std::unordered_set<std::string> constants;
  for (const auto& tensor : graph.initializer()) constants.insert(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) constants.insert(sparse.values().name());
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs;
  inputs.Swap(graph.mutable_input());
  for (onnx::ValueInfoProto& input : inputs) {
    if (!constants.contains(input.name())) graph.add_input()->Swap(&input);
  }
}

// For the time of inference takes out of each graph the initializers that the library must not
// read, placeholders and sparse ones, and declares their types instead.
class HiddenConstants {
 public:
  explicit HiddenConstants(onnx::ModelProto& model) {
    onnx::for_each_graph(model, [&](onnx::GraphProto& graph) { hide(graph); });
  }
  ~HiddenConstants() {
    for (Hidden& item : hidden_) {
      for (auto& tensor : item.dense) item.graph->add_initializer()->Swap(&tensor);
      for (auto& sparse : item.sparse) item.graph->add_sparse_initializer()->Swap(&sparse);
      // By name: whoever runs in between may have rewritten the list.
      auto* infos = item.graph->mutable_value_info();
      infos->erase(std::remove_if(infos->begin(), infos->end(),
                                  [&](const onnx::ValueInfoProto& info) {
                                    return item.names.contains(info.name());
                                  }),
                   infos->end());
    }
  }
  HiddenConstants(const HiddenConstants&) = delete;
  HiddenConstants& operator=(const HiddenConstants&) = delete;

 private:
  struct Hidden {
    onnx::GraphProto* graph = nullptr;
    google::protobuf::RepeatedPtrField<onnx::TensorProto> dense;
    google::protobuf::RepeatedPtrField<onnx::SparseTensorProto> sparse;
    std::unordered_set<std::string> names;
  };

  void hide(onnx::GraphProto& graph) {
    Hidden item;
    item.graph = &graph;
    google::protobuf::RepeatedPtrField<onnx::TensorProto> all;
    all.Swap(graph.mutable_initializer());
    for (onnx::TensorProto& tensor : all) {
      if (!is_placeholder(tensor)) {
        graph.add_initializer()->Swap(&tensor);
        continue;
      }
      declare(item, tensor.name(), tensor.data_type(), tensor.dims());
      item.dense.Add()->Swap(&tensor);
    }
    item.sparse.Swap(graph.mutable_sparse_initializer());
    for (const onnx::SparseTensorProto& sparse : item.sparse) {
      declare(item, sparse.values().name(), sparse.values().data_type(), sparse.dims());
    }
    if (!item.names.empty()) hidden_.push_back(std::move(item));
  }

  static void declare(Hidden& item, const std::string& name, int32_t data_type, const Dims& dims) {
    item.names.insert(name);
    onnx::ValueInfoProto* info = item.graph->add_value_info();
    info->set_name(name);
    onnx::TypeProto::Tensor* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(data_type);
    type->mutable_shape();
    for (const int64_t extent : dims) type->mutable_shape()->add_dim()->set_dim_value(extent);
  }

  std::vector<Hidden> hidden_;
};

// Data propagation keeps one table of values by name for all bodies, so a name used in two of them
// would mix them up.
bool names_are_unique(onnx::ModelProto& model) {
  std::unordered_set<std::string_view> names;
  bool unique = true;
  onnx::for_each_graph(*model.mutable_graph(), [&](const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) unique = names.insert(input.name()).second && unique;
    for (const auto& node : graph.node()) {
      for (const std::string& name : node.output())
        unique = (name.empty() || names.insert(name).second) && unique;
    }
  });
  return unique;
}

void drop_shape(onnx::ValueInfoProto& info) {
  if (info.type().has_tensor_type()) info.mutable_type()->mutable_tensor_type()->clear_shape();
}

// Forgets declared shapes of everything but the model's inputs.
void drop_declared_shapes(onnx::ModelProto& model) {
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    graph.clear_value_info();
    for (auto& output : *graph.mutable_output()) drop_shape(output);
    if (&graph == &model.graph()) return;
    for (auto& input : *graph.mutable_input()) drop_shape(input);
  });
}

// True if a tensor of one axis is so long that propagating its data, which takes an object for each
// element whatever the type, would cost more than it tells.
bool has_long_vector(onnx::ModelProto& model) {
  constexpr int64_t kLong = int64_t{1} << 20;
  bool found = false;
  const auto look = [&](const onnx::ValueInfoProto& info) {
    const onnx::TensorShapeProto& shape = info.type().tensor_type().shape();
    found = found || (shape.dim_size() == 1 && shape.dim(0).dim_value() > kLong);
  };
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (const auto& info : graph.input()) look(info);
    for (const auto& info : graph.value_info()) look(info);
    for (const auto& info : graph.output()) look(info);
    for (const auto& tensor : graph.initializer()) {
      found = found || (tensor.dims_size() == 1 && tensor.dims(0) > kLong);
    }
  });
  return found;
}

// True if a node may make integers that are a shape or a part of one: of no or one axis, as far as
// is known. Only such outputs make propagating data tell anything that inference does not know.
bool computes_shapes(onnx::ModelProto& model) {
  const auto may_be_shape = [](const onnx::TypeProto& type) {
    if (!type.has_tensor_type()) return type.value_case() == onnx::TypeProto::VALUE_NOT_SET;
    const onnx::TypeProto::Tensor& tensor = type.tensor_type();
    const int32_t element = tensor.elem_type();
    const bool is_integer =
        element == onnx::TensorProto::INT64 || element == onnx::TensorProto::INT32;
    return element == onnx::TensorProto::UNDEFINED ||
           (is_integer && (!tensor.has_shape() || tensor.shape().dim_size() <= 1));
  };
  bool found = false;
  onnx::for_each_graph(model, [&](const onnx::GraphProto& graph) {
    std::unordered_map<std::string_view, const onnx::TypeProto*> types;
    for (const auto& info : graph.value_info()) types[info.name()] = &info.type();
    for (const auto& info : graph.output()) types[info.name()] = &info.type();
    for (const auto& node : graph.node()) {
      for (const std::string& name : node.output()) {
        const auto type = types.find(name);
        found = found || (!name.empty() && (type == types.end() || may_be_shape(*type->second)));
      }
    }
  });
  return found || model.functions_size() > 0;
}

std::optional<std::string> try_infer(onnx::ModelProto& model, bool propagate_data) {
  const HiddenConstants hidden(model);
  try {
    constexpr bool kCheckTypes = true;
    constexpr int kStrict = 1;
    onnx::shape_inference::DataValueMap shape_data;
    onnx::shape_inference::InferShapes(
        model, &SchemaStore::instance(),
        onnx::ShapeInferenceOptions(kCheckTypes, kStrict, propagate_data), &shape_data);
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

// Inputs and outputs without a shape. The checker asks for one, although a tensor of unknown rank
// has none to give, and exporters do leave it out.
std::vector<onnx::TypeProto::Tensor*> unranked_values(onnx::ModelProto& model) {
  std::vector<onnx::TypeProto::Tensor*> unranked;
  const auto collect = [&](onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type() || info.type().tensor_type().has_shape()) return;
    unranked.push_back(info.mutable_type()->mutable_tensor_type());
  };
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (auto& input : *graph.mutable_input()) collect(input);
    for (auto& output : *graph.mutable_output()) collect(output);
  });
  return unranked;
}

// The library's checker with our schemas: its function for whole models takes its own registry.
void run_checker(const onnx::ModelProto& model) {
  if (model.ir_version() <= 0) throw std::runtime_error("The model does not say its ir_version.");
  if (model.ir_version() > onnx::IR_VERSION) {
    throw std::runtime_error("The model's ir_version " + std::to_string(model.ir_version()) +
                             " is newer than " + std::to_string(onnx::IR_VERSION) +
                             ", the newest that is supported.");
  }
  std::unordered_set<std::string> keys;
  for (const auto& entry : model.metadata_props()) {
    if (!keys.insert(entry.key()).second)
      throw std::runtime_error("The metadata have the key \"" + entry.key() + "\" twice.");
  }
  constexpr int64_t kImportsOpsets = 3;
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import())
    opsets[import.domain()] = static_cast<int>(import.version());
  if (model.ir_version() < kImportsOpsets) {
    if (!opsets.empty()) {
      throw std::runtime_error("A model of an ir_version below 3 imports no opsets; this one, of " +
                               std::to_string(model.ir_version()) + ", does.");
    }
    opsets[onnx::ONNX_DOMAIN] = 1;
  } else if (opsets.empty()) {
    throw std::runtime_error("The model imports no opset.");
  }
  onnx::checker::CheckerContext context;
  context.set_schema_registry(&SchemaStore::instance());
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports(opsets);
  const onnx::checker::LexicalScopeContext scope;
  onnx::checker::check_graph(model.graph(), context, scope);
  constexpr int64_t kHasFunctions = 8;
  if (model.ir_version() >= kHasFunctions)
    onnx::checker::check_model_local_functions(model, context, scope);
}

}  // namespace

void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads) {
  check_order(model.graph());
  // The checker wants as many bytes as a tensor's shape needs. A placeholder has none, so it is
  // shown as an empty tensor.
  std::vector<std::pair<onnx::TensorProto*, Dims>> shown;
  onnx::for_each_tensor(model, [&](onnx::TensorProto& tensor) {
    check_type(tensor);
    if (!is_placeholder(tensor)) return;
    const uint64_t needed = payload_bytes_needed(tensor);
    const uint64_t found = payload_of(tensor, payloads).size_bytes;
    if (needed != found) {
      throw Error(Code::kInvalidModel,
                  "tensor \"" + tensor.name() + "\" needs " + std::to_string(needed) +
                      " bytes by its shape and type; found " + std::to_string(found));
    }
    shown.emplace_back(&tensor, tensor.dims());
  });
  for (auto& [tensor, dims] : shown) {
    tensor->clear_dims();
    tensor->add_dims(0);
  }
  const std::vector<onnx::TypeProto::Tensor*> unranked = unranked_values(model);
  for (onnx::TypeProto::Tensor* type : unranked) type->mutable_shape();
  std::optional<std::string> problem;
  try {
    run_checker(model);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  for (onnx::TypeProto::Tensor* type : unranked) type->clear_shape();
  for (auto& [tensor, dims] : shown) tensor->mutable_dims()->Swap(&dims);
  if (problem) rejected("checker", std::runtime_error(*problem));
}

void normalize_domains(onnx::ModelProto& model) {
  const auto normalize = [](auto& item) {
    if (!item.domain().empty()) item.set_domain(normal_domain(item.domain()));
  };
  for (auto& import : *model.mutable_opset_import()) normalize(import);
  for (auto& function : *model.mutable_functions()) {
    for (auto& import : *function.mutable_opset_import()) normalize(import);
  }
  onnx::for_each_node(model, normalize);
}

void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults) {
  constexpr int64_t kInputsAreDistinct = 4;
  if (model.ir_version() >= kInputsAreDistinct) move_defaults(*model.mutable_graph(), defaults);
  onnx::for_each_graph(model, normalize_graph);
  // Before IR version 4 every initializer had to be an input as well; they no longer are.
  constexpr int64_t kIrVersion = 10;
  model.set_ir_version(std::max(model.ir_version(), kIrVersion));
}

void infer_types(onnx::ModelProto& model) {
  // Without data first: only then is it known how long the vectors are.
  for (const bool propagate_data : {false, true}) {
    if (propagate_data &&
        (!computes_shapes(model) || !names_are_unique(model) || has_long_vector(model)))
      return;
    std::optional<std::string> problem = try_infer(model, propagate_data);
    if (problem && problem->find("existing shape") != std::string::npos) {
      drop_declared_shapes(model);
      problem = try_infer(model, propagate_data);
    }
    if (problem) rejected("type inference", std::runtime_error(*problem));
  }
}

}  // namespace gantry
