// SPDX-License-Identifier: Apache-2.0
// Errors inside a provider: one exception type, and the guard that turns every exception into the
// host's error object, so that no exception crosses the boundary. Any thread.
#pragma once

#include <gantry/provider.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::sdk {

/// Thrown by provider code to fail a call. The message names the subject, what was expected and
/// what was found.
class Error : public std::exception {
 public:
  Error(gantry_code code, std::string message) : code_(code), message_(std::move(message)) {}
  [[nodiscard]] gantry_code code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  gantry_code code_;
  std::string message_;
};

inline gantry_str to_str(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view to_view(gantry_str text) noexcept {
  return text.data ? std::string_view(text.data, text.length) : std::string_view();
}

/// Runs `function` and returns null, or a host error object if it throws: an Error with its own
/// code, std::bad_alloc as OUT_OF_MEMORY, every other exception as INTERNAL.
template <class Function>
gantry_error* guard(const gantry_host* host, Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (const Error& error) {
    return host->error_create(error.code(), to_str(error.what()));
  } catch (const std::bad_alloc&) {
    return host->error_create(GANTRY_OUT_OF_MEMORY, to_str("the provider ran out of host memory"));
  } catch (const std::exception& error) {
    return host->error_create(GANTRY_INTERNAL, to_str(error.what()));
  } catch (...) {
    return host->error_create(GANTRY_INTERNAL,
                              to_str("the provider threw something that is no std::exception"));
  }
}

/// The opposite direction: if a host function returned an error, releases it and throws an Error of
/// the same code and message.
inline void check(const gantry_host* host, gantry_error* error) {
  if (!error) return;
  Error copy(static_cast<gantry_code>(host->error_code(error)),
             std::string(to_view(host->error_message(error))));
  host->error_release(error);
  throw copy;
}

}  // namespace gantry::sdk
