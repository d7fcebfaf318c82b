// SPDX-License-Identifier: Apache-2.0
// Sessions of the level 4 checks, on the device under test and on the CPU as the reference. One
// thread.
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
  /// Opens the provider under test and `cpu`, and no other provider of its device.
  explicit Bench(const Subject& subject);

  /// The device under test, "TYPE:id". Throws Skip if no device of the provider is ready.
  [[nodiscard]] const std::string& device() const;

  /// A session that runs on this provider only. Throws Skip if the provider does not claim every
  /// node.
  std::unique_ptr<Session> session(const ModelSource& model);
  /// A session in which this provider runs the nodes that it claims and the CPU provider the
  /// others. Throws Skip if the provider claims none.
  std::unique_ptr<Session> shared_session(const ModelSource& model);
  /// A session that runs on the CPU provider only.
  std::unique_ptr<Session> reference(const ModelSource& model);

 private:
  std::string name_;
  std::string device_;
  std::string reason_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Runtime> reference_;
};

/// The Bench of a subject, created by the first call and shared by all cases, so that the provider
/// is opened once.
Bench& bench_of(const Subject& subject);

/// True if a node of the session has one of these operators.
bool has_operator(const Session& session, const std::set<std::string>& operators);

/// Whether a value is the result of one node or of many. Of many, elements near zero may result
/// from cancellation: the absolute tolerance then grows with the largest element, and is at least
/// 2% of it if the model has int8 intermediate tensors.
enum class Sums { kOfOne, kOfMany };

/// Throws Failure if the values differ by more than the tolerance of their element type.
void expect_equal(const Session& session, const Value& found, const Value& expected,
                  const std::string& output, const std::string& remedy, Sums sums = Sums::kOfOne);

/// Generates random elements for the inputs of a model, reproducible by `seed`. Elements of an
/// input with `is_constant` become a constant of the model; those of the others are returned, for a
/// run. With `is_positive` floating-point elements are in [0.5, 1.5), where logarithms, roots and
/// quotients are defined; elements of other types are not changed. Inputs that are absent or have
/// elements already are unchanged. Both vectors have one entry for each input.
Inputs fill_inputs(std::vector<ModelInput>& inputs, const std::vector<bool>& is_positive,
                   const std::vector<bool>& is_constant, uint64_t seed);

}  // namespace gantry::checks
