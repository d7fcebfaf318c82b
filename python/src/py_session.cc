// SPDX-License-Identifier: Apache-2.0
#include "py_session.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "dlpack_import.h"
#include "dtypes.h"
#include "errors.h"
#include "gil.h"
#include "interrupt.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

uint64_t nanoseconds(double seconds) {
  constexpr double kLongest = 1e9;  // seconds: 31 years
  if (!(seconds >= 0)) {
    throw Error(Code::kInvalidArgument,
                "timeout: expected seconds from 0, found " + std::to_string(seconds));
  }
  return static_cast<uint64_t>(1e9 * std::min(seconds, kLongest));
}

/// Index of the name; infos.size() if there is none.
size_t find(const std::vector<ValueInfo>& infos, const std::string& name) {
  return static_cast<size_t>(
      std::find_if(infos.begin(), infos.end(),
                   [&](const ValueInfo& info) { return info.name == name; }) -
      infos.begin());
}

std::vector<int64_t> extents_of(nb::handle shape) {
  std::vector<int64_t> extents;
  if (nb::try_cast(shape, extents)) return extents;
  throw Error(Code::kInvalidArgument,
              "shape: expected a sequence of numbers, found " + described(shape));
}

std::string names_of(const std::vector<ValueInfo>& infos) {
  std::string names;
  for (const ValueInfo& info : infos) names += (names.empty() ? "\"" : ", \"") + info.name + "\"";
  return names;
}

}  // namespace

RunOptions run_options(std::optional<double> timeout_s) {
  RunOptions options;
  if (timeout_s) options.timeout_ns = nanoseconds(*timeout_s);
  return options;
}

void run_interruptibly(RunOptions& options, CancelToken* token, const std::function<void()>& run) {
  CancelToken own;
  CancelToken& used = token ? *token : own;
  options.cancel = &used.flag();
  const bool was_cancelled = used.cancelled();
  try {
    const bool is_main = is_main_thread();
    const GilRelease unlocked;
    const InterruptScope scope(is_main, used.flag());
    run();
  } catch (const Error& error) {
    // Python's handler turns the interrupt that cancelled the run into KeyboardInterrupt, or what
    // the program's handler raises. The token is restored to the program's value.
    if (error.code() == Code::kCancelled && PyErr_CheckSignals() != 0) {
      if (!was_cancelled) used.reset();
      throw nb::python_error();
    }
    throw;
  }
}

PySession::PySession(nb::handle model, const std::optional<std::string>& device, nb::handle config,
                     bool profile, nb::handle outputs, nb::handle initializers,
                     std::optional<double> timeout, CancelToken* token)
    : given_(given_model(model)), has_profile_(profile) {
  SessionSetup setup = session_setup(device, config);
  setup.options.profile = profile;
  set_changes(setup.options, outputs, initializers);
  RunOptions limits = run_options(timeout);
  run_interruptibly(limits, token, [&] {
    setup.options.cancel = limits.cancel;
    setup.options.timeout_ns = limits.timeout_ns;
    session_.emplace(runtime_.emplace(setup).get(), given_.source, setup.options);
  });
}

nb::dict PySession::run(nb::handle inputs, nb::handle outputs, std::optional<double> timeout,
                        CancelToken* token) {
  const std::vector<size_t> wanted = to_outputs(outputs);
  const Inputs values = to_inputs(inputs);
  RunOptions options = run_options(timeout);
  std::vector<Value> results;
  run_interruptibly(options, token, [&] { results = session_->run_values(values, options); });
  nb::dict named;
  for (const size_t index : wanted)
    named[session_->outputs()[index].name.c_str()] = to_python(results[index]);
  return named;
}

nb::object PySession::empty(const std::string& name, nb::handle shape) const {
  std::vector<int64_t> extents;
  if (!shape.is_none()) extents = extents_of(shape);
  const Tensor tensor = session_->allocate(name, std::move(extents));
  if (bits_of(tensor.dtype()) < 8) {
    throw Error(Code::kInvalidArgument, "\"" + name + "\": elements of " +
                                            std::string(to_string(tensor.dtype())) +
                                            " are packed, which no array of numpy is");
  }
  return to_python(tensor);
}

Tensor PySession::allocate_on(const std::string& device, nb::handle dtype, nb::handle shape) const {
  const DType type = given_dtype(dtype);
  std::vector<int64_t> extents = extents_of(shape);
  const GilRelease unlocked;
  return session_->allocate_on(device, type, std::move(extents));
}

Tensor PySession::borrow_on(const std::string& device, nb::handle dtype, nb::handle shape,
                            uintptr_t address, nb::object owner) const {
  std::shared_ptr<const void> kept;
  if (!owner.is_none()) {
    PyObject* const object = owner.release().ptr();
    kept = std::shared_ptr<const void>(object, [](const void* held) {
      if (!Py_IsInitialized()) return;
      const GilAcquire lock;
      Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
    });
  }
  // An address in device memory.
  void* const data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  return session_->borrow_on(device, given_dtype(dtype), extents_of(shape), data, std::move(kept));
}

Tensor PySession::from_dlpack(nb::handle object) const {
  Tensor tensor = tensor_from_dlpack(object, "from_dlpack", &*session_);
  if (tensor.is_on_host()) {
    throw Error(Code::kInvalidArgument,
                "from_dlpack: expected a tensor in the memory of a device, found " +
                    described(object) + " in host memory, which is an input as it is");
  }
  return tensor;
}

std::vector<NodeTime> PySession::profile() const {
  if (!has_profile_) {
    throw Error(Code::kInvalidArgument,
                "profile: this session takes no times; make it with profile=True");
  }
  return session_->profile();
}

void PySession::reset_profile() { session_->reset_profile(); }

Inputs PySession::to_inputs(nb::handle inputs) const {
  Inputs values;
  for (const auto& [key, object] : dict_given("input", inputs)) {
    if (!PyUnicode_Check(key.ptr())) {
      throw Error(Code::kInvalidArgument,
                  "inputs: the keys must be names of inputs (str), found " + described(key));
    }
    const auto name = nb::cast<std::string>(key);
    const size_t index = find(session_->inputs(), name);
    // The run reports an unknown name.
    values.emplace(name, index < session_->inputs().size()
                             ? to_value(object, session_->inputs()[index], *session_)
                             : Value());
  }
  return values;
}

std::vector<size_t> PySession::to_outputs(nb::handle outputs) const {
  const std::vector<ValueInfo>& infos = session_->outputs();
  std::vector<size_t> indices;
  if (outputs.is_none()) {
    for (size_t i = 0; i < infos.size(); ++i) indices.push_back(i);
    return indices;
  }
  for (const std::string& name : names_given(outputs)) {
    indices.push_back(find(infos, name));
    if (indices.back() == infos.size()) {
      throw Error(
          Code::kInvalidArgument,
          "output \"" + name + "\": the model has no such output; it has " + names_of(infos) +
              ". A session that is made with outputs=[...] returns any values of the graph");
    }
  }
  return indices;
}

}  // namespace gantry::python
