// SPDX-License-Identifier: Apache-2.0
// The library's layouts as text that a later start can read. The library tells what a layout is,
// but only makes those that have a name.
#pragma once

#include <string>

#include "onednn/library.h"

namespace gantry::x86 {

/// Empty: the layout has no name in the library (it carries corrections beside the numbers, say).
std::string layout_name(const Desc& layout);
/// The layout of that name, which tells the element type too, for a tensor of these extents.
/// Errors: the library's, for a name that it does not have or that does not fit.
Desc layout_of(const std::string& name, const Dims& dims);

}  // namespace gantry::x86
