// SPDX-License-Identifier: Apache-2.0
#include "driver/device_context.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

namespace gantry::cuda {

DeviceContext::DeviceContext(const Driver& its_driver, const DeviceInfo& known)
    : driver(its_driver), info(known) {
  require(driver.context_retain(&context_, info.number), "making the context");
}

DeviceContext::~DeviceContext() { driver.context_release(info.number); }

// Sticky errors: the driver returns nothing but errors in this process after them.
bool DeviceContext::is_fatal(int result) {
  constexpr std::array kFatal = {46,  214, 220, 226, 700, 702, 709, 710,
                                 714, 715, 716, 717, 718, 719, 911, 999};
  return std::find(kFatal.begin(), kFatal.end(), result) != kFatal.end();
}

void DeviceContext::require(int result, const char* what) const {
  if (result == kSuccess) return;
  const std::string text = name() + ": " + what + ": " + driver.describe(result);
  if (result == kOutOfMemory) throw sdk::Error(GANTRY_OUT_OF_MEMORY, text);
  if (!is_fatal(result)) throw sdk::Error(GANTRY_DEVICE_ERROR, text);
  is_lost_ = true;
  throw sdk::Error(GANTRY_DEVICE_LOST, text);
}

void DeviceContext::require_alive() const {
  if (is_lost_) {
    throw sdk::Error(GANTRY_DEVICE_LOST,
                     name() + " was lost by an earlier failure; restart the process to use it");
  }
}

}  // namespace gantry::cuda
