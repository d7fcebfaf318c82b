// SPDX-License-Identifier: Apache-2.0
// Runs a model whose inputs all have known shapes, and prints its outputs and the devices of its
// nodes.
//
// program MODEL [DEVICE]
#include <gantry/gantry.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "program: expected a model's file name\n";
    return 2;
  }
  try {
    gantry::Runtime runtime;  // finds providers; one for a process is enough
    gantry::Session session(runtime, argv[1], {.device = argc > 2 ? argv[2] : "CPU"});

    gantry::Inputs inputs;
    for (const gantry::ValueInfo& input : session.inputs()) {
      gantry::Tensor tensor = session.allocate(input.name);  // of the declared shape; fill it here
      std::fill_n(static_cast<std::byte*>(tensor.data()), tensor.size_bytes(), std::byte{0});
      inputs.emplace(input.name, std::move(tensor));
    }

    const std::vector<gantry::Tensor> outputs = session.run(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::cout << session.outputs()[i].name << " has " << outputs[i].element_count()
                << " elements\n";
    }

    std::map<std::string, int> nodes;
    for (const gantry::NodePlacement& node : session.placement().nodes) ++nodes[node.provider];
    for (const auto& [provider, count] : nodes)
      std::cout << count << " nodes by " << provider << '\n';
  } catch (const gantry::Error& error) {  // says what was expected, what was found and what to do
    std::cerr << "program: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
