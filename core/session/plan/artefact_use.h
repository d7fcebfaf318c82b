// SPDX-License-Identifier: Apache-2.0
// The use of the compiled-model cache by one session: finds the model's file (artefact), verifies
// it on another thread while providers are opened, decides whether it is valid for the session,
// reads its plan, and writes the plan and the compiled forms of the session. A broken cache is
// never an error of the session. One thread.
#pragma once

#include <gantry/artefacts.h>

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "artefact/artefact_folder.h"
#include "artefact/model_digest.h"
#include "session/config/config.h"
#include "session/plan/plan_model.h"

namespace gantry {

class ArtefactUse {
 public:
  /// Begins to verify the artefact, if there is one. `config` and `source` must outlive this.
  ArtefactUse(const Config& config, const ModelSource& source, const SessionOptions& options,
              const ImportSettings& importing, std::string subject, uint32_t threads);
  ~ArtefactUse();
  ArtefactUse(const ArtefactUse&) = delete;
  ArtefactUse& operator=(const ArtefactUse&) = delete;

  /// True if there is an artefact with a plan of the model, valid or not.
  [[nodiscard]] bool may_have_plan() const;
  /// The plan, not placed, if it is valid; else nothing, and the caller must import the model.
  /// Waits for the check. Called once. Requires may_have_plan().
  std::optional<PlannedModel> take_plan(const Preference& preference);
  /// Rejects the plan of take_plan(); finish() writes a new one.
  void refuse_plan(const std::string& reason);

  /// The cache entry that compilation reads and writes; null: nothing is cached. Waits for the
  /// check. Requires that `planned` was made from the plan of take_plan, or has its model.
  Artefact* artefact(const Preference& preference, const PlannedModel& planned);
  /// Writes the plan and the compiled forms, unless the file has them already. Logs a line if an
  /// artefact had to be replaced or could not be written.
  ArtefactReport finish(const PlannedModel& planned);
  /// The watch of the mapped file whose parts the session uses in place; null: there is none.
  [[nodiscard]] std::shared_ptr<const FileWatch> watch() const {
    return cached_ ? std::shared_ptr<const FileWatch>(cached_, &cached_->watch()) : nullptr;
  }

 private:
  [[nodiscard]] std::string wanted_devices(const std::string& device) const;
  void find_file(const SessionOptions& options);
  void begin_check();
  bool is_usable_with(const Preference& preference);
  void compare(const Preference& preference,
               const std::vector<std::shared_ptr<const MappedFile>>& files);
  void write(const PlannedModel& planned);

  const Config& config_;
  const ModelSource& source_;
  std::string subject_;
  uint32_t threads_;
  bool is_on_ = false;
  ArtefactFolder folder_;
  std::filesystem::path file_;
  std::shared_ptr<const ArtefactFile> cached_;  // the cached file, not verified before check_ ends
  std::future<std::string> check_;              // why the file is invalid; empty: it is valid
  ModelDigests digests_{{}};
  ArtefactMetadata metadata_;
  std::unique_ptr<Artefact> artefact_;
  ArtefactReport report_;
};

}  // namespace gantry
