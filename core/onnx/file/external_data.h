// SPDX-License-Identifier: Apache-2.0
// External data: tensors whose bytes stand in files beside the model. Their files are mapped and
// the tensors become placeholders.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "onnx/messages/payload.h"

namespace gantry {

/// Where a model lies.
struct ModelFolders {
  /// As the model was named: locations are relative to it. Empty: there is none and external data
  /// is refused.
  std::filesystem::path named;
  /// That of the file which a link stands for; empty: not known. Caches of models have such links,
  /// and their data beside the file.
  std::filesystem::path resolved;
};

/// Maps what the model's tensors refer to. NOT_FOUND: a file does not exist. INVALID_MODEL: a
/// location that is absolute or leaves both folders (also through a symbolic link), is no regular
/// file, or holds fewer bytes than the tensor needs. Names tensor and location. Returns the files.
std::vector<std::shared_ptr<const MappedFile>> map_external_data(onnx::ModelProto& model,
                                                                 const ModelFolders& folders,
                                                                 FileAccess access,
                                                                 std::vector<Payload>& payloads);

}  // namespace gantry
