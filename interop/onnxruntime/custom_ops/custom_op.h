// SPDX-License-Identifier: Apache-2.0
// An operator of a library for ONNX Runtime, and what of it is there in the version of the API that
// the library was built for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "objects/status.h"

namespace gantry::ort {

class ApiTable;
struct KernelInfo;
class RunContext;

/// OrtCustomOpInputOutputCharacteristic.
enum class Arity : int { kRequired = 0, kOptional = 1, kVariadic = 2 };

/// OrtCustomOp, whose layout is the API's. It grows at the end, so `version` says what is there.
struct CustomOp {
  uint32_t version;
  void* (*create_kernel)(const CustomOp* op, const ApiTable* api, const KernelInfo* info);
  const char* (*get_name)(const CustomOp* op);
  const char* (*get_execution_provider)(const CustomOp* op);  // null: the CPU's
  int (*get_input_type)(const CustomOp* op, size_t index);    // as the API numbers it; 0: any
  size_t (*get_input_count)(const CustomOp* op);
  int (*get_output_type)(const CustomOp* op, size_t index);
  size_t (*get_output_count)(const CustomOp* op);
  void (*compute)(void* kernel, RunContext* context);
  void (*destroy)(void* kernel);
  Arity (*get_input_arity)(const CustomOp* op, size_t index);  // from 8
  Arity (*get_output_arity)(const CustomOp* op, size_t index);
  int (*get_input_memory_type)(const CustomOp* op, size_t index);  // from 13
  int (*get_least_variadic_inputs)(const CustomOp* op);            // from 14
  int (*are_variadic_inputs_alike)(const CustomOp* op);
  int (*get_least_variadic_outputs)(const CustomOp* op);
  int (*are_variadic_outputs_alike)(const CustomOp* op);
  Status* (*try_create_kernel)(const CustomOp* op, const ApiTable* api, const KernelInfo* info,
                               void** kernel);                 // from 16; null: create_kernel
  Status* (*try_compute)(void* kernel, RunContext* context);   // from 16; null: compute
  Status* (*infer_shapes)(const CustomOp* op, void* context);  // from 17; null: none
  int (*get_first_version)(const CustomOp* op);                // of the operator set
  int (*get_last_version)(const CustomOp* op);
};

/// An input or output that an operator declares.
struct Parameter {
  uint32_t dtype = 0;  ///< gantry_dtype; 0: any
  Arity arity = Arity::kRequired;
  size_t least = 1;  ///< of a variadic one: how many there are at least
};

/// An operator as its library declares it. Throws what the library throws. Plain data, valid as
/// long as the library.
struct DeclaredOp {
  DeclaredOp(std::string domain, const CustomOp& op);

  std::string domain;
  std::string name;
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  int first_version = 1;
  int last_version = 0;  ///< 0: no limit
  const CustomOp* op = nullptr;

  /// Whether it runs on the CPU.
  [[nodiscard]] bool is_for_cpu() const;
  /// The input or output that a node's one of that index is; null: there is none.
  static const Parameter* at(const std::vector<Parameter>& parameters, size_t index);
};

/// Calls of the operator. ApiError: its error.
void* create_kernel(const DeclaredOp& declared, const ApiTable& api, const KernelInfo& info);
void compute(const DeclaredOp& declared, void* kernel, RunContext& context);

}  // namespace gantry::ort
