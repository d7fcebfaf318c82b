// SPDX-License-Identifier: Apache-2.0
// Reads and writes files of values: NumPy's .npy and ONNX's .pb. The file extension decides the
// format. Any thread.
#pragma once

#include <gantry/session.h>

#include <filesystem>
#include <string>

namespace gantry {

/// Reads a value into memory of its own. `expected` gives what the file does not say: its kind
/// selects TensorProto (also for kUnknown), SequenceProto or OptionalProto for a .pb file; its
/// dtype is the element type of a .npy file of raw elements (bfloat16 and float8 are stored as "V2"
/// and "V1" or as unsigned integers; 4- and 2-bit types as one byte per element). Nothing else is
/// compared with `expected`. NOT_FOUND: no such file. INVALID_ARGUMENT: another extension, or
/// contents that are not of the format. UNSUPPORTED: structured .npy files, maps.
Value read_value(const std::filesystem::path& file, const ValueInfo& expected = {});

/// Writes a value: .npy holds tensors only, in the encodings named above; .pb all values but maps.
/// `name` is stored in a .pb file. An existing file is replaced. INVALID_ARGUMENT: another
/// extension, or a value that the format cannot hold. UNAVAILABLE: the file cannot be written.
void write_value(const std::filesystem::path& file, const Value& value,
                 const std::string& name = "");

}  // namespace gantry
