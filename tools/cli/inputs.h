// SPDX-License-Identifier: Apache-2.0
// Inputs of a model from the command line: files, images, random elements.
#pragma once

#include <gantry/session.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "image.h"

namespace gantry::cli {

/// --input, --image and its options, --dim, --random, --seed.
struct InputOptions {
  std::vector<std::string> files;   ///< NAME=FILE
  std::vector<std::string> images;  ///< NAME=FILE
  std::vector<std::string>
      dims;  ///< NAME=N: a symbolic extent, or INPUT.AXIS for one without a name
  bool random = false;
  uint64_t seed = 0;
  ImageOptions image;
};
void add_input_options(CLI::App& command, InputOptions& options);

/// A value for each input that the options give, and with `options.random` for each other required
/// input. Throws INVALID_ARGUMENT for an unknown name, an invalid file or number, a missing
/// required input, or an unknown extent of a random input.
Inputs make_inputs(const std::vector<ValueInfo>& declared, const InputOptions& options);

/// One set of inputs for each value of a --dim. `vary`: NAME=FROM:TO, inclusive; empty: one set.
/// Throws INVALID_ARGUMENT as make_inputs(), and for an invalid range or one of more than 1000
/// values.
std::vector<Inputs> make_input_sets(const std::vector<ValueInfo>& declared,
                                    const InputOptions& options, const std::string& vary);

}  // namespace gantry::cli
