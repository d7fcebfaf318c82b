// SPDX-License-Identifier: Apache-2.0
// Attributes with a fixed set or range of values, read and checked when a kernel is made. Each
// function throws INVALID_MODEL, with the node as the subject, for any other value. Pure.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gantry::cpu {

/// Index in `names` of the value of a string attribute; `fallback` is the value if it is absent.
inline int read_choice(const sdk::NodeView& node, const char* attribute, const char* fallback,
                       std::initializer_list<std::string_view> names) {
  const std::string value = node.get_string(attribute, fallback);
  std::string expected;
  int index = 0;
  for (const std::string_view name : names) {
    if (value == name) return index;
    expected += (index++ == 0 ? "" : ", ") + std::string(name);
  }
  node.fail(GANTRY_INVALID_MODEL, "attribute " + std::string(attribute) + " is \"" + value +
                                      "\", expected one of " + expected);
}
/// The same index as a value of the enumeration E, whose values are the indices in `names`.
template <class E>
E read_choice(const sdk::NodeView& node, const char* attribute, const char* fallback,
              std::initializer_list<std::string_view> names) {
  return static_cast<E>(read_choice(node, attribute, fallback, names));
}

/// Value of an integer attribute, which must lie in [least, most]; `fallback` if it is absent.
inline int64_t read_integer(const sdk::NodeView& node, const char* attribute, int64_t fallback,
                            int64_t least, int64_t most = INT64_MAX) {
  const int64_t value = node.get_int(attribute, fallback);
  if (value >= least && value <= most) return value;
  node.fail(GANTRY_INVALID_MODEL,
            "attribute " + std::string(attribute) + " is " + std::to_string(value) +
                ", expected at least " + std::to_string(least) +
                (most == INT64_MAX ? "" : " and at most " + std::to_string(most)));
}

/// Checks that exactly one of the list attributes `first` and `second` is present.
inline void require_one_list(const sdk::NodeView& node, bool is_first_empty, bool is_second_empty,
                             const char* first, const char* second) {
  if (is_first_empty != is_second_empty) return;
  node.fail(GANTRY_INVALID_MODEL, "exactly one of the attributes " + std::string(first) + " and " +
                                      second + " must be given");
}

}  // namespace gantry::cpu
