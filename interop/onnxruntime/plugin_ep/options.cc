// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/options.h"

#include <algorithm>
#include <cctype>
#include <onnx/onnx_pb.h>
#include <span>
#include <string_view>

namespace gantry::ort {
namespace {

namespace onnx = ONNX_NAMESPACE;

constexpr int kOpset = 17;  // any that gantry has

/// ONNX Runtime puts this before the names of a provider's options.
std::string prefix() {
  std::string text = std::string("ep.") + kEpName + ".";
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

}  // namespace

EpOptions read_options(const HostApi& api, const host::Settings* settings) {
  const Owned<host::KeyValues> pairs(
      api, Slot::kReleaseKeyValuePairs,
      api.value<host::KeyValues*>(Slot::kGetSessionOptionsConfigEntries, settings));
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  api.get<void>(Slot::kGetKeyValuePairs, pairs.get(), &keys, &values, &count);
  EpOptions options;
  const std::string own = prefix();
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key == "ep.context_enable" && std::string_view(values[i]) == "1") {
      throw ApiError(ErrorCode::kNotImplemented,
                     std::string(kEpName) +
                         ": the session is to write a model with compiled nodes "
                         "(ep.context_enable), which gantry makes none of; leave that option out");
    }
    if (key.compare(0, own.size(), own) != 0) continue;
    const std::string name = key.substr(own.size());
    if (name == "device") {
      options.device = values[i];
    } else if (name == "config") {
      options.config = values[i];
    } else {
      throw ApiError(ErrorCode::kInvalidArgument, std::string(kEpName) + ": there is no option \"" +
                                                      name +
                                                      "\"; its options are \"device\", a device "
                                                      "string, and \"config\", the text of a "
                                                      "configuration");
    }
  }
  return options;
}

SessionOptions session_options(const EpOptions& options) {
  SessionOptions made;
  made.device = options.device;
  made.config_json = options.config;
  return made;
}

void require_valid(Runtime& runtime, const EpOptions& options) {
  onnx::ModelProto model;
  model.set_ir_version(onnx::IR_VERSION);
  model.add_opset_import()->set_version(kOpset);
  model.mutable_graph()->set_name("nothing");
  const std::string bytes = model.SerializeAsString();
  check(runtime, {std::as_bytes(std::span(bytes)), {}}, session_options(options));
}

}  // namespace gantry::ort
