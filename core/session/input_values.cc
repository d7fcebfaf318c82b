// SPDX-License-Identifier: Apache-2.0
#include "session/input_values.h"

#include "base/names.h"
#include "base/value.h"

namespace gantry {

std::string names_of(const std::vector<ValueInfo>& infos) {
  std::string names;
  for (const ValueInfo& info : infos) names += (names.empty() ? "\"" : ", \"") + info.name + "\"";
  return names.empty() ? "none" : names;
}

void fail_unknown(const std::string& role, const std::string& name,
                  const std::vector<ValueInfo>& infos) {
  std::vector<std::string> names;
  names.reserve(infos.size());
  for (const ValueInfo& info : infos) names.push_back(info.name);
  throw Error(Code::kInvalidArgument, role + " \"" + name + "\": the model has no such " + role +
                                          "; it has " + names_of(infos) +
                                          suggest_nearest(name, names));
}

std::string expected_of(const ValueInfo& info) {
  if (info.kind != Kind::kTensor) return std::string(to_string(info.kind));
  std::string text(to_string(info.dtype));
  if (!info.has_rank) return text + " of any rank";
  text += '[';
  for (size_t i = 0; i < info.shape.size(); ++i) {
    if (i > 0) text += ',';
    if (info.shape[i] >= 0) {
      text += std::to_string(info.shape[i]);
    } else {
      text += info.symbols[i].empty() ? "?" : info.symbols[i];
    }
  }
  return text + ']';
}

void check_value(const char* role, const ValueInfo& info, const Value& value) {
  const auto fail = [&](const std::string& found) {
    throw Error(Code::kInvalidArgument, std::string(role) + " \"" + info.name + "\": expected " +
                                            expected_of(info) + ", found " + found);
  };
  if (!value.handle()) fail("nothing");
  const gantry_value& given = *value.handle();
  if (info.kind != Kind::kUnknown && static_cast<Kind>(given.kind) != info.kind)
    fail(gantry::describe(given));
  if (info.kind != Kind::kTensor) return;
  bool fits = info.dtype == DType::kUndefined || given.dtype == info.dtype;
  if (info.has_rank) {
    fits = fits && given.shape.size() == info.shape.size();
    for (size_t i = 0; fits && i < info.shape.size(); ++i)
      fits = info.shape[i] < 0 || info.shape[i] == given.shape[i];
  }
  if (!fits) fail(gantry::describe(given));
}

}  // namespace gantry
