// SPDX-License-Identifier: Apache-2.0
// The module gantry._core: the public C++ API as Python's users type it (docs/ARCHITECTURE.md,
// "What users type").
#include <gantry/gantry.h>

#include <algorithm>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "errors.h"
#include "interrupt.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

/// One for the process, made when first needed and never destroyed: providers may still run threads
/// when the process ends. Called without the interpreter's lock, which a thread that waits for
/// another to make it must not hold.
Runtime& runtime() {
  static Runtime* shared = new Runtime;
  return *shared;
}

/// A model as the user gave it, and what keeps its bytes.
struct GivenModel {
  nb::object bytes;  // empty for a path
  ModelSource source;
};

GivenModel bytes_model(nb::object bytes) {
  const std::span<const char> span(PyBytes_AS_STRING(bytes.ptr()),
                                   static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  ModelSource source(std::as_bytes(span), {});
  return {std::move(bytes), std::move(source)};
}

GivenModel path_model(nb::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::object bytes = nb::steal(encoded);
  return {{},
          ModelSource(std::string(PyBytes_AS_STRING(encoded),
                                  static_cast<size_t>(PyBytes_GET_SIZE(encoded))))};
}

GivenModel given_model(nb::handle model) {
  if (PyBytes_Check(model.ptr())) return bytes_model(nb::borrow(model));
  if (PyUnicode_Check(model.ptr()) || nb::hasattr(model, "__fspath__")) return path_model(model);
  if (nb::hasattr(model, "SerializeToString"))
    return bytes_model(model.attr("SerializeToString")());
  if (PyObject_CheckBuffer(model.ptr()) != 0) {
    nb::object bytes = nb::steal(PyBytes_FromObject(model.ptr()));
    if (!bytes.is_valid()) throw nb::python_error();
    return bytes_model(std::move(bytes));
  }
  throw Error(Code::kInvalidArgument,
              "model: expected a path, bytes or an onnx.ModelProto, found a " + class_name(model));
}

SessionOptions session_options(const std::optional<std::string>& device, nb::handle config) {
  SessionOptions options;
  if (device) {
    // An empty text means "not given" to the core, and is a mistake here.
    if (device->empty()) Device::parse(*device);
    options.device = *device;
  }
  if (config.is_none()) return options;
  if (!PyDict_Check(config.ptr()))
    throw Error(Code::kInvalidArgument, "config: expected a dict, found a " + class_name(config));
  options.config_json = nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(config));
  return options;
}

class PySession {
 public:
  PySession(nb::handle model, const std::optional<std::string>& device, nb::handle config)
      : given_(given_model(model)) {
    const SessionOptions options = session_options(device, config);
    const nb::gil_scoped_release unlocked;
    session_.emplace(runtime(), given_.source, options);
  }

  [[nodiscard]] const Session& session() const { return *session_; }

  nb::dict run(nb::handle inputs, std::optional<double> timeout) {
    const Inputs values = to_inputs(inputs);
    RunOptions options;
    if (timeout) options.timeout_ns = nanoseconds(*timeout);
    const std::vector<Value> results = run_interruptibly(values, options);
    nb::dict outputs;
    for (size_t i = 0; i < results.size(); ++i)
      outputs[session_->outputs()[i].name.c_str()] = to_python(results[i]);
    return outputs;
  }

 private:
  static uint64_t nanoseconds(double seconds) {
    constexpr double kLongest = 1e9;  // seconds: 31 years
    if (!(seconds >= 0)) {
      throw Error(Code::kInvalidArgument,
                  "timeout: expected seconds from 0, found " + std::to_string(seconds));
    }
    return static_cast<uint64_t>(1e9 * std::min(seconds, kLongest));
  }

  Inputs to_inputs(nb::handle inputs) const {
    if (!PyDict_Check(inputs.ptr())) {
      throw Error(
          Code::kInvalidArgument,
          "inputs: expected a dict from input names to arrays, found a " + class_name(inputs));
    }
    Inputs values;
    for (const auto& [key, object] : nb::borrow<nb::dict>(inputs)) {
      if (!PyUnicode_Check(key.ptr())) {
        throw Error(Code::kInvalidArgument,
                    "inputs: the keys must be names of inputs (str), found a " + class_name(key));
      }
      const auto name = nb::cast<std::string>(key);
      const ValueInfo* info = find_input(name);
      values.emplace(
          name, info ? to_value(object, *info) : Value());  // the run says which names there are
    }
    return values;
  }

  [[nodiscard]] const ValueInfo* find_input(const std::string& name) const {
    const std::vector<ValueInfo>& infos = session_->inputs();
    const auto found = std::find_if(infos.begin(), infos.end(),
                                    [&](const ValueInfo& info) { return info.name == name; });
    return found == infos.end() ? nullptr : &*found;
  }

  std::vector<Value> run_interruptibly(const Inputs& values, RunOptions& options) {
    const bool is_main = is_main_thread();
    if (is_main) options.cancel = InterruptScope::cancel();
    try {
      const nb::gil_scoped_release unlocked;
      const InterruptScope scope(is_main);
      return session_->run_values(values, options);
    } catch (const Error& error) {
      // Python's own handler turns the interrupt that ended the run into KeyboardInterrupt, or
      // whatever the program wants.
      if (error.code() == Code::kCancelled && PyErr_CheckSignals() != 0) throw nb::python_error();
      throw;
    }
  }

  GivenModel given_;
  std::optional<Session> session_;
};

nb::object shape_of(const ValueInfo& info) {
  if (info.kind != Kind::kTensor || !info.has_rank) return nb::none();
  nb::list shape;
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    if (info.shape[axis] >= 0) {
      shape.append(info.shape[axis]);
    } else if (axis < info.symbols.size() && !info.symbols[axis].empty()) {
      shape.append(info.symbols[axis]);
    } else {
      shape.append(nb::none());
    }
  }
  return shape;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "tensor";
    case Kind::kSequence:
      return "sequence";
    case Kind::kOptional:
      return "optional";
    case Kind::kMap:
      return "map";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

/// "Name(a='x', b=1)" of the named attributes, as dataclasses print themselves.
std::string repr(nb::handle object, const std::vector<const char*>& attributes) {
  std::string text = class_name(object) + "(";
  for (const char* name : attributes) {
    if (name != attributes.front()) text += ", ";
    text += std::string(name) + "=" + nb::cast<std::string>(nb::repr(object.attr(name)));
  }
  return text + ")";
}

void bind_devices(nb::module_& module) {
  nb::class_<DeviceInfo>(module, "Device", "A device that a provider reports.")
      .def_prop_ro(
          "type", [](const DeviceInfo& row) { return row.device.type; },
          "As the provider's manifest spells it: \"CPU\".")
      .def_prop_ro("id", [](const DeviceInfo& row) { return row.device.id; })
      .def_ro("provider", &DeviceInfo::provider)
      .def_ro("name", &DeviceInfo::name)
      .def_ro("uid", &DeviceInfo::uid, "Stable over restarts; may be empty.")
      .def_ro("state", &DeviceInfo::state, "\"ready\", \"absent\" or \"blocked\".")
      .def_ro("reason", &DeviceInfo::reason, "Of a state other than ready.")
      .def_ro("memory_bytes", &DeviceInfo::memory_bytes, "0: not known.")
      .def("__str__", [](const DeviceInfo& row) { return row.device.to_string(); })
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"type", "id", "provider", "name", "state", "reason"});
      });
  module.def(
      "devices",
      [] {
        const nb::gil_scoped_release unlocked;
        return runtime().devices();
      },
      "Every device of every provider, absent ones with the reason. Opens all providers.");
}

void bind_placement(nb::module_& module) {
  nb::class_<NodePlacement>(module, "NodePlacement", "Where a node runs and why, or why it cannot.")
      .def_ro("node", &NodePlacement::node,
              "Its name; of a node in a body \"outer/attribute/inner\".")
      .def_ro("op_type", &NodePlacement::op_type)
      .def_ro("domain", &NodePlacement::domain)
      .def_ro("device", &NodePlacement::device, "\"CPU:0\"; empty: nobody runs it.")
      .def_ro("provider", &NodePlacement::provider)
      .def_ro("kernel", &NodePlacement::kernel)
      .def_ro("reason", &NodePlacement::reason)
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"node", "op_type", "device", "provider", "reason"});
      });
  nb::class_<Placement>(module, "Placement", "Where each node of a model runs.")
      .def_ro("compatible", &Placement::compatible, "Every node has a device.")
      .def_ro("nodes", &Placement::nodes, "A row for each node, bodies of control flow included.")
      .def_ro("copies", &Placement::copies, "Copies between memory spaces in a run.")
      .def("__repr__", [](nb::handle placement) {
        const auto& self = nb::cast<const Placement&>(placement);
        return std::string("Placement(compatible=") + (self.compatible ? "True" : "False") +
               ", nodes=<" + std::to_string(self.nodes.size()) +
               ">, copies=" + std::to_string(self.copies) + ")";
      });
  module.def(
      "check",
      [](nb::handle model, const std::optional<std::string>& device, nb::handle config) {
        const GivenModel given = given_model(model);
        const SessionOptions options = session_options(device, config);
        const nb::gil_scoped_release unlocked;
        return check(runtime(), given.source, options);
      },
      nb::arg("model").none(), nb::arg("device") = nb::none(), nb::arg("config") = nb::none(),
      nb::sig("def check(model: str | os.PathLike[str] | bytes | onnx.ModelProto, device: str | "
              "None = None, config: dict[str, "
              "typing.Any] | None = None) -> Placement"),
      "Whether the device runs the model, and a verdict and reason for each node. Builds nothing.");
}

void bind_session(nb::module_& module) {
  nb::class_<ValueInfo>(module, "ValueInfo", "An input or output of a model.")
      .def_ro("name", &ValueInfo::name)
      .def_prop_ro(
          "kind", [](const ValueInfo& info) { return kind_name(info.kind); },
          "\"tensor\", \"sequence\", \"optional\" or \"map\".")
      .def_prop_ro(
          "dtype", [](const ValueInfo& info) { return std::string(to_string(info.dtype)); },
          "\"float32\"; of the elements.")
      .def_prop_ro(
          "shape", shape_of, nb::sig("def shape(self) -> list[int | str | None] | None"),
          "Numbers; names or None for what a run decides. None: of any rank, or no tensor.")
      .def("__repr__", [](nb::handle info) {
        return repr(info, {"name", "kind", "dtype", "shape"});
      });
  nb::class_<PySession>(module, "Session",
                        "A model on its devices, ready to run, from several threads too.")
      .def(
          "__init__",
          [](PySession* self, nb::handle model, const std::optional<std::string>& device,
             nb::handle config) { new (self) PySession(model, device, config); },
          nb::arg("model").none(), nb::arg("device") = nb::none(), nb::arg("config") = nb::none(),
          nb::sig("def __init__(self, model: str | os.PathLike[str] | bytes | onnx.ModelProto, "
                  "device: str | None = None, config: "
                  "dict[str, typing.Any] | None = None) -> None"),
          "Loads, places and compiles a model: a path, bytes or a ModelProto. `device` is \"TYPE\" "
          "or \"TYPE:id\"; None: what the "
          "configuration prefers, else \"CPU\". `config` overrides members of the process's "
          "configuration.")
      .def_prop_ro("inputs", [](const PySession& self) { return self.session().inputs(); })
      .def_prop_ro("outputs", [](const PySession& self) { return self.session().outputs(); })
      .def_prop_ro(
          "metadata", [](const PySession& self) { return self.session().metadata(); },
          "The model's metadata_props.")
      .def_prop_ro("placement", [](const PySession& self) { return self.session().placement(); })
      .def("run", &PySession::run, nb::arg("inputs").none(), nb::kw_only(),
           nb::arg("timeout") = nb::none(),
           nb::sig("def run(self, inputs: dict[str, typing.Any], *, timeout: float | None = None) "
                   "-> dict[str, typing.Any]"),
           "Runs the model: arrays by input name to arrays by output name. Contiguous inputs are "
           "not copied, outputs share the memory "
           "that the run made. Sequences are lists, optionals None or their value, maps dicts. "
           "`timeout` is in seconds. Ctrl-C ends "
           "the run.");
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of gantry; import gantry instead.";
  module.attr("__version__") = GANTRY_VERSION;
  register_errors();
  bind_devices(module);
  bind_placement(module);
  bind_session(module);
}

}  // namespace gantry::python
