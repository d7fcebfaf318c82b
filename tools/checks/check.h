// SPDX-License-Identifier: Apache-2.0
// A check: a name, the rule that it verifies, and a function that throws a Failure.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gantry::checks {

/// A violated rule: what was expected and found, and what the vendor has to do.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& what, std::string remedy)
      : std::runtime_error(what), remedy_(std::move(remedy)) {}
  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  std::string remedy_;
};

/// Thrown if a check does not apply; the message is the reason.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws a Failure unless `condition`.
inline void expect(bool condition, const std::string& what, const std::string& remedy) {
  if (!condition) throw Failure(what, remedy);
}

struct Check {
  int level = 0;     ///< 1 to 5
  std::string name;  ///< "copies.round-trip"; unique
  std::string duty;  ///< number of the rule in docs/ABI.md, as "P7"
  std::function<void()> run;
};

/// The provider under test and the options of the test.
struct Subject {
  std::string manifest;           ///< file
  std::string options = "{}";     ///< JSON object: the provider's options
  std::string device;             ///< "TYPE" or "TYPE:id"; empty: the first that is ready
  std::string cases;              ///< folder of ONNX node cases; empty: none
  std::string models;             ///< folder of recorded parts of models; empty: none
  int level = 5;                  ///< the last level to run
  uint64_t seed = 0;              ///< of random elements
  bool is_isolated = false;       ///< level 4 runs the provider out of process
  std::vector<std::string> only;  ///< patterns of check names; empty: all
};

}  // namespace gantry::checks
