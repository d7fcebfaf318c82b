// SPDX-License-Identifier: Apache-2.0
// The table of functions that ONNX Runtime gives to libraries (OrtApi), with the functions that
// gantry has. The order of the slots is the API's and never changes; it grows at the end. Any
// thread, once it is filled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "objects/slots.h"

namespace gantry::ort {

/// The version of the API whose order the slots are in, and what a program that asks for the
/// version of ONNX Runtime is told.
inline constexpr uint32_t kApiVersion = 31;
inline constexpr const char* kVersionText = "1.31.0";

class ApiTable {
 public:
  /// Slots without a function get one that returns a status which says so.
  ApiTable();

  /// Requires that `function` has the arguments and the result that the API gives to the slot.
  template <class F>
  void set(Slot slot, F* function) {
    slots_[static_cast<size_t>(slot)] = reinterpret_cast<Function>(function);
  }

 private:
  using Function = void (*)();
  static constexpr size_t kSlots = 428;  // those of ONNX Runtime 1.31
  std::array<Function, kSlots> slots_;
};

/// OrtApiBase: what a program or library is given to find the table by.
struct ApiBase {
  /// Null: a version that is not there.
  const ApiTable* (*get_api)(uint32_t version) noexcept;
  const char* (*get_version)() noexcept;
};

/// Each file of functions of the API fills in its slots.
void add_status_functions(ApiTable& table);
void add_memory_functions(ApiTable& table);
void add_logger_functions(ApiTable& table);
void add_value_functions(ApiTable& table);
void add_type_functions(ApiTable& table);
void add_key_value_functions(ApiTable& table);

}  // namespace gantry::ort
