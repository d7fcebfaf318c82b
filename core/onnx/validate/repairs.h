// SPDX-License-Identifier: Apache-2.0
// Repairs violations of the specification that other runtimes accept, before the model is checked.
// Any thread, one per model.
#pragma once

#include "onnx/messages/proto.h"
#include "onnx/validate/leniencies.h"

namespace gantry {

/// Repairs the faults of leniencies.h that can be repaired in the model, and notes them in `log`.
/// Faults that check_model and infer_types accept are only noted. Other faults are left unchanged.
/// Requires normalize_domains().
void repair_model(onnx::ModelProto& model, FaultLog& log);

}  // namespace gantry
