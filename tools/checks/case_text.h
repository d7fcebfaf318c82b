// SPDX-License-Identifier: Apache-2.0
// Parses the notation of the tables of cases: types, shapes, numbers, attributes. Pure functions.
// The tables are part of this program, so malformed text is not reported.
#pragma once

#include <gantry/dtype.h>
#include <gantry/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model_writer.h"

namespace gantry::checks {

/// What blanks part.
std::vector<std::string> words_of(const std::string& text);
std::vector<int64_t> numbers_of(const std::string& text, char separator = ',');
/// i64{1,0,2}x3x1: the numbers, and their shape if it is not a list.
Tensor constant_of(const std::string& word);
/// "T" is the row's own type.
DType type_of(const std::string& word, DType own);
/// axis=1 alpha=0.5 perm=1,0 mode:text; a list of one ends in a comma.
ModelAttribute attribute_of(const std::string& word);

}  // namespace gantry::checks
