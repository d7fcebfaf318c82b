// SPDX-License-Identifier: Apache-2.0
// Ways to use gantry in which calls fail.
#pragma once

#include <memory>
#include <string>

namespace gantry::test {

class Scenario {
 public:
  virtual ~Scenario() = default;
  /// What calls fail in; its result, which is the same every time.
  virtual std::string act() = 0;
};

/// A model is loaded, run once and closed.
std::unique_ptr<Scenario> make_load();
/// The same, of a file with external data, in a runtime of its own.
std::unique_ptr<Scenario> make_load_file();
/// A session runs with two shapes.
std::unique_ptr<Scenario> make_run();
/// Manifests are found and read, and providers opened.
std::unique_ptr<Scenario> make_runtime();
/// Providers whose manifests have been read are opened.
std::unique_ptr<Scenario> make_open();
/// A provider in a process of its own is started, and a model loaded and run on it.
std::unique_ptr<Scenario> make_worker();

}  // namespace gantry::test
