// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_writer.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "base/output_file.h"
#include "base/value.h"
#include "onnx/exporter.h"
#include "onnx/messages/proto.h"
#include "onnx/schema/schema.h"

namespace gantry {
namespace {

// All nodes of the graph, and as inputs also the constants that they read. Inputs with a default
// are left out: the plan has the default as a constant.
Fragment whole(const Graph& graph) {
  Fragment fragment;
  for (const GraphValue* input : graph.inputs) {
    if (!input->initial) fragment.inputs.push_back(input);
  }
  for (const auto& value : graph.values()) {
    if (value->constant) fragment.inputs.push_back(value.get());
  }
  for (const auto& node : graph.nodes()) fragment.nodes.push_back(node.get());
  for (const GraphValue* output : graph.outputs()) fragment.outputs.push_back(output);
  return fragment;
}

// A file that is there once it is complete: until then it has another name, so that a file of its
// name stays whole, also for those who have mapped it (the model that is read may be that file).
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : path_(path),
        target_(replaceable(path)),
        unfinished_(target_.empty()
                        ? path.string()
                        : target_.string() + "." + std::to_string(getpid()) + ".unfinished") {
    stream_.open(unfinished_, std::ios::binary | std::ios::trunc);
    require(stream_.good(), "cannot be opened for writing");
  }
  ~File() {
    std::error_code ignored;
    if (stream_.is_open() && !target_.empty()) std::filesystem::remove(unfinished_, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const void* data, uint64_t size_bytes) {
    stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size_bytes));
    require(stream_.good(), "cannot be written");
    size_bytes_ += size_bytes;
  }
  void finish() {
    stream_.flush();
    require(stream_.good(), "cannot be written");
    std::error_code error;
    if (!target_.empty()) std::filesystem::rename(unfinished_, target_, error);
    require(!error, "cannot be replaced");
    stream_.close();
  }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

 private:
  void require(bool is_done, const char* what) const {
    if (!is_done) throw Error(Code::kUnavailable, path_.string() + ": the file " + what);
  }

  const std::filesystem::path path_;
  const std::filesystem::path target_;      // empty: `path_` is written to in place
  const std::filesystem::path unfinished_;  // renamed to the target once it is complete
  std::ofstream stream_;
  uint64_t size_bytes_ = 0;
};

// Gives tensors their bytes, which export_fragment refers to by number.
class Weights {
 public:
  Weights(const ExportedModel& exported, const std::filesystem::path& file,
          const std::string& external, uint64_t least_bytes)
      : exported_(exported), external_(external), least_bytes_(least_bytes) {
    if (external.empty()) return;
    const bool is_plain = std::filesystem::path(external).filename() == external &&
                          external != "." && external != "..";
    if (!is_plain || file.filename() == external) {
      throw Error(Code::kInvalidArgument,
                  "the file for large tensors: expected the name of a file in the model's folder, "
                  "other than the model's, found \"" +
                      external + "\"");
    }
    file_ = std::make_unique<File>(file.parent_path() / external);
  }

  void put(onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      const gantry_value& value = *exported_.weights.at(number_of(tensor));
      tensor.clear_external_data();
      tensor.clear_data_location();
      tensor.set_raw_data(value.view.data, value.view.size_bytes);
    }
    if (file_ && tensor.has_raw_data() && tensor.raw_data().size() >= least_bytes_)
      move_out(tensor);
  }
  void finish() {
    if (file_) file_->finish();
  }

 private:
  static size_t number_of(const onnx::TensorProto& tensor) {
    constexpr std::string_view kScheme = "gantry:";
    return std::strtoull(tensor.external_data(0).value().c_str() + kScheme.size(), nullptr, 10);
  }

  void move_out(onnx::TensorProto& tensor) {
    const auto add = [&](const char* key, const std::string& text) {
      onnx::StringStringEntryProto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(text);
    };
    add("location", external_);
    add("offset", std::to_string(file_->size_bytes()));
    add("length", std::to_string(tensor.raw_data().size()));
    file_->write(tensor.raw_data().data(), tensor.raw_data().size());
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }

  const ExportedModel& exported_;
  const std::string external_;
  const uint64_t least_bytes_;
  std::unique_ptr<File> file_;
};

// The opsets of the model that was read, where every node has the same schema under them.
void keep_opsets(const std::map<std::string, int>& read, onnx::ModelProto& model) {
  for (onnx::OperatorSetIdProto& import : *model.mutable_opset_import()) {
    const auto before = read.find(import.domain());
    if (before == read.end()) continue;
    bool is_same = true;
    onnx::for_each_graph(*model.mutable_graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        is_same = is_same && (node.domain() != import.domain() ||
                              since_version(node.op_type(), node.domain(), before->second) ==
                                  since_version(node.op_type(), node.domain(),
                                                static_cast<int>(import.version())));
      }
    });
    if (is_same) import.set_version(before->second);
  }
}

// What the file says of itself. Tools ask its producer for the exporter, whoever wrote it last.
void keep_description(const onnx::ModelProto& read, onnx::ModelProto& model) {
  if (read.has_producer_name()) {
    model.set_producer_name(read.producer_name());
    model.set_producer_version(read.producer_version());
  }
  if (read.has_domain()) model.set_domain(read.domain());
  if (read.has_model_version()) model.set_model_version(read.model_version());
  if (read.has_doc_string()) model.set_doc_string(read.doc_string());
  if (read.graph().has_doc_string())
    model.mutable_graph()->set_doc_string(read.graph().doc_string());
}

}  // namespace

void write_model(const Graph& graph, const OnnxModel& model, const std::filesystem::path& file,
                 const std::string& external, uint64_t least_bytes) {
  constexpr uint64_t kMostBytes = uint64_t{2} << 30;
  const ExportedModel exported = export_fragment(whole(graph), &model);
  onnx::ModelProto proto;
  if (!proto.ParseFromString(exported.bytes))
    throw Error(Code::kInternal, file.string() + ": the model that was made cannot be read");
  proto.mutable_graph()->set_name(graph.name);
  keep_description(model.parts().proto, proto);
  for (const auto& [key, value] : model.metadata()) {
    onnx::StringStringEntryProto* entry = proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  keep_opsets(model.opsets(), proto);
  Weights weights(exported, file, external, least_bytes);
  onnx::for_each_tensor(proto, [&](onnx::TensorProto& tensor) { weights.put(tensor); });
  std::string bytes;
  if (proto.ByteSizeLong() >= kMostBytes || !proto.SerializeToString(&bytes)) {
    throw Error(Code::kUnsupported, file.string() +
                                        ": the model has 2 GiB or more; a file for its large "
                                        "tensors beside it is needed");
  }
  File written(file);
  written.write(bytes.data(), bytes.size());
  weights.finish();
  written.finish();
}

}  // namespace gantry
