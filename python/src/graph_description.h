// SPDX-License-Identifier: Apache-2.0
// Describes the graph of a claim by dicts, lists and numpy arrays, from which the Python side
// creates an onnx.ModelProto. Requires the GIL.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <nanobind/nanobind.h>

namespace gantry::python {

/// Larger constants are described by their type only.
inline constexpr uint64_t kMostDescribedBytes = 1024;

/// {"name", "inputs": [value or None], "outputs": [value or None], "captures": [...],
///  "values": [{"name", "kind", "dtype", "shape", "constant"}], "nodes": [{"name", "op_type",
///  "domain", "since_version", "overload", "inputs", "outputs", "captures", "attributes":
///  [(name, type, items)]}]}: values by index, None for an empty slot; "shape" None if the rank is
/// not known, extents ints, names (str) or None; graphs of attributes are described likewise.
nanobind::dict describe_graph(const gantry_host* host, const gantry_graph& graph);

/// A numpy array with a copy of a host tensor's elements; None if the constant is not a tensor.
nanobind::object copied_array(const gantry_host* host, const gantry_value* value);

}  // namespace gantry::python
