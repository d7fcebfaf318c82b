// SPDX-License-Identifier: Apache-2.0
// Parses the equation of an Einsum for inputs of known ranks. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace gantry::cuda {

/// A label for each axis of each input and of the output. Letters are themselves. Axes of an
/// ellipsis are digits, counted from the right, so that they align as NumPy broadcasts.
struct EinsumTerms {
  std::vector<std::string> inputs;
  std::string output;
};

/// The terms of an equation. INVALID_ARGUMENT: it is malformed, or does not fit the inputs.
EinsumTerms einsum_terms(const std::string& equation, const std::vector<size_t>& ranks);

/// The distinct letters of the equation.
std::string einsum_letters(const std::string& equation);

}  // namespace gantry::cuda
