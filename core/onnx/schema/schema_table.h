// SPDX-License-Identifier: Apache-2.0
// Where the onnx library makes each of its schemas: a row for each version of each operator. The
// list is written when the build is configured, from the lists in the library's headers.
#pragma once

#include <onnx/defs/schema.h>
#include <span>

#include "onnx/messages/proto.h"

namespace gantry {

/// A schema that is not made yet.
struct SchemaRow {
  const char* domain;  ///< null: one of the preview domains, which only the schema itself knows
  const char* name;
  int version;               ///< since which the operator is this one
  onnx::OpSchema (*make)();  ///< not finalized
};

/// All of the library's schemas, in no order. Static. [any]
std::span<const SchemaRow> schema_table();

}  // namespace gantry
