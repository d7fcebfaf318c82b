// SPDX-License-Identifier: Apache-2.0
#include "eltwise/activation_code.h"

#include <gantry/sdk/error.h>

namespace gantry::x86 {
namespace {

Operation operation_of(const Activation& activation) {
  using dnnl::algorithm;
  switch (activation.algorithm) {
    case algorithm::eltwise_relu:
      return activation.alpha == 0 ? Operation::kRelu : Operation::kLeakyRelu;
    case algorithm::eltwise_clip:
      return Operation::kClip;
    case algorithm::eltwise_logistic:
      return Operation::kSigmoid;
    case algorithm::eltwise_tanh:
      return Operation::kTanh;
    case algorithm::eltwise_gelu_tanh:
      return Operation::kGelu;
    case algorithm::eltwise_gelu_erf:
      return Operation::kGeluErf;
    case algorithm::eltwise_hardsigmoid:
      return Operation::kHardSigmoid;
    case algorithm::eltwise_hardswish:
      return Operation::kHardSwish;
    case algorithm::eltwise_swish:
      return Operation::kSwish;
    case algorithm::eltwise_elu:
      return Operation::kElu;
    case algorithm::eltwise_mish:
      return Operation::kMish;
    default:
      throw sdk::Error(GANTRY_INTERNAL, "an activation without an instruction");
  }
}

}  // namespace

Instruction instruction_of(const Activation& activation, uint32_t from, uint32_t to) {
  Instruction instruction;
  instruction.operation = operation_of(activation);
  instruction.a = instruction.b = from;
  instruction.to = to;
  instruction.alpha = activation.alpha;
  instruction.beta = activation.beta;
  return instruction;
}

}  // namespace gantry::x86
