// SPDX-License-Identifier: Apache-2.0
// Captures of a frame: segments of kernels of one device that were recorded once for a memory plan
// and are launched as one from then on. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "memory/memory_plan.h"

struct gantry_capture;

namespace gantry {

class Program;
class RunResources;

/// The captures of one plan; they hold the addresses of the arenas that they
/// were recorded with.
struct CapturedPlan {
  std::shared_ptr<const MemoryPlan> plan;
  std::vector<std::byte*> arenas;         ///< by space
  std::vector<gantry_capture*> captures;  ///< by the first step of a segment; null: none
  uint32_t runs = 0;                      ///< since the arenas are where they are
  bool is_refused = false;  ///< a segment could not be recorded; it is not tried again
  [[nodiscard]] bool may_record() const { return runs > 1 && !is_refused; }
};

class CaptureCache {
 public:
  /// Both must outlive it.
  CaptureCache(RunResources& resources, const Program& program);
  ~CaptureCache() { clear(); }
  CaptureCache(const CaptureCache&) = delete;
  CaptureCache& operator=(const CaptureCache&) = delete;

  /// What a run of this plan may launch and record; the plan is bound. The
  /// first run of a plan in this cache, or since an arena moved, records
  /// nothing: it is the kernels' warm-up. Allocates only for a plan that is new
  /// here.
  CapturedPlan& of(const std::shared_ptr<const MemoryPlan>& plan);
  /// Destroys all captures. Requires the devices to be at rest.
  void clear() noexcept;

 private:
  void destroy(CapturedPlan& captured) const noexcept;

  static constexpr size_t kMost = 8;  // plans

  RunResources& resources_;
  const Program& program_;
  std::list<CapturedPlan> plans_;  // most recently used first
};

}  // namespace gantry
