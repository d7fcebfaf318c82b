// SPDX-License-Identifier: Apache-2.0
// The functions of the onnx library that make its schemas: a row for each version of each operator.
// The table is generated when the build is configured, from the lists in the library's headers.
#pragma once

#include <onnx/defs/schema.h>
#include <span>

#include "onnx/messages/proto.h"

namespace gantry {

/// A schema that is not made yet.
struct SchemaRow {
  const char* domain;  ///< null: a preview domain, named only by the schema itself
  const char* name;
  int version;               ///< since_version
  onnx::OpSchema (*make)();  ///< not finalized
};

/// All of the library's schemas, in no order. Static. [any]
std::span<const SchemaRow> schema_table();

}  // namespace gantry
