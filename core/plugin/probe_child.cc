// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/discovery/manifest.h"
#include "plugin/library.h"
#include "plugin/probe.h"
#include "plugin/provider.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr int kVerdictDescriptor = 3;

void tell(const json& line) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(kVerdictDescriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // the parent process has ended
    done += static_cast<size_t>(wrote);
  }
}

void open_and_close(const json& request) {
  const Manifest manifest =
      parse_manifest(request.at("manifest"), request.at("manifest_file"), false);
  PluginProvider::Origin origin;
  origin.library = request.at("library");
  origin.options = request.at("options");
  tell({{"stage", "load"}});
  origin.entry = open_library(origin.library, FileIdentity::of(origin.library));
  const PluginProvider provider(manifest, origin, [](const char* stage) {
    tell({{"stage", stage}});
  });
  tell({{"stage", "destroy"}});
}

}  // namespace

int run_probe_child() {
  prctl(PR_SET_PDEATHSIG, 9);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a crash is possible here, and its core file of no use
  try {
    const std::string text((std::istreambuf_iterator<char>(std::cin)),
                           std::istreambuf_iterator<char>());
    open_and_close(json::parse(text));
    tell({{"code", 0}, {"message", ""}});
  } catch (const Error& error) {
    tell({{"code", static_cast<uint32_t>(error.code())}, {"message", error.message()}});
  } catch (const std::exception& error) {
    tell({{"code", static_cast<uint32_t>(Code::kInternal)}, {"message", error.what()}});
  }
  return 0;  // a normal exit, which tests the library's exit handlers too
}

}  // namespace gantry
