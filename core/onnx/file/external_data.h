// SPDX-License-Identifier: Apache-2.0
// External data: maps the files of tensors whose data_location is EXTERNAL, and makes the tensors
// placeholders.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "onnx/messages/payload.h"

namespace gantry {

/// The folders of a model.
struct ModelFolders {
  /// The folder of the path as given, to which locations are relative. Empty: external data is
  /// refused.
  std::filesystem::path named;
  /// If the path is a link, the folder of its target; empty: not known. Model caches have such
  /// links, with external data beside the target.
  std::filesystem::path resolved;
};

/// Maps the external data of all tensors; returns the files. NOT_FOUND: a file does not exist.
/// INVALID_MODEL: a location is absolute or outside both folders (also through a symbolic link), is
/// no regular file, or has fewer bytes than the tensor needs; the message names tensor and
/// location.
std::vector<std::shared_ptr<const MappedFile>> map_external_data(onnx::ModelProto& model,
                                                                 const ModelFolders& folders,
                                                                 FileAccess access,
                                                                 std::vector<Payload>& payloads);

}  // namespace gantry
