// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/opset_choice.h"

#include <gantry/error.h>

#include <algorithm>
#include <limits>

#include "onnx/schema/schema.h"

namespace gantry {
namespace {

// The preferred opset if several are possible: other software supports older ones less well.
constexpr int kPreferred = 13;

}  // namespace

void OpsetChoice::add(const std::string& domain, const std::string& op_type, int since_version,
                      const std::string& label) {
  const auto [known, is_new] = last_.try_emplace({domain, op_type, since_version}, 0);
  if (is_new) known->second = last_version(op_type, domain, since_version);
  Range& range =
      ranges_.try_emplace(domain, Range{since_version, known->second, label, label}).first->second;
  if (since_version > range.first) {
    range.first = since_version;
    range.first_label = label;
  }
  if (known->second < range.last) {
    range.last = known->second;
    range.last_label = label;
  }
  if (range.first <= range.last) return;
  throw Error(Code::kUnsupported,
              "one model cannot hold both " + range.first_label + " of version " +
                  std::to_string(range.first) + " and " + range.last_label +
                  ", which means something else after opset " + std::to_string(range.last) +
                  "; they must be compiled separately");
}

void OpsetChoice::need(const std::string& domain) {
  ranges_.try_emplace(domain, Range{1, std::numeric_limits<int>::max(), {}, {}});
}

std::map<std::string, int> OpsetChoice::versions() const {
  std::map<std::string, int> versions;
  for (const auto& [domain, range] : ranges_) {
    const int preferred = domain.empty() ? kPreferred : 1;
    versions[domain] = std::max(range.first, std::min(range.last, preferred));
  }
  return versions;
}

}  // namespace gantry
