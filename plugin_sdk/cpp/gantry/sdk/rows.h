// SPDX-License-Identifier: Apache-2.0
// Kernel rows: the const tables from which a provider answers claims. A row names the operator, the
// schema versions and the element types that a factory supports, and what its slots require. Put
// a table at the end of the file that implements its kernels.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace gantry::sdk {

inline constexpr int kLatest = std::numeric_limits<int>::max();

/// A set of element types, one bit for each gantry_dtype.
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_bit(uint32_t dtype) { return dtype < 32 ? DTypeSet{1} << dtype : 0; }
template <class... D>
constexpr DTypeSet dtypes(D... dtype) {
  return (dtype_bit(dtype) | ... | 0U);
}
inline constexpr DTypeSet kFloats =
    dtypes(GANTRY_FLOAT, GANTRY_DOUBLE, GANTRY_FLOAT16, GANTRY_BFLOAT16);
inline constexpr DTypeSet kSigned = dtypes(GANTRY_INT8, GANTRY_INT16, GANTRY_INT32, GANTRY_INT64);
inline constexpr DTypeSet kUnsigned =
    dtypes(GANTRY_UINT8, GANTRY_UINT16, GANTRY_UINT32, GANTRY_UINT64);
inline constexpr DTypeSet kIntegers = kSigned | kUnsigned;
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
inline constexpr DTypeSet kFloat8s =
    dtypes(GANTRY_FLOAT8E4M3FN, GANTRY_FLOAT8E4M3FNUZ, GANTRY_FLOAT8E5M2, GANTRY_FLOAT8E5M2FNUZ,
           GANTRY_FLOAT8E8M0);
inline constexpr DTypeSet kPacked =
    dtypes(GANTRY_UINT4, GANTRY_INT4, GANTRY_FLOAT4E2M1, GANTRY_UINT2, GANTRY_INT2);
inline constexpr DTypeSet kComplex = dtypes(GANTRY_COMPLEX64, GANTRY_COMPLEX128);
inline constexpr DTypeSet kBool = dtypes(GANTRY_BOOL);
inline constexpr DTypeSet kString = dtypes(GANTRY_STRING);
/// Every type whose elements have a whole number of bytes.
inline constexpr DTypeSet kFixedSize = kNumbers | kFloat8s | kComplex | kBool;
inline constexpr DTypeSet kAllTypes = kFixedSize | kPacked | kString;

/// What the slots of a single-node kernel require and allow; bit i of a mask is slot i.
struct Marks {
  uint64_t host_inputs = 0;        ///< in host memory, whatever the device
  uint64_t signature_inputs = 0;   ///< the value decides output shapes (implies host memory)
  uint64_t unaligned_inputs = 0;   ///< constants may start at any byte
  uint64_t shape_only_inputs = 0;  ///< only type and shape are read, never the data
  uint64_t overwrites = 0;         ///< output 0 may be written over these inputs
  /// The same of outputs 1 and 2, as caches that are updated in place.
  uint64_t later_overwrites[2] = {0, 0};
  uint32_t repeats = GANTRY_NONE;  ///< output 0 has the bytes of this input
};

using Factory = std::unique_ptr<Kernel> (*)(const NodeView& node);
/// Further conditions on a node. Returns an empty string if the row takes it, else the reason, a
/// sentence without a final stop.
using Condition = std::string (*)(const NodeView& node);

/// A kernel for one operator. Rows of an operator are tried in table order; the first that takes a
/// node claims it.
struct KernelRow {
  const char* op_type;
  int first_version;  ///< since_version of the oldest schema supported
  int last_version;   ///< since_version of the newest; kLatest: no limit
  DTypeSet dtypes;    ///< of `typed_slot`; checked only where the graph knows the type
  Factory factory;
  Marks marks = {};
  Condition condition = nullptr;
  const char* domain = "";
  const char* kernel = nullptr;  ///< name shown to users; null: the operator's name
  int typed_slot = 0;            ///< input whose element type must be in `dtypes`; -1: output 0
};

/// The rows of an operator family. A provider passes its tables to the constructor of Provider.
struct KernelTable {
  const KernelRow* rows;
  size_t count;
};
template <size_t N>
constexpr KernelTable table(const KernelRow (&rows)[N]) {
  return {rows, N};
}

/// Factory of a kernel class whose constructor takes the node.
template <class K>
std::unique_ptr<Kernel> make(const NodeView& node) {
  return std::make_unique<K>(node);
}

}  // namespace gantry::sdk
