// SPDX-License-Identifier: Apache-2.0
// The text of the files in kernels/, as the build puts it into the library.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace gantry::cuda {

/// Text of kernels/<name>. INTERNAL: there is no such file.
std::string_view kernel_text(std::string_view name);

/// Pieces of text one behind the other.
std::string join(std::initializer_list<std::string_view> pieces);

/// The source of a kernel: the texts of these files after the prelude, and `body` last.
std::string kernel_source(std::initializer_list<std::string_view> names, const std::string& body);

}  // namespace gantry::cuda
