// SPDX-License-Identifier: Apache-2.0
// The objects that the checks' host gives to providers (host_table.h): errors, memory and values.
// It counts them, and can be told to refuse them. One host per process, as the table has no context
// pointer. Any thread, except where a member says otherwise.
#pragma once

#include <gantry/provider.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "page_memory.h"

namespace gantry::checks {

/// A value that the host owns; gantry_value at the boundary.
struct HostValue {
  uint32_t kind = GANTRY_KIND_TENSOR;
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::string> strings;
  std::vector<std::shared_ptr<HostValue>> items;
  std::shared_ptr<void> memory;    ///< aligned to 64 bytes
  gantry_tensor tensor = {};       ///< view of it
  std::shared_ptr<HostValue> own;  ///< keeps the value alive while a provider owns it
};

/// A tensor filled with zeros. Requires extents of at least 0.
std::shared_ptr<HostValue> make_value(uint32_t dtype, const std::vector<int64_t>& shape);
inline const gantry_value* to_boundary(const HostValue& value) {
  return reinterpret_cast<const gantry_value*>(&value);
}

/// Bytes of elements, packed types rounded up; 0 for strings.
uint64_t bytes_of(uint32_t dtype, const std::vector<int64_t>& shape);
/// Memory aligned to 64 bytes, never null; freed with the last reference.
std::shared_ptr<void> aligned_memory(uint64_t size_bytes);

/// Objects of the host that providers currently own.
struct HostCounts {
  int64_t errors = 0;
  int64_t values = 0;
  int64_t bytes = 0;
  int64_t packed = 0;
};

/// One run of a kernel; gantry_run at the boundary. Filled by the caller, used by one kernel.
struct HostRun {
  struct Output {
    uint32_t dtype = GANTRY_UNDEFINED;
    std::vector<int64_t> shape;
    void* data = nullptr;
    bool is_host = true;
    gantry_tensor tensor = {};
    bool is_asked = false;
  };
  const gantry_provider_api* api = nullptr;  ///< with `device`: where outputs are allocated
  gantry_device* device = nullptr;           ///< null: host memory
  std::vector<Output> outputs;
  std::vector<void*> device_blocks;  ///< freed by whoever made the run
  std::vector<std::shared_ptr<void>> host_blocks;
  std::atomic<uint32_t> stop_code{GANTRY_OK};  ///< returned by should_stop
  void* output_memory = nullptr;               ///< if not null: memory for outputs on the device
  uint64_t output_bytes = 0;                   ///< size of output_memory
  bool has_own_pages = false;                  ///< host memory is taken from `pages`
  std::vector<std::shared_ptr<PageMemory>> pages;
  bool refuses_outputs = false;  ///< output answers OUT_OF_MEMORY
  bool refuses_scratch = false;

  /// Page-aligned memory that the run owns.
  std::shared_ptr<void> add_pages(uint64_t size_bytes) {
    const auto& added = pages.emplace_back(std::make_shared<PageMemory>(size_bytes));
    return {added, added->data()};
  }
};

HostCounts host_counts();

/// Fills the slots of `table` for errors, memory and values.
void add_host_services(gantry_host& table);

/// Creates a counted error.
gantry_error* make_error(uint32_t code, const std::string& message);

/// From now on `allocate` and `packed_acquire` succeed `count` times, then fail. Negative: they
/// never fail.
void fail_allocations_after(int64_t count);

/// Releases an error and returns its text as "CODE: message"; empty for null.
std::string take_error(gantry_error* error);
/// Releases an error and returns its code; GANTRY_OK for null.
uint32_t take_code(gantry_error* error);

inline gantry_str to_str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string to_string(gantry_str text) {
  return text.data ? std::string(text.data, text.length) : std::string();
}

}  // namespace gantry::checks
