// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/repairs.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/schema/schema.h"
#include "onnx/validate/normalize.h"
#include "onnx/validate/order.h"

namespace gantry {
namespace {

constexpr int64_t kImportsOpsets = 3;         // since this IR version
constexpr int64_t kConstantsNeedNoInput = 4;  // likewise
constexpr int64_t kConstantForms = 12;        // since this opset

std::string quoted(std::string_view kind, const std::string& name) {
  return std::string(kind) + " \"" + name + "\"";
}

// Removes all but the last of items with equal keys. `found` is called with the key of each removed
// item.
template <class Item, class Key, class Found>
void keep_last(google::protobuf::RepeatedPtrField<Item>& items, const Key& key,
               const Found& found) {
  std::unordered_map<std::string, int> left;
  for (const Item& item : items) ++left[key(item)];
  if (left.size() == static_cast<size_t>(items.size())) return;
  google::protobuf::RepeatedPtrField<Item> all;
  all.Swap(&items);
  for (Item& item : all) {
    if (--left[key(item)] == 0) {
      items.Add()->Swap(&item);
    } else {
      found(key(item));
    }
  }
}

class Repair {
 public:
  Repair(onnx::ModelProto& model, FaultLog& log)
      : model_(model), graph_(*model.mutable_graph()), log_(log) {}

  void run() {
    repair_ir_version();
    collect_domains();
    repair_imports();
    repair_name();
    repair_names_used_twice();
    note_initializers();
    repair_outputs();
    note_extents(graph_.input(), "input");
    note_extents(graph_.output(), "output");
    repair_constants();
    note_new_operators();
    onnx::for_each_graph(graph_, [&](onnx::GraphProto& graph) {
      const std::string node = sort_nodes(graph);
      if (!node.empty()) log_.note(Fault::kNodesOutOfOrder, node);
    });
  }

 private:
  void repair_ir_version() {
    if (!model_.has_ir_version() || model_.ir_version() < 0) return;
    if (model_.ir_version() >= kImportsOpsets || model_.opset_import_size() == 0) return;
    log_.note(Fault::kOldIrVersion, "IR version " + std::to_string(model_.ir_version()));
    model_.set_ir_version(kImportsOpsets);
  }

  void collect_domains() {
    onnx::for_each_graph(graph_, [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node())
        users_.try_emplace(node.domain(), label_of(node));
    });
  }

  void repair_imports() {
    if (model_.opset_import_size() == 0) return;
    google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> all;
    all.Swap(model_.mutable_opset_import());
    for (onnx::OperatorSetIdProto& import : all) {
      if (import.version() < oldest_opset(import.domain()) && !users_.contains(import.domain())) {
        log_.note(Fault::kOpsetTooLow, quoted("domain", import.domain()));
      } else {
        model_.add_opset_import()->Swap(&import);
      }
    }
    for (const auto& [domain, user] : users_) {
      const auto is_it = [&domain = domain](const auto& item) { return item.domain() == domain; };
      const auto& imports = model_.opset_import();
      if (std::any_of(imports.begin(), imports.end(), is_it) || newest_opset(domain) == 0) continue;
      log_.note(Fault::kDomainNotImported, user);
      onnx::OperatorSetIdProto* import = model_.add_opset_import();
      import->set_domain(domain);
      import->set_version(newest_opset(domain));
    }
  }

  void repair_name() {
    if (!graph_.name().empty()) return;
    log_.note(Fault::kUnnamedGraph, "the graph");
    graph_.set_name("graph");
  }

  void repair_names_used_twice() {
    keep_last(
        *model_.mutable_metadata_props(), [](const auto& entry) { return entry.key(); },
        [&](const std::string& key) { log_.note(Fault::kMetadataTwice, quoted("metadata", key)); });
    onnx::for_each_graph(graph_, [&](onnx::GraphProto& graph) {
      keep_last(
          *graph.mutable_initializer(), [](const auto& tensor) { return tensor.name(); },
          [&](const std::string& name) {
            log_.note(Fault::kInitializerTwice, quoted("initializer", name));
          });
    });
  }

  // check_model gives the checker an IR version that allows them.
  void note_initializers() {
    if (model_.ir_version() >= kConstantsNeedNoInput) return;
    std::unordered_set<std::string_view> inputs;
    for (const auto& input : graph_.input()) inputs.insert(input.name());
    for (const auto& tensor : graph_.initializer()) {
      if (!inputs.contains(tensor.name()))
        log_.note(Fault::kInitializerIsNoInput, quoted("initializer", tensor.name()));
    }
  }

  // Type inference gives them a type.
  void repair_outputs() {
    for (onnx::ValueInfoProto& output : *graph_.mutable_output()) {
      if (output.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) continue;
      log_.note(Fault::kUntypedOutput, quoted("output", output.name()));
      output.clear_type();
    }
  }

  // The importer makes them unknown.
  template <class Values>
  void note_extents(const Values& values, std::string_view kind) {
    for (const onnx::ValueInfoProto& info : values) {
      const auto& extents = info.type().tensor_type().shape().dim();
      if (std::any_of(extents.begin(), extents.end(),
                      [](const auto& extent) { return extent.dim_value() == -1; }))
        log_.note(Fault::kNegativeExtent, quoted(kind, info.name()));
    }
  }

  void repair_constants() {
    const bool has_forms = opset() == 0 || opset() >= kConstantForms;
    onnx::for_each_graph(graph_, [&](onnx::GraphProto& graph) {
      for (onnx::NodeProto& node : *graph.mutable_node()) {
        if (node.op_type() != "Constant" || !node.domain().empty()) continue;
        drop_marks(node);
        if (!has_forms && node.attribute_size() == 1) repair_form(node);
      }
    });
  }

  // Tools mark constants with attributes of their own. Without a value the node stays as it is, for
  // the checker to refuse.
  void drop_marks(onnx::NodeProto& node) {
    auto& attributes = *node.mutable_attribute();
    const auto is_mark = [](const onnx::AttributeProto& attribute) {
      return !attribute.name().starts_with("value") && attribute.name() != "sparse_value";
    };
    const auto marks = std::stable_partition(attributes.begin(), attributes.end(),
                                             [&](const auto& one) { return !is_mark(one); });
    if (marks == attributes.begin() || marks == attributes.end()) return;
    log_.note(Fault::kConstantMark, label_of(node));
    attributes.erase(marks, attributes.end());
  }

  void repair_form(onnx::NodeProto& node) {
    onnx::AttributeProto& attribute = *node.mutable_attribute(0);
    onnx::TensorProto tensor;
    if (attribute.name() == "value" || !take_constant(attribute, tensor)) return;
    log_.note(Fault::kConstantForm, label_of(node));
    attribute.Clear();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->Swap(&tensor);
  }

  // SchemaStore gives them the schema.
  void note_new_operators() {
    onnx::for_each_graph(graph_, [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        if (node.domain().empty() && opset() != 0 && is_taken_early(node.op_type(), opset()))
          log_.note(Fault::kOperatorTooNew, label_of(node));
      }
    });
  }

  // The opset of ai.onnx; 0: not imported.
  [[nodiscard]] int opset() const {
    for (const auto& import : model_.opset_import()) {
      if (import.domain().empty()) return static_cast<int>(import.version());
    }
    return 0;
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  FaultLog& log_;
  std::map<std::string, std::string> users_;  // domain -> the first node of it
};

}  // namespace

void repair_model(onnx::ModelProto& model, FaultLog& log) { Repair(model, log).run(); }

}  // namespace gantry
