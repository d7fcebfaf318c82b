// SPDX-License-Identifier: Apache-2.0
// The sessions of level 4: on the device under test and, as the reference, on the CPU. One thread.
#pragma once

#include <gantry/session.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "model_writer.h"

namespace gantry::checks {

class Bench {
 public:
  /// Opens the subject's provider and no other of its device but `cpu`.
  explicit Bench(const Subject& subject);

  /// "TYPE:id". Skip: no device of the provider is ready.
  [[nodiscard]] const std::string& device() const;

  /// A session that this provider alone runs. Skip: it does not claim every node.
  std::unique_ptr<Session> session(const ModelSource& model);
  /// A session in which this provider runs what it claims, with all its nodes at once or some, and
  /// the CPU provider the rest. Skip: it claims none.
  std::unique_ptr<Session> shared_session(const ModelSource& model);
  /// A session of the CPU provider.
  std::unique_ptr<Session> reference(const ModelSource& model);

 private:
  std::string name_;
  std::string device_;
  std::string reason_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Runtime> reference_;
};

/// The subject's, made when first asked for and kept: opening a provider once is enough for all
/// cases.
Bench& bench_of(const Subject& subject);

/// True if a node of the session has one of these operators.
bool has_operator(const Session& session, const std::set<std::string>& operators);

/// What a value is the result of. Of many nodes, elements near zero may be what large ones left of
/// each other: the absolute part of the tolerance grows with the largest element, and with steps of
/// 8 bits on the way is at least two hundredths of it.
enum class Sums { kOfOne, kOfMany };

/// Failure: the values differ by more than their element type's tolerance.
void expect_equal(const Session& session, const Value& found, const Value& expected,
                  const std::string& output, const std::string& remedy, Sums sums = Sums::kOfOne);

/// Gives a model elements, random but the same for the same seed: an input that `is_constant` has
/// them in the model from then on; those of the others are returned, for a run. Where `is_positive`
/// says so they are in [0.5, 1.5), or 1: where logarithms, roots and quotients are defined. Inputs
/// that are absent or have elements already stay as they are. Both vectors: one entry an input.
Inputs fill_inputs(std::vector<ModelInput>& inputs, const std::vector<bool>& is_positive,
                   const std::vector<bool>& is_constant, uint64_t seed);

}  // namespace gantry::checks
