// SPDX-License-Identifier: Apache-2.0
#include "model_source.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nanobind/stl/string.h>
#include <span>
#include <string_view>
#include <utility>

#include "arrays.h"
#include "buffer_protocol.h"
#include "errors.h"
#include "json_text.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

GivenModel bytes_model(nb::bytes bytes) {
  const std::span<const char> span(bytes.c_str(), bytes.size());
  ModelSource source(std::as_bytes(span), {});
  return {std::move(bytes), std::move(source)};
}

std::string path_text(nb::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {bytes.c_str(), bytes.size()};
}

GivenConfig read_config(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw Error(Code::kNotFound, "config: the file \"" + file +
                                     "\" cannot be opened; expected a dict, JSON text that starts "
                                     "with {, or the path of a JSON file");
  }
  return {{std::istreambuf_iterator<char>(stream), {}}, file};
}

/// True if the document has members that a session's configuration may not have: about providers,
/// anything but their options. The core reports text that cannot be parsed.
bool concerns_runtime(const std::string& json) {
  if (json.find("\"providers\"") == std::string::npos) return false;
  nb::object document;
  try {
    document = nb::module_::import_("json").attr("loads")(nb::bytes(json.data(), json.size()));
  } catch (const nb::python_error&) {
    return false;
  }
  if (!PyDict_Check(document.ptr())) return false;
  const nb::object providers = document.attr("get")("providers");
  if (!PyDict_Check(providers.ptr())) return false;
  for (const auto& [key, value] : nb::borrow<nb::dict>(providers)) {
    if (nb::cast<std::string>(key) != "options") return true;
  }
  return false;
}

/// Tensors by name.
std::map<std::string, Value> tensors_given(nb::handle initializers) {
  std::map<std::string, Value> tensors;
  for (const auto [key, item] : dict_given("initializer", initializers)) {
    if (!PyUnicode_Check(key.ptr())) {
      throw Error(Code::kInvalidArgument,
                  "initializers: expected names (str) as keys, found " + described(key));
    }
    ValueInfo any;
    any.name = nb::cast<std::string>(key);
    tensors.emplace(any.name, to_host_tensor(item, any));
  }
  return tensors;
}

}  // namespace

GivenModel given_model(nb::handle model) {
  if (nb::isinstance<nb::bytes>(model)) return bytes_model(nb::borrow<nb::bytes>(model));
  if (PyUnicode_Check(model.ptr()) || nb::hasattr(model, "__fspath__"))
    return {{}, ModelSource(path_text(model))};
  if (nb::hasattr(model, "SerializeToString"))
    return bytes_model(nb::bytes(model.attr("SerializeToString")()));
  if (PyObject_CheckBuffer(model.ptr()) != 0) {
    return bytes_model(nb::bytes(nb::borrow(model)));
  }
  throw Error(Code::kInvalidArgument,
              "model: expected a path, bytes or an onnx.ModelProto, found " + described(model));
}

GivenConfig given_config(nb::handle config) {
  if (config.is_none()) return {};
  if (PyDict_Check(config.ptr())) return {json_text(config), {}};
  const bool is_text = PyUnicode_Check(config.ptr());
  if (is_text) {
    auto text = nb::cast<std::string>(config);
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // written by some editors
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start != std::string::npos && text[start] == '{') return {text, "config"};
  }
  if (is_text || nb::hasattr(config, "__fspath__")) return read_config(path_text(config));
  throw Error(
      Code::kInvalidArgument,
      "config: expected a dict, JSON text or the path of a JSON file, found " + described(config));
}

SessionSetup session_setup(const std::optional<std::string>& device, nb::handle config) {
  SessionSetup setup;
  if (device) {
    // An empty string means no device to the core, but is an error here: Device::parse() throws.
    if (device->empty()) Device::parse(*device);
    setup.options.device = *device;
  }
  GivenConfig given = given_config(config);
  if (concerns_runtime(given.json)) {
    setup.runtime = std::move(given);
  } else {
    setup.options.config_json = std::move(given.json);
    setup.options.config_file = std::move(given.file);
  }
  return setup;
}

std::vector<std::string> names_given(nb::handle outputs) {
  if (PyUnicode_Check(outputs.ptr()) || PySequence_Check(outputs.ptr()) == 0) {
    throw Error(Code::kInvalidArgument,
                "outputs: expected a list of names or None, found " + described(outputs));
  }
  std::vector<std::string> names;
  for (const nb::handle item : outputs) {
    if (!PyUnicode_Check(item.ptr())) {
      throw Error(Code::kInvalidArgument,
                  "outputs: expected names of outputs (str), found " + described(item));
    }
    names.push_back(nb::cast<std::string>(item));
  }
  return names;
}

nb::dict dict_given(const std::string& role, nb::handle given) {
  if (PyDict_Check(given.ptr())) return nb::borrow<nb::dict>(given);
  if (!nb::isinstance(given, nb::module_::import_("collections.abc").attr("Mapping"))) {
    throw Error(Code::kInvalidArgument, role + "s: expected a dict from " + role +
                                            " names to arrays, found " + described(given));
  }
  nb::dict dict;
  dict.update(given);
  return dict;
}

void set_changes(SessionOptions& options, nb::handle outputs, nb::handle initializers) {
  if (!outputs.is_none()) options.outputs = names_given(outputs);
  if (!initializers.is_none()) options.initializers = tensors_given(initializers);
}

}  // namespace gantry::python
