// SPDX-License-Identifier: Apache-2.0
// The equation of an Einsum for inputs of known ranks. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace gantry::cuda {

/// A label for each axis of each input and of the output. Letters stand for themselves; axes of an
/// ellipsis are the digits, counted from the right, so that they meet as NumPy's broadcasting does.
struct EinsumTerms {
  std::vector<std::string> inputs;
  std::string output;
};

/// INVALID_ARGUMENT: the equation is not well formed, or does not fit the inputs.
EinsumTerms einsum_terms(const std::string& equation, const std::vector<size_t>& ranks);

/// Letters that the equation has, each once.
std::string einsum_letters(const std::string& equation);

}  // namespace gantry::cuda
