// SPDX-License-Identifier: Apache-2.0
#include "onnx/functions.h"

#include <gantry/error.h>

#include <algorithm>
#include <memory>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/gradient/gradient.h"
#include "onnx/messages/body_domain.h"
#include "onnx/messages/payload.h"
#include "onnx/schema/gradient_schema.h"
#include "onnx/schema/schema.h"
#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

// Domain of temporary functions with one call each, for the inliner.
constexpr char kCallBodies[] = "gantry.call_bodies";

// The call as nodes of the graph have it.
FunctionCall call_of(const onnx::NodeProto& node) {
  return {is_onnx_domain(node.domain()) ? "" : node.domain(), node.op_type(), node.overload()};
}

// Function bodies of core/onnx/bodies adapt to opsets of ai.onnx from the first of these on. The
// second has every operator and type that they use.
constexpr int kLowestBodyOpset = 13;
constexpr int kBodyOpset = 21;

// True for a schema of bodies/, false for one of the library.
bool is_made_here(const onnx::OpSchema& schema) { return schema.file() == kSchemaFile; }

// Makes a body that is written for kBodyOpset one of a model with an older opset: its operators
// are those of kBodyDomain. Nodes of "ai.onnx" are the model's own (decoder_loop.h).
void move_to_body_domain(onnx::FunctionProto& body) {
  const auto move = [](auto& nodes) {
    for (onnx::NodeProto& node : nodes) {
      if (node.domain().empty()) node.set_domain(kBodyDomain);
    }
  };
  move(*body.mutable_node());
  for (onnx::NodeProto& node : *body.mutable_node())
    onnx::for_each_body(node, [&](onnx::GraphProto& graph) { move(*graph.mutable_node()); });
}

const onnx::FunctionProto* find_local(const onnx::ModelProto& model, const FunctionCall& call) {
  for (const onnx::FunctionProto& function : model.functions()) {
    if (function.domain() == call.domain && function.name() == call.op_type &&
        function.overload() == call.overload) {
      return &function;
    }
  }
  return nullptr;
}

const onnx::OpSchema* find_schema(const std::map<std::string, int>& opsets,
                                  const FunctionCall& call) {
  const auto opset = opsets.find(call.domain);
  if (opset == opsets.end()) return nullptr;
  return SchemaStore::instance().GetSchema(call.op_type, opset->second, call.domain);
}

// Ends the name of a node in a body, before the suffix with which the inliner makes names unique.
constexpr char kNameEnd = '\x01';

void name_parts(const std::string& call, onnx::FunctionProto& body) {
  for (onnx::NodeProto& node : *body.mutable_node()) {
    const std::string& own = node.name().empty() ? node.op_type() : node.name();
    node.set_name(std::string(call).append("/").append(own) + kNameEnd);
  }
}

// Names nodes as Graph::add_node does.
void name_nodes(onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> used;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const std::string wanted = node.name().empty() ? node.op_type() : node.name();
    std::string name = wanted;
    while (!used.try_emplace(name, 1).second) name = wanted + "_" + std::to_string(used[wanted]++);
    node.set_name(name);
  }
}

// Replaces wanted calls by calls of temporary functions, one for each call.
class CallBodies {
 public:
  CallBodies(onnx::ModelProto& model, const std::function<bool(const FunctionCall&)>& wanted,
             BodyRefusals& refusals)
      : model_(model),
        wanted_(wanted),
        refusals_(refusals),
        opsets_(read_opsets(model.opset_import())) {}

  bool run() {
    graph(*model_.mutable_graph(), {});
    if (count_ == 0) return false;
    add_import(model_);
    return true;
  }

 private:
  // The onnx library refuses models of more than 10,000 functions: the rest is left to the next
  // round.
  [[nodiscard]] bool is_full() const { return count_ >= 5000; }

  template <class Proto>
  static void add_import(Proto& proto, const char* domain = kCallBodies, int version = 1) {
    const auto& all = proto.opset_import();
    if (std::any_of(all.begin(), all.end(),
                    [&](const auto& known) { return known.domain() == domain; }))
      return;
    onnx::OperatorSetIdProto* import = proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }

  void graph(onnx::GraphProto& graph, ValueTypes types) {
    for (const auto& info : graph.value_info()) types[info.name()] = &info.type();
    for (const auto& info : graph.input()) types[info.name()] = &info.type();
    for (const auto& info : graph.output()) types[info.name()] = &info.type();
    for (const auto& tensor : graph.initializer()) types[tensor.name()] = initializer_type(tensor);
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      const FunctionCall call = call_of(node);
      if (call.domain != kCallBodies && !is_full() && wanted_(call)) {
        // Functions in the differentiated part are inlined first; the next round has their nodes
        // and types.
        if (is_gradient(call) && replace_differentiated(graph, node, types)) continue;
        // The bodies that a call has as attributes become part of its own body: the next round has
        // them, with types.
        if (replace(graph, node, call, types)) continue;
      }
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) this->graph(*attribute.mutable_g(), types);
        for (onnx::GraphProto& body : *attribute.mutable_graphs()) this->graph(body, types);
      }
    }
  }

  // Inlines the functions that a Gradient node differentiates, even if a provider claims them, as
  // they have no differentiation rule. True if the Gradient must wait for the next round.
  bool replace_differentiated(onnx::GraphProto& graph, const onnx::NodeProto& node,
                              const ValueTypes& types) {
    bool has_calls = false;
    for (const int place : nodes_without_rule(graph, node)) {
      onnx::NodeProto& own = *graph.mutable_node(place);
      const FunctionCall call = call_of(own);
      const bool is_call = call.domain == kCallBodies || is_gradient(call) ||
                           (find_local(model_, call) && wanted_(call));
      const bool is_replaced = !is_call && call.domain.empty() && replace(graph, own, call, types);
      has_calls = has_calls || is_call || is_replaced;
    }
    return has_calls;
  }

  const onnx::TypeProto* initializer_type(const onnx::TensorProto& tensor) {
    made_types_.push_back(std::make_unique<onnx::TypeProto>());
    onnx::TypeProto::Tensor* type = made_types_.back()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (const int64_t extent : tensor.dims())
      type->mutable_shape()->add_dim()->set_dim_value(extent);
    return made_types_.back().get();
  }

  // False: there is no body.
  bool replace(const onnx::GraphProto& graph, onnx::NodeProto& node, const FunctionCall& call,
               const ValueTypes& types) {
    const onnx::FunctionProto* local = find_local(model_, call);
    std::optional<onnx::FunctionProto> body =
        local               ? *local
        : is_gradient(call) ? gradient_body(graph, node, types, opsets_.at(""))
                            : build(node, types);
    if (body) put(node, call, local != nullptr, *body);
    return body.has_value();
  }

  // Makes the node a call of `body`, and adds `body` to the model.
  void put(onnx::NodeProto& node, const FunctionCall& call, bool is_local,
           onnx::FunctionProto& body) {
    name_parts(node.name(), body);
    take_own_nodes(body);
    if (is_local) replace_inner(body);
    separate_outputs(body);
    body.set_domain(kCallBodies);
    body.set_name(call.op_type + "_" + std::to_string(count_++));
    body.clear_overload();
    // The body was chosen for the model's opset, whatever opset it imports; model-local functions
    // have been checked to have the same schemas.
    body.clear_opset_import();
    *body.mutable_opset_import() = model_.opset_import();
    if (is_local) add_import(body);  // for the calls in the body
    node.set_domain(kCallBodies);
    node.set_op_type(body.name());
    node.clear_overload();
    model_.add_functions()->Swap(&body);
  }

  // Nodes of "ai.onnx" are of the model's opset.
  static void take_own_nodes(onnx::FunctionProto& body) {
    const auto take = [](onnx::NodeProto& node) { node.set_domain(normal_domain(node.domain())); };
    for (onnx::NodeProto& node : *body.mutable_node()) {
      take(node);
      onnx::for_each_body(node, [&](onnx::GraphProto& graph) {
        for (onnx::NodeProto& inner : *graph.mutable_node()) take(inner);
      });
    }
  }

  // The inliner needs a node for each output: adds an Identity for an output that is an input.
  static void separate_outputs(onnx::FunctionProto& body) {
    const std::set<std::string> inputs(body.input().begin(), body.input().end());
    std::set<std::string> names = inputs;
    for (const onnx::NodeProto& node : body.node())
      names.insert(node.output().begin(), node.output().end());
    for (std::string& output : *body.mutable_output()) {
      if (!inputs.contains(output)) continue;
      std::string name = output + "_copy";
      while (!names.insert(name).second) name += "_";
      onnx::NodeProto& copy = *body.add_node();
      copy.set_op_type("Identity");
      copy.add_input(output);
      copy.add_output(name);
      output = name;
    }
  }

  // Replaces calls of model-local functions within a model-local function.
  void replace_inner(onnx::FunctionProto& body) {
    for (onnx::NodeProto& node : *body.mutable_node()) {
      const FunctionCall call = call_of(node);
      if (!is_full() && find_local(model_, call) && wanted_(call)) replace({}, node, call, {});
    }
  }

  static std::vector<onnx::TypeProto> input_types(const onnx::NodeProto& node,
                                                  const ValueTypes& types) {
    std::vector<onnx::TypeProto> inputs;
    for (const std::string& name : node.input()) {
      const auto type = types.find(name);
      inputs.push_back(type == types.end() ? onnx::TypeProto() : *type->second);
    }
    return inputs;
  }

  // The body of an operator's schema. If the model's opset of ai.onnx is older than what the body
  // is written for, it has nodes of kBodyDomain.
  std::optional<onnx::FunctionProto> build(const onnx::NodeProto& node, const ValueTypes& types) {
    const onnx::OpSchema* schema =
        find_schema(opsets_, {node.domain(), node.op_type(), node.overload()});
    if (!schema) return std::nullopt;
    const auto own = opsets_.find("");
    const int opset = own == opsets_.end() ? 0 : own->second;
    // The library's bodies are for the opset of their operators.
    const bool is_of_model =
        node.domain() != kBodyDomain && (!is_made_here(*schema) || opset >= kLowestBodyOpset);
    if (is_of_model) {
      auto body = build_for(node, *schema, types, opset);
      if (body || !is_made_here(*schema) || opset >= kBodyOpset) return body;
    }
    auto body = build_for(node, *schema, types, kBodyOpset);
    if (!body) return body;
    move_to_body_domain(*body);
    add_import(model_, kBodyDomain, kBodyOpset);
    return body;
  }

  // The same, written for that opset of ai.onnx.
  std::optional<onnx::FunctionProto> build_for(const onnx::NodeProto& node,
                                               const onnx::OpSchema& schema,
                                               const ValueTypes& types, int onnx_opset) {
    const int opset = opsets_.at(node.domain());
    if (schema.HasFunction()) {
      if (const onnx::FunctionProto* body = schema.GetFunction(opset)) return *body;
    }
    if (!schema.HasContextDependentFunction()) return std::nullopt;
    const std::vector<onnx::TypeProto> inputs = input_types(node, types);
    // The schema is that of the node's domain version; its body uses another domain, whose version
    // is passed as an attribute.
    onnx::NodeProto told = node;
    onnx::AttributeProto& version = *told.add_attribute();
    version.set_name(kOnnxOpset);
    version.set_type(onnx::AttributeProto::INT);
    version.set_i(onnx_opset);
    const onnx::FunctionBodyBuildContextImpl context(told, inputs);
    onnx::FunctionProto body;
    if (schema.BuildContextDependentFunction(context, body, opset)) {
      refusals_.erase(node.name());
      return body;
    }
    if (!refusal_of(body).empty()) refusals_[node.name()] = refusal_of(body);
    return std::nullopt;
  }

  onnx::ModelProto& model_;
  const std::function<bool(const FunctionCall&)>& wanted_;
  BodyRefusals& refusals_;
  const std::map<std::string, int> opsets_;
  std::vector<std::unique_ptr<onnx::TypeProto>> made_types_;
  int count_ = 0;
};

// Model-local functions may import another version of a domain than the model if the schemas are
// the same, which the checker has verified. The inliner requires equal versions, and that the model
// imports the domains of the bodies.
void align_opsets(onnx::ModelProto& model) {
  std::map<std::string, int64_t> versions;
  for (const auto& import : model.opset_import()) versions[import.domain()] = import.version();
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (auto& import : *function.mutable_opset_import()) {
      const auto [known, is_new] = versions.try_emplace(import.domain(), import.version());
      if (is_new) *model.add_opset_import() = import;
      import.set_version(known->second);
    }
  }
}

void remove_import(onnx::ModelProto& model, const std::string& domain) {
  const auto remove = [&](auto* imports) {
    for (int i = imports->size() - 1; i >= 0; --i) {
      if (imports->Get(i).domain() == domain) imports->DeleteSubrange(i, 1);
    }
  };
  remove(model.mutable_opset_import());
  for (auto& function : *model.mutable_functions()) remove(function.mutable_opset_import());
}

// Gives each wanted call that has a body a function in kCallBodies. True if there were any.
bool add_call_bodies(onnx::ModelProto& model,
                     const std::function<bool(const FunctionCall&)>& wanted,
                     BodyRefusals& refusals) {
  onnx::for_each_graph(*model.mutable_graph(), name_nodes);
  return CallBodies(model, wanted, refusals).run();
}

// Removes the inliner's suffix from the names of nodes of temporary functions.
void restore_part_names(onnx::ModelProto& model) {
  onnx::for_each_graph(*model.mutable_graph(), [](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      std::string name = node.name();
      // A node of nested functions has several marks.
      const size_t last = name.rfind(kNameEnd);
      if (last == std::string::npos) continue;
      name.resize(last);
      std::erase(name, kNameEnd);
      node.set_name(name);
    }
  });
}

// Checks the defaults that are copied into each call without the attribute: they must not multiply
// without limit.
void check_default_attributes(onnx::ModelProto& model) {
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (onnx::AttributeProto& value : *function.mutable_attribute_proto()) {
      const auto check = [&](const onnx::GraphProto& graph) {
        for (const onnx::NodeProto& node : graph.node()) {
          if (!find_local(model, call_of(node))) continue;
          throw Error(Code::kUnsupported, "function " + function.name() +
                                              ": the default of attribute " + value.name() +
                                              " is a graph that calls function " + node.op_type() +
                                              ", expected one that calls no function of the model");
        }
      };
      if (value.has_g()) onnx::for_each_graph(*value.mutable_g(), check);
      for (onnx::GraphProto& body : *value.mutable_graphs()) onnx::for_each_graph(body, check);
    }
  }
}

// Adds the size of a default in one call; refuses a model whose copies are too large.
void count_default(const onnx::AttributeProto& value, uint64_t& copied_bytes) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  copied_bytes += value.ByteSizeLong();
  if (copied_bytes <= kMostBytes) return;
  throw Error(Code::kUnsupported, "attribute " + value.name() +
                                      " of a function: the defaults of attributes that calls leave "
                                      "out take more than " +
                                      std::to_string(kMostBytes) +
                                      " bytes together; have the exporter make large ones inputs");
}

}  // namespace

void add_default_attributes(onnx::ModelProto& model) {
  check_default_attributes(model);
  uint64_t copied_bytes = 0;
  const auto add_absent = [&](onnx::NodeProto& node, const std::string& name,
                              const onnx::AttributeProto& value) {
    const auto has_name = [&name](const auto& given) { return given.name() == name; };
    if (std::any_of(node.attribute().begin(), node.attribute().end(), has_name)) return;
    count_default(value, copied_bytes);
    *node.add_attribute() = value;
    node.mutable_attribute()->rbegin()->set_name(name);
  };
  const auto complete = [&](onnx::NodeProto& node, const std::map<std::string, int>& opsets) {
    if (const onnx::FunctionProto* local = find_local(model, call_of(node))) {
      for (const onnx::AttributeProto& value : local->attribute_proto())
        add_absent(node, value.name(), value);
      return;
    }
    const onnx::OpSchema* schema = find_schema(opsets, call_of(node));
    if (!schema || !schema->HasFunction()) return;
    for (const auto& [name, attribute] : schema->attributes()) {
      if (attribute.default_value.has_type()) add_absent(node, name, attribute.default_value);
    }
  };
  const std::map<std::string, int> opsets = read_opsets(model.opset_import());
  onnx::for_each_graph(*model.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) complete(node, opsets);
  });
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    const std::map<std::string, int> own = read_opsets(function.opset_import());
    const auto complete_all = [&](auto& nodes) {
      for (onnx::NodeProto& node : nodes) complete(node, own);
    };
    complete_all(*function.mutable_node());
    for (onnx::NodeProto& node : *function.mutable_node()) {
      onnx::for_each_body(node,
                          [&](onnx::GraphProto& body) { complete_all(*body.mutable_node()); });
    }
  }
}

bool has_function(const onnx::ModelProto& model, const std::map<std::string, int>& opsets,
                  const FunctionCall& call) {
  if (find_local(model, call) || is_gradient(call)) return true;
  const onnx::OpSchema* schema = find_schema(opsets, call);
  if (!schema) return false;
  if (schema->HasContextDependentFunction()) return true;
  return schema->HasFunction() && schema->GetFunction(opsets.at(call.domain)) != nullptr;
}

bool inline_once(onnx::ModelProto& model, const std::function<bool(const FunctionCall&)>& wanted,
                 BodyRefusals& refusals) {
  try {
    align_opsets(model);
    if (!add_call_bodies(model, wanted, refusals)) return false;
    onnx::inliner::FunctionIdVector selected;
    for (const onnx::FunctionProto& function : model.functions()) {
      if (function.domain() == kCallBodies) selected.emplace_back(kCallBodies, function.name());
    }
    onnx::inliner::InlineSelectedLocalFunctions(
        model, *onnx::inliner::FunctionIdSet::Create(std::move(selected)));
    remove_import(model, kCallBodies);
    restore_part_names(model);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Code::kInvalidModel,
                std::string("functions cannot be put in place of their calls: ") + error.what());
  }
  return true;
}

}  // namespace gantry
