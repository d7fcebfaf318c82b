// SPDX-License-Identifier: Apache-2.0
// Sizes of element types. Pure.
#pragma once

#include <gantry/provider.h>

#include <cstdint>

namespace gantry::sdk {

/// Bits of one element; 0 for strings and unknown types.
constexpr int bits_of(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_UINT2:
    case GANTRY_INT2:
      return 2;
    case GANTRY_UINT4:
    case GANTRY_INT4:
    case GANTRY_FLOAT4E2M1:
      return 4;
    case GANTRY_FLOAT6E2M3:
    case GANTRY_FLOAT6E3M2:
      return 6;
    case GANTRY_UINT8:
    case GANTRY_INT8:
    case GANTRY_BOOL:
    case GANTRY_FLOAT8E4M3FN:
    case GANTRY_FLOAT8E4M3FNUZ:
    case GANTRY_FLOAT8E5M2:
    case GANTRY_FLOAT8E5M2FNUZ:
    case GANTRY_FLOAT8E8M0:
      return 8;
    case GANTRY_UINT16:
    case GANTRY_INT16:
    case GANTRY_FLOAT16:
    case GANTRY_BFLOAT16:
      return 16;
    case GANTRY_FLOAT:
    case GANTRY_INT32:
    case GANTRY_UINT32:
      return 32;
    case GANTRY_INT64:
    case GANTRY_UINT64:
    case GANTRY_DOUBLE:
    case GANTRY_COMPLEX64:
      return 64;
    case GANTRY_COMPLEX128:
      return 128;
    default:
      return 0;
  }
}

}  // namespace gantry::sdk
