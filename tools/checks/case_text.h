// SPDX-License-Identifier: Apache-2.0
// Parses the notation of the case tables: types, shapes, numbers, attributes. The tables are
// compiled in, so malformed text is not reported. Pure functions.
#pragma once

#include <gantry/dtype.h>
#include <gantry/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model_writer.h"

namespace gantry::checks {

/// Splits text at blanks.
std::vector<std::string> words_of(const std::string& text);
std::vector<int64_t> numbers_of(const std::string& text, char separator = ',');
/// "i64{1,0,2}x3x1": element type, elements, and the shape if it is not a list.
Tensor constant_of(const std::string& word);
/// The element type that a word names; "T" is `own`, the type of the row.
DType type_of(const std::string& word, DType own);
/// An attribute: axis=1, alpha=0.5, perm=1,0 or mode:text. A list of one element ends in a comma.
ModelAttribute attribute_of(const std::string& word);

}  // namespace gantry::checks
