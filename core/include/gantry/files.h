// SPDX-License-Identifier: Apache-2.0
// Files of values: NumPy's .npy and ONNX's .pb, as test data and users bring them. The ending of
// the file's name decides. Any thread.
#pragma once

#include <gantry/session.h>

#include <filesystem>
#include <string>

namespace gantry {

/// Reads a value into memory of its own. `expected` says what NumPy and protobuf leave open:
/// whether a .pb file holds a TensorProto, a SequenceProto or an OptionalProto (by kind; a tensor
/// without one), and the element type of a .npy file whose elements are raw (bfloat16 and float8
/// are kept as "V2" and "V1" or as unsigned integers; 4- and 2-bit types as one byte for each
/// element). Nothing else is compared with it. NOT_FOUND: no such file. INVALID_ARGUMENT: another
/// ending, or the contents are not what the ending says. UNSUPPORTED: valid, but not read:
/// structured .npy files, maps.
Value read_value(const std::filesystem::path& file, const ValueInfo& expected = {});

/// Writes a value; .npy takes tensors only, in the encodings named above, .pb everything but maps.
/// `name` goes into a .pb file. An existing file is replaced. INVALID_ARGUMENT: another ending, or
/// a value that the format cannot hold. UNAVAILABLE: the file cannot be written.
void write_value(const std::filesystem::path& file, const Value& value,
                 const std::string& name = "");

}  // namespace gantry
