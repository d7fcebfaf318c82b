// SPDX-License-Identifier: Apache-2.0
#include "plugin/error.h"
#include "schedule/frame.h"

namespace gantry {

ExecutionContext::ExecutionContext(const Program& program, const DeviceTable& devices,
                                   uint32_t threads)
    : bound_outputs(program.outputs().size()),
      devices_(devices),
      streams_(devices.space_count(), nullptr),
      threads_(threads) {
  for (uint32_t i = 0; i < devices.space_count(); ++i) {
    pools_.push_back(std::make_unique<MemoryPool>(devices.space(i)));
    arenas_.push_back(std::make_unique<Arena>(devices.space(i)));
  }
  try {
    for (uint32_t i = 1; i < devices.space_count(); ++i) {
      throw_if(devices.space(i).api->stream_create(devices.space(i).device, &streams_[i]),
               [&] { return "stream of " + devices.device(i).to_string(); });
    }
    main_ = std::make_unique<Frame>(program, *this);
  } catch (...) {
    for (uint32_t i = 1; i < streams_.size(); ++i) {
      if (streams_[i]) devices.space(i).api->stream_destroy(streams_[i]);
    }
    throw;
  }
}

ExecutionContext::~ExecutionContext() {
  quiesce();
  main_.reset();
  for (uint32_t i = 1; i < streams_.size(); ++i) devices_.space(i).api->stream_destroy(streams_[i]);
}

void ExecutionContext::trim() {
  for (const auto& pool : pools_) pool->trim();
}

void ExecutionContext::synchronize() {
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    throw_if(devices_.space(i).api->stream_synchronize(streams_[i]),
             [&] { return devices_.device(i).to_string(); });
  }
}

void ExecutionContext::quiesce() noexcept {
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    release_error(devices_.space(i).api->stream_synchronize(streams_[i]));
  }
}

MemoryUse ExecutionContext::memory() const {
  MemoryUse use;
  for (const auto& arena : arenas_) use.arena += arena->size_bytes();
  for (const auto& pool : pools_) use.pool += pool->held_bytes();
  return use;
}

Code ExecutionContext::stop_code() const noexcept {
  if (cancel && cancel->load(std::memory_order_relaxed)) return Code::kCancelled;
  if (has_deadline && std::chrono::steady_clock::now() > deadline) return Code::kDeadlineExceeded;
  return Code::kOk;
}

}  // namespace gantry
