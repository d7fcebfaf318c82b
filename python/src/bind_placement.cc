// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

#include <filesystem>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>

#include "bindings.h"
#include "gil.h"
#include "model_source.h"

namespace gantry::python {

namespace nb = nanobind;

void bind_placement(nb::module_& module) {
  nb::class_<ArtefactReport>(module, "ArtefactReport",
                             "How the compiled-model cache (session.artefact_cache) was used.")
      .def_ro("state", &ArtefactReport::state,
              "\"off\", \"empty\" (nothing can be kept of this model), \"used\", \"made\", "
              "\"rebuilt\" or \"not kept\".")
      .def_ro("file", &ArtefactReport::file, "The model's artefact; \"\": none.")
      .def_ro("reason", &ArtefactReport::reason, "Of \"rebuilt\" and \"not kept\": why.")
      .def_ro("size_bytes", &ArtefactReport::size_bytes, "Of the file.")
      .def("__repr__", [](const ArtefactReport& self) {
        return "<gantry.ArtefactReport: " + self.state + " " + self.file + ">";
      });
  nb::class_<NodePlacement>(module, "NodePlacement", "Where a node runs and why, or why it cannot.")
      .def_ro("node", &NodePlacement::node,
              "Its name; of a node in a body \"outer/attribute/inner\".")
      .def_ro("op_type", &NodePlacement::op_type, "Its operator: \"Conv\".")
      .def_ro("domain", &NodePlacement::domain, "Its operator's domain; \"\": ai.onnx.")
      .def_ro("device", &NodePlacement::device, "\"CPU:0\"; \"\": nobody runs it.")
      .def_ro("provider", &NodePlacement::provider, "Name of the provider that runs it.")
      .def_ro("kernel", &NodePlacement::kernel, "As the provider calls what runs it.")
      .def_ro("implementation", &NodePlacement::implementation,
              "What the provider chose when it compiled the node, and why not what it would have "
              "preferred; \"\": not compiled, or not told.")
      .def_ro("reason", &NodePlacement::reason,
              "Why here and not on a more preferred device or with a more preferred provider; if "
              "nobody runs it, what each provider said.")
      .def_ro("instead_of", &NodePlacement::instead_of,
              "The device that was preferred, if it is another; \"\": this one was.")
      .def_ro("memory", &NodePlacement::memory,
              "The device whose memory it works in; \"CPU:0\" is the host's.")
      .def_ro("inputs", &NodePlacement::inputs,
              "Names of the values it reads, what its bodies read from outside last; \"\": absent.")
      .def_ro("outputs", &NodePlacement::outputs, "Names of the values it makes; \"\": absent.")
      .def_ro("parent", &NodePlacement::parent,
              "Row of the node in whose body it is; -1: it is in the main graph.")
      .def_ro("body", &NodePlacement::body, "That body: \"then_branch\".")
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"node", "op_type", "device", "provider", "reason"});
      });
  nb::class_<CopyPlacement>(module, "CopyPlacement",
                            "A value that is copied between memory spaces in every run.")
      .def_ro("value", &CopyPlacement::value, "Its name.")
      .def_ro("source", &CopyPlacement::from,
              "The device whose memory it leaves; \"CPU:0\" is the host's.")
      .def_ro("target", &CopyPlacement::to, "The device whose memory it comes to.")
      .def_ro("size_bytes", &CopyPlacement::size_bytes, "0: not known before the run.")
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"value", "source", "target", "size_bytes"});
      });
  nb::class_<Placement>(module, "Placement", "Where each node of a model runs.")
      .def_ro("compatible", &Placement::compatible, "Every node has a device.")
      .def_ro("nodes_in_model", &Placement::nodes_in_model,
              "Nodes as the model has them, before functions are inlined and constants folded; 0: "
              "not known.")
      .def_ro("nodes", &Placement::nodes, "A row for each node, bodies of control flow included.")
      .def_ro("kernels", &Placement::kernels, "Kernels that run the nodes; one may take several.")
      .def_ro("transfers", &Placement::transfers, "The copies between memory spaces in a run.")
      .def_ro("copies", &Placement::copies, "How many copies between memory spaces a run makes.")
      .def_ro("warnings", &Placement::warnings,
              "What the configuration says in vain: preferred devices that are absent, rules that "
              "no node matches.")
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
        const SessionSetup setup = session_setup(device, config);
        const GilRelease unlocked;
        ChosenRuntime chosen(setup);
        return check(chosen.get(), given.source, setup.options);
      },
      nb::arg("model").none(), nb::arg("device") = nb::none(), nb::arg("config") = nb::none(),
      nb::sig("def check(model: str | os.PathLike[str] | bytes | onnx.ModelProto, device: str | "
              "None = None, config: dict[str, typing.Any] | str | os.PathLike[str] | None = None) "
              "-> Placement"),
      "Whether the device runs the model, and a verdict and a reason for each node. Compiles "
      "nothing.\n\nThe arguments are those of Session. Raises InvalidModelError; NotFoundError or "
      "UnavailableError if there is no such file or device.\n\n"
      ">>> gantry.check(\"model.onnx\", device=\"CUDA:0\").compatible");
  module.def(
      "write_optimized",
      [](nb::handle model, const std::filesystem::path& file,
         const std::optional<std::string>& device, nb::handle config, nb::handle outputs,
         nb::handle initializers, const std::string& external_file, uint64_t external_bytes) {
        const GivenModel given = given_model(model);
        SessionSetup setup = session_setup(device, config);
        set_changes(setup.options, outputs, initializers);
        const GilRelease unlocked;
        ChosenRuntime chosen(setup);
        write_optimized(chosen.get(), given.source, file, setup.options,
                        {external_file, external_bytes});
      },
      nb::arg("model").none(), nb::arg("file"), nb::arg("device") = nb::none(),
      nb::arg("config") = nb::none(), nb::kw_only(), nb::arg("outputs") = nb::none(),
      nb::arg("initializers") = nb::none(), nb::arg("external_file") = "",
      nb::arg("external_bytes") = 1024,
      nb::sig("def write_optimized(model: str | os.PathLike[str] | bytes | onnx.ModelProto, file: "
              "str | os.PathLike[str], device: str | None = None, config: dict[str, typing.Any] | "
              "str | os.PathLike[str] | None = None, *, "
              "outputs: collections.abc.Sequence[str] | None = None, initializers: "
              "collections.abc.Mapping[str, typing.Any] | None = None, external_file: str = \"\", "
              "external_bytes: int = 1024) -> None"),
      "Writes the model as a session plans it: constants folded, what does nothing removed, "
      "functions that no device takes as a whole in place of their calls.\n\n"
      "model, device, config, outputs, initializers: as Session's. external_file: name of a file "
      "beside it for tensors of "
      "external_bytes and more.\n\n"
      "Raises what Session does; UnsupportedError: 2 GiB or more without an external file; "
      "UnavailableError: a file cannot be written.\n\n"
      ">>> gantry.write_optimized(\"model.onnx\", \"folded.onnx\")");
}

}  // namespace gantry::python
