// SPDX-License-Identifier: Apache-2.0
// Shapes of pools whose last window may begin behind the input.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Makes the inference function of AveragePool, MaxPool and LpPool leave out windows that begin in
/// the padding at the end, as the operators do with ceil_mode (ONNX AveragePool-19: they are
/// ignored). The function of the library, 1.23.2, counts them. [any]
void leave_out_windows_in_padding(onnx::OpSchema& schema);

}  // namespace gantry
