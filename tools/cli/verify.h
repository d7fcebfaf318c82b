// SPDX-License-Identifier: Apache-2.0
// Runs of a model against recorded outputs, in the folders that ONNX's tests use: input_0.pb,
// input_1.pb ... and output_0.pb ..., by position.
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
/// holds output_0.pb. NOT_FOUND: neither.
std::vector<std::filesystem::path> find_sets(const std::filesystem::path& folder);

/// Runs the model on the inputs of one folder. INVALID_ARGUMENT: the files do not fit the model;
/// errors of the run.
SetVerdict verify(Session& session, const std::filesystem::path& folder,
                  const Tolerance& tolerance);

}  // namespace gantry::cli
