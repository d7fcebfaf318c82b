// SPDX-License-Identifier: Apache-2.0
// Level 5, first part: calls the slots that any thread may call from several threads concurrently.
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "claims.h"
#include "levels.h"
#include "open_provider.h"
#include "test_kernel.h"

namespace gantry::checks {
namespace {

constexpr int kThreads = 8;

// Runs `work(thread)` on all threads concurrently; rethrows the first exception.
template <class Work>
void on_all_threads(Work&& work) {
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      try {
        work(thread);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void claims_on_threads(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  TestGraph graph;
  const uint32_t x = graph.add_input(GANTRY_FLOAT, {8, 8});
  const uint32_t y = graph.add_input(GANTRY_FLOAT, {8, 8});
  for (const ProbeOperator& probe : probe_operators()) {
    std::vector<uint32_t> inputs = {x, y};
    inputs.resize(probe.inputs.size());
    graph.add_node(probe.op_type, "", probe.since_version, inputs, 1, GANTRY_FLOAT);
  }
  const gantry_graph* view = graph.view();
  const TestAnswer expected = ask(provider, subject, device, view);
  on_all_threads([&](int) {
    for (int i = 0; i < 50; ++i) {
      expect(ask(provider, subject, device, view) == expected,
             "claim on 8 threads: expected the answer that one thread gets, found another one",
             "claim may be called from any thread at any time: keep no state in it");
    }
  });
}

void compiles_on_threads(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestDevice device = provider.device();
  std::shared_ptr<OpenDevice> opened;  // once, as device_open has it
  if (!device.has_host_memory()) opened = std::make_shared<OpenDevice>(provider, device.index);
  on_all_threads([&](int) {
    for (int i = 0; i < 10; ++i) const TestKernel kernel(provider, subject, device, opened);
  });
}

void runs_on_threads(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestKernel kernel(provider, subject, provider.device());
  const TestKernel::Result expected = kernel.run();
  expect(expected.code == GANTRY_OK,
         "run of " + kernel.op_type() + ": expected success, found " + expected.error,
         "see the provider's own message");
  on_all_threads([&](int) {
    for (int i = 0; i < 20; ++i) {
      const TestKernel::Result result = kernel.run();
      expect(result.code == GANTRY_OK && result.elements == expected.elements,
             "run of " + kernel.op_type() +
                 " on 8 threads: expected the result of one thread, found " +
                 (result.error.empty() ? "another one" : result.error),
             "a kernel is shared by all runs: keep what changes in scratch memory or a context");
    }
  });
}

}  // namespace

void add_thread_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({5, name, duty, [run, &subject] { run(subject); }});
  };
  add("threads.claim", "P16", claims_on_threads);
  add("threads.compile", "P16", compiles_on_threads);
  add("threads.run", "P16", runs_on_threads);
}

}  // namespace gantry::checks
