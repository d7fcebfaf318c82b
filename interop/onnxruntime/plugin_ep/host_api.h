// SPDX-License-Identifier: Apache-2.0
// The functions of the ONNX Runtime that has loaded this library. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "objects/execution_provider.h"
#include "objects/slots.h"
#include "objects/status.h"

namespace gantry::ort {

class HostApi {
 public:
  /// `base`: the OrtApiBase that ONNX Runtime gives to the library.
  explicit HostApi(const void* base);

  /// False: an ONNX Runtime before 1.24, which has not all that is needed here; only fail() may be
  /// called.
  [[nodiscard]] bool is_new_enough() const { return is_new_enough_; }
  /// "1.24.0".
  [[nodiscard]] const std::string& version() const { return version_; }

  /// Calls a function that returns a status. The arguments must have the function's own types, but
  /// for the constness of what they point to. Throws ApiError with the status's code and message.
  template <class... Args>
  void call(Slot slot, Args... args) const {
    expect_success(function<host::Status*, Args...>(slot)(args...));
  }
  /// Calls a function that returns something else.
  template <class Result, class... Args>
  Result get(Slot slot, Args... args) const {
    return function<Result, Args...>(slot)(args...);
  }
  /// Calls a function with one more argument, by which it returns a T.
  template <class T, class... Args>
  T value(Slot slot, Args... args) const {
    T out = {};
    call(slot, args..., &out);
    return out;
  }
  /// A text, which the API gives as a pointer; "" if that is null.
  template <class Object>
  [[nodiscard]] std::string text(Slot slot, const Object* object) const {
    const auto* found = value<const char*>(slot, object);
    return found ? found : "";
  }
  /// All of an object's parts: `items` writes as many pointers as `count` says.
  template <class T, class Object>
  [[nodiscard]] std::vector<const T*> list(Slot count, Slot items, const Object* object) const {
    std::vector<const T*> all(value<size_t>(count, object));
    if (!all.empty()) call(items, object, all.data(), all.size());
    return all;
  }

  /// A status of ONNX Runtime's, which takes it over.
  [[nodiscard]] host::Status* fail(ErrorCode code, const char* message) const noexcept;
  /// Throws ApiError if there is a status, which is released.
  void expect_success(host::Status* status) const;
  [[nodiscard]] const EpApi& providers() const { return *providers_; }

 private:
  template <class Result, class... Args>
  [[nodiscard]] auto function(Slot slot) const {
    return reinterpret_cast<Result (*)(Args...)>(table_[static_cast<size_t>(slot)]);
  }

  void* const* table_ = nullptr;
  const EpApi* providers_ = nullptr;
  bool is_new_enough_ = false;
  std::string version_;
};

/// The status of what is being handled by a catch clause.
host::Status* status_of_exception(const HostApi& api) noexcept;

/// Runs `function` and returns null, or a status of ONNX Runtime's if it throws.
template <class Function>
host::Status* guarded_by(const HostApi& api, Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (...) {
    return status_of_exception(api);
  }
}

/// An object of ONNX Runtime's that is released at the end of the scope.
template <class T>
class Owned {
 public:
  Owned(const HostApi& api, Slot release, T* object)
      : api_(api), release_(release), object_(object) {}
  ~Owned() { api_.get<void>(release_, object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] T* get() const { return object_; }

 private:
  const HostApi& api_;
  Slot release_;
  T* object_;
};

}  // namespace gantry::ort
