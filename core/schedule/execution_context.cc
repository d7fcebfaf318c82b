// SPDX-License-Identifier: Apache-2.0
#include "schedule/execution_context.h"

#include "plugin/error.h"

namespace gantry {

ExecutionContext::ExecutionContext(const Program& program, const DeviceTable& devices,
                                   uint32_t threads)
    : bound_outputs(program.outputs().size()),
      devices_(devices),
      streams_(devices.space_count(), nullptr),
      ends_(devices.space_count(), nullptr),
      team_(threads) {
  const auto add_memory = [&](const MemorySpace& space) {
    pools_.push_back(std::make_unique<MemoryPool>(space, [this] { give_back(); }));
    arenas_.push_back(std::make_unique<Arena>(space, [this] { give_back(); }));
  };
  for (uint32_t i = 0; i < devices.space_count(); ++i) add_memory(devices.space(i));
  for (uint32_t i = 1; i <= devices.area_count(); ++i) add_memory(devices.area(i));
  try {
    for (uint32_t i = 1; i < devices.space_count(); ++i) {
      const MemorySpace& space = devices.space(i);
      space.check(space.api->stream_create(space.device, &streams_[i]),
                  [&] { return "stream of " + space.name(); });
    }
    main_ = std::make_unique<Frame>(program, *this);
    captures_ = std::make_unique<CaptureCache>(*this, program);
  } catch (...) {
    for (uint32_t i = 1; i < streams_.size(); ++i) {
      if (streams_[i]) devices.space(i).api->stream_destroy(streams_[i]);
    }
    throw;
  }
}

ExecutionContext::~ExecutionContext() {
  quiesce();
  captures_.reset();
  clocks_.clear();
  main_.reset();
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    const gantry_provider_api& api = *devices_.space(i).api;
    if (ends_[i]) api.event_destroy(ends_[i]);
    api.stream_destroy(streams_[i]);
  }
}

void ExecutionContext::trim() {
  for (const auto& pool : pools_) pool->trim();
}

void ExecutionContext::give_back() {
  synchronize();
  trim();
  if (give_back_others) give_back_others();
}

void ExecutionContext::drop_memory() {
  captures_->clear();
  main_->bind(nullptr);
  plan.reset();
  trim();
  for (const auto& arena : arenas_) arena->drop();
}

MemoryUse ExecutionContext::memory() const {
  MemoryUse use;
  for (const auto& arena : arenas_) use.arena += arena->size_bytes();
  for (const auto& pool : pools_) use.pool += pool->held_bytes();
  return use;
}

void RunLimits::set_deadline(uint64_t timeout_ns) {
  const uint64_t most =
      static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::hours(24 * 365)).count());
  deadline =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, most));
}

Code RunLimits::asked_code() const noexcept {
  if (cancel && cancel->load(std::memory_order_relaxed)) return Code::kCancelled;
  if (has_deadline && std::chrono::steady_clock::now() > deadline) return Code::kDeadlineExceeded;
  return Code::kOk;
}

}  // namespace gantry
