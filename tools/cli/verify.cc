// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <gantry/files.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSetPrefix = "test_data_set_";

fs::path numbered(const fs::path& folder, const char* stem, size_t index) {
  return folder / (stem + std::to_string(index) + ".pb");
}

Inputs read_inputs(const Session& session, const fs::path& folder) {
  Inputs inputs;
  size_t index = 0;
  for (const ValueInfo& info : session.inputs()) {
    if (!info.required) continue;
    const fs::path file = numbered(folder, "input_", index++);
    if (fs::exists(file)) inputs.emplace(info.name, read_value(file, info));
  }
  if (fs::exists(numbered(folder, "input_", index))) {
    throw Error(Code::kInvalidArgument,
                folder.string() + ": the model has " + std::to_string(index) +
                    " inputs, but there is a file input_" + std::to_string(index) + ".pb");
  }
  return inputs;
}

}  // namespace

bool SetVerdict::passed() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputVerdict& output) { return output.comparison.equal; });
}

std::vector<fs::path> find_sets(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<long, fs::path>> numbered_sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kSetPrefix)) {
      numbered_sets.emplace_back(std::strtol(name.c_str() + kSetPrefix.size(), nullptr, 10),
                                 entry.path());
    }
  }
  std::sort(numbered_sets.begin(), numbered_sets.end());
  std::vector<fs::path> sets;
  sets.reserve(numbered_sets.size() + 1);
  for (auto& [number, path] : numbered_sets) sets.push_back(std::move(path));
  if (sets.empty() && fs::exists(numbered(folder, "output_", 0))) sets.push_back(folder);
  if (sets.empty()) {
    throw Error(
        Code::kNotFound,
        folder.string() +
            ": a folder with test_data_set_* or output_0.pb in it is needed; found neither");
  }
  return sets;
}

SetVerdict verify(Session& session, const fs::path& folder, const Tolerance& tolerance) {
  const std::vector<Value> results = session.run_values(read_inputs(session, folder));
  SetVerdict verdict{folder, {}};
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueInfo& info = session.outputs()[i];
    const fs::path file = numbered(folder, "output_", i);
    if (!fs::exists(file)) {
      throw Error(Code::kNotFound, file.string() + ": the expected value of output \"" + info.name +
                                       "\" is needed; there is no such file");
    }
    verdict.outputs.push_back({info.name, compare(results[i], read_value(file, info), tolerance)});
  }
  return verdict;
}

}  // namespace gantry::cli
