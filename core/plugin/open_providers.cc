// SPDX-License-Identifier: Apache-2.0
#include "plugin/open_providers.h"

#include <gantry/error.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "base/fork.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/process_state.h"
#include "base/run_limits.h"
#include "plugin/host_functions.h"
#include "plugin/isolation/isolated_provider.h"

namespace gantry {
namespace {

struct OpenSlot {
  std::weak_ptr<PluginProvider> provider;
  bool is_taken = false;  // from before the entry is called until after destroy has returned
};

struct OpenProviders {
  static constexpr ProcessState kState = ProcessState::kOpenProviders;

  Mutex mutex;
  CondVar freed;
  std::map<std::string, OpenSlot> slots GANTRY_GUARDED_BY(mutex);
  uint64_t left_bytes GANTRY_GUARDED_BY(mutex) = 0;  // by providers that are closed
};

OpenProviders& open_providers() { return process_state<OpenProviders>(); }

void free_slot(const std::string& key) {
  OpenProviders& all = open_providers();
  const MutexLock lock(all.mutex);
  all.slots.erase(key);
  all.freed.notify_all();
}

// Warns of memory that providers did not release, when the last one closes: before that, bytes
// cannot be told apart. Bytes already reported are not reported again.
void warn_of_leaks(const std::string& name) {
  OpenProviders& all = open_providers();
  const MutexLock lock(all.mutex);
  if (!all.slots.empty() || fork_generation() != 0) return;
  const uint64_t left = provider_bytes();
  const uint64_t known = std::exchange(all.left_bytes, left);
  if (left <= known) return;
  log(LogLevel::kWarning, "provider \"" + name + "\" is closed and did not release " +
                              std::to_string(left - known) + " bytes of the host's memory");
}

std::shared_ptr<PluginProvider> find_or_take(const std::string& key) {
  OpenProviders& all = open_providers();
  const MutexLock lock(all.mutex);
  for (;;) {
    OpenSlot& slot = all.slots[key];
    if (std::shared_ptr<PluginProvider> open = slot.provider.lock()) return open;
    if (!slot.is_taken) {
      slot.is_taken = true;
      return nullptr;
    }
    // Being opened or destroyed by another thread.
    constexpr std::chrono::milliseconds kTick{10};
    all.freed.wait_for(all.mutex, kTick);
    poll_load("a provider was opened that another load opens");
  }
}

}  // namespace

std::shared_ptr<PluginProvider> open_provider(const Manifest& manifest,
                                              const PluginProvider::Origin& origin,
                                              const PluginProvider::StageObserver& at_stage) {
  std::string key = origin.library.empty()
                        ? std::to_string(reinterpret_cast<uintptr_t>(origin.entry))
                        : origin.library;
  // In another process it is another provider object.
  if (origin.isolation) key += " (isolated)";
  if (std::shared_ptr<PluginProvider> open = find_or_take(key)) {
    if (open->options() != origin.options || open->name() != manifest.name) {
      throw Error(Code::kUnavailable, "provider \"" + manifest.name +
                                          "\" is already open in this process as \"" +
                                          open->name() + "\" with the options " + open->options() +
                                          ", asked for with " + origin.options +
                                          "; options are given per session where they differ");
    }
    if (open->isolated() && open->isolated()->settings() != *origin.isolation) {
      throw Error(Code::kUnavailable, "provider \"" + manifest.name +
                                          "\" is already open in a process of its own with other "
                                          "limits; /providers/worker is the same for all runtimes "
                                          "of a process");
    }
    return open;
  }
  try {
    std::shared_ptr<PluginProvider> opened(new PluginProvider(manifest, origin, at_stage),
                                           [key](PluginProvider* provider) {
                                             const std::string name = provider->name();
                                             delete provider;
                                             free_slot(key);
                                             warn_of_leaks(name);
                                           });
    OpenProviders& all = open_providers();
    const MutexLock lock(all.mutex);
    all.slots[key].provider = opened;
    all.freed.notify_all();
    return opened;
  } catch (...) {
    free_slot(key);
    throw;
  }
}

bool is_provider_open(const std::string& library) {
  OpenProviders& all = open_providers();
  const MutexLock lock(all.mutex);
  const auto slot = all.slots.find(library);
  return slot != all.slots.end() && !slot->second.provider.expired();
}

}  // namespace gantry
