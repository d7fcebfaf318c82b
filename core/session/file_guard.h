// SPDX-License-Identifier: Apache-2.0
// What a session does about files that it reads where they are mapped, and that others may write
// while it lives: constants that are small become its own, and for large ones the file is looked at
// before and after each run (docs/configuration.md, decision 2).
#pragma once

#include <memory>
#include <vector>

#include "base/file_watch.h"
#include "program/program.h"

namespace gantry {

class FileGuard {
 public:
  FileGuard() = default;
  /// Of the constants that runs of `program` read, and of `others`: files that are read in other
  /// ways too, by a worker process, for another plan or as packed weights.
  FileGuard(const Program& program, std::vector<std::shared_ptr<const FileWatch>> others);

  /// INVALID_MODEL: as FileWatch. Any thread.
  void require_unchanged() const;

 private:
  std::vector<std::shared_ptr<const FileWatch>> watched_;
};

}  // namespace gantry
