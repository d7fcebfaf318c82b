// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "gantry/session.h"
#include "schedule/executor.h"
#include "session/given_values.h"
#include "session/session_impl.h"

namespace gantry {

class Binding::Impl {
 public:
  explicit Impl(Session::Impl& session)
      : session(session),
        inputs(session.initial),
        bound(session.outputs.size()),
        results(session.outputs.size()) {}

  Session::Impl& session;
  std::vector<ValueRef> inputs;
  std::vector<ValueRef> bound;
  std::vector<ValueRef> results;
};

Binding::Binding(Session& session) : impl_(std::make_unique<Impl>(*session.impl_)) {}
Binding::~Binding() = default;
Binding::Binding(Binding&&) noexcept = default;

void Binding::input(const std::string& name, const Tensor& tensor) {
  const size_t index = impl_->session.index_of_input(name);
  impl_->session.check_input(index, tensor);
  impl_->inputs[index] = tensor.handle();
}

void Binding::output(const std::string& name, const Tensor& tensor) {
  const size_t index = impl_->session.index_of_output(name);
  const ValueInfo& info = impl_->session.outputs[index];
  if (!tensor.handle() || info.kind != Kind::kTensor ||
      (info.dtype != DType::kUndefined && tensor.dtype() != info.dtype)) {
    throw Error(Code::kInvalidArgument,
                "output \"" + name + "\": expected " + expected_of(info) + ", found " +
                    (tensor.handle() ? gantry::describe(*tensor.handle()) : "nothing"));
  }
  impl_->bound[index] = tensor.handle();
}

void Binding::run(const RunOptions& options) {
  for (size_t i = 0; i < impl_->inputs.size(); ++i) {
    if (!impl_->inputs[i]) {
      throw Error(Code::kInvalidArgument, "input \"" + impl_->session.inputs[i].name +
                                              "\" is not bound; expected " +
                                              expected_of(impl_->session.inputs[i]));
    }
  }
  std::copy(impl_->bound.begin(), impl_->bound.end(), impl_->results.begin());
  impl_->session.executor->run(impl_->inputs, impl_->results, options);
}

Value Binding::result(const std::string& name) const {
  const ValueRef& value = impl_->results[impl_->session.index_of_output(name)];
  if (!value) throw Error(Code::kInvalidArgument, "output \"" + name + "\": nothing has run yet");
  return Value(value);
}

}  // namespace gantry
