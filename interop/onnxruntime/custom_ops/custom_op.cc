// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/custom_op.h"

#include <algorithm>
#include <utility>

#include "objects/tensor_type.h"

namespace gantry::ort {
namespace {

// The versions of the API from which members of OrtCustomOp are there.
constexpr uint32_t kWithArity = 8;
constexpr uint32_t kWithVariadic = 14;
constexpr uint32_t kWithStatus = 16;
constexpr uint32_t kWithVersions = 17;

std::vector<Parameter> parameters_of(const CustomOp& op, bool are_inputs) {
  std::vector<Parameter> all(are_inputs ? op.get_input_count(&op) : op.get_output_count(&op));
  for (size_t i = 0; i < all.size(); ++i) {
    Parameter& one = all[i];
    one.dtype = dtype_of(are_inputs ? op.get_input_type(&op, i) : op.get_output_type(&op, i));
    if (op.version < kWithArity) continue;
    one.arity = are_inputs ? op.get_input_arity(&op, i) : op.get_output_arity(&op, i);
    if (one.arity == Arity::kOptional) one.least = 0;
    if (one.arity != Arity::kVariadic || op.version < kWithVariadic) continue;
    const int least =
        are_inputs ? op.get_least_variadic_inputs(&op) : op.get_least_variadic_outputs(&op);
    one.least = static_cast<size_t>(std::max(least, 0));
  }
  return all;
}

}  // namespace

DeclaredOp::DeclaredOp(std::string in_domain, const CustomOp& of)
    : domain(std::move(in_domain)),
      name(of.get_name(&of)),
      inputs(parameters_of(of, true)),
      outputs(parameters_of(of, false)),
      op(&of) {
  if (of.version < kWithVersions) return;
  if (of.get_first_version) first_version = of.get_first_version(&of);
  if (of.get_last_version) last_version = of.get_last_version(&of);
}

bool DeclaredOp::is_for_cpu() const {
  const char* provider = op->get_execution_provider(op);
  return !provider || std::string_view(provider) == "CPUExecutionProvider";
}

const Parameter* DeclaredOp::at(const std::vector<Parameter>& parameters, size_t index) {
  if (index < parameters.size()) return &parameters[index];
  const bool goes_on = !parameters.empty() && parameters.back().arity == Arity::kVariadic;
  return goes_on ? &parameters.back() : nullptr;
}

void* create_kernel(const DeclaredOp& declared, const ApiTable& api, const KernelInfo& info) {
  const CustomOp& op = *declared.op;
  void* kernel = nullptr;
  if (op.version >= kWithStatus && op.try_create_kernel) {
    expect_success(op.try_create_kernel(&op, &api, &info, &kernel));
  } else {
    kernel = op.create_kernel(&op, &api, &info);
  }
  return kernel;
}

void compute(const DeclaredOp& declared, void* kernel, RunContext& context) {
  const CustomOp& op = *declared.op;
  if (op.version >= kWithStatus && op.try_compute) {
    expect_success(op.try_compute(kernel, &context));
  } else {
    op.compute(kernel, &context);
  }
}

}  // namespace gantry::ort
