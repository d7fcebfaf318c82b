// SPDX-License-Identifier: Apache-2.0
#include "plugin/library.h"

#include <gantry/error.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"

// clang-format off: library_info.hpp lacks an include of <vector>, which must come first
#define BOOST_DLL_USE_STD_FS  // no need to link Boost.Filesystem
#include <boost/dll/library_info.hpp>
#include <boost/dll/shared_library.hpp>
// clang-format on

#include "base/names.h"
#include "base/process_state.h"
#include "plugin/discovery/loader_error.h"

namespace gantry {
namespace {

struct OpenLibraries {
  static constexpr ProcessState kState = ProcessState::kOpenLibraries;

  Mutex mutex;  // held while a library is opened, too
  std::vector<boost::dll::shared_library> all GANTRY_GUARDED_BY(mutex);
};

OpenLibraries& open_libraries() { return process_state<OpenLibraries>(); }

// Exports with "gantry" in their name, for the message of a missing entry: first those that differ
// from it in their ending only.
std::string similar_exports(const std::string& path) {
  std::vector<std::string> similar;
  try {
    boost::dll::library_info info(path);
    for (const std::string& symbol : info.symbols()) {
      if (symbol.find("gantry") != std::string::npos) similar.push_back(symbol);
    }
  } catch (const std::exception&) {
    return {};  // the message does without them
  }
  constexpr size_t kShown = 5;
  std::stable_partition(similar.begin(), similar.end(), [](const std::string& symbol) {
    return symbol.starts_with("gantry_provider");
  });
  if (similar.size() > kShown) similar.resize(kShown);
  return similar.empty() ? "" : "; it exports " + list_names(similar);
}

}  // namespace

gantry_provider_entry open_library(const std::string& absolute_path, const FileIdentity& checked) {
  OpenLibraries& open = open_libraries();
  const MutexLock lock(open.mutex);
  boost::dll::shared_library library;
  try {
    // RTLD_NOW: a missing symbol must fail here and not end the process at the first call.
    // RTLD_LOCAL is the default.
    library.load(std::filesystem::path(absolute_path), boost::dll::load_mode::rtld_now);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(code_of_loader_error(error.what()),
                absolute_path + ": the library could not be opened: " + error.what());
  }
  const bool has_entry = library.has(kEntryName);
  gantry_provider_entry entry = nullptr;
  if (has_entry) entry = &library.get<std::remove_pointer_t<gantry_provider_entry>>(kEntryName);
  // Not closed even if it is refused: its initialisers have run, and may have started threads that
  // use its code.
  open.all.push_back(std::move(library));
  if (FileIdentity::of(absolute_path) != checked) {
    throw Error(Code::kUnavailable,
                absolute_path +
                    ": the file was replaced while it was being opened; nothing "
                    "of it is used. Try again when its installation is over");
  }
  if (!entry) {
    throw Error(Code::kAbiMismatch, absolute_path + ": expected the exported symbol " + kEntryName +
                                        ", found none" + similar_exports(absolute_path) +
                                        "; GANTRY_DEFINE_PROVIDER(Class) exports it");
  }
  return entry;
}

}  // namespace gantry
