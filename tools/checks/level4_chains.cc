// SPDX-License-Identifier: Apache-2.0
// Level 4: claims of several nodes, and kernels that exchange tensors in memory formats of their
// own: compares chains of nodes with the CPU provider.
#include <filesystem>
#include <memory>

#include "bench.h"
#include "chain_cases.h"
#include "levels.h"
#include "progress.h"

namespace gantry::checks {
namespace {

void run_chain(const Subject& subject, const ChainCase& chain) {
  Bench& with = bench_of(subject);
  note_progress("loading " + chain.name);
  NodesModel model = chain.model;
  const Inputs inputs =
      fill_inputs(model.inputs, chain.is_positive, chain.is_constant, subject.seed);
  const std::vector<std::byte> bytes = serialize(model);
  const ModelSource source(bytes, std::filesystem::path());
  const std::unique_ptr<Session> session = with.shared_session(source);
  note_progress("running " + chain.name);
  const std::vector<Value> expected = with.reference(source)->run_values(inputs);
  // The first run determines the memory plan that the second one uses.
  for (int run = 0; run < 2; ++run) {
    const std::vector<Value> found = session->run_values(inputs);
    for (size_t i = 0; i < found.size(); ++i) {
      expect_equal(*session, found[i], expected[i], session->outputs()[i].name,
                   "compare what the kernels of " + chain.name +
                       " compute together with what they compute by themselves (random.*): a set "
                       "of nodes is what its nodes are, and a tensor in an order that a port "
                       "offered is read and written by its strides");
    }
  }
}

}  // namespace

void add_chain_checks(Checks& checks, const Subject& subject) {
  for (const ChainCase& chain : chain_cases()) {
    checks.push_back(
        {4, "chain." + chain.name, "P19", [&subject, chain] { run_chain(subject, chain); }});
  }
}

}  // namespace gantry::checks
