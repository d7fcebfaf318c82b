// SPDX-License-Identifier: Apache-2.0
// The equation of an Einsum node (ONNX Einsum, opset 12), parsed when the kernel is made. Plain
// values, any thread.
#pragma once

#include <gantry/sdk/graph.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dims.h"

namespace gantry::cpu {

/// Labels of axes: letters are 0 to 51 (A-Z, a-z); the axes of an ellipsis follow, counted from the
/// right.
inline constexpr int kLetters = 52;
inline constexpr int kLabels = kLetters + kMaxRank;
inline constexpr int kEllipsis = -1;

using Labels = std::vector<int>;

/// The labels of each input and of the output, for example of "ij,jk->ik". The constructor throws
/// INVALID_MODEL for an equation that is malformed or does not fit the number of inputs.
struct Equation {
  explicit Equation(const sdk::NodeView& node) {
    std::string text = node.get_string("equation", "");
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const size_t arrow = text.find("->");
    std::string_view left = std::string_view(text).substr(0, arrow);
    for (;;) {
      const size_t comma = left.find(',');
      terms.push_back(read(node, left.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    if (static_cast<int>(terms.size()) != node.input_count()) {
      node.fail(GANTRY_INVALID_MODEL, "the equation \"" + text + "\" has " +
                                          std::to_string(terms.size()) + " terms for " +
                                          std::to_string(node.input_count()) + " inputs");
    }
    if (arrow == std::string::npos) {
      imply_output();
      return;
    }
    output = read(node, std::string_view(text).substr(arrow + 2));
    for (size_t i = 0; i < output.size(); ++i) {
      bool is_known = output[i] == kEllipsis;
      for (const Labels& term : terms)
        is_known |= std::find(term.begin(), term.end(), output[i]) != term.end();
      const auto rest = output.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      if (!is_known || std::find(rest, output.end(), output[i]) != output.end()) {
        node.fail(GANTRY_INVALID_MODEL, "the output of the equation \"" + text +
                                            "\" has a letter that no input has, or one twice");
      }
    }
  }

  std::vector<Labels> terms;
  Labels output;

 private:
  static Labels read(const sdk::NodeView& node, std::string_view term) {
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if (c >= 'A' && c <= 'Z') {
        labels.push_back(c - 'A');
      } else if (c >= 'a' && c <= 'z') {
        labels.push_back(26 + c - 'a');
      } else if (term.substr(i, 3) == "..." &&
                 std::find(labels.begin(), labels.end(), kEllipsis) == labels.end()) {
        labels.push_back(kEllipsis);
        i += 2;
      } else {
        node.fail(GANTRY_INVALID_MODEL, "the term \"" + std::string(term) +
                                            "\" of the equation is no list of letters with at "
                                            "most one ellipsis");
      }
    }
    return labels;
  }

  /// Implicit output: the ellipsis, then the letters that occur exactly once, in the order of their
  /// labels.
  void imply_output() {
    int count[kLetters] = {};
    bool has_ellipsis = false;
    for (const Labels& term : terms) {
      for (const int label : term) {
        has_ellipsis |= label == kEllipsis;
        if (label != kEllipsis) ++count[label];
      }
    }
    if (has_ellipsis) output.push_back(kEllipsis);
    for (int i = 0; i < kLetters; ++i) {
      if (count[i] == 1) output.push_back(i);
    }
  }
};

}  // namespace gantry::cpu
