// SPDX-License-Identifier: Apache-2.0
#include "wire_tree.h"

#include <algorithm>
#include <array>
#include <random>

namespace gantry::fuzz {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;
constexpr int kMostLevels = 32;
constexpr uint32_t kMostFieldNumber = 200;  // of ONNX's messages; larger ones are seldom fields

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return std::nullopt;
      const uint8_t byte = left_.front();
      left_ = left_.subspan(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<uint64_t> fixed(size_t size_bytes) {
    if (left_.size() < size_bytes) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < size_bytes; ++i) value |= uint64_t{left_[i]} << (8 * i);
    left_ = left_.subspan(size_bytes);
    return value;
  }
  std::optional<std::span<const uint8_t>> bytes() {
    const std::optional<uint64_t> size = varint();
    if (!size || *size > left_.size()) return std::nullopt;
    const std::span<const uint8_t> taken = left_.first(*size);
    left_ = left_.subspan(*size);
    return taken;
  }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

 private:
  std::span<const uint8_t> left_;
};

bool is_printable(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte >= 0x20 && byte < 0x7F; });
}

std::optional<WireMessage> read_message(std::span<const uint8_t> bytes, int levels) {
  WireMessage message;
  Reader reader(bytes);
  while (!reader.is_at_end()) {
    const std::optional<uint64_t> key = reader.varint();
    if (!key || *key >> 3 == 0 || *key >> 3 > kMostFieldNumber) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(*key >> 3);
    field.wire_type = static_cast<uint32_t>(*key & 7);
    if (field.wire_type == kBytes) {
      const auto content = reader.bytes();
      if (!content) return std::nullopt;
      std::optional<WireMessage> inner;
      if (levels > 0 && !content->empty() && !is_printable(*content))
        inner = read_message(*content, levels - 1);
      field.is_message = inner.has_value();
      if (inner) {
        field.message = std::move(*inner);
      } else {
        field.text.assign(content->begin(), content->end());
      }
    } else {
      std::optional<uint64_t> value;
      if (field.wire_type == kVarint) value = reader.varint();
      if (field.wire_type == kFixed64) value = reader.fixed(8);
      if (field.wire_type == kFixed32) value = reader.fixed(4);
      if (!value) return std::nullopt;
      field.value = *value;
    }
    message.push_back(std::move(field));
  }
  return message;
}

void write_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void write_fixed(std::string& to, uint64_t value, int size_bytes) {
  for (int i = 0; i < size_bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

void collect_messages(WireMessage& message, std::vector<WireMessage*>& found) {
  found.push_back(&message);
  for (WireField& field : message) {
    if (field.is_message) collect_messages(field.message, found);
  }
}

void collect_fields(const WireMessage& message, std::vector<const WireField*>& found) {
  for (const WireField& field : message) {
    found.push_back(&field);
    if (field.is_message) collect_fields(field.message, found);
  }
}

/// Draws of one mutation.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  size_t below(size_t end) { return end == 0 ? 0 : engine_() % end; }
  uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

uint64_t other_value(uint64_t value, Draw& draw) {
  constexpr std::array<uint64_t, 16> kEdges = {
      0,      1,          2,          3,     7,         8,          16,         127,
      0xFFFF, 0x7FFFFFFF, 0x80000000, ~0ULL, ~0ULL - 1, 1ULL << 62, 1ULL << 63, 0x3F800000};
  switch (draw.below(4)) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value ^ (1ULL << draw.below(64));
    default:
      return kEdges[draw.below(kEdges.size())];
  }
}

std::string other_text(const std::string& text, const std::vector<const WireField*>& all,
                       Draw& draw) {
  if (draw.below(4) != 0) {  // a name, an operator, the bytes of a tensor of the same model
    for (int attempt = 0; attempt < 8; ++attempt) {
      const WireField& field = *all[draw.below(all.size())];
      if (field.wire_type == kBytes && !field.is_message) return field.text;
    }
  }
  std::string changed = text;
  switch (draw.below(4)) {
    case 0:
      changed.clear();
      break;
    case 1:
      changed.resize(draw.below(64), static_cast<char>(draw.bits()));
      break;
    case 2:
      changed += changed;
      break;
    default:
      if (changed.empty()) changed.push_back('x');
      changed[draw.below(changed.size())] = static_cast<char>(draw.bits());
      break;
  }
  return changed;
}

}  // namespace

std::optional<WireMessage> read_message(std::span<const uint8_t> bytes) {
  return read_message(bytes, kMostLevels);
}

std::string write_message(const WireMessage& message) {
  std::string bytes;
  for (const WireField& field : message) {
    write_varint(bytes, uint64_t{field.number} << 3 | field.wire_type);
    if (field.wire_type == kBytes) {
      const std::string content = field.is_message ? write_message(field.message) : field.text;
      write_varint(bytes, content.size());
      bytes += content;
    } else if (field.wire_type == kVarint) {
      write_varint(bytes, field.value);
    } else {
      write_fixed(bytes, field.value, field.wire_type == kFixed64 ? 8 : 4);
    }
  }
  return bytes;
}

void mutate_message(WireMessage& message, const WireMessage& donor, uint64_t random) {
  Draw draw(random);
  std::vector<WireMessage*> messages;
  collect_messages(message, messages);
  std::vector<const WireField*> all;
  collect_fields(message, all);
  std::vector<const WireField*> donated;
  collect_fields(donor, donated);
  WireMessage& chosen = *messages[draw.below(messages.size())];
  if (chosen.empty() || all.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(draw.below(chosen.size()));
  WireField& field = chosen[static_cast<size_t>(at)];
  switch (draw.below(8)) {
    case 0:
      chosen.erase(chosen.begin() + at);
      break;
    case 1:
      chosen.insert(chosen.begin() + at, WireField(field));
      break;
    case 2:
      std::swap(field, chosen[draw.below(chosen.size())]);
      break;
    case 3:  // a field of another message
      chosen.push_back(WireField(*all[draw.below(all.size())]));
      break;
    case 4: {  // one of another model in its place
      std::vector<const WireField*> fitting;
      std::copy_if(donated.begin(), donated.end(), std::back_inserter(fitting),
                   [&](const WireField* other) {
                     return other->number == field.number && other->wire_type == field.wire_type;
                   });
      if (!fitting.empty()) field = WireField(*fitting[draw.below(fitting.size())]);
      break;
    }
    default:
      if (field.wire_type != kBytes) {
        field.value = other_value(field.value, draw);
      } else if (!field.is_message) {
        field.text = other_text(field.text, all, draw);
      } else {
        chosen.insert(chosen.begin() + at, WireField(field));
      }
      break;
  }
}

}  // namespace gantry::fuzz
