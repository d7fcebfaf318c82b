// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/library.h"

#include <gantry/sdk/error.h>

#include <dlfcn.h>
#include <utility>

#include "custom_ops/kernel_info.h"
#include "custom_ops/run_context.h"
#include "objects/api_table.h"

namespace gantry::ort {
namespace {

/// OrtCustomOpDomain. Libraries keep theirs, and release them when the process ends.
struct Domain {
  std::string name;
  std::vector<const CustomOp*> ops;
};

/// OrtSessionOptions: what a library registers its domains with.
struct Registration {
  std::vector<const Domain*> domains;
};

Status* create_domain(const char* name, Domain** out) {
  return guarded([&] { *out = new Domain{name, {}}; });
}
Status* add_op(Domain* domain, const CustomOp* op) {
  return guarded([&] { domain->ops.push_back(op); });
}
Status* add_domain(Registration* registration, const Domain* domain) {
  return guarded([&] { registration->domains.push_back(domain); });
}
void release_domain(Domain* domain) { delete domain; }

Status* has_config_entry(const Registration*, const char*, int* out) {
  *out = 0;
  return nullptr;
}

const char* version_text() noexcept { return kVersionText; }
const char* build_text() { return "gantry"; }
const ApiTable* get_api(uint32_t version) noexcept {
  return version >= 1 && version <= kApiVersion ? &api_table() : nullptr;
}
constexpr ApiBase kApiBase = {get_api, version_text};

using RegisterCustomOps = Status* (*)(Registration* registration, const ApiBase* api);

RegisterCustomOps entry_of(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const std::string reason = dlerror();
    const bool is_of_python = reason.find("undefined symbol: Py") != std::string::npos ||
                              reason.find("undefined symbol: _Py") != std::string::npos;
    throw sdk::Error(GANTRY_NOT_FOUND,
                     "the library of operators \"" + path + "\" cannot be opened: " + reason +
                         (is_of_python ? "; it is a module of Python, which opens in a process of "
                                         "Python alone"
                                       : ""));
  }
  void* entry = dlsym(handle, "RegisterCustomOps");
  if (!entry) {
    throw sdk::Error(GANTRY_NOT_FOUND, "\"" + path +
                                           "\": expected a library of operators for ONNX Runtime, "
                                           "found one without the function RegisterCustomOps");
  }
  return reinterpret_cast<RegisterCustomOps>(entry);
}

}  // namespace

const ApiTable& api_table() {
  // Never destroyed: libraries call it from their own destructors.
  static const ApiTable* const table = [] {
    auto* made = new ApiTable;
    add_status_functions(*made);
    add_memory_functions(*made);
    add_logger_functions(*made);
    add_value_functions(*made);
    add_type_functions(*made);
    add_kernel_info_functions(*made);
    add_run_context_functions(*made);
    made->set(Slot::kCreateCustomOpDomain, create_domain);
    made->set(Slot::kCustomOpDomainAdd, add_op);
    made->set(Slot::kAddCustomOpDomain, add_domain);
    made->set(Slot::kReleaseCustomOpDomain, release_domain);
    made->set(Slot::kHasSessionConfigEntry, has_config_entry);
    made->set(Slot::kGetBuildInfoString, build_text);
    return made;
  }();
  return *table;
}

DeclaredOps register_operators(const std::string& path) {
  const RegisterCustomOps entry = entry_of(path);
  Registration registration;
  DeclaredOps all;
  Status* status = guarded([&] {
    expect_success(entry(&registration, &kApiBase));
    for (const Domain* domain : registration.domains) {
      for (const CustomOp* op : domain->ops) {
        auto declared = std::make_shared<const DeclaredOp>(domain->name, *op);
        if (declared->is_for_cpu()) all.push_back(std::move(declared));
      }
    }
  });
  if (!status) return all;
  const std::unique_ptr<Status, void (*)(Status*)> owned(status, release_status);
  throw sdk::Error(GANTRY_INTERNAL, "the library of operators \"" + path + "\": " + owned->message);
}

}  // namespace gantry::ort
