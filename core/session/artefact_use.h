// SPDX-License-Identifier: Apache-2.0
// The artefact cache as one session uses it: finds the model's artefact, checks it on another
// thread while providers are opened, decides whether it may be used, gives the plan that stands in
// it, and keeps what was planned and compiled. Nothing that is wrong with the cache is an error of
// the session. One thread.
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
#include "session/config.h"
#include "session/plan_model.h"

namespace gantry {

class ArtefactUse {
 public:
  /// Begins to check the artefact, if there is one. `config` and `source` outlive this. `device`:
  /// what the session was asked for, "" for the configuration's.
  ArtefactUse(const Config& config, const ModelSource& source, const std::string& device,
              std::string subject, uint32_t threads);
  ~ArtefactUse();
  ArtefactUse(const ArtefactUse&) = delete;
  ArtefactUse& operator=(const ArtefactUse&) = delete;

  /// True if there is an artefact that has the model's plan, whether or not it can be used.
  [[nodiscard]] bool may_have_plan() const;
  /// The plan, not placed, if it can be used; else nothing: the model is to be imported. Waits for
  /// the check. Once. Requires may_have_plan().
  std::optional<PlannedModel> take_plan(const Preference& preference);
  /// Says that the plan that was taken is of no use; it is made anew.
  void refuse_plan(const std::string& reason);

  /// What the compilation takes and leaves; null: nothing is kept. Waits for the check. Requires
  /// that `planned` was made from what take_plan gave, or has its model.
  Artefact* artefact(const Preference& preference, const PlannedModel& planned);
  /// Writes what planning and compilation left, unless it stands in the file already; logs a line
  /// where an artefact had to be replaced or could not be kept.
  ArtefactReport finish(const PlannedModel& planned);
  /// Of the file whose parts are used where they stand; null: there is none.
  [[nodiscard]] std::shared_ptr<const FileWatch> watch() const {
    return kept_ ? std::shared_ptr<const FileWatch>(kept_, &kept_->watch()) : nullptr;
  }

 private:
  [[nodiscard]] std::string wanted_devices(const std::string& device) const;
  void find_file(const std::string& device);
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
  std::shared_ptr<const ArtefactFile> kept_;  // may be damaged until the check has ended
  std::future<std::string> check_;            // what is wrong with it
  ModelDigests digests_{{}};
  ArtefactFacts facts_;
  std::unique_ptr<Artefact> artefact_;
  ArtefactReport report_;
};

}  // namespace gantry
