// SPDX-License-Identifier: Apache-2.0
// A provider of one session, and what it has compiled. A provider is used by one thread at a time,
// its kernels by any.
#pragma once

#include <gantry/sdk/kernel.h>

#include <memory>

#include "ep_host/devices.h"
#include "ep_host/settings.h"
#include "objects/logger.h"

namespace gantry::ort {

struct ReleaseEp {
  EpFactory* factory;
  void operator()(Ep* ep) const { factory->release(factory, ep); }
};
using OwnedEp = std::unique_ptr<Ep, ReleaseEp>;

/// Throws ApiError: it cannot be made, as for an option that it does not know.
OwnedEp make_ep(const OfferedDevice& device, const SessionEntries& settings, const Logger& logger);

/// What the provider would run of the graph. Throws ApiError.
SupportedParts support_of(Ep& ep, const SeenGraph& graph);

/// Compiles a claim. `drops_constants`: as the provider said when it claimed. Throws sdk::Error.
std::unique_ptr<sdk::Kernel> make_kernel(OwnedEp ep, const gantry_host* host,
                                         const gantry_compile& args, bool drops_constants,
                                         const Logger& logger);

}  // namespace gantry::ort
