// SPDX-License-Identifier: Apache-2.0
#include "plugin/error.h"

#include <new>

struct gantry_error {
  gantry::Code code;
  std::string message;
};

namespace gantry {
namespace {

// Returned when there is no memory for an error object; never released.
gantry_error& out_of_memory() {
  static gantry_error error{Code::kOutOfMemory, "out of memory"};
  return error;
}

Code known(Code code) {
  const auto number = static_cast<uint32_t>(code);
  return number > 0 && number <= static_cast<uint32_t>(Code::kInternal) ? code : Code::kInternal;
}

}  // namespace

gantry_error* make_error(Code code, std::string_view message) noexcept {
  try {
    return new gantry_error{known(code), std::string(message)};
  } catch (...) {
    return &out_of_memory();
  }
}

gantry_error* error_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return make_error(error.code(), error.message());
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  } catch (const std::exception& error) {
    return make_error(Code::kInternal, error.what());
  } catch (...) {
    return make_error(Code::kInternal, "something was thrown that is no std::exception");
  }
}

Code code_of(const gantry_error* error) noexcept { return error ? error->code : Code::kOk; }

std::string_view message_of(const gantry_error* error) noexcept {
  return error ? std::string_view(error->message) : std::string_view();
}

void release_error(gantry_error* error) noexcept {
  if (error != &out_of_memory()) delete error;
}

void throw_error(gantry_error* error, const std::string& context) {
  Error copy(code_of(error), std::string(message_of(error)));
  release_error(error);
  throw context.empty() ? copy : copy.in(context);
}

}  // namespace gantry
