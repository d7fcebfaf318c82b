// SPDX-License-Identifier: Apache-2.0
// Calls into a library that is made for ONNX Runtime: what it throws or returns becomes an error of
// gantry's. Any thread.
#pragma once

#include <gantry/sdk/error.h>

#include <new>
#include <string>
#include <utility>

#include "custom_ops/run_context.h"
#include "objects/status.h"

namespace gantry::ort {

/// The code that gantry has for such an error.
gantry_code host_code(ErrorCode code) noexcept;

/// `who`: whose library it is, in front of the message.
template <class Function>
void call_library(const std::string& who, Function&& function) {
  try {
    std::forward<Function>(function)();
  } catch (const sdk::Error&) {
    throw;
  } catch (const ApiError& error) {
    throw sdk::Error(host_code(error.code()), who + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw sdk::Error(GANTRY_INTERNAL, who + ": " + error.what());
  } catch (...) {
    throw sdk::Error(GANTRY_INTERNAL, who + ": it threw something that is no std::exception");
  }
}

/// Likewise for one run of a kernel: function(RunContext&) computes, then its outputs are handed
/// over.
template <class Function>
void run_library(const std::string& who, sdk::Call& call, const KernelPorts& ports,
                 Function&& function) {
  call_library(who, [&] {
    RunContext context(call, ports);
    try {
      std::forward<Function>(function)(context);
    } catch (...) {
      context.rethrow();  // the host's own error, as the library may have given it other words
      throw;
    }
    context.rethrow();
    context.finish();
  });
}

}  // namespace gantry::ort
