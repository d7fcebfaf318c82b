// SPDX-License-Identifier: Apache-2.0
// Writes a graph as a model file. Any thread, one per file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "graph/graph.h"
#include "onnx/model.h"

namespace gantry {

/// Writes the graph as a model with the names, metadata and opsets of `model`, of which it was
/// made; an opset is another one only where no node could keep its schema. `external`: the name of
/// a file beside it for the tensors of `least_bytes` and more; empty: all stand in the model.
/// UNSUPPORTED: what export_fragment cannot write, or a model of 2 GiB and more. UNAVAILABLE: a
/// file cannot be written. INVALID_ARGUMENT: `external` is no plain name, or the model's. A file of
/// either name stays as it is until the new one is complete, so it may be one that the model is
/// read from.
void write_model(const Graph& graph, const OnnxModel& model, const std::filesystem::path& file,
                 const std::string& external, uint64_t least_bytes);

}  // namespace gantry
