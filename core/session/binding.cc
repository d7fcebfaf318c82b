// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/fork.h"
#include "base/value.h"
#include "gantry/session.h"
#include "run/executor.h"
#include "run/resident.h"
#include "session/input_values.h"
#include "session/session_impl.h"

namespace gantry {

class Binding::Impl {
 public:
  explicit Impl(Session::Impl& session)
      : session(session),
        inputs(session.initial),
        bound(session.outputs.size()),
        results(session.outputs.size()),
        spaces(session.outputs.size()),
        on_device(session.outputs.size()) {}

  void choose_resident_outputs(const Executor& executor);
  void prepare();
  void move_to_devices();
  [[nodiscard]] bool is_free(size_t index) const;

  Session::Impl& session;
  std::vector<ValueRef> inputs;
  std::vector<ValueRef> bound;
  std::vector<ValueRef> results;
  std::vector<uint32_t> spaces;    // by output: the space it stays in; 0: bound, or host memory
  std::vector<uint8_t> on_device;  // of Executor::run: outputs that are made in their space
  std::vector<ValueRef> before;  // by output: the previous tensor, reused for a copy to the device
};

// True if the last result may be overwritten: it is on the right device, and nobody else holds it.
bool Binding::Impl::is_free(size_t index) const {
  const ValueRef& result = results[index];
  return result && result->device && result.use_count() == 1 &&
         result->device->handle == session.executor->devices().space(spaces[index]).device;
}

// Sets `on_device` for the outputs that the plan of this run makes on the device that was asked
// for.
void Binding::Impl::choose_resident_outputs(const Executor& executor) {
  const std::vector<uint32_t>& resident = executor.program().resident_outputs();
  const DeviceTable& own = session.executor->devices();
  for (size_t i = 0; i < on_device.size(); ++i) {
    const bool is_resident = spaces[i] != 0 && resident[i] != 0 &&
                             executor.devices().device(resident[i]) == own.device(spaces[i]);
    on_device[i] = is_resident ? 1 : 0;
  }
}

void Binding::Impl::prepare() {
  before.assign(results.size(), nullptr);
  for (size_t i = 0; i < results.size(); ++i) {
    if (spaces[i] == 0) {
      results[i] = bound[i];
      continue;
    }
    if (!is_free(i)) results[i] = nullptr;
    if (on_device[i] == 0) before[i] = std::exchange(results[i], nullptr);
  }
}

// Copies outputs that were not made on the device that was asked for to that device.
void Binding::Impl::move_to_devices() {
  for (size_t i = 0; i < results.size(); ++i) {
    if (spaces[i] == 0 || on_device[i] != 0) continue;
    const ValueRef made = std::move(results[i]);
    const bool fits =
        before[i] && before[i]->dtype == made->dtype && before[i]->shape == made->shape;
    results[i] = fits ? before[i]
                      : make_resident(session.executor->shared_devices(), spaces[i], made->dtype,
                                      made->shape);
    copy_across(*made, *results[i]);
  }
}

Binding::Binding(Session& session) : impl_(std::make_unique<Impl>(session.impl())) {}
Binding::~Binding() { abandon_if_forked(impl_); }
Binding::Binding(Binding&&) noexcept = default;

Binding::Impl& Binding::impl() const {
  if (!impl_) {
    throw Error(Code::kInvalidArgument,
                "expected a binding, found one whose values were moved to another Binding");
  }
  return *impl_;
}

void Binding::input(const std::string& name, const Value& value) {
  Impl& own = impl();
  const size_t index = own.session.index_of_input(name);
  own.session.check_input(index, value);
  own.inputs[index] = value.handle();
}

void Binding::output(const std::string& name, const Tensor& tensor) {
  Impl& own = impl();
  const size_t index = own.session.index_of_output(name);
  const ValueInfo& info = own.session.outputs[index];
  if (!tensor.handle() || info.kind != Kind::kTensor ||
      (info.dtype != DType::kUndefined && tensor.dtype() != info.dtype)) {
    throw Error(Code::kInvalidArgument,
                "output \"" + name + "\": expected " + expected_of(info) + ", found " +
                    (tensor.handle() ? gantry::describe(*tensor.handle()) : "nothing"));
  }
  own.bound[index] = tensor.handle();
  own.spaces[index] = 0;
}

void Binding::output_on(const std::string& name, const std::string& device) {
  Impl& own = impl();
  const size_t index = own.session.index_of_output(name);
  const ValueInfo& info = own.session.outputs[index];
  if (info.kind != Kind::kTensor || info.dtype == DType::kString) {
    throw Error(Code::kInvalidArgument, "output \"" + name +
                                            "\": expected a tensor of numbers, which " + device +
                                            " can have, found " + expected_of(info));
  }
  const uint32_t space = own.session.space_on("output \"" + name + "\"", device);
  own.spaces[index] = space;
  own.bound[index] = nullptr;
}

void Binding::run(const RunOptions& options) {
  Impl& own = impl();
  for (size_t i = 0; i < own.inputs.size(); ++i) {
    if (!own.inputs[i]) {
      throw Error(Code::kInvalidArgument, "input \"" + own.session.inputs[i].name +
                                              "\" is not bound; expected " +
                                              expected_of(own.session.inputs[i]));
    }
  }
  const RunLimits limits(options);
  own.session.require_files();
  const std::shared_ptr<OpenPlan> plan = own.session.plan_for(own.inputs, limits);
  own.choose_resident_outputs(plan ? plan->executor() : *own.session.executor);
  own.prepare();
  if (plan) {
    plan->run(own.session.initial, own.inputs, own.results, limits.remaining(), own.on_device);
  } else {
    own.session.executor->run(own.inputs, own.results, limits.remaining(), nullptr, nullptr,
                              own.on_device);
  }
  own.session.require_files();
  own.move_to_devices();
}

Value Binding::result(const std::string& name) const {
  const ValueRef& value = impl().results[impl().session.index_of_output(name)];
  if (!value) throw Error(Code::kInvalidArgument, "output \"" + name + "\": nothing has run yet");
  return Value(value);
}

}  // namespace gantry
