// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/infer_types.h"

#include <algorithm>
#include <onnx/shape_inference/implementation.h>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "onnx/messages/body_domain.h"
#include "onnx/messages/payload.h"
#include "onnx/validate/library_message.h"

namespace gantry {
namespace {

using Dims = google::protobuf::RepeatedField<int64_t>;

// During inference, replaces the initializers that the library must not read (placeholders and
// sparse ones) by declarations of their types.
class HiddenConstants {
 public:
  explicit HiddenConstants(onnx::ModelProto& model) {
    onnx::for_each_graph(model, [&](onnx::GraphProto& graph) { hide(graph); });
  }
  ~HiddenConstants() {
    for (Hidden& item : hidden_) {
      for (auto& tensor : item.dense) item.graph->add_initializer()->Swap(&tensor);
      for (auto& sparse : item.sparse) item.graph->add_sparse_initializer()->Swap(&sparse);
      // Found by name, since inference may have rewritten the list.
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

// Data propagation has one table of values by name for all bodies, so a name used in two bodies
// would confuse their values.
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

// Removes all declared shapes except those of the model's inputs.
void drop_declared_shapes(onnx::ModelProto& model) {
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    graph.clear_value_info();
    for (auto& output : *graph.mutable_output()) drop_shape(output);
    if (&graph == &model.graph()) return;
    for (auto& input : *graph.mutable_input()) drop_shape(input);
  });
}

// Removes the names that an earlier inference generated for unknown extents and that were saved
// with the model: a declared name would stay even where inference can find the extent. Names of the
// model's inputs are not removed.
void drop_made_up_symbols(onnx::ModelProto& model) {
  std::unordered_set<std::string> given;
  const auto each_symbol = [](auto& info, const auto& take) {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return;
    for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
      if (dim.has_dim_param()) take(dim);
  };
  for (auto& input : *model.mutable_graph()->mutable_input())
    each_symbol(input, [&](auto& dim) { given.insert(dim.dim_param()); });
  const auto forget = [&](auto& dim) {
    if (dim.dim_param().starts_with(kMadeUpSymbol) && !given.contains(dim.dim_param()))
      dim.clear_dim_param();
  };
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (auto& info : *graph.mutable_value_info()) each_symbol(info, forget);
    for (auto& output : *graph.mutable_output()) each_symbol(output, forget);
  });
}

std::optional<std::string> try_infer(onnx::ModelProto& model, const DeclaredSchemas& schemas,
                                     bool propagate_data) {
  const HiddenConstants hidden(model);
  try {
    constexpr bool kCheckTypes = true;
    constexpr int kStrict = 1;
    constexpr int kLenient = 0;  // goes on behind nodes that cannot be inferred
    const auto infer = [&](int errors) {
      onnx::shape_inference::DataValueMap shape_data;
      onnx::shape_inference::InferShapes(
          model, &schemas, onnx::ShapeInferenceOptions(kCheckTypes, errors, propagate_data),
          &shape_data);
    };
    try {
      infer(kStrict);
    } catch (const std::exception&) {
      if (!schemas.has_left_untyped()) throw;
      infer(kLenient);
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

void note_wrong_shape(FaultLog* log, std::string subject) {
  if (log) log->note(Fault::kWrongShape, std::move(subject));
}

// Gives outputs without a type the inferred type, or that of an input or initializer of the same
// name.
void type_outputs(onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, onnx::TypeProto> types;
  const auto is_untyped = [](const onnx::ValueInfoProto& info) {
    return info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET;
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (is_untyped(output)) types[output.name()];
  }
  if (types.empty()) return;
  const auto take = [&](const std::string& name, const onnx::TypeProto& type) {
    const auto wanted = types.find(name);
    if (wanted != types.end()) wanted->second = type;
  };
  for (const auto& info : graph.value_info()) take(info.name(), info.type());
  for (const auto& input : graph.input()) take(input.name(), input.type());
  for (const auto& tensor : graph.initializer()) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    auto* shape = type.mutable_tensor_type()->mutable_shape();
    for (const int64_t extent : tensor.dims()) shape->add_dim()->set_dim_value(extent);
    take(tensor.name(), type);
  }
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (!is_untyped(output)) continue;
    const onnx::TypeProto& type = types.at(output.name());
    if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) {
      output.clear_type();
    } else {
      *output.mutable_type() = type;
    }
  }
}

// Ranks of the values visible in a graph, those of outer graphs included.
class Ranks {
 public:
  Ranks(const onnx::GraphProto& graph, const Ranks* outer) : outer_(outer) {
    for (const auto* infos : {&graph.input(), &graph.value_info(), &graph.output()}) {
      for (const onnx::ValueInfoProto& info : *infos) ranks_[info.name()] = rank_of(info);
    }
    for (const auto& tensor : graph.initializer()) ranks_[tensor.name()] = tensor.dims_size();
  }
  // -1: unknown.
  [[nodiscard]] int of(const std::string& name) const {
    const auto found = ranks_.find(name);
    if (found != ranks_.end()) return found->second;
    return outer_ ? outer_->of(name) : -1;
  }
  static int rank_of(const onnx::ValueInfoProto& info) {
    const bool is_known = info.type().has_tensor_type() && info.type().tensor_type().has_shape();
    return is_known ? info.type().tensor_type().shape().dim_size() : -1;
  }

 private:
  const Ranks* outer_;
  std::unordered_map<std::string_view, int> ranks_;
};

bool is_operator(const onnx::NodeProto& node, std::string_view op_type) {
  return is_onnx_domain(node.domain()) && node.op_type() == op_type;
}

onnx::GraphProto* body_of(onnx::NodeProto& node, std::string_view name) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name && attribute.has_g()) return attribute.mutable_g();
  }
  return nullptr;
}

// Removes declared shapes in bodies that cannot be right: of a value carried by a Loop whose
// initial value has another rank; of the outputs of If branches whose ranks differ, of which one is
// likely wrong. In later calls, without a log, the ranks of branches are inferred and may differ.
class ContradictedShapes {
 public:
  explicit ContradictedShapes(FaultLog* log) : log_(log) {}

  // Removes them; true if there was one.
  bool drop(onnx::GraphProto& graph, const Ranks* outer) {
    const Ranks ranks(graph, outer);
    bool has_dropped = false;
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (is_operator(node, "Loop")) has_dropped = drop_carried(node, ranks) || has_dropped;
      if (log_ && is_operator(node, "If")) has_dropped = drop_branches(node) || has_dropped;
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) has_dropped = drop(*attribute.mutable_g(), &ranks) || has_dropped;
      }
    }
    return has_dropped;
  }

 private:
  bool drop_carried(onnx::NodeProto& loop, const Ranks& ranks) {
    constexpr int kFirst = 2;  // after the trip count and the condition
    onnx::GraphProto* body = body_of(loop, "body");
    if (!body) return false;
    bool has_dropped = false;
    for (int i = kFirst; i < std::min(loop.input_size(), body->input_size()); ++i) {
      const int initial = ranks.of(loop.input(i));
      const int declared = Ranks::rank_of(body->input(i));
      if (initial < 0 || declared < 0 || initial == declared) continue;
      note_wrong_shape(log_, "input \"" + body->input(i).name() + "\" of a loop's body");
      drop_shape(*body->mutable_input(i));
      if (i - 1 < body->output_size()) drop_shape(*body->mutable_output(i - 1));
      has_dropped = true;
    }
    if (has_dropped) onnx::for_each_graph(*body, [](auto& inner) { inner.clear_value_info(); });
    return has_dropped;
  }

  static bool drop_branches(onnx::NodeProto& node) {
    onnx::GraphProto* then_branch = body_of(node, "then_branch");
    onnx::GraphProto* else_branch = body_of(node, "else_branch");
    if (!then_branch || !else_branch) return false;
    bool has_dropped = false;
    for (int i = 0; i < std::min(then_branch->output_size(), else_branch->output_size()); ++i) {
      const int first = Ranks::rank_of(then_branch->output(i));
      const int second = Ranks::rank_of(else_branch->output(i));
      if (first < 0 || second < 0 || first == second) continue;
      drop_shape(*then_branch->mutable_output(i));
      drop_shape(*else_branch->mutable_output(i));
      has_dropped = true;
    }
    return has_dropped;
  }

  FaultLog* log_;
};

// The declared types of the model's outputs that no node reads. They are removed during inference,
// so that the shapes are inferred from nodes only.
class DeclaredOutputs {
 public:
  DeclaredOutputs(onnx::ModelProto& model, FaultLog* log)
      : graph_(*model.mutable_graph()), log_(log) {
    std::unordered_set<std::string_view> read;
    onnx::for_each_graph(graph_, [&](const onnx::GraphProto& graph) {
      for (const auto& node : graph.node()) read.insert(node.input().begin(), node.input().end());
      if (&graph == &graph_) return;
      for (const auto& output : graph.output()) read.insert(output.name());
    });
    for (auto& output : *graph_.mutable_output()) {
      const bool is_taken = output.type().has_tensor_type() &&
                            output.type().tensor_type().has_shape() &&
                            !read.contains(output.name());
      types_.push_back(is_taken ? output.type() : onnx::TypeProto());
      if (is_taken) drop_shape(output);
    }
  }

  // Restores them, merged with the inferred shapes; a contradicting declaration is dropped. Returns
  // the names of outputs without an inferred shape.
  std::vector<std::string> restore() {
    std::vector<std::string> unknown;
    for (int i = 0; i < graph_.output_size(); ++i) {
      onnx::TypeProto& declared = types_[static_cast<size_t>(i)];
      if (!declared.has_tensor_type()) continue;
      onnx::ValueInfoProto& output = *graph_.mutable_output(i);
      if (!output.type().tensor_type().has_shape()) unknown.push_back(output.name());
      try {
        onnx::shape_inference::checkShapesAndTypes(output.type(), declared);
        onnx::shape_inference::mergeShapesAndTypes(output.type(), &declared);
      } catch (const std::exception&) {
        note_wrong_shape(log_, "output \"" + output.name() + "\"");
        continue;
      }
      output.mutable_type()->Swap(&declared);
    }
    return unknown;
  }

 private:
  onnx::GraphProto& graph_;
  FaultLog* log_;
  std::vector<onnx::TypeProto> types_;  // by output; not set for other outputs
};

}  // namespace

std::vector<std::string> infer_types(onnx::ModelProto& model, const DeclaredSchemas& schemas,
                                     FaultLog* log) {
  const bool propagate_data = names_are_unique(model);
  if (propagate_data) drop_made_up_symbols(model);
  DeclaredOutputs declared(model, log);
  std::optional<std::string> problem = try_infer(model, schemas, propagate_data);
  if (problem && problem->find("existing shape") != std::string::npos) {
    note_wrong_shape(log, node_of_message(*problem));
    drop_declared_shapes(model);
    problem = try_infer(model, schemas, propagate_data);
  }
  if (!problem && ContradictedShapes(log).drop(*model.mutable_graph(), nullptr))
    problem = try_infer(model, schemas, propagate_data);
  if (problem) reject_model("type inference", *problem);
  type_outputs(*model.mutable_graph());
  return declared.restore();
}

}  // namespace gantry
