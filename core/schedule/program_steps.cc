// SPDX-License-Identifier: Apache-2.0
// What is asked of a program that is built, its bodies included.
#include <cstddef>
#include <functional>
#include <string>

#include "schedule/program.h"

namespace gantry {

uint64_t Program::constant_bytes() const {
  uint64_t bytes = 0;
  for (const SlotInfo& slot : slots_) {
    if (slot.constant) bytes += slot.constant->view.size_bytes;
  }
  for (const Step& step : steps_) {
    for (const auto& body : step.bodies) bytes += body->constant_bytes();
  }
  return bytes;
}

namespace {

void visit_steps(const Program& program, const std::string& prefix, uint32_t depth,
                 const std::function<void(const Step&, const std::string&, uint32_t)>& take) {
  for (const Step& step : program.steps()) {
    take(step, prefix + step.node, depth);
    for (size_t i = 0; i < step.bodies.size(); ++i) {
      const char* role = step.op_type != "If" ? "body" : i == 0 ? "then_branch" : "else_branch";
      visit_steps(*step.bodies[i], prefix + step.node + "/" + role + "/", depth + 1, take);
    }
  }
}

}  // namespace

void for_each_step(const Program& program,
                   const std::function<void(const Step&, const std::string&, uint32_t)>& take) {
  visit_steps(program, "", 0, take);
}

}  // namespace gantry
