// SPDX-License-Identifier: Apache-2.0
#include "onnx/importer.h"

#include <gantry/error.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "onnx/messages/body_domain.h"
#include "onnx/schema/schema.h"

namespace gantry {
namespace {

using TypeMap = std::unordered_map<std::string_view, const onnx::TypeProto*>;

struct Context {
  const std::map<std::string, int>& opsets;
  const std::vector<Payload>& payloads;
  std::map<std::pair<std::string, std::string>, int>
      versions;  // of the schemas used, by domain and operator

  int version_of(const onnx::NodeProto& node) {
    const auto [entry, is_new] = versions.try_emplace({node.domain(), node.op_type()}, 0);
    if (is_new) {
      const auto opset = opsets.find(node.domain());
      if (opset == opsets.end()) {
        throw Error(Code::kInvalidModel, "the model imports no opset of domain \"" + node.domain() +
                                             "\", which " + node.op_type() + " \"" + node.name() +
                                             "\" needs");
      }
      entry->second = since_version(node.op_type(), node.domain(), opset->second);
    }
    return entry->second;
  }
};

void read_shape(const onnx::TensorShapeProto& shape, TypeInfo& type) {
  type.has_rank = true;
  for (const auto& extent : shape.dim()) {
    // Exporters write -1 for an unknown extent.
    type.shape.push_back(extent.has_dim_value() && extent.dim_value() >= 0 ? extent.dim_value()
                                                                           : -1);
    type.symbols.push_back(type.shape.back() < 0 ? extent.dim_param() : "");
  }
}

// Element type of the tensors at the bottom of nested sequences and optionals.
DType element_type(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return static_cast<DType>(proto.tensor_type().elem_type());
    case onnx::TypeProto::kSequenceType:
      return element_type(proto.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType:
      return element_type(proto.optional_type().elem_type());
    case onnx::TypeProto::kMapType:
      return element_type(proto.map_type().value_type());
    case onnx::TypeProto::kSparseTensorType:
      return static_cast<DType>(proto.sparse_tensor_type().elem_type());
    default:
      return DType::kUndefined;
  }
}

TypeInfo read_type(const onnx::TypeProto& proto) {
  TypeInfo type;
  type.dtype = element_type(proto);
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      type.kind = Kind::kTensor;
      if (proto.tensor_type().has_shape()) read_shape(proto.tensor_type().shape(), type);
      break;
    case onnx::TypeProto::kSparseTensorType:
      type.kind = Kind::kTensor;
      if (proto.sparse_tensor_type().has_shape())
        read_shape(proto.sparse_tensor_type().shape(), type);
      break;
    case onnx::TypeProto::kSequenceType:
      type.kind = Kind::kSequence;
      break;
    case onnx::TypeProto::kOptionalType:
      type.kind = Kind::kOptional;
      break;
    case onnx::TypeProto::kMapType:
      type.kind = Kind::kMap;
      break;
    default:
      break;
  }
  return type;
}

// Refuses shapes whose size overflows, before their extents are multiplied.
void check_size(const std::string& name, const TypeInfo& type) {
  std::vector<int64_t> known;
  for (const int64_t extent : type.shape) {
    if (extent >= 0) known.push_back(extent);
  }
  try {
    bytes_of(type.dtype, element_count(known));
  } catch (const Error& error) {
    throw Error(Code::kInvalidModel, "value \"" + name + "\" is " +
                                         describe(type.dtype, type.shape) + ": " + error.message());
  }
}

void check_extents(const onnx::ValueInfoProto& info) {
  for (const auto& extent : info.type().tensor_type().shape().dim()) {
    if (extent.has_dim_value() && extent.dim_value() < -1) {
      throw Error(Code::kInvalidModel, "input \"" + info.name() + "\" has an extent of " +
                                           std::to_string(extent.dim_value()) +
                                           "; it must be 0 or more, or -1 for unknown");
    }
  }
}

bool fits(const gantry_value& value, const TypeInfo& type) {
  if (type.kind != Kind::kTensor || value.dtype != type.dtype) return false;
  if (!type.has_rank) return true;
  return std::equal(type.shape.begin(), type.shape.end(), value.shape.begin(), value.shape.end(),
                    [](int64_t declared, int64_t own) { return declared < 0 || declared == own; });
}

void set_initial(GraphValue& input, const ValueRef& value) {
  if (!fits(*value, input.type)) {
    throw Error(Code::kInvalidModel, "initializer \"" + input.name + "\" is " + describe(*value) +
                                         ", the input of that name " +
                                         describe(input.type.dtype, input.type.shape) +
                                         " (-1: any extent); they must agree");
  }
  input.initial = value;
}

class GraphImporter {
 public:
  GraphImporter(Context& context, const onnx::GraphProto& proto, GraphImporter* outer)
      : context_(context), proto_(proto), outer_(outer), graph_(std::make_unique<Graph>()) {}

  /// Called before run(), so that these inputs get their names first.
  void add_unread_inputs(const std::vector<ConstantInput>& inputs) {
    for (const ConstantInput& input : inputs) {
      check_extents(input.info);
      TypeInfo type = read_type(input.info.type());
      check_size(input.info.name(), type);
      unread_.push_back({graph_->add_value(input.info.name(), std::move(type)), input.position});
    }
  }

  std::unique_ptr<Graph> run() {
    graph_->name = proto_.name();
    for (const auto& info : proto_.value_info()) types_[info.name()] = &info.type();
    for (const auto& info : proto_.output()) types_[info.name()] = &info.type();
    for (const auto& info : proto_.input()) {
      types_[info.name()] = &info.type();
      check_extents(info);
      graph_->inputs.push_back(define(info.name()));
    }
    for (const UnreadInput& input : unread_)
      graph_->inputs.insert(graph_->inputs.begin() + input.position, input.value);
    for (const auto& tensor : proto_.initializer()) {
      add_constant(tensor.name(), to_value(tensor, context_.payloads));
    }
    for (const UnreadInput& input : unread_)
      set_initial(*input.value, values_.at(input.value->name)->constant);
    for (const auto& sparse : proto_.sparse_initializer()) {
      add_constant(sparse.values().name(), to_value(sparse, context_.payloads));
    }
    for (const auto& node : proto_.node()) import_node(node);
    std::vector<GraphValue*> outputs;
    for (const auto& info : proto_.output()) outputs.push_back(resolve(info.name()));
    graph_->set_outputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  struct Capture {
    GraphValue* outer;
    GraphValue* inner;
  };
  struct UnreadInput {
    GraphValue* value;
    int position;
  };

  GraphValue* define(const std::string& name) {
    const auto declared = types_.find(name);
    TypeInfo type = declared == types_.end() ? TypeInfo() : read_type(*declared->second);
    check_size(name, type);
    GraphValue* value = graph_->add_value(name, std::move(type));
    if (!values_.try_emplace(name, value).second) {
      throw Error(Code::kInvalidModel, "value \"" + name + "\" is defined twice");
    }
    return value;
  }

  GraphValue* add_constant(const std::string& name, ValueRef constant) {
    return values_[name] = graph_->add_constant(name, std::move(constant));
  }

  // The value of that name in this graph; an outer value becomes a capture or a constant.
  GraphValue* resolve(const std::string& name) {
    if (const auto own = values_.find(name); own != values_.end()) return own->second;
    if (!outer_)
      throw Error(Code::kInvalidModel, "value \"" + name + "\" is read before it is defined");
    GraphValue* outside = outer_->resolve(name);
    if (outside->constant) return add_constant(name, outside->constant);
    GraphValue* inside = graph_->add_value(name, outside->type);
    values_[name] = inside;
    captures_.push_back({outside, inside});
    return inside;
  }

  void import_node(const onnx::NodeProto& proto) {
    const std::string domain = is_onnx_domain(proto.domain()) ? "" : proto.domain();
    if (proto.op_type() == "Constant" && domain.empty() && proto.output_size() == 0) return;
    Node* node =
        graph_->add_node(proto.op_type(), domain, context_.version_of(proto), proto.name());
    node->overload = proto.overload();
    for (const std::string& name : proto.input())
      graph_->add_input(node, name.empty() ? nullptr : resolve(name));
    std::vector<GraphImporter> bodies;
    for (const auto& attribute : proto.attribute()) {
      try {
        import_attribute(attribute, *node, bodies);
      } catch (const Error& error) {
        throw error.in(node->label());
      }
    }
    connect_captures(*node, bodies);
    for (const std::string& name : proto.output())
      graph_->add_output(node, name.empty() ? nullptr : define(name));
  }

  // One list of captures for the node, in the order its bodies first read them.
  void connect_captures(Node& node, const std::vector<GraphImporter>& bodies) {
    std::unordered_map<const GraphValue*, size_t> position;
    for (const GraphImporter& body : bodies) {
      for (const Capture& capture : body.captures_) {
        if (position.try_emplace(capture.outer, node.captures.size()).second)
          graph_->add_capture(&node, capture.outer);
      }
    }
    const std::vector<Graph*> graphs = node.bodies();
    for (size_t i = 0; i < bodies.size(); ++i) {
      graphs[i]->captures.assign(node.captures.size(), nullptr);
      for (const Capture& capture : bodies[i].captures_)
        graphs[i]->captures[position.at(capture.outer)] = capture.inner;
    }
  }

  std::unique_ptr<Graph> import_body(const onnx::GraphProto& proto,
                                     std::vector<GraphImporter>& bodies) {
    GraphImporter body(context_, proto, this);
    std::unique_ptr<Graph> graph = body.run();
    bodies.push_back(std::move(body));
    return graph;
  }

  void import_attribute(const onnx::AttributeProto& proto, Node& node,
                        std::vector<GraphImporter>& bodies) {
    AttributeValue value;
    switch (proto.type()) {
      case onnx::AttributeProto::INT:
        value = int64_t{proto.i()};
        break;
      case onnx::AttributeProto::FLOAT:
        value = proto.f();
        break;
      case onnx::AttributeProto::STRING:
        value = proto.s();
        break;
      case onnx::AttributeProto::TENSOR:
        value = to_value(proto.t(), context_.payloads);
        break;
      case onnx::AttributeProto::SPARSE_TENSOR:
        value = to_value(proto.sparse_tensor(), context_.payloads);
        break;
      case onnx::AttributeProto::INTS:
        value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
        break;
      case onnx::AttributeProto::FLOATS:
        value = std::vector<float>(proto.floats().begin(), proto.floats().end());
        break;
      case onnx::AttributeProto::STRINGS:
        value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
        break;
      case onnx::AttributeProto::TENSORS:
        value = to_values(proto.tensors());
        break;
      case onnx::AttributeProto::SPARSE_TENSORS:
        value = to_values(proto.sparse_tensors());
        break;
      case onnx::AttributeProto::GRAPH:
        value = import_body(proto.g(), bodies);
        break;
      case onnx::AttributeProto::GRAPHS: {
        std::vector<std::unique_ptr<Graph>> graphs;
        for (const auto& graph : proto.graphs()) graphs.push_back(import_body(graph, bodies));
        value = std::move(graphs);
        break;
      }
      // Type attributes only matter for type inference, whose result the node's outputs have.
      case onnx::AttributeProto::TYPE_PROTO:
      case onnx::AttributeProto::TYPE_PROTOS:
        return;
      default:
        throw Error(Code::kInvalidModel, "attribute \"" + proto.name() + "\" has no type");
    }
    node.attributes.push_back({proto.name(), std::move(value)});
  }

  template <class Tensors>
  std::vector<ValueRef> to_values(const Tensors& tensors) const {
    std::vector<ValueRef> values;
    for (const auto& tensor : tensors) values.push_back(to_value(tensor, context_.payloads));
    return values;
  }

  Context& context_;
  const onnx::GraphProto& proto_;
  GraphImporter* outer_;
  std::unique_ptr<Graph> graph_;
  TypeMap types_;
  std::unordered_map<std::string, GraphValue*> values_;
  std::vector<Capture> captures_;
  std::vector<UnreadInput> unread_;  // of the main graph, by position
};

void set_initial(Graph& graph, const onnx::TensorProto& tensor,
                 const std::vector<Payload>& payloads) {
  const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](const auto* value) { return value->name == tensor.name(); });
  if (input == graph.inputs.end())
    throw Error(Code::kInternal, "there is no input \"" + tensor.name() + "\" for its initializer");
  const ValueRef value = to_value(tensor, payloads);
  // Inputs of a run are aligned; the bytes of a mapped file need not be.
  set_initial(**input, is_aligned(*value) ? value : copy_tensor(*value));
}

}  // namespace

std::unique_ptr<Graph> import_graph(const onnx::ModelProto& model,
                                    const std::vector<onnx::TensorProto>& defaults,
                                    const std::vector<ConstantInput>& constants,
                                    const std::map<std::string, int>& opsets,
                                    const std::vector<Payload>& payloads) {
  Context context{opsets, payloads, {}};
  GraphImporter importer(context, model.graph(), nullptr);
  importer.add_unread_inputs(constants);
  std::unique_ptr<Graph> graph = importer.run();
  for (const onnx::TensorProto& tensor : defaults) set_initial(*graph, tensor, payloads);
  graph->renumber();
  verify(*graph, true);
  return graph;
}

}  // namespace gantry
