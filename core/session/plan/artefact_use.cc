// SPDX-License-Identifier: Apache-2.0
#include "session/plan/artefact_use.h"

#include <gantry/error.h>

#include <algorithm>
#include <sys/auxv.h>
#include <utility>

#include "artefact/content_sum.h"
#include "base/log.h"
#include "base/start_async.h"
#include "plugin/discovery/library_file.h"
#include "plugin/discovery/machine.h"
#include "session/plan/cached_plan.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr uint64_t kLeastPart = 64;  // size of an empty artefact

std::string short_digest(const std::string& text) { return digest_text(text).substr(0, 12); }

// Identifies the build of a library, as two builds may have equal versions.
std::string build_of(const std::string& library) {
  const FileIdentity identity = FileIdentity::of(library);
  return short_digest(library + " " + std::to_string(identity.device) + " " +
                      std::to_string(identity.inode) + " " + std::to_string(identity.size_bytes) +
                      " " + std::to_string(identity.modified_ns));
}

std::string processor() {
  std::string all;
  for (const std::string& feature : cpu_features()) all += feature + " ";
  return short_digest(all);
}

// The session's settings on which compiling depends.
std::string settings_of(const Config& config) {
  json session = config.root.at("session");
  for (const char* name : {"threads", "memory_limit_bytes", "capture", "stop_grace_ms", "profile",
                           "artefact_cache", "artefact_cache_limit_bytes"})
    session.erase(name);
  return session.dump() + " " + config.root.at("placement").dump() + " " +
         config.root.at("providers").at("options").dump();
}

bool is_from_code(const Candidate& candidate) { return candidate.provider->library().empty(); }

// Everything on which the artefact depends, except the model.
ArtefactMetadata metadata_of(const Config& config, const Preference& preference, uint32_t threads) {
  ArtefactMetadata metadata = {{"gantry's build", build_of(own_library())},
                               {"the set of the processor's features", processor()}};
  std::string devices;
  for (const Candidate& candidate : preference.candidates) {
    const PluginProvider& provider = *candidate.provider;
    const DeviceInfo info = provider.info(candidate.device_index);
    metadata.emplace_back("provider \"" + provider.name() + "\"",
                          provider.manifest().version + ", build " + build_of(provider.library()));
    metadata.emplace_back("what provider \"" + provider.name() + "\" was told",
                          provider.options() + " " + candidate.options);
    devices += (devices.empty() ? "" : ", ") + candidate.device.to_string() + " \"" + info.name +
               "\" " + info.uid;
  }
  metadata.emplace_back("the list of devices", devices);
  metadata.emplace_back("the number of threads", std::to_string(threads));
  metadata.emplace_back("the configuration", settings_of(config));
  return metadata;
}

}  // namespace

ArtefactUse::ArtefactUse(const Config& config, const ModelSource& source,
                         const SessionOptions& options, const ImportSettings& importing,
                         std::string subject, uint32_t threads)
    : config_(config),
      source_(source),
      subject_(std::move(subject)),
      threads_(threads),
      folder_(config.session.artefact_cache) {
  if (config.session.artefact_cache.empty()) return;
  if (!options.initializers.empty()) {
    report_.reason = "the application gave initializers";
    return;
  }
  if (importing.operators.do_follow_from_options) {
    report_.reason = "operators follow from a provider's options";
    return;
  }
  is_on_ = true;
  find_file(options);
  begin_check();
}

ArtefactUse::~ArtefactUse() = default;

// The devices as the configuration and the caller name them. metadata_of() has those that exist.
std::string ArtefactUse::wanted_devices(const std::string& device) const {
  if (!device.empty()) return device;
  std::string all;
  for (const std::string& wanted : config_.placement.prefer)
    all += (all.empty() ? "" : ", ") + wanted;
  return all.empty() ? "CPU" : all;
}

void ArtefactUse::find_file(const SessionOptions& options) {
  std::error_code error;
  const std::filesystem::path path =
      source_.bytes.empty() ? std::filesystem::absolute(source_.path, error) : source_.path;
  std::string identity = path.string() + "\n" + settings_of(config_) + "\n" +
                         wanted_devices(options.device) + "\n" + std::to_string(threads_);
  for (const std::string& output : options.outputs) identity += "\noutput " + output;
  if (!source_.bytes.empty()) identity += "\n" + content_digest(source_.bytes, threads_, false);
  file_ = folder_.file_of(source_.bytes.empty() ? path.stem().string() : "model", identity);
  report_.file = file_.string();
}

void ArtefactUse::begin_check() {
  std::error_code error;
  if (!std::filesystem::is_directory(folder_.path(), error)) {
    digests_ = ModelDigests(file_.string() + ".digests");
    return;
  }
  try {
    folder_.require_trusted(getauxval(AT_SECURE) != 0);
    digests_ = ModelDigests(file_.string() + ".digests");
    cached_ = ArtefactFile::open(file_);
  } catch (const Error& failure) {
    if (failure.code() != Code::kNotFound) report_.reason = failure.message();
    return;
  }
  check_ = start_async([file = cached_, threads = threads_]() -> std::string {
    try {
      file->verify(threads);
      return {};
    } catch (const std::exception& failure) {
      return failure.what();
    }
  });
}

bool ArtefactUse::may_have_plan() const { return cached_ && has_plan(*cached_); }

// False with a provider added from code: the next process may add another one of the same name.
bool ArtefactUse::is_usable_with(const Preference& preference) {
  if (!is_on_) return false;
  const auto& candidates = preference.candidates;
  const auto odd = std::find_if(candidates.begin(), candidates.end(), is_from_code);
  if (odd == candidates.end()) return true;
  is_on_ = false;
  cached_.reset();
  report_ = {};
  report_.reason = "provider \"" + odd->provider->name() + "\" was added from code";
  return false;
}

// Compares the metadata of the artefact (versions, devices, settings, model) with this session's,
// and takes the result of the check of its bytes.
void ArtefactUse::compare(const Preference& preference,
                          const std::vector<std::shared_ptr<const MappedFile>>& files) {
  metadata_ = metadata_of(config_, preference, threads_);
  // Of a model in memory the artefact's name has the digest; these are its external data files.
  metadata_.emplace_back("the model's content", digests_.of(files, threads_));
  if (cached_) {
    report_.reason = difference_of(cached_->metadata(), metadata_);
    if (report_.reason.empty() && check_.valid()) report_.reason = check_.get();
    if (!report_.reason.empty()) cached_.reset();
  }
  artefact_ = std::make_unique<Artefact>(cached_);
}

std::optional<PlannedModel> ArtefactUse::take_plan(const Preference& preference) {
  if (!is_usable_with(preference)) return std::nullopt;
  report_.reason = check_.get();  // has file names
  if (report_.reason.empty()) {
    try {
      const ModelFiles files = open_files_of_plan(*cached_, config_.session.file_access());
      compare(preference, files);
      if (cached_) return read_plan(cached_, files, source_);
    } catch (const Error& error) {
      report_.reason = error.message();
    }
  }
  cached_.reset();
  artefact_.reset();
  return std::nullopt;
}

void ArtefactUse::refuse_plan(const std::string& reason) {
  report_.reason = reason;
  cached_.reset();
  artefact_.reset();
}

Artefact* ArtefactUse::artefact(const Preference& preference, const PlannedModel& planned) {
  if (!is_usable_with(preference)) return nullptr;
  if (!artefact_) {
    std::string before = std::exchange(report_.reason, {});
    compare(preference, planned.model->files());
    if (report_.reason.empty()) report_.reason = std::move(before);
  }
  return artefact_.get();
}

ArtefactReport ArtefactUse::finish(const PlannedModel& planned) {
  if (!is_on_ || !artefact_) return report_;
  if (cached_ && artefact_->fault().empty()) {
    report_.state = "used";
    report_.size_bytes = cached_->size_bytes();
    ArtefactFolder::touch(file_);
    digests_.save();
    return report_;
  }
  if (cached_) report_.reason = artefact_->fault();
  const bool is_replaced = !report_.reason.empty();
  try {
    write(planned);
    if (is_replaced && report_.state == "made") report_.state = "rebuilt";
    if (report_.state == "rebuilt") {
      log(LogLevel::kWarning, subject_ + ": the compiled artefact " + report_.file +
                                  " could not be used and was rebuilt: " + report_.reason);
    }
  } catch (const std::exception& failure) {
    report_.state = "not kept";
    const std::string why = failure.what();
    const bool is_news = is_replaced && report_.reason != why;
    report_.reason = (is_news ? report_.reason + "; and: " : std::string()) + why;
    log(LogLevel::kWarning,
        subject_ + ": the compiled artefact " + report_.file + " is not kept: " + report_.reason);
  }
  return report_;
}

void ArtefactUse::write(const PlannedModel& planned) {
  std::vector<ArtefactPart> parts = artefact_->parts();
  const PlanParts plan = planned.model ? to_parts(planned, source_) : PlanParts();
  add_parts(plan, planned.model ? nullptr : cached_.get(), parts);
  if (artefact_bytes(parts) <= artefact_bytes({}) + kLeastPart) {
    report_.state = "empty";
    return;
  }
  folder_.make();
  folder_.require_trusted(getauxval(AT_SECURE) != 0);
  folder_.make_room(config_.session.artefact_cache_limit_bytes, artefact_bytes(parts), file_);
  report_.size_bytes = write_artefact(file_, metadata_, parts);
  report_.state = "made";
  digests_.save();
}

}  // namespace gantry
