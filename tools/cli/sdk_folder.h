// SPDX-License-Identifier: Apache-2.0
// Finds the provider SDK that is installed with this command, in a wheel or a prefix.
#pragma once

#include <filesystem>

namespace gantry::cli {

/// The folder of the CMake package gantry_sdk; empty: no SDK is installed with this command.
std::filesystem::path find_sdk_package();

}  // namespace gantry::cli
