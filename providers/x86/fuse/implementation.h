// SPDX-License-Identifier: Apache-2.0
// Implementations of a kernel family: an ordered list, the preferred first, of this provider's own
// code and oneDNN's. The first one that does not refuse runs the fusion. `gantry explain` shows its
// name and why those before it refused.
#pragma once

#include <gantry/sdk/kernel.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fuse/kernel_args.h"

namespace gantry::x86 {

/// A kernel, or why the implementation makes none.
struct Made {
  std::unique_ptr<sdk::Kernel> kernel;
  std::string refusal;  ///< a sentence without a final stop; empty: there is a kernel
};

inline Made refuse(std::string reason) { return {nullptr, std::move(reason)}; }
template <class K, class... Args>
Made made(Args&&... args) {
  return {std::make_unique<K>(std::forward<Args>(args)...), {}};
}

struct Implementation {
  const char* name;  ///< shown to users
  Made (*make)(const KernelArgs& args);
};

/// `make` of an implementation that refuses nothing.
template <class K>
Made make_always(const KernelArgs& args) {
  return made<K>(args);
}

/// The kernel of the first implementation that does not refuse and that Options::skipped does not
/// name. Its implementation() is that name, followed by the refusals before it. The last one is
/// never skipped. Errors: INTERNAL if all refuse.
std::unique_ptr<sdk::Kernel> make_first(std::span<const Implementation> list,
                                        const KernelArgs& args);

}  // namespace gantry::x86
