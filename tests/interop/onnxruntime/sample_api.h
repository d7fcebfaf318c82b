// SPDX-License-Identifier: Apache-2.0
// What a library of operators for ONNX Runtime sees of it, written for the tests from the published
// interface and independent of what gantry declares: the same library runs in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sample {

using Handle = void*;  // each opaque object of the API

/// OrtCustomOp as of version 17.
struct CustomOp {
  uint32_t version = 17;
  Handle (*create_kernel)(const CustomOp*, Handle api, Handle info) = nullptr;
  const char* (*name)(const CustomOp*) = nullptr;
  const char* (*provider)(const CustomOp*) = nullptr;
  int (*input_type)(const CustomOp*, size_t) = nullptr;
  size_t (*input_count)(const CustomOp*) = nullptr;
  int (*output_type)(const CustomOp*, size_t) = nullptr;
  size_t (*output_count)(const CustomOp*) = nullptr;
  void (*compute)(Handle kernel, Handle context) = nullptr;
  void (*destroy)(Handle kernel) = nullptr;
  int (*input_arity)(const CustomOp*, size_t) = nullptr;
  int (*output_arity)(const CustomOp*, size_t) = nullptr;
  int (*input_memory)(const CustomOp*, size_t) = nullptr;
  int (*least_inputs)(const CustomOp*) = nullptr;
  int (*inputs_alike)(const CustomOp*) = nullptr;
  int (*least_outputs)(const CustomOp*) = nullptr;
  int (*outputs_alike)(const CustomOp*) = nullptr;
  Handle (*try_create_kernel)(const CustomOp*, Handle api, Handle info, Handle* kernel) = nullptr;
  Handle (*try_compute)(Handle kernel, Handle context) = nullptr;
  Handle (*infer_shapes)(const CustomOp*, Handle) = nullptr;
  int (*first_version)(const CustomOp*) = nullptr;
  int (*last_version)(const CustomOp*) = nullptr;
};

/// OrtAllocator.
struct Allocator {
  uint32_t version;
  void* (*allocate)(Allocator*, size_t);
  void (*release)(Allocator*, void*);
  Handle (*info)(const Allocator*);
  void* more[5];  // of later versions
};

struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

/// Calls the function in a slot of the table.
template <class Result = Handle, class... Arguments>
Result call(size_t slot, Arguments... arguments);

enum Type { kAny = 0, kFloat = 1, kInt32 = 6, kInt64 = 7, kString = 8 };

inline void* const*& table() {
  static void* const* slots = nullptr;
  return slots;
}

template <class Result, class... Arguments>
Result call(size_t slot, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(table()[slot])(arguments...);
}

/// The message of a status that a call returned, which is released; empty: it is null.
inline std::string message_of(Handle status) {
  if (!status) return {};
  std::string text = call<const char*>(2, status);
  call<void>(93, status);
  return text;
}

/// Throws the message of a status.
inline void check(Handle status) {
  if (status) throw message_of(status);
}

inline Handle fail(const std::string& message) { return call(0, 1, message.c_str()); }

/// A text that is asked for twice: for its size, then for its bytes.
template <class... Arguments>
std::string text_of(size_t slot, Arguments... arguments) {
  size_t bytes = 0;
  const std::string reason =
      message_of(call(slot, arguments..., static_cast<char*>(nullptr), &bytes));
  if (!reason.empty()) return "absent";
  std::string text(bytes, '\0');
  check(call(slot, arguments..., text.data(), &bytes));
  text.resize(bytes - 1);
  return text;
}

/// Element type and extents of a type object.
inline std::string shape_text(Handle type) {
  int dtype = 0;
  size_t rank = 0;
  check(call(60, type, &dtype));
  check(call(61, type, &rank));
  std::vector<int64_t> extents(rank);
  check(call(62, type, extents.data(), rank));
  std::string text = std::to_string(dtype) + "[";
  for (const int64_t extent : extents) text += std::to_string(extent) + ",";
  return text + "]";
}

inline std::vector<int64_t> shape_of(Handle value) {
  Handle type = nullptr;
  check(call(65, value, &type));
  size_t rank = 0;
  check(call(61, type, &rank));
  std::vector<int64_t> extents(rank);
  check(call(62, type, extents.data(), rank));
  call<void>(99, type);
  return extents;
}

inline size_t count_of(Handle value) {
  Handle type = nullptr;
  size_t count = 0;
  check(call(65, value, &type));
  check(call(64, type, &count));
  call<void>(99, type);
  return count;
}

inline Handle input(Handle context, size_t index) {
  Handle value = nullptr;
  check(call(90, context, index, &value));
  return value;
}

inline Handle output(Handle context, size_t index, const std::vector<int64_t>& shape) {
  Handle value = nullptr;
  check(call(91, context, index, shape.data(), shape.size(), &value));
  return value;
}

template <class T>
T* data(Handle value) {
  void* memory = nullptr;
  check(call(51, value, &memory));
  return static_cast<T*>(memory);
}

inline std::vector<std::string> strings(Handle value) {
  size_t bytes = 0;
  check(call(53, value, &bytes));
  std::vector<size_t> offsets(count_of(value) + 1, bytes);
  std::string all(bytes, '\0');
  check(call(54, value, all.data(), bytes, offsets.data(), offsets.size() - 1));
  std::vector<std::string> texts;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    texts.push_back(all.substr(offsets[i], offsets[i + 1] - offsets[i]));
  return texts;
}

inline void set_strings(Handle value, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  check(call(52, value, pointers.data(), pointers.size()));
}

}  // namespace sample
