// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "graph/graph.h"

namespace gantry {
namespace {

template <class T>
T load(const void* data, int64_t index) {
  T item;
  std::memcpy(&item, static_cast<const char*>(data) + static_cast<size_t>(index) * sizeof(T),
              sizeof(T));
  return item;
}

template <class T>
std::string number(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, result.ptr};
}

float float_from_half(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31;
  const auto mantissa = static_cast<float>(bits & 1023);
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024.0f, exponent - 25);
}

// The element of a packed type, as an integer.
int packed_integer(const void* data, int64_t index, uint32_t bits, bool is_signed) {
  const int raw = load_packed(data, static_cast<size_t>(index), bits);
  return is_signed && raw >= 1 << (bits - 1) ? raw - (1 << bits) : raw;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kDigits[] = "0123456789abcdef";
      result += {'\\', 'x', kDigits[c >> 4 & 15], kDigits[c & 15]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string element_text(const gantry_value& value, int64_t i) {
  const void* data = value.view.data;
  switch (value.dtype) {
    case DType::kString:
      return quoted(value.strings[static_cast<size_t>(i)]);
    case DType::kBool:
      return load<uint8_t>(data, i) != 0 ? "true" : "false";
    case DType::kInt8:
      return number(static_cast<int>(load<int8_t>(data, i)));
    case DType::kInt16:
      return number(load<int16_t>(data, i));
    case DType::kInt32:
      return number(load<int32_t>(data, i));
    case DType::kInt64:
      return number(load<int64_t>(data, i));
    case DType::kUint8:
      return number(static_cast<int>(load<uint8_t>(data, i)));
    case DType::kUint16:
      return number(load<uint16_t>(data, i));
    case DType::kUint32:
      return number(load<uint32_t>(data, i));
    case DType::kUint64:
      return number(load<uint64_t>(data, i));
    case DType::kFloat:
      return number(load<float>(data, i));
    case DType::kDouble:
      return number(load<double>(data, i));
    case DType::kFloat16:
      return number(float_from_half(load<uint16_t>(data, i)));
    case DType::kBfloat16:
      return number(std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(data, i)) << 16));
    case DType::kComplex64:
      return number(load<float>(data, 2 * i)) + "+" + number(load<float>(data, 2 * i + 1)) + "i";
    case DType::kComplex128:
      return number(load<double>(data, 2 * i)) + "+" + number(load<double>(data, 2 * i + 1)) + "i";
    case DType::kInt4:
      return number(packed_integer(data, i, 4, true));
    case DType::kUint4:
      return number(packed_integer(data, i, 4, false));
    case DType::kInt2:
      return number(packed_integer(data, i, 2, true));
    case DType::kUint2:
      return number(packed_integer(data, i, 2, false));
    case DType::kFloat4E2M1:
    case DType::kFloat6E2M3:
    case DType::kFloat6E3M2:
      return "bits" + number(packed_integer(data, i, bits_of(value.dtype), false));
    default:
      return "bits" + number(static_cast<int>(load<uint8_t>(data, i)));  // 8-bit floats
  }
}

std::string value_text(const gantry_value& value, int64_t max_elements) {
  if (value.kind != GANTRY_KIND_TENSOR) {
    std::string text = describe(value) + " {";
    const char* gap = "";
    for (const ValueRef& item : items_of(value)) {
      text += gap + value_text(*item, max_elements);
      gap = ", ";
    }
    return text + "}";
  }
  const int64_t count = element_count(value.shape);
  std::string text = describe(value);
  if (count > max_elements) return text + " {" + number(count) + " elements}";
  text += " {";
  for (int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + element_text(value, i);
  return text + "}";
}

std::string type_text(const TypeInfo& type) {
  std::string text(type.dtype == DType::kUndefined ? "?" : to_string(type.dtype));
  if (type.has_rank) {
    text += '[';
    for (size_t i = 0; i < type.shape.size(); ++i) {
      if (i != 0) text += ',';
      if (type.shape[i] >= 0) {
        text += number(type.shape[i]);
      } else {
        text += type.symbols[i].empty() ? "?" : type.symbols[i];
      }
    }
    text += ']';
  }
  if (type.kind == Kind::kTensor) return text;
  return type.kind == Kind::kUnknown ? "?" : std::string(to_string(type.kind)) + "(" + text + ")";
}

std::string name_text(const GraphValue* value) { return value ? "%" + value->name : "_"; }

class Printer {
 public:
  explicit Printer(int64_t max_elements) : max_elements_(max_elements) {}

  std::string graph(const Graph& graph, const std::string& indent) {
    std::string text = "graph " + graph.name + "(" + typed_list(graph.inputs, max_elements_) + ")";
    if (!graph.captures.empty())
      text += " captures (" + typed_list(graph.captures, max_elements_) + ")";
    text += " -> (" + list(graph.outputs()) + ") {\n";
    const std::string inner = indent + "  ";
    for (const auto& value : graph.values()) {
      if (value->constant) {
        text +=
            inner + "%" + value->name + " = " + value_text(*value->constant, max_elements_) + "\n";
      }
    }
    for (const auto& node : graph.nodes()) text += inner + this->node(*node, inner) + "\n";
    return text + indent + "}";
  }

 private:
  static std::string list(const std::vector<GraphValue*>& values) {
    std::string text;
    for (const GraphValue* value : values) text += (text.empty() ? "" : ", ") + name_text(value);
    return text;
  }

  static std::string typed_list(const std::vector<GraphValue*>& values, int64_t max_elements) {
    std::string text;
    for (const GraphValue* value : values) {
      text += (text.empty() ? "" : ", ") + name_text(value);
      if (value) text += " : " + type_text(value->type);
      if (value && value->initial) text += " = " + value_text(*value->initial, max_elements);
    }
    return text;
  }

  std::string node(const Node& node, const std::string& indent) {
    std::string text = node.outputs.empty() ? "" : list(node.outputs) + " = ";
    if (!node.domain.empty()) text += node.domain + "::";
    text += node.op_type;
    if (!node.overload.empty()) text += ":" + node.overload;
    text += "-" + number(node.since_version) + "(" + list(node.inputs) + ")";
    if (!node.captures.empty()) text += " captures (" + list(node.captures) + ")";
    if (!node.attributes.empty()) {
      std::string inside;
      for (const Attribute& item : node.attributes) {
        inside += (inside.empty() ? "" : ", ") + item.name + " = " + attribute(item.value, indent);
      }
      text += " {" + inside + "}";
    }
    std::string types;
    for (const GraphValue* value : node.outputs) {
      types += (types.empty() ? " : " : ", ") + (value ? type_text(value->type) : std::string("_"));
    }
    return text + types;
  }

  std::string attribute(const AttributeValue& value, const std::string& indent) {
    return std::visit([&](const auto& held) { return item(held, indent); }, value);
  }

  std::string item(int64_t value, const std::string&) { return number(value); }
  std::string item(float value, const std::string&) {
    const std::string text = number(value);  // 1 is an integer, 1.0 a float
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string item(const std::string& value, const std::string&) { return quoted(value); }
  std::string item(const ValueRef& value, const std::string&) {
    return value_text(*value, max_elements_);
  }
  std::string item(const std::unique_ptr<Graph>& value, const std::string& indent) {
    return graph(*value, indent);
  }
  template <class T>
  std::string item(const std::vector<T>& values, const std::string& indent) {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : ", ") + item(value, indent);
    return "[" + text + "]";
  }

  const int64_t max_elements_;
};

}  // namespace

std::string to_text(const Graph& graph, int64_t max_elements) {
  return Printer(max_elements).graph(graph, "") + "\n";
}

}  // namespace gantry
