// SPDX-License-Identifier: Apache-2.0
#include <gantry/files.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <onnx/onnx-data.pb.h>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/npy.h"
#include "base/output_file.h"
#include "base/value.h"
#include "onnx/messages/payload.h"
#include "onnx/messages/proto.h"

namespace gantry {
namespace {

enum class FileFormat { kNpy, kPb };

FileFormat format_of(const std::filesystem::path& file) {
  if (file.extension() == ".npy") return FileFormat::kNpy;
  if (file.extension() == ".pb") return FileFormat::kPb;
  throw Error(Code::kInvalidArgument, "the ending .npy or .pb is needed to tell the format");
}

std::string read_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::status(file, error).type() == std::filesystem::file_type::not_found) {
    throw Error(Code::kNotFound, "there is no such file");
  }
  if (!std::filesystem::is_regular_file(file, error))
    throw Error(Code::kInvalidArgument, "a regular file is needed");
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  std::string bytes(static_cast<size_t>(std::max<std::streamoff>(size, 0)), '\0');
  stream.seekg(0);
  if (size < 0 || !stream.read(bytes.data(), size))
    throw Error(Code::kUnavailable, "the file cannot be read");
  return bytes;
}

template <class Message>
Message parse(const std::string& bytes, const char* what) {
  Message message;
  const bool fits = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (!fits || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(Code::kInvalidArgument, std::string("the contents are not those of a ") + what);
  }
  return message;
}

[[noreturn]] void unsupported(const char* what) {
  throw Error(Code::kUnsupported, std::string(what) + " cannot be read from or written to files");
}

Value tensor_from(onnx::TensorProto tensor) {
  tensor.clear_doc_string();  // where the importer marks placeholders (messages/payload.h)
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    unsupported("tensors with external data");
  try {
    return Value(to_value(tensor, {}));
  } catch (const Error& error) {
    throw Error(Code::kInvalidArgument, error.message());
  }
}

Value optional_from(const onnx::OptionalProto& optional, DType dtype);

// Element type of a sequence: that of its first tensor; `fallback` for an empty one.
DType element_type(const std::vector<Value>& items, DType fallback) {
  for (const Value& item : items) {
    if (item.handle()) return item.handle()->dtype;
  }
  return fallback;
}

Value sequence_from(const onnx::SequenceProto& sequence, DType dtype) {
  if (sequence.map_values_size() != 0) unsupported("maps");
  std::vector<Value> items;
  for (const auto& item : sequence.tensor_values()) items.push_back(tensor_from(item));
  for (const auto& item : sequence.sparse_tensor_values()) items.emplace_back(to_value(item, {}));
  for (const auto& item : sequence.sequence_values()) items.push_back(sequence_from(item, dtype));
  for (const auto& item : sequence.optional_values()) items.push_back(optional_from(item, dtype));
  dtype = element_type(items, dtype);
  return Value::sequence(dtype, items);
}

Value optional_from(const onnx::OptionalProto& optional, DType dtype) {
  if (optional.has_map_value()) unsupported("maps");
  std::vector<Value> items;
  if (optional.has_tensor_value()) items.push_back(tensor_from(optional.tensor_value()));
  if (optional.has_sparse_tensor_value())
    items.emplace_back(to_value(optional.sparse_tensor_value(), {}));
  if (optional.has_sequence_value())
    items.push_back(sequence_from(optional.sequence_value(), dtype));
  if (optional.has_optional_value())
    items.push_back(optional_from(optional.optional_value(), dtype));
  if (items.size() > 1)
    throw Error(Code::kInvalidArgument, "an OptionalProto with more than one value was found");
  dtype = element_type(items, dtype);
  return Value::optional(dtype, items.empty() ? Value() : std::move(items.front()));
}

Value read_pb(const std::string& bytes, const ValueInfo& expected) {
  switch (expected.kind) {
    case Kind::kSequence:
      return sequence_from(parse<onnx::SequenceProto>(bytes, "SequenceProto"), expected.dtype);
    case Kind::kOptional:
      return optional_from(parse<onnx::OptionalProto>(bytes, "OptionalProto"), expected.dtype);
    case Kind::kMap:
      unsupported("maps");
    default:
      return tensor_from(parse<onnx::TensorProto>(bytes, "TensorProto"));
  }
}

void fill(const gantry_value& value, onnx::TensorProto& tensor) {
  tensor.set_data_type(static_cast<int32_t>(value.dtype));
  for (const int64_t extent : value.shape) tensor.add_dims(extent);
  if (value.dtype == DType::kString) {
    for (const std::string& text : value.strings) tensor.add_string_data(text);
  } else {
    tensor.set_raw_data(value.view.data, value.view.size_bytes);
  }
}

void fill(const gantry_value& value, onnx::OptionalProto& optional);

void fill(const gantry_value& value, onnx::SequenceProto& sequence) {
  sequence.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const ValueRef& item : items_of(value)) {
    switch (item->kind) {
      case GANTRY_KIND_TENSOR:
        fill(*item, *sequence.add_tensor_values());
        break;
      case GANTRY_KIND_SEQUENCE:
        sequence.set_elem_type(onnx::SequenceProto::SEQUENCE);
        fill(*item, *sequence.add_sequence_values());
        break;
      case GANTRY_KIND_OPTIONAL:
        sequence.set_elem_type(onnx::SequenceProto::OPTIONAL);
        fill(*item, *sequence.add_optional_values());
        break;
      default:
        unsupported("maps");
    }
  }
}

void fill(const gantry_value& value, onnx::OptionalProto& optional) {
  if (value.items.empty()) return;
  const gantry_value& item = *value.items.front();
  switch (item.kind) {
    case GANTRY_KIND_TENSOR:
      optional.set_elem_type(onnx::OptionalProto::TENSOR);
      return fill(item, *optional.mutable_tensor_value());
    case GANTRY_KIND_SEQUENCE:
      optional.set_elem_type(onnx::OptionalProto::SEQUENCE);
      return fill(item, *optional.mutable_sequence_value());
    case GANTRY_KIND_OPTIONAL:
      optional.set_elem_type(onnx::OptionalProto::OPTIONAL);
      return fill(item, *optional.mutable_optional_value());
    default:
      unsupported("maps");
  }
}

template <class Message>
std::string to_pb(const gantry_value& value, const std::string& name) {
  Message message;
  if (!name.empty()) message.set_name(name);
  fill(value, message);
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    throw Error(Code::kInvalidArgument,
                "a .pb file holds less than 2 GiB; " + describe(value) + " has more");
  }
  return bytes;
}

std::string to_bytes(const gantry_value& value, FileFormat format, const std::string& name) {
  if (format == FileFormat::kNpy) {
    if (value.kind != GANTRY_KIND_TENSOR) {
      throw Error(Code::kInvalidArgument, "a .npy file holds a tensor; found " + describe(value) +
                                              ", which a .pb file can hold");
    }
    return to_npy(value);
  }
  switch (value.kind) {
    case GANTRY_KIND_TENSOR:
      return to_pb<onnx::TensorProto>(value, name);
    case GANTRY_KIND_SEQUENCE:
      return to_pb<onnx::SequenceProto>(value, name);
    case GANTRY_KIND_OPTIONAL:
      return to_pb<onnx::OptionalProto>(value, name);
    default:
      unsupported("maps");
  }
}

}  // namespace

Value read_value(const std::filesystem::path& file, const ValueInfo& expected) {
  try {
    const FileFormat format = format_of(file);
    const std::string bytes = read_file(file);
    if (format == FileFormat::kPb) return read_pb(bytes, expected);
    return Value(parse_npy(std::as_bytes(std::span(bytes)), expected.dtype));
  } catch (const Error& error) {
    throw error.in(file.string());
  }
}

void write_value(const std::filesystem::path& file, const Value& value, const std::string& name) {
  try {
    const FileFormat format = format_of(file);
    if (!value.handle()) throw Error(Code::kInvalidArgument, "there is no value to write");
    const std::string bytes = to_bytes(*value.handle(), format, name);
    errno = 0;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    stream.flush();
    if (!stream) {
      const int reason = errno;
      stream.close();
      remove_partial_file(file);
      throw Error(Code::kUnavailable,
                  "the file cannot be written: " + std::generic_category().message(reason));
    }
  } catch (const Error& error) {
    throw error.in(file.string());
  }
}

}  // namespace gantry
