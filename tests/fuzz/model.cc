// SPDX-License-Identifier: Apache-2.0
// Bytes of a model to a graph: scan, checks, inference, functions inlined, and what is told of it.
#include "onnx/model.h"

#include <gantry/model.h>

#include "fuzz_target.h"
#include "graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gantry::fuzz::run_or_refuse([&] {
    gantry::OnnxModel model({gantry::fuzz::bytes_of(data, size), {}});
    (void)model.to_graph();
    model.inline_functions([](const gantry::FunctionCall&) { return true; });
    (void)model.to_graph();
  });
  return 0;
}
