// SPDX-License-Identifier: Apache-2.0
// oneDNN layouts as text, for the compiled-model cache. oneDNN can describe any layout, but only
// creates those that have a name (format tag).
#pragma once

#include <string>

#include "onednn/library.h"

namespace gantry::x86 {

/// The name of a layout with its dtype. Empty: it has none (it carries int8 compensation, say).
std::string layout_name(const Desc& layout);
/// The layout of a name by layout_name(), for a tensor of extents `dims`. Errors: dnnl::error for
/// an unknown name, or one that does not fit.
Desc layout_of(const std::string& name, const Dims& dims);

}  // namespace gantry::x86
