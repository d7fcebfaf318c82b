// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/check_attributes.h"

#include <gantry/error.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <string_view>

#include "onnx/messages/body_domain.h"

namespace gantry {
namespace {

[[noreturn]] void reject(const onnx::NodeProto& node, const std::string& what) {
  std::string text = node.op_type() + " \"" + node.name() + "\": ";
  throw Error(Code::kInvalidModel, text.append(what));
}

void check_axis(const onnx::NodeProto& node, const onnx::AttributeProto& attribute) {
  using Limits = std::numeric_limits<int>;
  if (attribute.name() != "axis" || attribute.type() != onnx::AttributeProto::INT) return;
  if (attribute.i() >= Limits::min() && attribute.i() <= Limits::max()) return;
  reject(node, "attribute axis is " + std::to_string(attribute.i()) +
                   ", expected one of a tensor's axes");
}

// True of letters with at most one "..." among them.
bool is_term(std::string_view term) {
  const size_t dots = term.find("...");
  const auto is_letter = [](unsigned char sign) { return std::isalpha(sign) != 0; };
  const auto are_letters = [&](std::string_view part) {
    return std::all_of(part.begin(), part.end(), is_letter);
  };
  if (dots == std::string_view::npos) return are_letters(term);
  return are_letters(term.substr(0, dots)) && are_letters(term.substr(dots + 3));
}

void check_equation(const onnx::NodeProto& node, const std::string& equation) {
  std::string rest = equation;
  std::erase(rest, ' ');
  const size_t arrow = rest.find("->");
  if (arrow != std::string::npos) rest.replace(arrow, 2, ",");
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find(',', begin), rest.size());
    const std::string term = rest.substr(begin, end - begin);
    if (!is_term(term)) {
      std::string what = "attribute equation is \"";
      what.append(equation).append("\", in which \"").append(term);
      reject(node, what.append("\" is no list of letters with at most one ellipsis"));
    }
    begin = end + 1;
  }
}

}  // namespace

void check_attributes(onnx::ModelProto& model) {
  onnx::for_each_node(model, [](const onnx::NodeProto& node) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      check_axis(node, attribute);
      const bool is_equation = node.op_type() == "Einsum" && attribute.name() == "equation";
      if (is_onnx_domain(node.domain()) && is_equation && attribute.ref_attr_name().empty())
        check_equation(node, attribute.s());
    }
  });
}

}  // namespace gantry
