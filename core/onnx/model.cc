// SPDX-License-Identifier: Apache-2.0
#include "onnx/model.h"

#include <gantry/error.h>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/mapped_file.h"
#include "base/run_limits.h"
#include "onnx/file/external_data.h"
#include "onnx/file/foreign_file.h"
#include "onnx/file/wire.h"
#include "onnx/functions.h"
#include "onnx/importer.h"
#include "onnx/messages/payload.h"
#include "onnx/schema/declared_schemas.h"
#include "onnx/schema/schema.h"
#include "onnx/validate/change_model.h"
#include "onnx/validate/check.h"
#include "onnx/validate/check_attributes.h"
#include "onnx/validate/expansion.h"
#include "onnx/validate/infer_types.h"
#include "onnx/validate/leniencies.h"
#include "onnx/validate/normalize.h"
#include "onnx/validate/repairs.h"

namespace gantry {
namespace {

// Most levels of nesting: a schema's body may call operators that have bodies themselves.
constexpr int kMostDepth = 32;

onnx::ModelProto parse_model(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(
        Code::kInvalidModel,
        "not an ONNX model, or a damaged one: its fields do not have the types they should");
  }
  if (!model.has_graph()) {
    throw Error(Code::kInvalidModel, "not an ONNX model, or a truncated one: it has no graph");
  }
  return model;
}

bool has_defaults(const onnx::ModelProto& model) {
  std::unordered_set<std::string> inputs;
  for (const auto& input : model.graph().input()) inputs.insert(input.name());
  const auto& all = model.graph().initializer();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& tensor) { return inputs.contains(tensor.name()); });
}

std::set<std::string> scalars_of(const onnx::GraphProto& graph) {
  std::set<std::string> scalars;
  for (const auto& input : graph.input()) {
    const auto& type = input.type();
    if (type.has_tensor_type() && type.tensor_type().has_shape() &&
        type.tensor_type().shape().dim().empty())
      scalars.insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) scalars.erase(tensor.name());
  return scalars;
}

bool is_declared(const onnx::ValueInfoProto& output) {
  if (!output.type().has_tensor_type()) return false;
  const auto& tensor = output.type().tensor_type();
  if (tensor.elem_type() == onnx::TensorProto::UNDEFINED || !tensor.has_shape()) return false;
  return std::all_of(tensor.shape().dim().begin(), tensor.shape().dim().end(),
                     [](const auto& extent) { return extent.has_dim_value(); });
}

}  // namespace

class OnnxModel::Impl {
 public:
  Impl(const ModelSource& source, OpenInputs wanted, FileAccess access, const ModelChanges& changes,
       const std::vector<DeclaredOperator>& operators)
      : schemas(std::make_shared<DeclaredSchemas>(operators)), open(std::move(wanted)) {
    const bool is_file = source.bytes.empty();
    label = is_file ? source.path.string() : "model in memory";  // as subject_of()
    std::shared_ptr<const MappedFile> file;
    std::span<const std::byte> bytes = source.bytes;
    ModelFolders folders = {source.path, {}};
    if (is_file) {
      if (source.path.empty())
        throw Error(Code::kInvalidModel, "the model is empty; a path or bytes were expected");
      file = MappedFile::open(source.path, access);
      files.push_back(file);
      bytes = file->bytes();
      folders = {source.path.has_parent_path() ? source.path.parent_path() : ".",
                 file->resolved_path().parent_path()};
    }
    try {
      load(bytes, file, folders, access, changes);
    } catch (const Error& error) {
      throw error.in(label);
    }
  }

  Impl(const Impl& other, OpenInputs wanted)
      : label(other.label),
        schemas(other.schemas),
        files(other.files),
        payloads(other.payloads),
        proto(other.as_read ? *other.as_read : other.proto),
        as_read(other.as_read),
        scalars(other.scalars),
        open(std::move(wanted)),
        ir_version(other.ir_version),
        metadata(other.metadata) {
    try {
      open_ranks(proto, open.ranks);
      prepare(&faults);
    } catch (const Error& error) {
      throw error.in(label);
    }
  }

  void load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
            const ModelFolders& folders, FileAccess access, const ModelChanges& changes) {
    try {
      StrippedModel stripped = strip_model(bytes, std::move(owner));
      payloads = std::move(stripped.payloads);
      proto = parse_model(stripped.bytes);
    } catch (const Error& error) {
      const std::string found = foreign_format(bytes);
      if (error.code() != Code::kInvalidModel || found.empty()) throw;
      throw Error(Code::kInvalidModel, "not an ONNX model: it is " + found);
    }
    ir_version = proto.ir_version();
    replace_initializers(proto, changes.initializers, payloads);
    for (auto& file : map_external_data(proto, folders, access, payloads))
      files.push_back(std::move(file));
    poll_load("the model was checked");
    normalize_domains(proto);
    check_expansion(proto);
    repair_model(proto, faults);
    without_effect = fix_dimensions(proto, changes.dimensions);
    choose_outputs(proto, changes.outputs);
    scalars = scalars_of(proto.graph());
    if (!open.all && (has_defaults(proto) || !scalars.empty()))
      as_read = std::make_shared<onnx::ModelProto>(proto);
    prepare(&faults);
    for (const auto& entry : proto.metadata_props()) metadata[entry.key()] = entry.value();
  }

  bool inline_functions(const std::function<bool(const FunctionCall&)>& wanted) {
    // A body that needs the shape of another body's output must wait for that body.
    const int most_rounds = kMostDepth + proto.graph().node_size();
    int rounds = 0;
    while (inline_once(proto, wanted, body_refusals)) {
      poll_load("functions were put in place of their calls");
      if (++rounds > most_rounds) {
        throw Error(Code::kInvalidModel,
                    "functions call each other more than " + std::to_string(kMostDepth) + " deep");
      }
      prepare(nullptr);
    }
    return rounds > 0;
  }

  // `log`: null after the first call, when declared shapes may be inferred ones.
  void prepare(FaultLog* log) {
    opsets = read_opsets(proto.opset_import());
    check_model(proto, payloads);
    check_attributes(proto);
    if (!open.all) take_constants();
    normalize_model(proto, defaults);
    add_default_attributes(proto);
    guessed_outputs = infer_types(proto, *schemas, log);
  }

  void take_constants() {
    for (ConstantInput& input : make_defaults_constant(proto, open.names))
      constants.push_back(std::move(input));
  }

  std::string label;
  std::shared_ptr<const DeclaredSchemas> schemas;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<Payload> payloads;
  onnx::ModelProto proto;
  std::shared_ptr<const onnx::ModelProto> as_read;  // if there may be plans with other open inputs
  std::set<std::string> scalars;                    // inputs that are declared without axes
  OpenInputs open;
  std::vector<onnx::TensorProto> defaults;  // default values of open inputs
  std::vector<ConstantInput> constants;     // the other inputs with a default
  BodyRefusals body_refusals;
  std::vector<std::string> guessed_outputs;  // whose shape is only declared, see infer_types()
  FaultLog faults;
  std::vector<std::string> without_effect;  // of the changes
  int64_t ir_version = 0;
  std::map<std::string, int> opsets;
  std::map<std::string, std::string> metadata;
};

OnnxModel::OnnxModel(const ModelSource& source, const OpenInputs& open, FileAccess access,
                     const ModelChanges& changes, const std::vector<DeclaredOperator>& operators)
    : impl_(std::make_unique<Impl>(source, open, access, changes, operators)) {}
OnnxModel::OnnxModel(const OnnxModel& other, const OpenInputs& open)
    : impl_(std::make_unique<Impl>(*other.impl_, open)) {}
OnnxModel::~OnnxModel() = default;

std::unique_ptr<Graph> OnnxModel::to_graph() const {
  try {
    auto graph = import_graph(impl_->proto, impl_->defaults, impl_->constants, impl_->opsets,
                              impl_->payloads);
    const std::vector<std::string>& guessed = impl_->guessed_outputs;
    for (GraphValue* output : graph->outputs()) {
      output->type.is_declared_only =
          std::find(guessed.begin(), guessed.end(), output->name) != guessed.end();
    }
    return graph;
  } catch (const Error& error) {
    throw error.in(impl_->label);
  }
}

bool OnnxModel::has_function(const Node& node) const {
  return gantry::has_function(impl_->proto, impl_->opsets,
                              {node.domain, node.op_type, node.overload});
}

bool OnnxModel::has_constant_defaults() const { return !impl_->constants.empty(); }

const std::set<std::string>& OnnxModel::scalar_inputs() const { return impl_->scalars; }

bool OnnxModel::declares_outputs() const {
  const auto& model = impl_->as_read ? *impl_->as_read : impl_->proto;
  const auto& outputs = model.graph().output();
  return std::all_of(outputs.begin(), outputs.end(), is_declared);
}

bool OnnxModel::has_functions() const { return impl_->proto.functions_size() > 0; }

bool OnnxModel::inline_functions(const std::function<bool(const FunctionCall&)>& wanted) {
  try {
    return impl_->inline_functions(wanted);
  } catch (const Error& error) {
    throw error.in(impl_->label);
  }
}

const std::map<std::string, std::string>& OnnxModel::metadata() const { return impl_->metadata; }
const std::map<std::string, int>& OnnxModel::opsets() const { return impl_->opsets; }
std::vector<std::string> OnnxModel::warnings() const {
  std::vector<std::string> warnings = impl_->faults.warnings();
  const std::vector<std::string>& others = impl_->without_effect;
  warnings.insert(warnings.end(), others.begin(), others.end());
  for (std::string& warning : warnings) warning.insert(0, impl_->label + ": ");
  return warnings;
}
const std::map<std::string, std::string>& OnnxModel::body_refusals() const {
  return impl_->body_refusals;
}
int64_t OnnxModel::ir_version() const { return impl_->ir_version; }

ModelDescription OnnxModel::description() const {
  const onnx::ModelProto& proto = impl_->proto;
  return {proto.producer_name(), proto.domain(), proto.doc_string(), proto.graph().doc_string(),
          proto.model_version()};
}
std::string OnnxModel::producer() const {
  const std::string& version = impl_->proto.producer_version();
  return version.empty() ? impl_->proto.producer_name()
                         : impl_->proto.producer_name() + " " + version;
}

ModelParts OnnxModel::parts() const { return {impl_->proto, impl_->payloads}; }

const std::vector<std::shared_ptr<const MappedFile>>& OnnxModel::files() const {
  return impl_->files;
}

uint64_t OnnxModel::mapped_bytes() const {
  uint64_t bytes = 0;
  for (const Payload& payload : impl_->payloads) bytes += payload.size_bytes;
  return bytes;
}

bool is_nondeterministic(const Node& node) {
  if (is_nondeterministic(node.op_type, node.domain, node.since_version)) return true;
  for (const Graph* body : node.bodies()) {
    for (const auto& inner : body->nodes()) {
      if (is_nondeterministic(*inner)) return true;
    }
  }
  return false;
}

}  // namespace gantry
