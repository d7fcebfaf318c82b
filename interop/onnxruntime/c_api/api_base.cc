// SPDX-License-Identifier: Apache-2.0
// libonnxruntime.so.1 over gantry: the one function that programs look for, and the table that it
// leads to. Any thread.
#include "c_api/environment.h"
#include "c_api/export.h"
#include "c_api/run_options.h"
#include "c_api/session.h"
#include "c_api/session_options.h"
#include "c_api/values.h"
#include "objects/api_table.h"

namespace gantry::ort {
namespace {

ApiTable filled_table() {
  ApiTable table;
  add_status_functions(table);
  add_memory_functions(table);
  add_value_functions(table);
  add_type_functions(table);
  add_key_value_functions(table);
  add_container_functions(table);
  add_environment_functions(table);
  add_session_options_functions(table);
  add_provider_functions(table);
  add_session_functions(table);
  add_metadata_functions(table);
  add_run_options_functions(table);
  add_run_functions(table);
  add_binding_functions(table);
  return table;
}

const ApiTable* get_api(uint32_t version) noexcept {
  static const ApiTable table = filled_table();
  return version >= 1 && version <= kApiVersion ? &table : nullptr;
}
const char* get_version() noexcept { return kVersionText; }

}  // namespace
}  // namespace gantry::ort

// NOLINTNEXTLINE(readability-identifier-naming): the name by which programs find it
GANTRY_ORT_EXPORT const void* OrtGetApiBase() noexcept {
  static const gantry::ort::ApiBase base = {gantry::ort::get_api, gantry::ort::get_version};
  return &base;
}
