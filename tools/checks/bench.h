// SPDX-License-Identifier: Apache-2.0
// Where level 4 computes: sessions on the device under test, and beside them on the CPU. One
// thread.
#pragma once

#include <gantry/session.h>

#include <memory>
#include <random>
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

/// Failure: the values differ by more than their element type's tolerance.
void expect_equal(const Session& session, const Value& found, const Value& expected,
                  const std::string& output, const std::string& remedy);

/// Random elements, or with `is_positive` those of [0.5, 1.5), or 1: where logarithms, roots and
/// quotients are defined.
Tensor random_elements(const ModelInput& input, bool is_positive, std::mt19937_64& generator);

}  // namespace gantry::checks
