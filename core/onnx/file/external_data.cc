// SPDX-License-Identifier: Apache-2.0
#include "onnx/file/external_data.h"

#include <gantry/error.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "base/mapped_file.h"

namespace gantry {
namespace {

struct DataEntry {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

class Mapper {
 public:
  Mapper(const ModelFolders& folders, FileAccess access, std::vector<Payload>& payloads)
      : folders_(folders), access_(access), payloads_(payloads) {}

  void map(onnx::TensorProto& tensor) {
    const std::string subject = "external data of tensor \"" + tensor.name() + "\"";
    try {
      const DataEntry entry = read_entry(tensor);
      const uint64_t needed = payload_bytes_needed(tensor);
      // Exporters write a length of 0 for "to the end".
      if (const uint64_t length = entry.length.value_or(0); length != 0 && length != needed) {
        fail("length is " + std::to_string(*entry.length) + " bytes; the tensor needs " +
             std::to_string(needed));
      }
      const std::shared_ptr<const MappedFile> file = open(entry.location);
      const uint64_t size = file->bytes().size();
      if (entry.offset > size || needed > size - entry.offset) {
        fail("\"" + entry.location + "\" has " + std::to_string(size) +
             " bytes; the tensor needs " + std::to_string(needed) + " from byte " +
             std::to_string(entry.offset));
      }
      tensor.set_doc_string(placeholder_text(payloads_.size()));
      tensor.clear_external_data();
      tensor.clear_data_location();
      payloads_.push_back({file->bytes().data() + entry.offset, needed, file, true});
    } catch (const Error& error) {
      throw error.in(subject);
    }
  }

  /// The files, in the order of their locations.
  [[nodiscard]] std::vector<std::shared_ptr<const MappedFile>> files() const {
    std::vector<std::shared_ptr<const MappedFile>> files;
    for (const auto& [location, file] : files_) files.push_back(file);
    return files;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) { throw Error(Code::kInvalidModel, what); }

  static uint64_t read_number(const std::string& key, const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(key + " must be a number of bytes; found \"" + text + "\"");
    }
    return value;
  }

  static DataEntry read_entry(const onnx::TensorProto& tensor) {
    DataEntry entry;
    for (const auto& item : tensor.external_data()) {
      if (item.key() == "location") entry.location = item.value();
      if (item.key() == "offset") entry.offset = read_number("offset", item.value());
      if (item.key() == "length") entry.length = read_number("length", item.value());
    }
    if (entry.location.empty()) fail("a location was expected; there is none");
    return entry;
  }

  std::shared_ptr<const MappedFile> open(const std::string& location) {
    if (folders_.named.empty()) {
      fail("\"" + location + "\" cannot be found: the model was given as bytes without a folder");
    }
    const auto known = files_.find(location);
    if (known != files_.end()) return known->second;
    if (location.find('\0') != std::string::npos)
      fail("the location must be a file's name; found one with a NUL in it");
    if (std::filesystem::path(location).is_absolute()) {
      fail("the location must be relative to the model's folder; found \"" + location + "\"");
    }
    std::error_code error;
    const std::filesystem::path base = std::filesystem::canonical(folders_.named, error);
    if (error) {
      throw Error(Code::kNotFound, "the model's folder \"" + folders_.named.string() +
                                       "\" cannot be read: " + error.message());
    }
    // Symbolic links are resolved before the test; what is opened is the resolved path.
    const std::filesystem::path wanted = std::filesystem::weakly_canonical(base / location, error);
    if (error) fail("\"" + location + "\" cannot be resolved: " + error.message());
    require_within(base, wanted, location);
    // Keeps the unresolved name: a link may have another target when the model is loaded again.
    std::shared_ptr<const MappedFile> file =
        MappedFile::open(wanted, access_, folders_.named / location);
    // Folders may have been replaced by links meanwhile, so the opened file is checked too.
    if (!file->resolved_path().empty()) require_within(base, file->resolved_path(), location);
    return files_[location] = std::move(file);
  }

  static bool is_within(const std::filesystem::path& folder, const std::filesystem::path& file) {
    return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
           folder.end();
  }

  void require_within(const std::filesystem::path& base, const std::filesystem::path& file,
                      const std::string& location) const {
    if (is_within(base, file)) return;
    const bool is_linked = !folders_.resolved.empty() && folders_.resolved != base;
    if (is_linked && is_within(folders_.resolved, file)) return;
    fail("\"" + location + "\" is outside the model's folder, where it must be" +
         (is_linked ? ", and outside \"" + folders_.resolved.string() +
                          "\", where the file lies that the model's name links to"
                    : ""));
  }

  const ModelFolders& folders_;
  const FileAccess access_;
  std::vector<Payload>& payloads_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace

std::vector<std::shared_ptr<const MappedFile>> map_external_data(onnx::ModelProto& model,
                                                                 const ModelFolders& folders,
                                                                 FileAccess access,
                                                                 std::vector<Payload>& payloads) {
  Mapper mapper(folders, access, payloads);
  onnx::for_each_tensor(model, [&](onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) mapper.map(tensor);
  });
  return mapper.files();
}

}  // namespace gantry
