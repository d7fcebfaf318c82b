// SPDX-License-Identifier: Apache-2.0
// Level 5, second part: the host refuses memory, or asks a kernel to stop. The error is returned,
// nothing leaks, and the next run succeeds.
#include "levels.h"
#include "open_provider.h"
#include "test_kernel.h"

namespace gantry::checks {
namespace {

void expect_good(const TestKernel& kernel, const TestKernel::Result& expected) {
  const TestKernel::Result result = kernel.run();
  expect(result.code == GANTRY_OK && result.elements == expected.elements,
         "run of " + kernel.op_type() +
             " after one that failed: expected the result of before, found " +
             (result.error.empty() ? "another one" : result.error),
         "leave nothing of a failed run in the kernel");
}

// A run with a fault, between two runs without; returns its result.
TestKernel::Result run_with(const Subject& subject, const std::function<void(HostRun&)>& fault) {
  const OpenProvider provider(subject);
  const TestKernel kernel(provider, subject, provider.device());
  const TestKernel::Result good = kernel.run();
  expect(good.code == GANTRY_OK,
         "run of " + kernel.op_type() + ": expected success, found " + good.error,
         "see the provider's own message");
  const HostCounts before = host_counts();
  TestKernel::Result result = kernel.run(fault);
  const HostCounts after = host_counts();
  expect(after.errors == before.errors,
         "run of " + kernel.op_type() +
             " that failed: expected every error to be released or returned, "
             "found " +
             std::to_string(after.errors - before.errors) + " kept",
         "return the error that a host function gave you, or release it");
  expect(after.values == before.values && after.bytes <= before.bytes,
         "run of " + kernel.op_type() +
             " that failed: expected nothing to be kept, found values or host memory",
         "release what a run makes also when it fails");
  expect_good(kernel, good);
  return result;
}

void outputs_are_refused(const Subject& subject) {
  const TestKernel::Result result =
      run_with(subject, [](HostRun& run) { run.refuses_outputs = true; });
  expect(result.code == GANTRY_OUT_OF_MEMORY,
         "run without memory for its output: expected OUT_OF_MEMORY, the host's error, found " +
             (result.error.empty() ? "success" : result.error),
         "return the error that gantry_host.output gave");
}

void scratch_is_refused(const Subject& subject) {
  const TestKernel::Result result =
      run_with(subject, [](HostRun& run) { run.refuses_scratch = true; });
  expect(result.code == GANTRY_OK || result.code == GANTRY_OUT_OF_MEMORY,
         "run without scratch memory: expected success or OUT_OF_MEMORY, found " + result.error,
         "return the error that gantry_host.scratch gave");
}

void runs_are_stopped(const Subject& subject) {
  for (const uint32_t code : {GANTRY_CANCELLED, GANTRY_DEADLINE_EXCEEDED}) {
    const TestKernel::Result result =
        run_with(subject, [=](HostRun& run) { run.stop_code = code; });
    expect(
        result.code == GANTRY_OK || result.code == code,
        "run that is to stop: expected success or the code of should_stop, found " + result.error,
        "give up with the code that gantry_host.should_stop returned");
  }
}

// Host allocations fail after some number, in the entry, devices, claim, compile and run.
void allocations_are_refused(const Subject& subject) {
  for (const int64_t left : {0, 1, 2, 5, 20}) {
    fail_allocations_after(left);
    try {
      const OpenProvider provider(subject);
      const TestKernel kernel(provider, subject, provider.device());
      (void)kernel.run();
    } catch (const Failure&) {
      // An error is accepted here; only a crash is not.
    } catch (...) {
      fail_allocations_after(-1);
      throw;
    }
    fail_allocations_after(-1);
  }
  const OpenProvider provider(subject);
  const TestKernel kernel(provider, subject, provider.device());
  const TestKernel::Result result = kernel.run();
  expect(result.code == GANTRY_OK,
         "run after host memory had ended: expected success, found " + result.error,
         "recover when memory is there again");
}

}  // namespace

void add_fault_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({5, name, duty, [run, &subject] { run(subject); }});
  };
  add("faults.no-memory-for-outputs", "P17", outputs_are_refused);
  add("faults.no-scratch-memory", "P17", scratch_is_refused);
  add("faults.stopped-runs", "P18", runs_are_stopped);
  add("faults.no-host-memory", "P17", allocations_are_refused);
}

}  // namespace gantry::checks
