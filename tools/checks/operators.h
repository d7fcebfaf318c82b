// SPDX-License-Identifier: Apache-2.0
// Every operator of ONNX 1.23 that is not deprecated, with the version of its newest schema. The
// claim checks use them all.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::checks {

struct OnnxOperator {
  const char* domain;
  const char* op_type;
  int32_t since_version;
};
const std::vector<OnnxOperator>& onnx_operators();

}  // namespace gantry::checks
