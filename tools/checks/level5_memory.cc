// SPDX-License-Identifier: Apache-2.0
// Level 5: borrowed memory of a run. A run does not change its inputs, and nothing accesses its
// memory after it has returned.
#include <string>

#include "levels.h"
#include "open_provider.h"
#include "progress.h"
#include "test_kernel.h"

namespace gantry::checks {
namespace {

void inputs_are_left_alone(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestKernel kernel(provider, subject, provider.device());
  const TestKernel::Lent lent = kernel.run_and_look_at_inputs();
  expect(lent.result.code == GANTRY_OK,
         "run of " + kernel.op_type() + ": expected success, found " + lent.result.error,
         "see the provider's own message");
  expect(lent.changed_bytes == 0,
         "run of " + kernel.op_type() + ": expected its inputs to be as they were before, found " +
             std::to_string(lent.changed_bytes) + " bytes that are not",
         "other nodes read the same tensors: compute in the output or in scratch memory; where an "
         "input may be overwritten, its address is that of the output");
}

void runs_end_with_their_call(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestDevice device = provider.device();
  if (!device.has_host_memory()) {
    throw Skip(device.label() + " has memory of its own, which the host cannot close");
  }
  const TestKernel kernel(provider, subject, device);
  note_progress("after a run of " + kernel.op_type() + ", whose memory is closed");
  const TestKernel::Result result = kernel.run_and_close_memory();
  expect(result.code == GANTRY_OK,
         "run of " + kernel.op_type() + ": expected success, found " + result.error,
         "see the provider's own message");
}

}  // namespace

void add_memory_checks(Checks& checks, const Subject& subject) {
  checks.push_back(
      {5, "runs.leave-inputs-alone", "P20", [&subject] { inputs_are_left_alone(subject); }});
  checks.push_back(
      {5, "runs.end-with-their-call", "P20", [&subject] { runs_end_with_their_call(subject); }});
}

}  // namespace gantry::checks
