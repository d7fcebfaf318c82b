// SPDX-License-Identifier: Apache-2.0
// Verifies a model against recorded outputs, in folders laid out as ONNX's tests: input_0.pb,
// input_1.pb ... and output_0.pb ..., numbered by position.
#pragma once

#include <gantry/session.h>

#include <filesystem>
#include <string>
#include <vector>

#include "compare.h"

namespace gantry::cli {

struct OutputVerdict {
  std::string name;
  Comparison comparison;
};

struct SetVerdict {
  std::filesystem::path folder;
  std::vector<OutputVerdict> outputs;
  [[nodiscard]] bool passed() const;
};

/// The folders test_data_set_* in `folder` in the order of their numbers, or `folder` itself if it
/// has output_0.pb. Throws NOT_FOUND if there is neither.
std::vector<std::filesystem::path> find_sets(const std::filesystem::path& folder);

/// Runs the model on the inputs of one folder and compares its outputs. Throws INVALID_ARGUMENT if
/// the files do not fit the model, and the errors of the run.
SetVerdict verify(Session& session, const std::filesystem::path& folder,
                  const Tolerance& tolerance);

}  // namespace gantry::cli
