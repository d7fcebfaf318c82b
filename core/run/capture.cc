// SPDX-License-Identifier: Apache-2.0
#include "run/capture.h"

#include <algorithm>

#include "program/program.h"
#include "run/run_resources.h"

namespace gantry {

CaptureCache::CaptureCache(RunResources& resources, const Program& program)
    : resources_(resources), program_(program) {}

CapturedPlan& CaptureCache::of(const std::shared_ptr<const MemoryPlan>& plan) {
  auto found = std::find_if(plans_.begin(), plans_.end(),
                            [&](const CapturedPlan& captured) { return captured.plan == plan; });
  if (found == plans_.end()) {
    if (plans_.size() == kMost) {
      destroy(plans_.back());
      plans_.pop_back();
    }
    plans_.push_front({plan, std::vector<std::byte*>(resources_.space_count(), nullptr),
                       std::vector<gantry_capture*>(program_.steps().size(), nullptr), 0, false});
    found = plans_.begin();
  }
  plans_.splice(plans_.begin(), plans_, found);
  CapturedPlan& captured = plans_.front();
  for (uint32_t space = 1; space < captured.arenas.size(); ++space) {
    std::byte* const now = resources_.arena(space).data();
    if (captured.arenas[space] == now) continue;
    captured.arenas[space] = now;
    captured.runs = 0;
  }
  if (captured.runs == 0) destroy(captured);
  captured.runs = std::min(captured.runs + 1, 2U);
  return captured;
}

void CaptureCache::clear() noexcept {
  for (CapturedPlan& captured : plans_) destroy(captured);
  plans_.clear();
}

void CaptureCache::destroy(CapturedPlan& captured) const noexcept {
  for (uint32_t step = 0; step < captured.captures.size(); ++step) {
    gantry_capture*& capture = captured.captures[step];
    if (!capture) continue;
    const MemorySpace& space = resources_.space(program_.steps()[step].space);
    if (!space.is_hung()) space.api->capture_destroy(capture);
    capture = nullptr;
  }
}

}  // namespace gantry
