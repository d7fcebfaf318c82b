// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <vector>

#include "array_memory.h"
#include "bindings.h"
#include "py_session.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

nb::object declared_shape(const ValueInfo& info) {
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

void bind_rows(nb::module_& module) {
  nb::class_<ValueInfo>(module, "ValueInfo", "An input or output of a model.")
      .def_ro("name", &ValueInfo::name, "Its name in the model.")
      .def_prop_ro(
          "kind", [](const ValueInfo& info) { return kind_name(info.kind); },
          "\"tensor\", \"sequence\", \"optional\" or \"map\".")
      .def_prop_ro(
          "dtype", [](const ValueInfo& info) { return std::string(to_string(info.dtype)); },
          "\"float32\"; of the elements.")
      .def_prop_ro(
          "shape", declared_shape, nb::sig("def shape(self) -> list[int | str | None] | None"),
          "Numbers; names or None for what a run decides. None: of any rank, or no tensor.")
      .def_ro("required", &ValueInfo::required,
              "False: an input that has a value in the model, which a run may replace.")
      .def("__repr__", [](nb::handle info) {
        return repr(info, {"name", "kind", "dtype", "shape"});
      });
  nb::class_<NodeTime>(module, "NodeTime", "Time that a node took, over all runs.")
      .def_ro("node", &NodeTime::node, "Its name.")
      .def_ro("op_type", &NodeTime::op_type, "Its operator: \"Conv\".")
      .def_ro("provider", &NodeTime::provider, "Name of the provider that ran it.")
      .def_ro("device", &NodeTime::device, "\"CPU:0\".")
      .def_ro("runs", &NodeTime::runs, "How often it ran.")
      .def_ro("total_ns", &NodeTime::total_ns,
              "Nanoseconds, over all runs; of control flow its bodies included.")
      .def_ro("depth", &NodeTime::depth, "How many bodies it is in.")
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"node", "op_type", "device", "runs", "total_ns"});
      });
  nb::class_<MemoryUse>(module, "MemoryUse", "Memory that a session holds, in bytes.")
      .def_ro("weights", &MemoryUse::weights, "Constants, mapped or owned.")
      .def_ro("arena", &MemoryUse::arena, "Planned memory of all contexts.")
      .def_ro("pool", &MemoryUse::pool, "Memory allocated outside the plan.")
      .def("__repr__", [](nb::handle use) {
        return repr(use, {"weights", "arena", "pool"});
      });
}

constexpr const char* kSessionDoc =
    "A model on its devices, ready to run, from several threads too.\n\n"
    "model: a path, the bytes of a serialized model, or an onnx.ModelProto. A model with external "
    "data is given by its path.\n"
    "device: \"TYPE\" or \"TYPE:id\"; None: what the configuration prefers, else \"CPU\".\n"
    "config: members that override the process's configuration, as a dict, JSON text or the path "
    "of a JSON file. If it says which providers there are (/providers/search, disable, priority, "
    "probe, isolation, worker), the session gets a runtime of its own, made with all of it.\n"
    "profile: take the time of each node in every run; see profile().\n"
    "outputs: names of the session's outputs, in that order: any values of the model's main graph, "
    "as an intermediate tensor to look at. Only what they need is computed. None: the model's.\n"
    "initializers: arrays by name, in place of the model's initializers, of the same element type "
    "and shape. Contiguous, aligned ones are read in place and must not change.\n"
    "timeout: in seconds, for loading; looked at between its parts.\n"
    "cancel: a token by which another thread ends loading.\n\n"
    "Ctrl-C ends loading. Raises NotFoundError: no such file or device; InvalidModelError; "
    "UnsupportedError: the nodes "
    "that the device refuses, each with the reason; UnavailableError: the device is absent; "
    "InvalidArgumentError: a wrong argument or configuration; DeadlineExceededError after the "
    "timeout; CancelledError; KeyboardInterrupt.\n\n"
    ">>> session = gantry.Session(\"model.onnx\", device=\"CPU\", config={\"session\": "
    "{\"threads\": 2}})";

constexpr const char* kRunDoc =
    "Runs the model: values by input name to values by output name.\n\n"
    "inputs: a tensor is a numpy array, or what has __dlpack__ or __array__, of exactly the "
    "declared element type and shape; numbers and nested lists are converted to the declared "
    "element type if no kind of number is lost. bfloat16, float8, int4 and their like are those "
    "of ml_dtypes; strings are arrays of str or bytes (object, StringDType, numpy.str_). A "
    "sequence is a list, an optional None or its value, a map a dict. Arrays that are contiguous, "
    "aligned and in the machine's byte order are read in place, and so are a gantry.Tensor and "
    "what has __dlpack__ on a device that the session uses, where the model reads them there.\n"
    "outputs: names of those wanted, in that order; None: all, in the model's order.\n"
    "timeout: in seconds.\n"
    "cancel: a token by which another thread ends the run.\n\n"
    "Returns new arrays, which own their memory. The interpreter's lock is released while the "
    "model runs; Ctrl-C ends the run.\n\n"
    "Raises InvalidArgumentError: an input is missing, unknown, or not what the model declares; "
    "DeadlineExceededError after the timeout; CancelledError; KeyboardInterrupt; what the devices "
    "report.\n\n"
    ">>> session.run({\"x\": x})[\"y\"]";

constexpr const char* kRunAsyncDoc =
    "Begins a run on another thread and returns: `await` what is returned in a coroutine, or wait "
    "for it by result(), which returns or raises what run() does. Its cancel() ends the run.\n\n"
    "Takes what run() takes; the timeout counts from this call. The arrays are read until the run "
    "has ended. Up to 32 runs of the process go on at once, further ones wait.\n\n"
    ">>> outputs = await session.run_async({\"x\": x})\n"
    ">>> runs = [session.run_async({\"x\": x}) for x in batches]; [run.result() for run in runs]";

}  // namespace

void bind_session(nb::module_& module) {
  bind_rows(module);
  nb::class_<CancelToken>(module, "CancelToken",
                          "Ends the runs that were given it.\n\n"
                          ">>> token = gantry.CancelToken(); session.run(inputs, cancel=token)")
      .def(nb::init<>())
      .def("cancel", &CancelToken::cancel, "Cancels its current and later runs; from any thread.")
      .def("reset", &CancelToken::reset, "Allows new runs.")
      .def_prop_ro("cancelled", &CancelToken::cancelled, "Whether cancel() was called.");
  nb::class_<ArrayMemory>(module, "ArrayMemory", "What Session.arrays() returns.")
      .def("__enter__", [](ArrayMemory& self) { self.enter(); })
      .def(
          "__exit__", [](ArrayMemory& self, const nb::args&) { self.exit(); },
          nb::sig("def __exit__(self, *args: typing.Any) -> None"));
  nb::class_<PySession>(module, "Session", nb::is_weak_referenceable(), kSessionDoc)
      .def(
          "__init__",
          [](PySession* self, nb::handle model, const std::optional<std::string>& device,
             nb::handle config, bool profile, nb::handle outputs, nb::handle initializers,
             std::optional<double> timeout, CancelToken* cancel) {
            new (self)
                PySession(model, device, config, profile, outputs, initializers, timeout, cancel);
          },
          nb::arg("model").none(), nb::arg("device") = nb::none(), nb::arg("config") = nb::none(),
          nb::arg("profile") = false, nb::kw_only(), nb::arg("outputs") = nb::none(),
          nb::arg("initializers") = nb::none(), nb::arg("timeout") = nb::none(),
          nb::arg("cancel") = nb::none(),
          nb::sig("def __init__(self, model: str | os.PathLike[str] | bytes | onnx.ModelProto, "
                  "device: str | None = None, config: dict[str, typing.Any] | str | "
                  "os.PathLike[str] | None = None, "
                  "profile: bool = False, *, outputs: collections.abc.Sequence[str] | None = None, "
                  "initializers: collections.abc.Mapping[str, typing.Any] | None = None, "
                  "timeout: float | None = None, cancel: CancelToken | None = None) -> None"))
      .def_prop_ro(
          "inputs", [](const PySession& self) { return self.session().inputs(); },
          "What run() takes, in the model's order.")
      .def_prop_ro(
          "outputs", [](const PySession& self) { return self.session().outputs(); },
          "What run() returns, in the model's order.")
      .def_prop_ro(
          "metadata", [](const PySession& self) { return self.session().metadata(); },
          "The model's metadata_props.")
      .def_prop_ro(
          "placement", [](const PySession& self) { return self.session().placement(); },
          "Where each node runs and why.")
      .def_prop_ro(
          "artefact", [](const PySession& self) { return self.session().artefact(); },
          "How the compiled-model cache was used when the session was made.")
      .def_prop_ro(
          "memory", [](const PySession& self) { return self.session().memory(); },
          "What the session holds now.")
      .def(
          "empty", &PySession::empty, nb::arg("name"), nb::arg("shape").none() = nb::none(),
          nb::sig("def empty(self, name: str, shape: collections.abc.Sequence[int] | None = None) "
                  "-> typing.Any"),
          "A new array for the input or output of that name, not initialised, in memory that the "
          "provider which reads or fills it uses in place: with a provider in a process of its "
          "own nothing is copied.\n\n"
          "shape: None: as the model declares it.\n\n"
          "Raises InvalidArgumentError: no such name, no tensor of numbers, a shape that does not "
          "fit.\n\n"
          ">>> x = session.empty(\"x\", [1, 3, 224, 224]); x[...] = image; session.run({\"x\": x})")
      .def(
          "arrays", [](nb::object self) { return ArrayMemory(std::move(self)); },
          "A context in which numpy makes its arrays, those of 16 KiB and more, in memory that the "
          "session's providers use in place: what is computed there is an input that nobody has to "
          "copy for a provider in a process of its own. That process can write to such arrays as "
          "long as they live. Holds for the thread that is in the context.\n\n"
          ">>> with session.arrays(): x = preprocess(image)")
      .def("allocate_on", &PySession::allocate_on, nb::arg("device"), nb::arg("dtype"),
           nb::arg("shape"),
           nb::sig("def allocate_on(self, device: str, dtype: typing.Any, shape: "
                   "collections.abc.Sequence[int]) -> Tensor"),
           "A tensor in the memory of a device that the session uses, not initialised. It may be "
           "an input and, by a Binding, an output of this session and of others of the process "
           "that use the device, and outlives them. Where the model reads or makes it on the "
           "device and nowhere else, it is used in place; elsewhere it is copied in each run.\n\n"
           "dtype: a numpy.dtype or its name; \"bfloat16\" and the like need no ml_dtypes.\n\n"
           "Raises InvalidArgumentError: the session does not use the device, or that works in "
           "host memory; a type or shape that no tensor has. OutOfMemoryError.\n\n"
           ">>> session.allocate_on(\"CUDA:0\", \"float16\", [1, 8, 4096, 64])")
      .def("borrow_on", &PySession::borrow_on, nb::arg("device"), nb::arg("dtype"),
           nb::arg("shape"), nb::arg("address"), nb::arg("owner").none() = nb::none(),
           nb::sig("def borrow_on(self, device: str, dtype: typing.Any, shape: "
                   "collections.abc.Sequence[int], address: int, owner: typing.Any = None) -> "
                   "Tensor"),
           "A tensor over memory of a device that the program has otherwise, by its address; "
           "dense. Nothing waits for work of others on it: from_dlpack does.\n\n"
           "owner: kept as long as the tensor; None: the caller keeps the memory.\n\n"
           "Raises InvalidArgumentError: as allocate_on, or an address that the device's kernels "
           "do not take.\n\n"
           ">>> session.borrow_on(\"CUDA:0\", \"float32\", x.shape, x.data_ptr(), x)")
      .def("from_dlpack", &PySession::from_dlpack, nb::arg("tensor"),
           nb::sig("def from_dlpack(self, tensor: typing.Any) -> Tensor"),
           "A tensor of another library on a device of the session's, in place; copied on the "
           "device if it lies at an address that the device's kernels do not take. The library's "
           "work on it so far is waited for. Session.run and Binding.input take such tensors as "
           "they are, too, and do this each time.\n\n"
           "Raises InvalidArgumentError: it is another device's, in host memory, or not "
           "contiguous.\n\n>>> session.from_dlpack(torch_tensor)")
      .def("profile", &PySession::profile,
           "Time of each node over the runs since the start or reset_profile(), longest first. "
           "Raises InvalidArgumentError if the session was made without profile=True.\n\n"
           ">>> gantry.Session(\"model.onnx\", profile=True).profile()")
      .def("reset_profile", &PySession::reset_profile, "Starts the times anew.")
      .def("run", &PySession::run, nb::arg("inputs").none(), nb::arg("outputs") = nb::none(),
           nb::kw_only(), nb::arg("timeout") = nb::none(), nb::arg("cancel") = nb::none(),
           nb::sig("def run(self, inputs: collections.abc.Mapping[str, typing.Any], outputs: "
                   "collections.abc.Sequence[str] | None = None, *, timeout: float | None = None, "
                   "cancel: CancelToken | None = None) -> dict[str, typing.Any]"),
           kRunDoc)
      .def(
          "run_async",
          [](nb::object self, nb::handle inputs, nb::handle outputs, nb::handle timeout,
             nb::handle cancel) {
            return nb::module_::import_("gantry.run_future")
                .attr("begin")(self, inputs, outputs, timeout, cancel);
          },
          nb::arg("inputs").none(), nb::arg("outputs") = nb::none(), nb::kw_only(),
          nb::arg("timeout") = nb::none(), nb::arg("cancel") = nb::none(),
          nb::sig("def run_async(self, inputs: collections.abc.Mapping[str, typing.Any], outputs: "
                  "collections.abc.Sequence[str] | None = None, *, timeout: float | None = None, "
                  "cancel: CancelToken | None = None) -> gantry.run_future.RunFuture"),
          kRunAsyncDoc)
      .def(
          "__reduce__",
          [](const PySession&) -> nb::object {
            throw nb::type_error(
                "a gantry.Session cannot be pickled or copied: its devices and threads are this "
                "process's; hand on the model, and make a session of it there");
          },
          nb::sig("def __reduce__(self) -> str | tuple[typing.Any, ...]"),
          "Raises TypeError: a session belongs to its process.")
      .def("__repr__", [](const PySession& self) {
        const Placement& placement = self.session().placement();
        return "<gantry.Session: " + std::to_string(self.session().inputs().size()) + " inputs, " +
               std::to_string(self.session().outputs().size()) + " outputs, " +
               std::to_string(placement.nodes.size()) + " nodes>";
      });
}

}  // namespace gantry::python
