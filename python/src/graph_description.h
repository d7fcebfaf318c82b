// SPDX-License-Identifier: Apache-2.0
// The graph that a claim asks about, as dicts, lists and numpy arrays: what the Python side writes
// an onnx.ModelProto from. Needs the interpreter's lock.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <nanobind/nanobind.h>

namespace gantry::python {

/// Constants of more bytes than this are described by their type alone.
inline constexpr uint64_t kMostDescribedBytes = 1024;

/// {"name", "inputs": [value or None], "outputs": [value or None], "captures": [...],
///  "values": [{"name", "kind", "dtype", "shape", "constant"}], "nodes": [{"name", "op_type",
///  "domain", "since_version", "overload", "inputs", "outputs", "captures", "attributes":
///  [(name, type, items)]}]}: values by index, None for an empty slot; "shape" None if the rank is
/// not known, extents ints, names (str) or None; graphs of attributes are described likewise.
nanobind::dict describe_graph(const gantry_host* host, const gantry_graph& graph);

/// A numpy array of a host tensor's elements, which are copied. None: a constant that is no tensor.
nanobind::object copied_array(const gantry_host* host, const gantry_value* value);

}  // namespace gantry::python
