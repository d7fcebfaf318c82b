// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <gantry/error.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the elements in the file, as NumPy aligns them

[[noreturn]] void fail_npy(const std::string& what) { throw Error(Code::kInvalidArgument, what); }

/// The fields of the header.
struct NpyHeader {
  bool big_endian = false;
  char kind = 0;          // NumPy's kind character: f, i, u, b, c, U, S, V
  size_t item_count = 0;  // the count after it: bytes, or characters for U
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t data_offset = 0;

  [[nodiscard]] size_t item_bytes() const { return kind == 'U' ? 4 * item_count : item_count; }
  [[nodiscard]] std::string type() const {
    return std::string(1, kind) + std::to_string(item_count);
  }
};

// The text after `'key':` in the header's dictionary.
std::string_view member(std::string_view dictionary, std::string_view key) {
  const size_t found = dictionary.find("'" + std::string(key) + "'");
  const size_t colon = found == std::string_view::npos ? found : dictionary.find(':', found);
  if (colon == std::string_view::npos)
    fail_npy("the .npy header has no '" + std::string(key) + "'");
  const std::string_view rest = dictionary.substr(colon + 1);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

void parse_type(std::string_view text, NpyHeader& header) {
  if (text.starts_with('[')) {
    throw Error(Code::kUnsupported,
                "the .npy file holds a structured array; a plain one is needed");
  }
  const size_t end = text.size() < 2 ? std::string_view::npos : text.find(text[0], 1);
  if (end == std::string_view::npos || end < 3) fail_npy("the .npy header names no element type");
  const std::string_view name = text.substr(1, end - 1);
  header.big_endian = name[0] == '>';
  header.kind = name[1];
  const auto [rest, error] =
      std::from_chars(name.data() + 2, name.data() + name.size(), header.item_count);
  if (header.kind == 'O') {
    throw Error(Code::kUnsupported,
                "the .npy file holds Python objects; numbers or strings are needed");
  }
  if (error != std::errc() || rest != name.data() + name.size() || header.item_count > (1u << 30)) {
    fail_npy("the .npy header names the element type \"" + std::string(name) +
             "\", which is not known");
  }
}

std::vector<int64_t> parse_shape(std::string_view text) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos)
    fail_npy("the .npy header has no shape in parentheses");
  std::vector<int64_t> shape;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (true) {
    while (at != last && (*at == ' ' || *at == ',')) ++at;
    if (at == last) return shape;
    const auto [rest, error] = std::from_chars(at, last, shape.emplace_back());
    if (error != std::errc() || shape.back() < 0)
      fail_npy("the .npy header has a shape that is not made of extents");
    at = rest;
  }
}

NpyHeader parse_header(std::string_view file) {
  if (!file.starts_with(kNpyMagic) || file.size() < 10)
    fail_npy("the contents are not those of a .npy file");
  const auto byte = [&](size_t index) {
    return static_cast<size_t>(static_cast<unsigned char>(file[index]));
  };
  const bool wide = byte(6) >= 2;  // versions 2.0 and 3.0 have four bytes of length
  const size_t start = wide ? 12 : 10;
  if (file.size() < start) fail_npy("the .npy file is truncated");
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > file.size() - start) fail_npy("the .npy file is truncated");
  const std::string_view dictionary = file.substr(start, length);
  NpyHeader header;
  parse_type(member(dictionary, "descr"), header);
  header.fortran_order = member(dictionary, "fortran_order").starts_with("True");
  header.shape = parse_shape(member(dictionary, "shape"));
  header.data_offset = start + length;
  return header;
}

std::optional<DType> named_type(const NpyHeader& header) {
  switch (header.kind) {
    case 'f':
      if (header.item_count == 2) return DType::kFloat16;
      if (header.item_count == 4) return DType::kFloat;
      if (header.item_count == 8) return DType::kDouble;
      break;
    case 'c':
      if (header.item_count == 8) return DType::kComplex64;
      if (header.item_count == 16) return DType::kComplex128;
      break;
    case 'b':
      if (header.item_count == 1) return DType::kBool;
      break;
    case 'i':
    case 'u': {
      const std::string name =
          (header.kind == 'i' ? "int" : "uint") + std::to_string(8 * header.item_count);
      if (dtype_from_string(name) != DType::kUndefined) return dtype_from_string(name);
      break;
    }
    case 'U':
    case 'S':
      return DType::kString;
    default:
      break;
  }
  return std::nullopt;
}

// True for types unknown to NumPy, which files store as another type.
bool is_foreign(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
    case DType::kFloat8E4M3Fn:
    case DType::kFloat8E4M3Fnuz:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2Fnuz:
    case DType::kFloat8E8M0:
      return true;
    default:
      return bits_of(dtype) != 0 && bits_of(dtype) < 8;
  }
}

DType stored_type(const NpyHeader& header, DType expected) {
  const bool raw = header.kind == 'V' || header.kind == 'u' || header.kind == 'i';
  if (raw && is_foreign(expected) && header.item_count == std::max(bits_of(expected), 8u) / 8)
    return expected;
  if (const std::optional<DType> dtype = named_type(header)) return *dtype;
  fail_npy("the .npy file has elements of type \"" + header.type() + "\"" +
           (expected == DType::kUndefined
                ? "; a number, bool or string type is needed"
                : "; " + std::string(to_string(expected)) + " is needed"));
}

void append_utf8(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int continuation = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xF0 << (3 - continuation) & 0xFF) | code >> 6 * continuation);
  for (int i = continuation - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
}

// Code points of UTF-8 text; an invalid byte becomes the code point of its value.
std::vector<uint32_t> code_points(std::string_view text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    uint32_t point = length == 1 ? first : first & (0x7Fu >> length);
    size_t used = 1;
    while (used < length && i + used < text.size() && (text[i + used] & 0xC0) == 0x80) {
      point = point << 6 | (static_cast<unsigned char>(text[i + used++]) & 0x3Fu);
    }
    points.push_back(used == length ? point : first);
    i += used == length ? length : 1;
  }
  return points;
}

std::string parse_string(const char* item, const NpyHeader& header) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(item, header.item_count);
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
  if (header.item_count == 0) return text;
  std::vector<uint32_t> points(header.item_count);
  std::memcpy(points.data(), item, 4 * points.size());
  while (!points.empty() && points.back() == 0) points.pop_back();
  for (const uint32_t point : points) append_utf8(point, text);
  return text;
}

// Converts a row-major index to the position in the file, which may be column-major.
class FileOrder {
 public:
  explicit FileOrder(const NpyHeader& header)
      : shape_(header.shape), plain_(!header.fortran_order) {}
  size_t operator()(size_t index) const {
    if (plain_) return index;
    std::vector<size_t> coordinates(shape_.size());
    for (size_t axis = shape_.size(); axis-- > 0;) {
      coordinates[axis] = index % static_cast<size_t>(shape_[axis]);
      index /= static_cast<size_t>(shape_[axis]);
    }
    size_t position = 0;
    for (size_t axis = shape_.size(); axis-- > 0;) {
      position = position * static_cast<size_t>(shape_[axis]) + coordinates[axis];
    }
    return position;
  }

 private:
  const std::vector<int64_t>& shape_;
  bool plain_;
};

// Packs elements of fewer than 8 bits, which the file has as one byte each.
void pack(const char* items, const FileOrder& order, gantry_value& tensor) {
  const uint32_t bits = bits_of(tensor.dtype);
  if (tensor.view.size_bytes == 0) return;
  std::memset(tensor.view.data, 0, tensor.view.size_bytes);
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i)
    fill_packed(tensor.view.data, i, bits, static_cast<uint8_t>(items[order(i)]));
}

// Copies elements, in row-major order.
void copy(const char* items, const NpyHeader& header, const FileOrder& order,
          gantry_value& tensor) {
  if (tensor.view.size_bytes == 0) return;
  auto* target = static_cast<char*>(tensor.view.data);
  if (!header.fortran_order) {
    std::memcpy(target, items, tensor.view.size_bytes);
    return;
  }
  const size_t size = header.item_bytes();
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i) std::memcpy(target + i * size, items + order(i) * size, size);
}

std::string unpack(const gantry_value& tensor) {
  const uint32_t bits = bits_of(tensor.dtype);
  const bool is_signed = tensor.dtype == DType::kInt4 || tensor.dtype == DType::kInt2;
  std::string items(static_cast<size_t>(element_count(tensor.shape)), '\0');
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t item = load_packed(tensor.view.data, i, bits);
    const uint32_t sign = is_signed ? item >> (bits - 1) : 0;
    items[i] = static_cast<char>(item | (sign ? ~0u << bits : 0));
  }
  return items;
}

// Type and elements as they are written to a file.
struct Encoded {
  std::string type;
  std::string elements;
};

Encoded encode_strings(const gantry_value& tensor) {
  std::vector<std::vector<uint32_t>> texts;
  size_t longest = 1;
  for (const std::string& text : tensor.strings) {
    texts.push_back(code_points(text));
    longest = std::max(longest, texts.back().size());
  }
  Encoded encoded{"<U" + std::to_string(longest), std::string(4 * longest * texts.size(), '\0')};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty())
      std::memcpy(encoded.elements.data() + 4 * longest * i, texts[i].data(), 4 * texts[i].size());
  }
  return encoded;
}

Encoded encode(const gantry_value& tensor) {
  if (tensor.dtype == DType::kString) return encode_strings(tensor);
  const uint32_t bits = bits_of(tensor.dtype);
  if (bits < 8) {
    const bool is_signed = tensor.dtype == DType::kInt4 || tensor.dtype == DType::kInt2;
    return {is_signed ? "|i1" : "|u1", unpack(tensor)};
  }
  const std::string_view name = to_string(tensor.dtype);
  const char kind = is_foreign(tensor.dtype)      ? 'V'
                    : name.starts_with("float")   ? 'f'
                    : name.starts_with("complex") ? 'c'
                                                  : name[0];  // int, uint, bool
  return {(bits == 8 ? "|" : "<") + std::string(1, kind) + std::to_string(bits / 8),
          std::string(static_cast<const char*>(tensor.view.data), tensor.view.size_bytes)};
}

}  // namespace

ValueRef parse_npy(std::span<const std::byte> file, DType expected) {
  const NpyHeader header = parse_header({reinterpret_cast<const char*>(file.data()), file.size()});
  const DType dtype = stored_type(header, expected);
  if (header.big_endian && header.item_count > 1) {
    throw Error(Code::kUnsupported,
                "the .npy file is big-endian; save it with the machine's byte order");
  }
  const auto count = static_cast<uint64_t>(element_count(header.shape));
  const uint64_t available = file.size() - header.data_offset;
  const size_t item_bytes = header.item_bytes();
  if (item_bytes != 0 && (count > available / item_bytes || count * item_bytes != available)) {
    fail_npy("the .npy file announces " + describe(dtype, header.shape) + ", " +
             std::to_string(count) + " elements of " + std::to_string(item_bytes) +
             " bytes; found " + std::to_string(available) + " bytes");
  }
  // Empty strings take no bytes of the file, but memory: a limit for untrusted files.
  constexpr uint64_t kMostEmpty = uint64_t{1} << 20;
  if (item_bytes == 0 && count > kMostEmpty) {
    fail_npy("the .npy file announces " + std::to_string(count) +
             " strings of 0 characters; at most " + std::to_string(kMostEmpty) + " are read");
  }
  const char* items = reinterpret_cast<const char*>(file.data()) + header.data_offset;
  const FileOrder order(header);
  ValueRef tensor = make_tensor(dtype, header.shape);
  if (dtype == DType::kString) {
    for (size_t i = 0; i < tensor->strings.size(); ++i) {
      tensor->strings[i] = parse_string(items + order(i) * item_bytes, header);
    }
  } else if (bits_of(dtype) < 8) {
    pack(items, order, *tensor);
  } else {
    copy(items, header, order, *tensor);
  }
  return tensor;
}

std::string to_npy(const gantry_value& tensor) {
  const Encoded encoded = encode(tensor);
  std::string shape;
  for (const int64_t extent : tensor.shape) shape += std::to_string(extent) + ", ";
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);  // Python writes (1,) but (1, 2)
  std::string header =
      "{'descr': '" + encoded.type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t used = kNpyMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string file(kNpyMagic);
  file +=
      {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return file + header + encoded.elements;
}

}  // namespace gantry
