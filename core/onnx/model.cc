// SPDX-License-Identifier: Apache-2.0
#include "onnx/model.h"

#include <gantry/error.h>

#include <algorithm>
#include <span>
#include <utility>

#include "onnx/check.h"
#include "onnx/check_attributes.h"
#include "onnx/exporter.h"
#include "onnx/external_data.h"
#include "onnx/foreign_file.h"
#include "onnx/functions.h"
#include "onnx/importer.h"
#include "onnx/infer_types.h"
#include "onnx/mapped_file.h"
#include "onnx/normalize.h"
#include "onnx/payload.h"
#include "onnx/schema.h"
#include "onnx/wire.h"

namespace gantry {
namespace {

// A schema's body may call operators that have bodies themselves, and so on, but not deeply.
constexpr int kMaxInlineRounds = 32;

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

}  // namespace

class OnnxModel::Impl {
 public:
  explicit Impl(const ModelSource& source) {
    const bool is_file = source.bytes.empty();
    label = is_file ? source.path.string() : "model in memory";  // as Session says
    std::shared_ptr<const MappedFile> file;
    std::span<const std::byte> bytes = source.bytes;
    std::filesystem::path folder = source.path;
    if (is_file) {
      if (source.path.empty())
        throw Error(Code::kInvalidModel, "the model is empty; a path or bytes were expected");
      file = MappedFile::open(source.path);
      files.push_back(file);
      bytes = file->bytes();
      folder = source.path.has_parent_path() ? source.path.parent_path() : ".";
    }
    try {
      load(bytes, file, folder);
    } catch (const Error& error) {
      throw error.in(label);
    }
  }

  void load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
            const std::filesystem::path& folder) {
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
    for (auto& file : map_external_data(proto, folder, payloads)) files.push_back(std::move(file));
    normalize_domains(proto);
    prepare();
    for (const auto& entry : proto.metadata_props()) metadata[entry.key()] = entry.value();
  }

  bool inline_functions(const std::function<bool(const FunctionCall&)>& wanted) {
    int rounds = 0;
    while (inline_once(proto, wanted)) {
      if (++rounds > kMaxInlineRounds) {
        throw Error(Code::kInvalidModel, "functions call each other more than " +
                                             std::to_string(kMaxInlineRounds) + " deep");
      }
      prepare();
    }
    return rounds > 0;
  }

  void prepare() {
    opsets = read_opsets(proto.opset_import());
    check_model(proto, payloads);
    check_attributes(proto);
    normalize_model(proto, defaults);
    add_default_attributes(proto);
    guessed_outputs = infer_types(proto);
  }

  std::string label;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<Payload> payloads;
  onnx::ModelProto proto;
  std::vector<onnx::TensorProto> defaults;   // of inputs
  std::vector<std::string> guessed_outputs;  // of which nothing but the model's word is known
  int64_t ir_version = 0;
  std::map<std::string, int> opsets;
  std::map<std::string, std::string> metadata;
};

OnnxModel::OnnxModel(const ModelSource& source) : impl_(std::make_unique<Impl>(source)) {}
OnnxModel::~OnnxModel() = default;

std::unique_ptr<Graph> OnnxModel::to_graph() const {
  try {
    auto graph = import_graph(impl_->proto, impl_->defaults, impl_->opsets, impl_->payloads);
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
