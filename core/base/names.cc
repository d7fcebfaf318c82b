// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <algorithm>
#include <cstddef>

namespace gantry {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Edit distance with transpositions (optimal string alignment), one row of the table at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char left, char right) { return lower(left) == lower(right); };
  std::vector<size_t> before(b.size() + 1);  // the row for i - 1, and that for i - 2
  std::vector<size_t> earlier(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    earlier.swap(before);
    before.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, before[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (is_swap) row[j] = std::min(row[j], earlier[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// True of a prefix or suffix of a name: "latency" of "latency_us".
bool is_part_of(std::string_view part, std::string_view whole) {
  constexpr size_t kShortest = 3;
  return part.size() >= kShortest && part.size() < whole.size() &&
         (whole.starts_with(part) || whole.ends_with(part));
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestCompared = 64;  // names are untrusted, and the cost is quadratic
  if (name.size() > kLongestCompared) return {};
  std::string nearest;
  const size_t limit = (name.size() + 2) / 3;
  size_t best = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    size_t distance = edit_distance(name, candidate);
    if (distance >= std::max(name.size(), candidate.size())) continue;  // not a letter in common
    if (is_part_of(name, candidate) || is_part_of(candidate, name))
      distance = std::min(distance, limit);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string nearest_device_type(std::string_view name, const std::vector<std::string>& types) {
  if (edit_distance(name, "GPU") > 0) return nearest_name(name, types);
  for (const char* type : {"CUDA", "ROCM", "HIP", "SYCL", "XPU", "OPENCL", "VULKAN", "WEBGPU"}) {
    if (std::find(types.begin(), types.end(), type) != types.end()) return type;
  }
  return {};
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? std::string() : " Did you mean \"" + nearest + "\"?";
}

std::string suggest_nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = did_you_mean(name, candidates);
  return nearest.empty() ? nearest : "." + nearest;
}

std::string suggest(const std::string& suggestion) {
  return suggestion.empty() ? std::string() : ". Did you mean " + suggestion + "?";
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;  // the last * seen, and the end of the text it matched
  size_t star_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string list_names(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text = names[0];
  for (size_t i = 1; i < names.size(); ++i)
    text += (i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace gantry
