// SPDX-License-Identifier: Apache-2.0
#include "run/run_resources.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plugin/error.h"

namespace gantry {

RunResources::RunResources(size_t outputs, const DeviceTable& devices, uint32_t threads)
    : bound_outputs(outputs),
      devices_(devices),
      streams_(devices.space_count(), nullptr),
      ends_(devices.space_count(), nullptr),
      team_(threads) {
  const auto add_memory = [&](const MemorySpace& space) {
    arenas_.push_back(std::make_unique<Arena>(space, [this] { give_back(); }));
    pools_.push_back(std::make_unique<MemoryPool>(
        space, [this] { give_back(); }, arenas_.back().get()));
  };
  for (uint32_t i = 0; i < devices.space_count(); ++i) add_memory(devices.space(i));
  for (uint32_t i = 1; i <= devices.shared_region_count(); ++i)
    add_memory(devices.shared_region(i));
  try {
    for (uint32_t i = 1; i < devices.space_count(); ++i) {
      const MemorySpace& space = devices.space(i);
      space.check(space.api->stream_create(space.device, &streams_[i]),
                  [&] { return "stream of " + space.name(); });
    }
  } catch (...) {
    for (uint32_t i = 1; i < streams_.size(); ++i) {
      if (streams_[i]) devices.space(i).api->stream_destroy(streams_[i]);
    }
    throw;
  }
}

RunResources::~RunResources() {
  clocks_.clear();
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    const gantry_provider_api& api = *devices_.space(i).api;
    if (ends_[i]) api.event_destroy(ends_[i]);
    api.stream_destroy(streams_[i]);
  }
}

void RunResources::trim() {
  for (const auto& pool : pools_) pool->trim();
}

void RunResources::give_back() {
  synchronize();
  trim();
  if (give_back_others) give_back_others();
}

void RunResources::drop_memory() {
  trim();
  for (const auto& arena : arenas_) arena->drop();
}

MemoryUse RunResources::memory() const {
  MemoryUse use;
  for (const auto& arena : arenas_) use.arena += arena->size_bytes();
  for (const auto& pool : pools_) use.pool += pool->held_bytes();
  return use;
}

void RunResources::attach(Trace& trace, size_t number) {
  trace_ = &trace;
  if (!trace.keeps_records()) return;
  std::string context;
  if (number > 0) context.append(" (context ").append(std::to_string(number)).append(")");
  noted_memory_.resize(space_count());
  for (uint32_t i = 0; i < space_count(); ++i) {
    std::string device = i == 0 ? "host" : devices_.device(i).to_string();
    std::string memory = device;
    memory.append(" memory").append(context);
    memory_tracks_.push_back(trace.add_track({"", std::move(memory)}));
    if (i == 0) {
      clocks_.push_back(nullptr);
    } else {
      const uint32_t track = trace.add_track({std::move(device), "stream" + context});
      clocks_.push_back(std::make_unique<StreamClock>(space(i), streams_[i], trace, track));
    }
  }
}

void RunResources::note_on_stream(const Step& step, uint64_t issued_ns, uint32_t replayed) {
  clocks_[step.space]->mark(&step, issued_ns, replayed);
}

void RunResources::note_memory() noexcept {
  const uint64_t now_ns = Trace::now();
  for (uint32_t i = 0; i < memory_tracks_.size(); ++i) {
    const std::array<int64_t, 2> sizes = {static_cast<int64_t>(arenas_[i]->size_bytes()),
                                          static_cast<int64_t>(pools_[i]->held_bytes())};
    if (sizes == noted_memory_[i]) continue;
    noted_memory_[i] = sizes;
    trace_->add(TraceKind::kMemory, nullptr, memory_tracks_[i], now_ns, now_ns, sizes);
  }
}

}  // namespace gantry
