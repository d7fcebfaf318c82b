// SPDX-License-Identifier: Apache-2.0
// Implementations of an operator: an ordered list for each, the preferred first, of this provider's
// own code and of oneDNN's. The first that does not refuse computes the fusion. Which one that is,
// and why those before it refused, is what `gantry explain` says.
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
  const char* name;  ///< shown to users; "oneDNN": the library's
  Made (*make)(const KernelArgs& args);
};

/// Of one that takes everything.
template <class K>
Made make_always(const KernelArgs& args) {
  return made<K>(args);
}

/// The kernel of the first of the implementations that does not refuse and that the options do not
/// skip; its implementation() names it and the refusals before it. Requires that the last one takes
/// everything; the options do not skip it.
std::unique_ptr<sdk::Kernel> make_first(std::span<const Implementation> list,
                                        const KernelArgs& args);

}  // namespace gantry::x86
