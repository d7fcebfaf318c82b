// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/library_message.h"

#include <gantry/dtype.h>
#include <gantry/error.h>

#include <cctype>
#include <cstdio>
#include <string>
#include <utility>

namespace gantry {
namespace {

constexpr size_t kLongestMessage = 500;

// The text between `before` and `after`; empty if one is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  return text.substr(0, text.find(after));
}

// Removes "(op_type:Add, node name: a): " from the text and returns `Add "a"`.
std::string take_node(std::string_view& text) {
  const size_t end = text.find("): ");
  const std::string_view head = text.substr(0, end);
  if (!head.starts_with("(op_type:") || end == std::string_view::npos) return {};
  text.remove_prefix(end + 3);
  return std::string(between(head, "(op_type:", ",")) + " \"" +
         std::string(between(head, ", node name: ", "\n")) + "\"";
}

// The library, built without reflection, names element types by number: "elem type: (1) vs (7)".
std::string name_types(std::string text) {
  constexpr std::string_view kStart = "elem type: (";
  const size_t start = text.find(kStart);
  int inferred = 0;
  int declared = 0;
  if (start == std::string::npos ||
      std::sscanf(text.c_str() + start, "elem type: (%d) vs (%d)", &inferred, &declared) != 2) {
    return text;
  }
  return text.substr(0, start) +
         "elem type: " + std::string(to_string(static_cast<DType>(inferred))) + " is not " +
         std::string(to_string(static_cast<DType>(declared)));
}

std::string sentence(std::string_view text) {
  std::string node;
  constexpr std::string_view kContext = "\n\n==> Context: Bad node spec for node. Name: ";
  if (const size_t context = text.find(kContext); context != std::string_view::npos) {
    const std::string_view rest = text.substr(context);
    node = std::string(between(rest, " OpType: ", "\n")) + " \"" +
           std::string(between(rest, kContext, " OpType: ")) + "\"";
    text = text.substr(0, context);
  }
  constexpr std::string_view kTags[] = {"[TypeInferenceError] ", "[ShapeInferenceError] ",
                                        "Inference error(s): "};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view tag : kTags) {
      if (!text.starts_with(tag)) continue;
      text.remove_prefix(tag.size());
      again = true;
    }
    if (std::string inner = take_node(text); !inner.empty()) {
      node = std::move(inner);
      again = true;
    }
  }
  std::string result = node.empty() ? "" : node + ": ";
  for (const char c : text.substr(0, text.find("\n(op_type:"))) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_space || !result.ends_with(' ')) result += is_space ? ' ' : c;
    if (result.size() > kLongestMessage) return result + "...";
  }
  while (result.ends_with(' ')) result.pop_back();
  return name_types(std::move(result));
}

}  // namespace

std::string node_of_message(std::string_view message) {
  const std::string text = sentence(message);
  const size_t end = text.find("\": ");
  return end == std::string::npos ? "a node" : text.substr(0, end + 1);
}

void reject_model(std::string_view by, std::string_view message) {
  throw Error(Code::kInvalidModel,
              "the model breaks a rule of ONNX (" + std::string(by) + "): " + sentence(message));
}

}  // namespace gantry
