// SPDX-License-Identifier: Apache-2.0
#include "suggest.h"

#include <algorithm>
#include <numeric>

namespace gantry::cli {
namespace {

// Levenshtein distance: insertions, deletions and replacements.
size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < left.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < right.size(); ++j) {
      const size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* nearest = nullptr;
  size_t least = 1 + name.size() / 3;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance >= std::max(name.size(), candidate.size())) continue;  // not a letter in common
    if (distance < least || (distance == least && !nearest)) {
      nearest = &candidate;
      least = distance;
    }
  }
  return nearest ? "; did you mean \"" + *nearest + "\"?" : "";
}

}  // namespace gantry::cli
