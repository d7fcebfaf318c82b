// SPDX-License-Identifier: Apache-2.0
// Errors at the provider boundary: gantry::Error on our side, the opaque gantry_error on theirs,
// and the two ways across. Any thread.
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

/// A boundary error. Never null and never throws: without memory it is a shared OUT_OF_MEMORY
/// object.
gantry_error* make_error(Code code, std::string_view message) noexcept;
/// The boundary error for the exception being handled; call it in a catch block.
gantry_error* error_of_current_exception() noexcept;

/// The parts of a boundary error; null is OK and the empty message.
Code code_of(const gantry_error* error) noexcept;
std::string_view message_of(const gantry_error* error) noexcept;
void release_error(gantry_error* error) noexcept;

/// Releases `error` and throws its copy with `context` in front. Requires error != nullptr.
[[noreturn]] void throw_error(gantry_error* error, const std::string& context);

/// Throws if a boundary call returned an error, which is consumed. `context` is text, or a callable
/// that makes text and is only called on failure.
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

/// Calls a provider's function, which may not throw and may do it all the same:
/// its error, or the one that says what it threw.
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

/// Runs `function` for a provider: null, or the boundary error for what it threw.
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
