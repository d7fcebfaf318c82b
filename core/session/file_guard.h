// SPDX-License-Identifier: Apache-2.0
// Protects a session against changes of mapped files during its life. Pages of small constants are
// copied into memory of the session; files of large constants are checked before and after each run
// (docs/configuration.md, decision 2).
#pragma once

#include <memory>
#include <vector>

#include "base/file_watch.h"
#include "program/program.h"

namespace gantry {

class FileGuard {
 public:
  FileGuard() = default;
  /// Guards the constants that runs of `program` read, and `others`: files that are also read in
  /// other ways, by a worker process, for another plan or as packed weights.
  FileGuard(const Program& program, std::vector<std::shared_ptr<const FileWatch>> others);

  /// INVALID_MODEL: a file has changed, see FileWatch. Any thread.
  void require_unchanged() const;

 private:
  std::vector<std::shared_ptr<const FileWatch>> watched_;
};

}  // namespace gantry
