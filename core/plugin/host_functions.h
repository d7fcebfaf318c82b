// SPDX-License-Identifier: Apache-2.0
// The functions of the host table that need no run: errors, the log, memory and values. gantry_host
// in provider.h documents each. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>

namespace gantry {

struct HostFunctions {
  static gantry_error* error_create(uint32_t code, gantry_str message);
  static uint32_t error_code(const gantry_error* error);
  static gantry_str error_message(const gantry_error* error);
  static void error_release(gantry_error* error);
  static void write_log(uint32_t level, gantry_str message);
  static void* allocate(uint64_t size_bytes, uint64_t alignment);
  static void release(void* memory);
  static gantry_error* packed_acquire(const uint8_t key[32], uint64_t size_bytes,
                                      void (*fill)(void* arg, void* target), void* arg,
                                      const void** out_data);
  static void packed_release(const void* data);
  static uint32_t value_kind(const gantry_value* value);
  static const gantry_tensor* value_tensor(const gantry_value* value);
  static gantry_error* value_string(const gantry_value* value, uint64_t index,
                                    gantry_str* out_string);
  static uint64_t value_length(const gantry_value* value);
  static const gantry_value* value_at(const gantry_value* value, uint64_t index);
  static gantry_error* value_create_tensor(uint32_t dtype, uint32_t rank, const int64_t* shape,
                                           gantry_value** out_value, gantry_tensor** out_tensor);
  static gantry_error* value_create(uint32_t kind, uint32_t dtype, gantry_value** out_value);
  static gantry_error* value_append(gantry_value* value, const gantry_value* item);
  static gantry_error* value_set_string(gantry_value* value, uint64_t index, gantry_str text);
  static void value_release(gantry_value* value);
};

/// Bytes that providers currently hold by gantry_host.allocate and packed_acquire.
uint64_t provider_bytes();

}  // namespace gantry
