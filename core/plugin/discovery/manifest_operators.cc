// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/manifest_operators.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gantry {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kKnownDomains = {"",
                                                           "ai.onnx",
                                                           "ai.onnx.ml",
                                                           "ai.onnx.training",
                                                           "ai.onnx.preview",
                                                           "ai.onnx.preview.training",
                                                           "com.microsoft",
                                                           "com.microsoft.nchwc"};

// Reads the types of the provider's own operators.
class OperatorReader {
 public:
  explicit OperatorReader(const ManifestReader& reader) : reader_(reader) {}

  [[nodiscard]] std::vector<DeclaredOperator> read(std::vector<std::string>& warnings) const {
    std::vector<DeclaredOperator> operators;
    for (size_t i = 0; i < reader_.items("/operators", "an array of operators"); ++i) {
      const std::string here = json_pointer("/operators", std::to_string(i));
      DeclaredOperator& one = operators.emplace_back();
      one.domain = reader_.text(here + "/domain", "a domain of the provider's own", true);
      if (is_known_domain(one.domain)) {
        reader_.fail(here + "/domain", "a domain of the provider's own",
                     "\"" + one.domain + "\", whose operators are known");
      }
      one.op_type = reader_.text(here + "/op_type", "the operator's name", true);
      for (size_t k = 0; k < reader_.items(here + "/inputs", "an array of element types"); ++k)
        one.inputs.push_back(read_type(here + "/inputs/" + std::to_string(k)));
      reader_.need(here + "/outputs", "the types of its outputs");
      for (size_t k = 0; k < reader_.items(here + "/outputs", "an array of types"); ++k)
        one.outputs.push_back(read_output(here + "/outputs/" + std::to_string(k), warnings));
      reader_.warn_of_unknown(here, {"domain", "op_type", "inputs", "outputs"}, warnings);
    }
    return operators;
  }

 private:
  // An element type; null: any.
  [[nodiscard]] DType read_type(const std::string& here) const {
    if (reader_.find(here)->is_null()) return DType::kUndefined;
    const std::string expected = "an element type as \"float32\", or null for any";
    const std::string name = reader_.text(here, expected, true);
    const DType dtype = dtype_from_string(name);
    if (dtype == DType::kUndefined) reader_.fail(here, expected, "\"" + name.substr(0, 80) + "\"");
    return dtype;
  }

  [[nodiscard]] DeclaredOutput read_output(const std::string& here,
                                           std::vector<std::string>& warnings) const {
    DeclaredOutput output;
    const bool has_type = reader_.find(here + "/type") != nullptr;
    if (has_type == (reader_.find(here + "/like") != nullptr)) {
      reader_.fail(here, "either \"type\", an element type, or \"like\", the index of an input",
                   has_type ? "both" : "neither");
    }
    if (has_type) {
      output.dtype = read_type(here + "/type");
    } else {
      output.like = static_cast<int>(std::min(reader_.number(here + "/like"), kMostInputs));
    }
    const json* shape = reader_.find(here + "/shape");
    if (shape && shape->is_null()) {
      output.is_of_any_rank = true;
    } else if (shape) {
      output.shape.emplace();
      for (size_t i = 0; i < reader_.items(here + "/shape", "an array of extents"); ++i)
        output.shape->push_back(read_extent(here + "/shape/" + std::to_string(i)));
    }
    reader_.warn_of_unknown(here, {"type", "like", "shape"}, warnings);
    return output;
  }

  [[nodiscard]] DeclaredExtent read_extent(const std::string& here) const {
    const json& given = *reader_.find(here);
    if (given.is_null()) return {};
    constexpr int64_t kMost = int64_t{1} << 40;
    if (given.is_number_unsigned() && given.get<uint64_t>() <= static_cast<uint64_t>(kMost))
      return {.value = given.get<int64_t>()};
    const std::string text = given.is_string() ? given.get<std::string>() : std::string();
    DeclaredExtent extent;
    const char* end = text.data() + text.size();
    const auto input = std::from_chars(text.data(), end, extent.input);
    const bool has_dot = input.ec == std::errc() && input.ptr != end && *input.ptr == '.';
    const auto axis = has_dot ? std::from_chars(input.ptr + 1, end, extent.axis) : input;
    if (!has_dot || axis.ec != std::errc() || axis.ptr != end || extent.input < 0 ||
        extent.axis < 0) {
      reader_.fail(here,
                   "an extent: a number, null, or \"INPUT.AXIS\" for that of an input, as \"0.1\"",
                   describe_json(given));
    }
    return extent;
  }

  static constexpr uint32_t kMostInputs = 1 << 20;
  const ManifestReader& reader_;
};

}  // namespace

bool is_known_domain(std::string_view domain) {
  return std::find(kKnownDomains.begin(), kKnownDomains.end(), domain) != kKnownDomains.end();
}

std::vector<DeclaredOperator> read_operators(const ManifestReader& reader,
                                             std::vector<std::string>& warnings) {
  return OperatorReader(reader).read(warnings);
}

std::vector<DeclaredOperator> parse_operators(const std::string& text, const std::string& origin) {
  constexpr uint64_t kMostBytes = 4 * 1024 * 1024;
  const std::string whole = "{\"operators\": " + text + "}";
  const JsonDocument document = parse_json(whole, origin, {kMostBytes, 16});
  std::vector<std::string> warnings;  // what a newer provider tells beside it is not needed
  return read_operators(ManifestReader(document, origin), warnings);
}

}  // namespace gantry
