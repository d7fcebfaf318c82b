// SPDX-License-Identifier: Apache-2.0
// Queries of a built program, bodies included.
#include <cstddef>
#include <functional>
#include <string>

#include "program/program.h"

namespace gantry {

uint64_t Program::constant_bytes() const {
  uint64_t bytes = 0;
  for (const SlotInfo& slot : slots_) {
    if (slot.constant) bytes += slot.constant->view.size_bytes;
  }
  for (const Bodies& bodies : bodies_) {
    for (const auto& body : bodies) bytes += body->constant_bytes();
  }
  return bytes;
}

namespace {

void visit_steps(const Program& program, const std::string& prefix, uint32_t depth,
                 const std::function<void(const Step&, const std::string&, uint32_t)>& take) {
  for (size_t number = 0; number < program.steps().size(); ++number) {
    const Step& step = program.steps()[number];
    take(step, prefix + step.node, depth);
    const Program::Bodies& bodies = program.bodies(number);
    for (size_t i = 0; i < bodies.size(); ++i) {
      const char* role = step.op_type != "If" ? "body" : i == 0 ? "then_branch" : "else_branch";
      visit_steps(*bodies[i], prefix + step.node + "/" + role + "/", depth + 1, take);
    }
  }
}

}  // namespace

void for_each_step(const Program& program,
                   const std::function<void(const Step&, const std::string&, uint32_t)>& take) {
  visit_steps(program, "", 0, take);
}

}  // namespace gantry
