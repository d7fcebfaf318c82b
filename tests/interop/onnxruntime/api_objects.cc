// SPDX-License-Identifier: Apache-2.0
#include "api_objects.h"

namespace program {

Handle allocator() {
  Handle found = nullptr;
  check(call(kGetDefaultAllocator, &found));
  return found;
}

std::string taken(char* text) {
  if (!text) return "(none)";
  std::string copy = text;
  check(call(kAllocatorFree, allocator(), text));
  return copy;
}

int code_of(Handle status) {
  if (!status) return 0;
  const int code = call<int>(kGetErrorCode, status);
  call<void>(kReleaseStatus, status);
  return code;
}

void print_tensor_info(Handle info) {
  int type = 0;
  size_t rank = 0;
  check(call(kGetElementType, info, &type));
  check(call(kGetDimensionsCount, info, &rank));
  std::vector<int64_t> extents(rank);
  std::vector<const char*> symbols(rank);
  check(call(kGetDimensions, info, extents.data(), rank));
  check(call(kGetSymbolicDimensions, info, symbols.data(), rank));
  std::cout << "tensor of " << type << " [";
  for (size_t i = 0; i < rank; ++i) std::cout << ' ' << extents[i] << symbols[i];
  std::cout << " ]";
}

void print_type(Handle info) {
  int kind = 0;
  check(call(kGetOnnxType, info, &kind));
  Handle part = nullptr;
  if (kind == kTensor) {
    check(call(kCastToTensorInfo, info, &part));
    print_tensor_info(part);
    return;
  }
  std::cout << "kind " << kind;
}

void print_items(Handle value) {
  size_t count = 0;
  check(call(kGetValueCount, value, &count));
  std::cout << '{';
  for (size_t i = 0; i < count; ++i) {
    Handle item = nullptr;
    check(call(kGetValue, value, static_cast<int>(i), allocator(), &item));
    print_value(item);
    std::cout << ';';
    call<void>(kReleaseValue, item);
  }
  std::cout << '}';
}

void print_value(Handle value) {
  int kind = 0;
  check(call(kGetValueType, value, &kind));
  if (kind != kTensor) return print_items(value);
  Handle info = nullptr;
  check(call(kGetTensorTypeAndShape, value, &info));
  print_tensor_info(info);
  int type = 0;
  size_t count = 0;
  check(call(kGetElementType, info, &type));
  check(call(kGetElementCount, info, &count));
  call<void>(kReleaseTensorInfo, info);
  for (size_t i = 0; i < std::min<size_t>(count, 12); ++i) {
    if (type == sample::kString) {
      size_t length = 0;
      check(call(kGetStringLength, value, i, &length));
      std::string element(length, ' ');
      check(call(kGetString, value, length, i, element.data()));
      std::cout << ' ' << element;
      continue;
    }
    void* data = nullptr;
    check(call(kGetTensorMutableData, value, &data));
    if (type == sample::kFloat) std::cout << ' ' << static_cast<float*>(data)[i];
    if (type == sample::kInt64) std::cout << ' ' << static_cast<int64_t*>(data)[i];
  }
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& each : texts) all.push_back(each.c_str());
  return all;
}

Handle input_of(const Session& s, size_t index) {
  Handle info = nullptr;
  Handle tensor = nullptr;
  check(call(kGetInputTypeInfo, s.session, index, &info));
  check(call(kCastToTensorInfo, info, &tensor));
  int type = 0;
  size_t rank = 0;
  check(call(kGetElementType, tensor, &type));
  check(call(kGetDimensionsCount, tensor, &rank));
  std::vector<int64_t> shape(rank);
  check(call(kGetDimensions, tensor, shape.data(), rank));
  call<void>(kReleaseTypeInfo, info);
  size_t count = 1;
  for (int64_t& extent : shape) {
    if (extent < 0) extent = 2;
    count *= static_cast<size_t>(extent);
  }
  Handle value = nullptr;
  check(call(kCreateTensor, allocator(), shape.data(), rank, type, &value));
  if (type == sample::kString) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back("text " + std::to_string(i));
    check(call(kFillStringTensor, value, pointers(texts).data(), count));
    return value;
  }
  void* data = nullptr;
  check(call(kGetTensorMutableData, value, &data));
  for (size_t i = 0; i < count; ++i) {
    if (type == sample::kFloat) static_cast<float*>(data)[i] = static_cast<float>(i % 7);
    if (type == sample::kInt64) static_cast<int64_t*>(data)[i] = static_cast<int64_t>(i % 7);
  }
  return value;
}

void print_run(const Session& s) {
  const Feed feed(s);
  std::vector<Handle> results(feed.outputs.size());
  check(feed.run(s, nullptr, results));
  for (size_t i = 0; i < results.size(); ++i) {
    std::cout << feed.outputs[i] << ": ";
    print_value(results[i]);
    std::cout << '\n';
    call<void>(kReleaseValue, results[i]);
  }
}

}  // namespace program
