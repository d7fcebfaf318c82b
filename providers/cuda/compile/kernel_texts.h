// SPDX-License-Identifier: Apache-2.0
// The texts of the files in kernels/ and its folders, which the build embeds in the library.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace gantry::cuda {

/// The text of the file of that name, without its folder. INTERNAL: no such file.
std::string_view kernel_text(std::string_view name);

/// Concatenates strings.
std::string join(std::initializer_list<std::string_view> pieces);

/// Source of a kernel: the prelude, the texts of `names`, then `body`.
std::string kernel_source(std::initializer_list<std::string_view> names, const std::string& body);

}  // namespace gantry::cuda
