// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <gantry/sdk/error.h>

#include <dlfcn.h>

namespace gantry_openvino {

namespace sdk = gantry::sdk;

const Library& Library::open(const std::string& path) {
  static const auto* const library = new Library(path);  // its threads outlive static objects
  return *library;
}

Library::Library(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw sdk::Error(GANTRY_UNAVAILABLE,
                     std::string("OpenVINO's C library cannot be opened (") +
                         (reason ? reason : path) +
                         "); install OpenVINO, or set the provider's option \"library\"");
  }
// NOLINTBEGIN(bugprone-macro-parentheses): the argument is the name of a member
#define GANTRY_OPENVINO_LOAD(function)                                                     \
  function = reinterpret_cast<decltype(function)>(dlsym(handle, #function));               \
  if (!function) {                                                                         \
    throw sdk::Error(GANTRY_UNAVAILABLE, path + " has no function " #function              \
                                                "; OpenVINO 2025.1 or newer is expected"); \
  }
  GANTRY_OPENVINO_FUNCTIONS(GANTRY_OPENVINO_LOAD);
#undef GANTRY_OPENVINO_LOAD
  // NOLINTEND(bugprone-macro-parentheses)
}

void Library::check(ov_status_e status, const std::string& subject) const {
  if (status == OK) return;
  const char* const said = ov_get_last_err_msg();
  std::string message = said ? said : "no reason is given";
  if (said) ov_free(said);
  for (char& letter : message) {
    if (letter == '\n') letter = ' ';
  }
  constexpr size_t kMost = 600;
  if (message.size() > kMost) message.resize(kMost);
  throw sdk::Error(GANTRY_UNSUPPORTED, subject + ": OpenVINO says: " + message);
}

std::string Library::version() const {
  ov_version_t version = {};
  check(ov_get_openvino_version(&version), "the version");
  std::string text = version.buildNumber ? version.buildNumber : "";
  ov_version_free(&version);
  return text.substr(0, text.find('-'));
}

}  // namespace gantry_openvino
