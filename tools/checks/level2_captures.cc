// SPDX-License-Identifier: Apache-2.0
// Level 2, third part: a captured kernel computes nothing until the capture is launched. Every
// launch computes the same as a run.
#include "levels.h"
#include "open_provider.h"
#include "test_kernel.h"

namespace gantry::checks {
namespace {

constexpr int kLaunches = 3;

// Captures a kernel and launches the capture; sets `known` to the result of an ordinary run.
TestKernel::Captured captured_kernel(const Subject& subject, TestKernel::Result& known) {
  const OpenProvider provider(subject);
  const TestDevice device = provider.device();
  if ((device.flags & GANTRY_DEVICE_CAPTURE) == 0)
    throw Skip(device.label() + " has no captures (GANTRY_DEVICE_CAPTURE)");
  const TestKernel kernel(provider, subject, device);
  known = kernel.run();
  expect(known.code == GANTRY_OK,
         "run of " + kernel.op_type() + ": expected success, found " + known.error,
         "see the provider's own message");
  return kernel.run_captured(known, kLaunches);
}

void only_records(const Subject& subject) {
  TestKernel::Result known;
  expect(!captured_kernel(subject, known).ran_while_recorded,
         "capture: expected a kernel to be recorded only, found that it wrote its output while it "
         "was recorded",
         "between capture_begin and capture_end put nothing to work");
}

void runs_as_launched(const Subject& subject) {
  TestKernel::Result known;
  const TestKernel::Captured captured = captured_kernel(subject, known);
  for (size_t i = 0; i < captured.launches.size(); ++i) {
    const TestKernel::Result& result = captured.launches[i];
    expect(result.code == GANTRY_OK && result.elements == known.elements,
           "capture_launch: expected the result of a run from launch " + std::to_string(i + 1) +
               ", found " + (result.error.empty() ? "another one" : result.error),
           "a capture is launched many times with the addresses that it was recorded with");
  }
}

}  // namespace

void add_capture_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, void (*run)(const Subject&)) {
    checks.push_back({2, name, "P23", [run, &subject] { run(subject); }});
  };
  add("captures.only-record", only_records);
  add("captures.run-as-often-as-launched", runs_as_launched);
}

}  // namespace gantry::checks
