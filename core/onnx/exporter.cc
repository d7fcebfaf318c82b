// SPDX-License-Identifier: Apache-2.0
#include "onnx/exporter.h"

#include <gantry/error.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "onnx/messages/payload.h"
#include "onnx/messages/proto.h"
#include "onnx/model.h"
#include "onnx/schema/convert_opset.h"
#include "onnx/schema/opset_choice.h"
#include "onnx/schema/schema.h"

namespace gantry {
namespace {

constexpr int64_t kLeastIrVersion = 8;  // the first with functions in models
constexpr int64_t kIrVersion = 10;      // without a model: has overloads and 4-bit types

// False: too little of the type is known for a TypeProto.
bool write_type(const TypeInfo& type, onnx::TypeProto& to) {
  if (type.dtype == DType::kUndefined) return false;
  const auto element = static_cast<int32_t>(type.dtype);
  switch (type.kind) {
    case Kind::kTensor:
      break;
    case Kind::kSequence:
      to.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
          element);
      return true;
    case Kind::kOptional:
      to.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
          element);
      return true;
    default:
      return false;
  }
  to.mutable_tensor_type()->set_elem_type(element);
  if (!type.has_rank) return true;
  onnx::TensorShapeProto* shape = to.mutable_tensor_type()->mutable_shape();
  for (size_t i = 0; i < type.shape.size(); ++i) {
    onnx::TensorShapeProto::Dimension* extent = shape->add_dim();
    if (type.shape[i] >= 0) {
      extent->set_dim_value(type.shape[i]);
    } else if (i < type.symbols.size() && !type.symbols[i].empty()) {
      extent->set_dim_param(type.symbols[i]);
    }
  }
  return true;
}

void write_inline(const gantry_value& value, onnx::TensorProto& to) {
  to.set_data_type(static_cast<int32_t>(value.dtype));
  for (const int64_t extent : value.shape) to.add_dims(extent);
  if (value.dtype == DType::kString) {
    for (const std::string& text : value.strings) to.add_string_data(text);
  } else {
    to.set_raw_data(value.view.data, value.view.size_bytes);
  }
}

class Exporter {
 public:
  explicit Exporter(const OnnxModel* model) : model_(model) {
    proto_.set_ir_version(model ? std::max(kLeastIrVersion, model->ir_version()) : kIrVersion);
    proto_.set_producer_name("gantry");
  }

  ExportedModel run(const Fragment& fragment) {
    onnx::GraphProto& graph = *proto_.mutable_graph();
    graph.set_name("fragment");
    // Names of the slots are reserved first, since the provider finds the values by them.
    for (const Node* node : fragment.nodes) {
      for (const auto* list : {&node->inputs, &node->captures, &node->outputs}) {
        for (const GraphValue* value : *list) {
          if (value && names_.try_emplace(value, value->name).second) used_.insert(value->name);
        }
      }
    }
    for (const auto* list : {&fragment.inputs, &fragment.outputs}) {
      for (const GraphValue* value : *list) {
        if (value && names_.try_emplace(value, value->name).second) used_.insert(value->name);
      }
    }
    for (const Node* node : fragment.nodes) find_bounds(*node);
    write_inputs(fragment, graph);
    std::set<const GraphValue*> outputs;
    for (const GraphValue* value : fragment.outputs) {
      if (value && outputs.insert(value).second) write_info(*value, *graph.add_output());
    }
    for (const Node* node : fragment.nodes) {
      write_node(*node, graph);
      for (const GraphValue* value : node->outputs) {
        if (value && !outputs.contains(value)) write_inner(*value, graph);
      }
    }
    write_functions();
    for (const auto& [domain, version] : opsets_.versions()) {
      onnx::OperatorSetIdProto* import = proto_.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    if (!proto_.SerializeToString(&result_.bytes)) {
      throw Error(Code::kUnsupported,
                  "the fragment takes 2 GiB or more as a model, its large constants left out");
    }
    return std::move(result_);
  }

 private:
  void write_inputs(const Fragment& fragment, onnx::GraphProto& graph) {
    std::set<const GraphValue*> seen;
    for (const GraphValue* value : fragment.inputs) {
      if (!value || !seen.insert(value).second) continue;
      if (value->constant) {
        write_constant(*value, graph);
      } else if (!write_info(*value, *graph.add_input())) {
        throw Error(Code::kUnsupported,
                    "input \"" + value->name + "\" of the fragment is of a type that a model " +
                        "cannot be given without knowing more of it (a map, or unknown)");
      }
    }
  }

  bool write_info(const GraphValue& value, onnx::ValueInfoProto& to) {
    to.set_name(names_.at(&value));
    onnx::TypeProto type;
    if (!write_type(value.type, type)) return false;
    *to.mutable_type() = std::move(type);
    return true;
  }

  void write_inner(const GraphValue& value, onnx::GraphProto& graph) {
    onnx::ValueInfoProto info;
    if (write_info(value, info)) *graph.add_value_info() = std::move(info);
  }

  void write_constant(const GraphValue& value, onnx::GraphProto& graph) {
    const ValueRef& constant = value.constant;
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(names_.at(&value));
    if (constant->kind != GANTRY_KIND_TENSOR) {
      throw Error(Code::kUnsupported, "constant \"" + value.name + "\" of the fragment is " +
                                          describe(*constant) +
                                          ", and a model's constants are tensors");
    }
    if (constant->dtype == DType::kString || constant->view.size_bytes <= kMostInlineBytes)
      return write_inline(*constant, tensor);
    const auto [weight, is_new] = weights_.try_emplace(
        {constant->view.data, constant->view.size_bytes}, result_.weights.size());
    if (is_new) result_.weights.push_back(constant);
    tensor.set_data_type(static_cast<int32_t>(constant->dtype));
    for (const int64_t extent : constant->shape) tensor.add_dims(extent);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& text) {
      onnx::StringStringEntryProto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(text);
    };
    add("location", "gantry:" + std::to_string(weight->second));
    add("length", std::to_string(constant->view.size_bytes));
  }

  // Finds the opsets of the default domain in which all nodes, those of bodies included, have their
  // schemas.
  void find_bounds(const Node& node) {
    if (node.domain.empty()) {
      newest_ = std::max(newest_, node.since_version);
      oldest_end_ = std::min(oldest_end_, last_version(node.op_type, "", node.since_version));
    }
    for (const Graph* body : node.bodies()) {
      for (const auto& inner : body->nodes()) find_bounds(*inner);
    }
  }

  // If there is no such opset, nodes whose schema ends before the newest are converted to it.
  [[nodiscard]] bool is_raised(const Node& node) const {
    return newest_ > oldest_end_ && node.domain.empty() &&
           last_version(node.op_type, "", node.since_version) < newest_;
  }

  void write_node(const Node& node, onnx::GraphProto& graph) {
    if (!is_raised(node)) {
      opsets_.add(node.domain, node.op_type, node.since_version, node.label());
      write_as_is(node, graph);
      return;
    }
    // From this version on newer versions of control-flow operators only support more types.
    constexpr int kSettledBodies = 11;
    const bool has_bodies = !node.bodies().empty();
    if (has_bodies && node.since_version < kSettledBodies) {
      throw Error(Code::kUnsupported,
                  node.label() + " is of opset " + std::to_string(node.since_version) +
                      " and nodes beside it are of opset " + std::to_string(newest_) +
                      "; they must be compiled separately");
    }
    opsets_.add("", node.op_type, since_version(node.op_type, "", newest_), node.label());
    if (has_bodies) {
      write_as_is(node, graph);
    } else {
      write_raised(node, graph);
    }
  }

  void write_raised(const Node& node, onnx::GraphProto& graph) {
    onnx::GraphProto part;
    part.set_name("part");
    std::set<std::string> own;
    for (const GraphValue* value : node.inputs) {
      if (!value || !own.insert(names_.at(value)).second) continue;
      write_info(*value, *part.add_input());
      const ValueRef& constant = value->constant;
      if (!constant || constant->kind != GANTRY_KIND_TENSOR ||
          constant->view.size_bytes > kMostInlineBytes)
        continue;
      onnx::TensorProto& tensor = *part.add_initializer();
      tensor.set_name(names_.at(value));
      write_inline(*constant, tensor);
    }
    for (const GraphValue* value : node.outputs) {
      if (!value) continue;
      write_info(*value, *part.add_output());
      own.insert(names_.at(value));
    }
    write_as_is(node, part);
    convert_opset(part, node.since_version, newest_, node.label());
    take_part(part, own, graph);
  }

  // Adds the nodes to which a node was converted; names other than the node's own are made unique.
  void take_part(onnx::GraphProto& part, const std::set<std::string>& own,
                 onnx::GraphProto& graph) {
    std::map<std::string, std::string> renamed;
    const auto rename = [&](std::string& name) {
      if (name.empty() || own.contains(name)) return;
      const auto [known, is_new] = renamed.try_emplace(name);
      if (is_new) known->second = unused("raised_" + name);
      name = known->second;
    };
    for (onnx::TensorProto& tensor : *part.mutable_initializer()) {
      if (own.contains(tensor.name())) continue;  // the graph has it
      rename(*tensor.mutable_name());
      *graph.add_initializer() = std::move(tensor);
    }
    for (onnx::NodeProto& node : *part.mutable_node()) {
      for (std::string& name : *node.mutable_input()) rename(name);
      for (std::string& name : *node.mutable_output()) rename(name);
      *graph.add_node() = std::move(node);
    }
  }

  void write_as_is(const Node& node, onnx::GraphProto& graph) {
    onnx::NodeProto& to = *graph.add_node();
    to.set_name(node.name);
    to.set_op_type(node.op_type);
    to.set_domain(node.domain);
    if (!node.overload.empty()) to.set_overload(node.overload);
    for (const GraphValue* value : node.inputs) to.add_input(value ? names_.at(value) : "");
    for (const GraphValue* value : node.outputs) to.add_output(value ? names_.at(value) : "");
    for (const Attribute& attribute : node.attributes) {
      onnx::AttributeProto& item = *to.add_attribute();
      item.set_name(attribute.name);
      std::visit([&](const auto& value) { write(value, node, item); }, attribute.value);
    }
    // Import drops type attributes, but an Optional without input has no other source of its type.
    if (node.op_type == "Optional" && node.domain.empty() && node.inputs.empty())
      write_optional_type(*node.outputs.at(0), to);
  }

  static void write_optional_type(const GraphValue& output, onnx::NodeProto& to) {
    onnx::TypeProto type;
    if (!write_type(output.type, type)) return;
    onnx::AttributeProto& item = *to.add_attribute();
    item.set_name("type");
    item.set_type(onnx::AttributeProto::TYPE_PROTO);
    *item.mutable_tp() = type.optional_type().elem_type();
  }

  static void write(int64_t value, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  static void write(float value, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  static void write(const std::string& value, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  static void write(const ValueRef& value, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::TENSOR);
    write_inline(*value, *to.mutable_t());
  }
  void write(const std::unique_ptr<Graph>& value, const Node& node, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::GRAPH);
    write_body(*value, node, *to.mutable_g());
  }
  static void write(const std::vector<int64_t>& values, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) to.add_ints(value);
  }
  static void write(const std::vector<float>& values, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) to.add_floats(value);
  }
  static void write(const std::vector<std::string>& values, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) to.add_strings(value);
  }
  static void write(const std::vector<ValueRef>& values, const Node&, onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::TENSORS);
    for (const ValueRef& value : values) write_inline(*value, *to.add_tensors());
  }
  void write(const std::vector<std::unique_ptr<Graph>>& values, const Node& node,
             onnx::AttributeProto& to) {
    to.set_type(onnx::AttributeProto::GRAPHS);
    for (const auto& value : values) write_body(*value, node, *to.add_graphs());
  }

  // In a body of a Graph captures have names of their own; in a model the names of the outer
  // values.
  void write_body(const Graph& body, const Node& owner, onnx::GraphProto& to) {
    to.set_name(body.name);
    for (size_t i = 0; i < body.captures.size(); ++i) {
      if (body.captures[i]) names_[body.captures[i]] = names_.at(owner.captures[i]);
    }
    for (const auto& value : body.values()) {
      if (!names_.contains(value.get())) names_[value.get()] = unused(value->name);
    }
    for (const GraphValue* value : body.inputs) write_info(*value, *to.add_input());
    for (const auto& value : body.values()) {
      if (value->constant) write_constant(*value, to);
    }
    for (const auto& node : body.nodes()) {
      write_node(*node, to);
      for (const GraphValue* value : node->outputs) {
        if (value && !value->is_output()) write_inner(*value, to);
      }
    }
    std::set<const GraphValue*> seen;
    for (const GraphValue* value : body.outputs()) write_body_output(*value, seen, to);
  }

  // Adds an Identity for an output that no node of the body makes, or that is listed already.
  void write_body_output(const GraphValue& value, std::set<const GraphValue*>& seen,
                         onnx::GraphProto& to) {
    onnx::ValueInfoProto& info = *to.add_output();
    write_info(value, info);
    if (seen.insert(&value).second && value.producer) return;
    const std::string copy = unused(value.name);
    onnx::NodeProto& identity = *to.add_node();
    identity.set_op_type("Identity");
    identity.set_name(copy);
    identity.add_input(names_.at(&value));
    identity.add_output(copy);
    info.set_name(copy);
    opsets_.need("");
  }

  std::string unused(const std::string& wanted) {
    std::string name = wanted;
    for (int suffix = 1; !used_.insert(name).second; ++suffix)
      name = wanted + "_" + std::to_string(suffix);
    return name;
  }

  // Writes the model's functions that are called by nodes or by each other.
  void write_functions() {
    if (!model_) return;
    const ModelParts parts = model_->parts();
    std::set<FunctionCall> present;
    for (bool is_more = true; is_more;) {
      std::set<FunctionCall> called;
      onnx::for_each_node(proto_, [&](const onnx::NodeProto& node) {
        called.insert({node.domain(), node.op_type(), node.overload()});
      });
      is_more = false;
      for (const onnx::FunctionProto& function : parts.proto.functions()) {
        const FunctionCall name{function.domain(), function.name(), function.overload()};
        if (!called.contains(name) || !present.insert(name).second) continue;
        write_function(function, parts.payloads);
        is_more = true;
      }
    }
  }

  void write_function(const onnx::FunctionProto& function, const std::vector<Payload>& payloads) {
    onnx::ModelProto holder;  // the for_each functions take a model
    *holder.add_functions() = function;
    const std::map<std::string, int> opsets = read_opsets(function.opset_import());
    onnx::for_each_node(holder, [&](const onnx::NodeProto& node) {
      const auto opset = opsets.find(node.domain());
      if (opset == opsets.end()) return;
      opsets_.add(node.domain(), node.op_type(),
                  since_version(node.op_type(), node.domain(), opset->second),
                  node.op_type() + " of function \"" + function.name() + "\"");
    });
    onnx::for_each_tensor(holder, [&](onnx::TensorProto& tensor) {
      if (!is_placeholder(tensor)) return;
      const Payload& payload = payload_of(tensor, payloads);
      tensor.clear_doc_string();
      tensor.set_raw_data(payload.data, payload.size_bytes);
    });
    *proto_.add_functions() = std::move(*holder.mutable_functions(0));
  }

  const OnnxModel* model_;
  onnx::ModelProto proto_;
  ExportedModel result_;
  OpsetChoice opsets_;
  int newest_ = 0;  // of the default domain: the lowest opset that all nodes allow
  int oldest_end_ = std::numeric_limits<int>::max();  // and the highest
  std::unordered_map<const GraphValue*, std::string> names_;
  std::set<std::string> used_;  // names of values, in all graphs of the model
  std::map<std::pair<const void*, uint64_t>, size_t> weights_;  // by address and size
};

}  // namespace

ExportedModel export_fragment(const Fragment& fragment, const OnnxModel* model) {
  return Exporter(model).run(fragment);
}

}  // namespace gantry
