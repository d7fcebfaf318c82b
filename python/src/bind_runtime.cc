// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <utility>

#include "backend_provider.h"
#include "bindings.h"
#include "gil.h"
#include "model_source.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

void bind_log(nb::module_& module) {
  module.def(
      "set_log_level", [](const std::string& level) { set_log_level(log_level_of(level)); },
      nb::arg("level"),
      "How much gantry and its providers write to standard error from now on: lines of this level "
      "and graver ones. Before the first call GANTRY_LOG says so; without it, \"warning\".\n\n"
      "level: \"error\", \"warning\", \"info\" or \"debug\"; else InvalidArgumentError.\n\n"
      ">>> gantry.set_log_level(\"error\")");
  module.def(
      "log_level", [] { return std::string(to_string(log_level())); },
      "The level that is in force: \"error\", \"warning\", \"info\" or \"debug\".");
}

void bind_devices(nb::module_& module) {
  nb::class_<DeviceInfo>(module, "Device", "A device that a provider reports.")
      .def_prop_ro(
          "type", [](const DeviceInfo& row) { return row.device.type; },
          "As the provider's manifest spells it: \"CPU\".")
      .def_prop_ro(
          "id", [](const DeviceInfo& row) { return row.device.id; },
          "Tells devices of a type apart; from 0.")
      .def_ro("provider", &DeviceInfo::provider, "Name of the provider that reports it.")
      .def_ro("name", &DeviceInfo::name, "As its maker calls it.")
      .def_ro("uid", &DeviceInfo::uid, "Stable over restarts; may be empty.")
      .def_ro("state", &DeviceInfo::state, "\"ready\", \"absent\" or \"blocked\".")
      .def_ro("reason", &DeviceInfo::reason, "Of a state other than ready.")
      .def_ro("memory_bytes", &DeviceInfo::memory_bytes, "0: not known.")
      .def_ro("stand_in", &DeviceInfo::is_stand_in,
              "It stands in for another device in tests: nothing to choose for speed.")
      .def("__str__", [](const DeviceInfo& row) { return row.device.to_string(); })
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"type", "id", "provider", "name", "state", "reason"});
      });
  module.def(
      "devices",
      [](nb::handle config) {
        const GivenConfig given = given_config(config);
        const GilRelease unlocked;
        if (given.json.empty() && given.file.empty()) return runtime().devices();
        Runtime asked({given.json, given.file});
        add_backend_providers(asked);
        return asked.devices();
      },
      nb::arg("config") = nb::none(),
      nb::sig("def devices(config: dict[str, typing.Any] | str | os.PathLike[str] | None = None) "
              "-> list[Device]"),
      "Every device of every provider, absent ones with the reason. Opens all providers.\n\n"
      "config: a configuration of the runtime for this answer alone, as a dict, JSON text or the "
      "path of a JSON file.\n\n"
      ">>> [str(device) for device in gantry.devices() if device.state == \"ready\"]");
  module.def(
      "supports_device",
      [](const std::string& device) {
        const GilRelease unlocked;
        return runtime().supports_device(device);
      },
      nb::arg("device"),
      "Whether the text names a device that is ready; opens its provider. False for any other "
      "text, also a malformed one.\n\n>>> gantry.supports_device(\"CPU\")");
  module.def(
      "parse_device",
      [](const std::string& device) {
        const Device parsed = Device::parse(device);
        return std::pair(parsed.type, parsed.id);
      },
      nb::arg("device"), nb::sig("def parse_device(device: str) -> tuple[str, int]"),
      "Type and id of \"TYPE\" or \"TYPE:id\". Raises InvalidArgumentError for other text.");
}

void bind_report(nb::module_& module) {
  nb::class_<ProviderReport>(module, "ProviderReport",
                             "How far a provider candidate came, and why no further.")
      .def_ro("name", &ProviderReport::name, "Of the manifest; its file if it cannot be read.")
      .def_ro("manifest", &ProviderReport::manifest, "Its path.")
      .def_ro("library", &ProviderReport::library, "Its path; \"\" if that is not known yet.")
      .def_ro("version", &ProviderReport::version, "As the manifest says.")
      .def_ro("stage", &ProviderReport::stage,
              "collected, parsed, policy, file checks, requirements, probe, load, negotiate, "
              "enumerate or ready")
      .def_ro("state", &ProviderReport::state,
              "\"ready\", \"not opened\", \"rejected\" or \"shadowed\".")
      .def_prop_ro(
          "code", [](const ProviderReport& row) { return std::string(to_string(row.code)); },
          "\"OK\", or what went wrong: \"UNAVAILABLE\".")
      .def_ro("message", &ProviderReport::message, "One sentence; \"\" if all is well.")
      .def_ro("hint", &ProviderReport::hint, "What to do; may be \"\".")
      .def("__repr__", [](nb::handle row) {
        return repr(row, {"name", "state", "stage", "code", "message", "hint"});
      });
  module.def(
      "report",
      [](bool open) {
        const GilRelease unlocked;
        return runtime().report(open);
      },
      nb::arg("open") = true,
      "Every provider candidate in the order of the search, as the command `gantry doctor` prints "
      "them. `open=False` leaves alone those that nothing has needed yet.\n\n"
      ">>> [row for row in gantry.report() if row.state == \"rejected\"]");
}

}  // namespace

void bind_runtime(nb::module_& module) {
  bind_log(module);
  bind_devices(module);
  bind_report(module);
}

}  // namespace gantry::python
