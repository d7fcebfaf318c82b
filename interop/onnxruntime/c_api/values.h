// SPDX-License-Identifier: Apache-2.0
// OrtValues as gantry's values and back. Any thread.
#pragma once

#include <gantry/session.h>

#include <memory>

#include "objects/api_table.h"
#include "objects/value.h"

namespace gantry::ort {

/// Tensors of numbers share the memory of `value`, which must stay where the result is used, unless
/// it is not aligned to the elements. Errors: ApiError, Error.
gantry::Value to_gantry(const Value& value);

/// Shares the memory of host tensors of numbers; others are copied. A sequence of maps has a value
/// for each map. Errors: Error.
std::unique_ptr<Value> from_gantry(const gantry::Value& value);

/// Copies the elements of a tensor into one that a program gave. ApiError: another type or shape.
void copy_elements(const Value& from, Value& to, const std::string& name);

/// The type of a session's input or output.
TypeInfo type_of(const ValueInfo& info);

void add_container_functions(ApiTable& table);

}  // namespace gantry::ort
