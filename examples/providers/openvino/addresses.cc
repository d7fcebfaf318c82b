// SPDX-License-Identifier: Apache-2.0
#include "addresses.h"

#include <gantry/sdk/error.h>

#include <charconv>

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

constexpr std::string_view kScheme = "gantry:";
constexpr std::string_view kMemory = "*/_ORT_MEM_ADDR_/*";  // what OpenVINO's reader expects

// The messages of onnx.proto that contain tensors.
enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kOther };

// The message type of a field.
Message child(Message message, uint64_t field) {
  switch (message) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : Message::kOther;
    case Message::kGraph:
      return field == 1 ? Message::kNode : field == 5 ? Message::kTensor : Message::kOther;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      return field == 6 || field == 11 ? Message::kGraph : Message::kOther;
    default:
      return Message::kOther;
  }
}

constexpr uint64_t kExternalData = 13;  // of a tensor: entries of a key (1) and a value (2)
constexpr uint64_t kBytes = 2;          // wire type of strings and messages

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  [[nodiscard]] bool at_end() const { return data_.empty(); }

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }
  // Reads the value of a field of `wire_type`; for bytes without the length prefix.
  std::string_view value(uint64_t wire_type) {
    const std::string_view from = data_;
    switch (wire_type) {
      case 0:
        number();
        return from.substr(0, from.size() - data_.size());
      case 1:
        return take(8);
      case kBytes:
        return take(number());
      case 5:
        return take(4);
      default:
        fail();
    }
  }

 private:
  [[noreturn]] static void fail() {
    throw sdk::Error(GANTRY_INVALID_MODEL,
                     "the fragment's model: expected a serialized ModelProto, found bytes that "
                     "end early or are none");
  }
  std::string_view take(uint64_t count) {
    if (count > data_.size()) fail();
    const std::string_view taken = data_.substr(0, count);
    data_.remove_prefix(count);
    return taken;
  }
  std::string_view data_;
};

void put_number(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void put_field(std::string& to, uint64_t field, std::string_view value) {
  put_number(to, field << 3 | kBytes);
  put_number(to, value.size());
  to += value;
}

void put_entry(std::string& tensor, std::string_view key, const std::string& value) {
  std::string entry;
  put_field(entry, 1, key);
  put_field(entry, 2, value);
  put_field(tensor, kExternalData, entry);
}

// Reads N of an entry {"location", "gantry:N"}; false for another entry.
bool read_location(std::string_view entry, uint64_t& number) {
  std::string_view key;
  std::string_view value;
  for (Reader reader(entry); !reader.at_end();) {
    const uint64_t tag = reader.number();
    (tag >> 3 == 1 ? key : value) = reader.value(tag & 7);
  }
  if (key != "location" || !value.starts_with(kScheme)) return false;
  value.remove_prefix(kScheme.size());
  return std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
}

using Weights = std::function<Weight(uint64_t)>;

std::string rewrite(std::string_view data, Message message, const Weights& weight) {
  std::string result;
  result.reserve(data.size());
  uint64_t number = 0;
  bool is_external = false;
  for (Reader reader(data); !reader.at_end();) {
    const uint64_t tag = reader.number();
    const uint64_t field = tag >> 3;
    const std::string_view value = reader.value(tag & 7);
    const Message inner = (tag & 7) == kBytes ? child(message, field) : Message::kOther;
    if (message == Message::kTensor && field == kExternalData) {
      is_external = read_location(value, number) || is_external;
    } else if (inner != Message::kOther) {
      put_field(result, field, rewrite(value, inner, weight));
    } else if ((tag & 7) == kBytes) {
      put_field(result, field, value);
    } else {
      put_number(result, tag);
      result += value;
    }
  }
  if (is_external) {
    const Weight found = weight(number);
    put_entry(result, "location", std::string(kMemory));
    put_entry(result, "offset", std::to_string(reinterpret_cast<uintptr_t>(found.data)));
    put_entry(result, "length", std::to_string(found.size_bytes));
  }
  return result;
}

}  // namespace

std::string with_addresses(std::string_view model, const Weights& weight) {
  return rewrite(model, Message::kModel, weight);
}

}  // namespace gantry_openvino
