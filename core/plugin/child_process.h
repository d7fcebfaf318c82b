// SPDX-License-Identifier: Apache-2.0
// Starting a program of our own for a provider.
#pragma once

#include <array>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gantry {

/// What becomes descriptor 0 to 3 of a child: a number of ours, or one of these.
constexpr int kNullDevice = -1;
constexpr int kInherited = -2;

/// Starts `program`, a path, with arguments behind its name. No signal is blocked or handled there,
/// and it leads a process group of its own: an interrupt from the keyboard is for the application,
/// and what the provider starts can be ended with it. Its log begins at the level that ours has.
/// Returns 0, or the errno value of what failed.
/// Thread-safe. Requires numbers above 3: a duplicate onto itself would be closed at the start.
int start_child(const std::string& program, std::vector<std::string> arguments,
                const std::array<int, 4>& descriptors, pid_t* child);

}  // namespace gantry
