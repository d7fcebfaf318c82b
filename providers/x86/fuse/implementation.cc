// SPDX-License-Identifier: Apache-2.0
#include "fuse/implementation.h"

#include <gantry/sdk/error.h>

namespace gantry::x86 {

std::unique_ptr<sdk::Kernel> make_first(std::span<const Implementation> list,
                                        const KernelArgs& args) {
  std::string refusals;
  for (const Implementation& implementation : list) {
    const bool is_last = &implementation == &list.back();
    Made made = !is_last && args.options.skips(implementation.name) ? refuse("the options skip it")
                                                                    : implementation.make(args);
    if (made.kernel) {
      const std::string own = made.kernel->implementation();
      made.kernel->set_implementation((own.empty() ? implementation.name : own) + refusals);
      return std::move(made.kernel);
    }
    refusals += std::string("; not ") + implementation.name + ": " + made.refusal;
  }
  throw sdk::Error(GANTRY_INTERNAL, args.index.node(args.fusion.root).label() +
                                        ": no implementation takes it" + refusals);
}

}  // namespace gantry::x86
