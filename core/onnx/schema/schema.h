// SPDX-License-Identifier: Apache-2.0
// Queries of operator schemas. Any thread.
#pragma once

#include <map>
#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// The domain, with "" for "ai.onnx".
std::string normal_domain(const std::string& domain);

/// The imports as domain -> version. INVALID_MODEL: an unknown version of a known domain; the
/// message has the supported range.
std::map<std::string, int> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

/// The since_version of an operator's schema under an opset; `opset` itself if there is no schema.
int since_version(const std::string& op_type, const std::string& domain, int opset);

/// The newest opset under which an operator still has the schema of that version; the version
/// itself if there is no such schema.
int last_version(const std::string& op_type, const std::string& domain, int since_version);

/// The oldest and the newest opset of a domain whose operators are known; 0 for other domains.
int oldest_opset(const std::string& domain);
int newest_opset(const std::string& domain);

/// True for an operator of ai.onnx that `opset` does not have yet, but that is accepted with its
/// first schema, as in ONNX Runtime.
bool is_taken_early(const std::string& op_type, int opset);

/// True if some version of the domain's operators has that name.
bool is_known_operator(const std::string& op_type, const std::string& domain);

/// True if equal inputs may give different outputs: random operators by their schema, and all
/// operators without a schema.
bool is_nondeterministic(const std::string& op_type, const std::string& domain, int version);

}  // namespace gantry
