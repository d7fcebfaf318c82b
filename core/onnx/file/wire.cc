// SPDX-License-Identifier: Apache-2.0
#include "onnx/file/wire.h"

#include <gantry/error.h>

#include <algorithm>
#include <google/protobuf/io/coded_stream.h>
#include <limits>
#include <optional>
#include <utility>

namespace gantry {
namespace {

using google::protobuf::io::CodedInputStream;

enum class Message {
  kModel,
  kGraph,
  kFunction,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kSparsePart
};

// Message fields that may contain tensors; all other fields are copied unchanged. Field numbers of
// onnx.proto.
struct Nested {
  Message outer;
  uint32_t field;
  Message inner;
};
constexpr Nested kNested[] = {
    {Message::kModel, 7, Message::kGraph},              // graph
    {Message::kModel, 25, Message::kFunction},          // functions
    {Message::kGraph, 1, Message::kNode},               // node
    {Message::kGraph, 5, Message::kTensor},             // initializer
    {Message::kGraph, 15, Message::kSparseTensor},      // sparse_initializer
    {Message::kFunction, 7, Message::kNode},            // node
    {Message::kFunction, 11, Message::kAttribute},      // attribute_proto
    {Message::kNode, 5, Message::kAttribute},           // attribute
    {Message::kAttribute, 5, Message::kTensor},         // t
    {Message::kAttribute, 6, Message::kGraph},          // g
    {Message::kAttribute, 10, Message::kTensor},        // tensors
    {Message::kAttribute, 11, Message::kGraph},         // graphs
    {Message::kAttribute, 22, Message::kSparseTensor},  // sparse_tensor
    {Message::kAttribute, 23, Message::kSparseTensor},  // sparse_tensors
    {Message::kSparseTensor, 1, Message::kSparsePart},  // values
    {Message::kSparseTensor, 2, Message::kSparsePart},  // indices
};
constexpr uint32_t kModelTraining = 20;

// Fields of TensorProto.
constexpr uint32_t kDataType = 2;
constexpr uint32_t kFloatData = 4;
constexpr uint32_t kRawData = 9;
constexpr uint32_t kDoubleData = 10;
constexpr uint32_t kDocString = 12;

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr int kMaxDepth = 96;  // protobuf's own limit is 100
constexpr size_t kLengthBytes =
    5;  // a length that is filled in later, padded to the longest form of 32 bits

std::optional<Message> nested_message(Message outer, uint32_t field) {
  for (const Nested& rule : kNested) {
    if (rule.outer == outer && rule.field == field) return rule.inner;
  }
  return std::nullopt;
}

struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t start = 0;  // of the tag
  uint64_t begin = 0;  // of the value
  uint64_t end = 0;
  uint64_t varint = 0;
};

class Stripper {
 public:
  Stripper(std::span<const std::byte> model, std::shared_ptr<const void> owner)
      : model_(model), owner_(std::move(owner)) {}

  StrippedModel run() {
    message(Message::kModel, 0, model_.size(), 0);
    return std::move(result_);
  }

 private:
  [[noreturn]] static void fail(uint64_t offset, const std::string& what) {
    throw Error(Code::kInvalidModel, "not an ONNX model, or a damaged one: at byte " +
                                         std::to_string(offset) + " " + what);
  }

  uint64_t read_varint(uint64_t& position, uint64_t end) const {
    // A stream over a few bytes only: its offsets have 32 bits, those of a model 64.
    const int window = static_cast<int>(std::min<uint64_t>(end - position, 10));
    CodedInputStream stream(reinterpret_cast<const uint8_t*>(model_.data()) + position, window);
    uint64_t value = 0;
    if (!stream.ReadVarint64(&value))
      fail(position, "a number was expected; the data ends or is none");
    position += static_cast<uint64_t>(stream.CurrentPosition());
    return value;
  }

  Field read_field(uint64_t position, uint64_t end) const {
    Field field;
    field.start = position;
    const uint64_t tag = read_varint(position, end);
    if (tag >> 3 == 0 || tag > std::numeric_limits<uint32_t>::max())
      fail(field.start, "a field was expected");
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    uint64_t length = 0;
    switch (field.type) {
      case WireType::kVarint: {
        field.begin = position;
        field.varint = read_varint(position, end);
        field.end = position;
        return field;
      }
      case WireType::kFixed64:
        length = 8;
        break;
      case WireType::kFixed32:
        length = 4;
        break;
      case WireType::kBytes:
        length = read_varint(position, end);
        break;
      default:
        fail(field.start, "a field was expected; found one of a kind that ONNX does not use");
    }
    if (length > end - position) {
      fail(field.start, "field " + std::to_string(field.number) + " should have " +
                            std::to_string(length) + " bytes; " + std::to_string(end - position) +
                            " are left");
    }
    field.begin = position;
    field.end = position + length;
    return field;
  }

  void message(Message kind, uint64_t begin, uint64_t end, int depth) {
    if (depth > kMaxDepth)
      fail(begin, "messages are nested more than " + std::to_string(kMaxDepth) + " deep");
    if (kind == Message::kTensor || kind == Message::kSparsePart) {
      return tensor(begin, end, kind == Message::kTensor);
    }
    for (uint64_t position = begin; position < end;) {
      const Field field = read_field(position, end);
      position = field.end;
      if (kind == Message::kModel && field.number == kModelTraining) continue;
      const std::optional<Message> inner =
          field.type == WireType::kBytes ? nested_message(kind, field.number) : std::nullopt;
      if (!inner) {
        copy(field);
        continue;
      }
      write_varint(uint64_t{field.number} << 3 | static_cast<uint64_t>(WireType::kBytes));
      const size_t length_at = result_.bytes.size();
      result_.bytes.append(kLengthBytes, '\0');
      message(*inner, field.begin, field.end, depth + 1);
      write_length(length_at, result_.bytes.size() - length_at - kLengthBytes);
    }
  }

  // The field of a tensor's elements, if it is large, the only one, and usable in place; else a
  // field with number 0.
  [[nodiscard]] Field large_field(uint64_t begin, uint64_t end) const {
    Field found;
    int data_type = 0;
    int candidates = 0;
    for (uint64_t position = begin; position < end;) {
      const Field field = read_field(position, end);
      position = field.end;
      if (field.number == kDataType) data_type = static_cast<int>(field.varint);
      if (field.number == kRawData || field.number == kFloatData || field.number == kDoubleData) {
        ++candidates;
        if (field.type == WireType::kBytes) found = field;
      }
    }
    const auto dtype = static_cast<DType>(data_type);
    if (candidates != 1 || found.end - found.begin <= most_kept_bytes(dtype)) return {};
    // Packed float_data and double_data have the layout of raw_data if the element type matches.
    bool fits = true;
    if (found.number == kFloatData) fits = dtype == DType::kFloat || dtype == DType::kComplex64;
    if (found.number == kDoubleData) fits = dtype == DType::kDouble || dtype == DType::kComplex128;
    return fits ? found : Field();
  }

  void tensor(uint64_t begin, uint64_t end, bool may_strip) {
    const Field large = may_strip ? large_field(begin, end) : Field();
    const bool is_stripped = large.number != 0;
    for (uint64_t position = begin; position < end;) {
      const Field field = read_field(position, end);
      position = field.end;
      if (field.number != kDocString && !(is_stripped && field.start == large.start)) copy(field);
    }
    if (!is_stripped) return;
    const std::string mark = placeholder_text(result_.payloads.size());
    write_varint(uint64_t{kDocString} << 3 | static_cast<uint64_t>(WireType::kBytes));
    write_varint(mark.size());
    result_.bytes += mark;
    result_.payloads.push_back(
        {model_.data() + large.begin, large.end - large.begin, owner_, owner_ != nullptr});
  }

  void copy(const Field& field) {
    const uint64_t size = field.end - field.start;
    if (size > static_cast<uint64_t>(std::numeric_limits<int>::max()) - result_.bytes.size()) {
      throw Error(Code::kUnsupported,
                  "the model has 2 GiB or more without the raw data of its tensors; store large "
                  "constants as raw_data or external data");
    }
    result_.bytes.append(reinterpret_cast<const char*>(model_.data()) + field.start, size);
  }

  void write_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) result_.bytes += static_cast<char>(value | 0x80);
    result_.bytes += static_cast<char>(value);
  }

  void write_length(size_t at, uint64_t length) {
    for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
      const auto more = static_cast<char>(i + 1 < kLengthBytes ? 0x80 : 0);
      result_.bytes[at + i] = static_cast<char>((length & 0x7f) | static_cast<uint8_t>(more));
    }
  }

  const std::span<const std::byte> model_;
  const std::shared_ptr<const void> owner_;
  StrippedModel result_;
};

}  // namespace

StrippedModel strip_model(std::span<const std::byte> model, std::shared_ptr<const void> owner) {
  return Stripper(model, std::move(owner)).run();
}

}  // namespace gantry
