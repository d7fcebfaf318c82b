// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that ONNX Runtime's quantizers and optimizers write, as
// schemas with bodies in terms of ai.onnx. A provider may claim such a node whole; where none does,
// the body takes its place (docs/decisions/0025-operators-of-com-microsoft.md).
#pragma once

namespace gantry {

/// Adds the schemas to the registry of the onnx library, once in a process. [any]
void register_microsoft_schemas();

}  // namespace gantry
