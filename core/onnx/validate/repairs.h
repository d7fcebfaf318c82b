// SPDX-License-Identifier: Apache-2.0
// Makes a model that other runtimes load one that keeps the specification, before it is checked.
// Any thread, one for a model.
#pragma once

#include "onnx/messages/proto.h"
#include "onnx/validate/leniencies.h"

namespace gantry {

/// Repairs the faults of leniencies.h that can be repaired in the model, and notes them in `log`;
/// of those that check_model and infer_types accept, notes only that they are there. Other faults
/// stay as they are. Requires normal spellings of domains (normalize_domains).
void repair_model(onnx::ModelProto& model, FaultLog& log);

}  // namespace gantry
