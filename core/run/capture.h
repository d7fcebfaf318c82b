// SPDX-License-Identifier: Apache-2.0
// Captures of a frame (CUDA graphs): segments of kernels of one device that are recorded once for a
// memory plan and then launched as one. One thread at a time.
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
  uint32_t runs = 0;                      ///< runs since an arena moved, at most 2
  bool is_refused = false;  ///< a segment could not be recorded; it is not tried again
  [[nodiscard]] bool may_record() const { return runs > 1 && !is_refused; }
};

class CaptureCache {
 public:
  /// Both must outlive the cache.
  CaptureCache(RunResources& resources, const Program& program);
  ~CaptureCache() { clear(); }
  CaptureCache(const CaptureCache&) = delete;
  CaptureCache& operator=(const CaptureCache&) = delete;

  /// The captures that a run of this plan may launch and record. Requires that the plan is bound.
  /// The first run of a plan in this cache, or since an arena moved, records nothing: the kernels
  /// warm up in it. Allocates only for a plan that is not in the cache.
  CapturedPlan& of(const std::shared_ptr<const MemoryPlan>& plan);
  /// Destroys all captures. Requires the devices to be idle.
  void clear() noexcept;

 private:
  void destroy(CapturedPlan& captured) const noexcept;

  static constexpr size_t kMost = 8;  // plans

  RunResources& resources_;
  const Program& program_;
  std::list<CapturedPlan> plans_;  // most recently used first
};

}  // namespace gantry
