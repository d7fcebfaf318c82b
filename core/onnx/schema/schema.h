// SPDX-License-Identifier: Apache-2.0
// Questions to the onnx library's operator schemas. Any thread.
#pragma once

#include <map>
#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// "ai.onnx" is another spelling of "".
std::string normal_domain(const std::string& domain);

/// Domain -> version. INVALID_MODEL: a version that the schemas of a known domain do not reach;
/// names the supported range.
std::map<std::string, int> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

/// Version of the schema that an operator has under an opset; the opset's own if there is no
/// schema.
int since_version(const std::string& op_type, const std::string& domain, int opset);

/// The newest opset under which an operator still has the schema of that version; the version
/// itself if there is no such schema.
int last_version(const std::string& op_type, const std::string& domain, int since_version);

/// The oldest and the newest opset of a domain whose operators are known; 0 for other domains.
int oldest_opset(const std::string& domain);
int newest_opset(const std::string& domain);

/// True for an operator of the standard's domain that has its first schema under older opsets too,
/// as in ONNX Runtime, and that `opset` does not have.
bool is_taken_early(const std::string& op_type, int opset);

/// True if some version of the domain's operators has that name.
bool is_known_operator(const std::string& op_type, const std::string& domain);

/// True if equal inputs may give different outputs: random operators by their schema, and
/// operators without a schema, of which nothing is known.
bool is_nondeterministic(const std::string& op_type, const std::string& domain, int version);

}  // namespace gantry
