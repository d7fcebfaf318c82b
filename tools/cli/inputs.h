// SPDX-License-Identifier: Apache-2.0
// Inputs of a model from the command line: files, pictures, random elements.
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

/// A value for each given input, and with `options.random` for each required one that is not given.
/// INVALID_ARGUMENT: an unknown name, a wrong file or number; a required input is not given, or an
/// extent that random elements need is not known.
Inputs make_inputs(const std::vector<ValueInfo>& declared, const InputOptions& options);

/// Inputs for each value of a --dim in turn. `vary`: NAME=FROM:TO, both included; empty: one set.
/// INVALID_ARGUMENT: as make_inputs, or no such range, or one of more than 1000.
std::vector<Inputs> make_input_sets(const std::vector<ValueInfo>& declared,
                                    const InputOptions& options, const std::string& vary);

}  // namespace gantry::cli
