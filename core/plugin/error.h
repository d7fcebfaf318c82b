// SPDX-License-Identifier: Apache-2.0
// Converts between gantry::Error and the opaque gantry_error of the provider boundary. Any thread.
#pragma once

#include <gantry/error.h>
#include <gantry/provider.h>

#include <string>
#include <string_view>
#include <utility>

namespace gantry {

inline gantry_str to_str(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view to_view(gantry_str text) noexcept {
  return text.data ? std::string_view(text.data, text.length) : std::string_view();
}

/// Makes a boundary error. Never null and never throws: if there is no memory, returns a shared
/// OUT_OF_MEMORY object.
gantry_error* make_error(Code code, std::string_view message) noexcept;
/// The boundary error for the exception being handled; call it in a catch block.
gantry_error* error_of_current_exception() noexcept;

/// The parts of a boundary error; null is OK and the empty message.
Code code_of(const gantry_error* error) noexcept;
std::string_view message_of(const gantry_error* error) noexcept;
void release_error(gantry_error* error) noexcept;

/// Releases `error` and throws its copy with `context` in front. Requires error != nullptr.
[[noreturn]] void throw_error(gantry_error* error, const std::string& context);

/// Throws if a boundary call returned an error, and releases the error. `context` is a text, or a
/// function that returns a text and is called on failure only.
inline void throw_if(gantry_error* error) {
  if (error) [[unlikely]]
    throw_error(error, {});
}
inline void throw_if(gantry_error* error, const char* context) {
  if (error) [[unlikely]]
    throw_error(error, context);
}
inline void throw_if(gantry_error* error, const std::string& context) {
  if (error) [[unlikely]]
    throw_error(error, context);
}
template <class Context>
requires requires(Context context) { std::string(context()); }
void throw_if(gantry_error* error, Context&& context) {
  if (error) [[unlikely]]
    throw_error(error, std::forward<Context>(context)());
}

/// Calls a provider's function and returns its error. If it throws against the rules of the
/// boundary, returns an INTERNAL error.
template <class Call>
gantry_error* contain(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& error) {
    return make_error(
        Code::kInternal,
        std::string("the provider let an exception cross the boundary: ") + error.what());
  } catch (...) {
    return make_error(Code::kInternal, "the provider let an exception cross the boundary");
  }
}

/// Runs `function` for a provider; returns null, or the boundary error for its exception.
template <class Function>
gantry_error* guard(Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (...) {
    return error_of_current_exception();
  }
}

}  // namespace gantry
