// SPDX-License-Identifier: Apache-2.0
#include "py_binding.h"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <utility>

#include "arrays.h"
#include "bindings.h"

namespace gantry::python {

namespace nb = nanobind;

// Marks a call in progress. Throws INVALID_ARGUMENT if another thread's call is.
class PyBinding::CallGuard {
 public:
  explicit CallGuard(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (!is_busy_.exchange(true)) return;
    throw Error(Code::kInvalidArgument,
                "Binding: expected one thread at a time, found a call while another thread's goes "
                "on; make a Binding for each thread");
  }
  ~CallGuard() { is_busy_.store(false); }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  std::atomic<bool>& is_busy_;
};

PyBinding::PyBinding(nb::object session)
    : owner_(std::move(session)),
      session_(nb::cast<PySession&>(owner_)),
      binding_(session_.session()) {}

void PyBinding::input(const std::string& name, nb::handle value) {
  const CallGuard turn(is_busy_);
  const std::vector<ValueInfo>& infos = session_.session().inputs();
  const auto info = std::find_if(infos.begin(), infos.end(),
                                 [&](const ValueInfo& one) { return one.name == name; });
  // The core reports an unknown name.
  binding_.input(name, info == infos.end() ? Value() : to_value(value, *info, session_.session()));
}

void PyBinding::output(const std::string& name, nb::object target) {
  const CallGuard turn(is_busy_);
  binding_.output(name, to_target(target, "output \"" + name + "\"", session_.session()));
  targets_[name] = std::move(target);
}

void PyBinding::output_on(const std::string& name, const std::string& device) {
  const CallGuard turn(is_busy_);
  binding_.output_on(name, device);
  targets_.erase(name);
}

void PyBinding::run(std::optional<double> timeout, CancelToken* token) {
  const CallGuard turn(is_busy_);
  RunOptions options = run_options(timeout);
  run_interruptibly(options, token, [&] { binding_.run(options); });
}

nb::object PyBinding::result(const std::string& name) {
  const CallGuard turn(is_busy_);
  const Value value = binding_.result(name);
  const auto target = targets_.find(name);
  return target == targets_.end() ? to_python(value) : target->second;
}

void bind_binding(nb::module_& module) {
  nb::class_<PyBinding>(
      module, "Binding",
      "Inputs and outputs of a session, bound once for many runs. What lies on a device stays "
      "there, where the model reads or makes it there: nothing of it is copied. One tensor may be "
      "an input and an output where the model writes the second over the first, as a cache, and "
      "nothing reads the input after that. Used by one thread at a time.\n\n"
      ">>> binding = gantry.Binding(session); binding.input(\"past\", cache); "
      "binding.output(\"present\", cache)")
      .def(
          "__init__",
          [](PyBinding* self, nb::object session) { new (self) PyBinding(std::move(session)); },
          nb::arg("session"), nb::sig("def __init__(self, session: Session) -> None"))
      .def("input", &PyBinding::input, nb::arg("name"), nb::arg("value").none(),
           nb::sig("def input(self, name: str, value: typing.Any) -> None"),
           "What the runs to come read: what Session.run takes, a gantry.Tensor among it. An array "
           "that is read in place is shared: later changes are seen by later runs.\n\n"
           "Raises InvalidArgumentError: no such input, or another type or shape than declared.\n\n"
           ">>> binding.input(\"x\", x)")
      .def("output", &PyBinding::output, nb::arg("name"), nb::arg("target"),
           nb::sig("def output(self, name: str, target: typing.Any) -> None"),
           "Where the runs to come write: a gantry.Tensor, a contiguous numpy array, or a tensor "
           "of another library by DLPack, of the output's type and the shape that a run makes.\n\n"
           "Raises InvalidArgumentError: no such output, another type, or memory that cannot be "
           "written to in place.\n\n>>> binding.output(\"y\", y)")
      .def("output_on", &PyBinding::output_on, nb::arg("name"), nb::arg("device"),
           "Leaves the output on a device that the session uses, in a gantry.Tensor of the shape "
           "that a run makes. A later run writes into the same one if nobody else has it.\n\n"
           "Raises InvalidArgumentError: no such output or device, or no tensor of numbers.\n\n"
           ">>> binding.output_on(\"y\", \"CUDA:0\"); binding.run(); binding.result(\"y\").numpy()")
      .def("run", &PyBinding::run, nb::kw_only(), nb::arg("timeout") = nb::none(),
           nb::arg("cancel") = nb::none(),
           nb::sig("def run(self, *, timeout: float | None = None, cancel: CancelToken | None = "
                   "None) -> None"),
           "Runs the model on what is bound; timeout and cancel as in Session.run.\n\n"
           "Raises InvalidArgumentError: an input is not bound, or a bound output has another "
           "shape than this run makes; else as Session.run.\n\n>>> binding.run()")
      .def("result", &PyBinding::result, nb::arg("name"),
           nb::sig("def result(self, name: str) -> typing.Any"),
           "An output of the last run: what was bound for it, a gantry.Tensor if it was left on a "
           "device, else a new array.\n\n"
           "Raises InvalidArgumentError: no such output, or nothing has run yet.\n\n"
           ">>> binding.result(\"y\")");
}

}  // namespace gantry::python
