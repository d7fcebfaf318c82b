// SPDX-License-Identifier: Apache-2.0
// A program that uses ONNX Runtime's C API, through a library whose path it is given: the tests run
// it with ONNX Runtime's own and with gantry's, and compare what it prints.
//
//   api_program LIBRARY SCENARIO MODEL [ARGUMENT]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api_objects.h"

namespace {

using namespace program;

/// What a program reads of a model: inputs, outputs, metadata.
int describe(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  const auto print = [&](const char* what, size_t counts, size_t names, size_t types) {
    const std::vector<std::string> all = s.names(counts, names);
    for (size_t i = 0; i < all.size(); ++i) {
      Handle info = nullptr;
      check(call(types, s.session, i, &info));
      std::cout << what << ' ' << all[i] << ": ";
      print_type(info);
      std::cout << '\n';
      call<void>(kReleaseTypeInfo, info);
    }
  };
  print("input", kGetInputCount, kGetInputName, kGetInputTypeInfo);
  print("overridable", kGetOverridableCount, kGetOverridableName, kGetOverridableTypeInfo);
  print("output", kGetOutputCount, kGetOutputName, kGetOutputTypeInfo);
  Handle info = nullptr;
  std::cout << "type past the end: "
            << code_of(call(kGetInputTypeInfo, s.session, size_t{99}, &info)) << '\n';
  Handle metadata = nullptr;
  check(call(kGetMetadata, s.session, &metadata));
  for (const size_t slot : {kGetProducer, kGetGraphName, kGetDomain, kGetDescription})
    std::cout << "metadata: " << text(slot, metadata) << '\n';
  int64_t version = 0;
  check(call(kGetVersion, metadata, &version));
  char** keys = nullptr;
  int64_t count = 0;
  check(call(kGetMetadataKeys, metadata, allocator(), &keys, &count));
  std::vector<std::string> sorted;
  for (int64_t i = 0; i < count; ++i) sorted.push_back(taken(keys[i]));
  if (keys) check(call(kAllocatorFree, allocator(), keys));
  std::sort(sorted.begin(), sorted.end());
  std::cout << "version " << version << '\n';
  sorted.emplace_back("no such key");
  for (const std::string& key : sorted) {
    char* value = nullptr;
    check(call(kLookupMetadata, metadata, allocator(), key.c_str(), &value));
    std::cout << key << " = " << taken(value) << '\n';
  }
  call<void>(kReleaseMetadata, metadata);
  return 0;
}

int run_model(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  print_run(s);
  return 0;
}

/// From bytes that are gone afterwards, with options that were cloned.
int run_bytes(const std::string& model, const std::string&) {
  Session s;
  check(call(kSetIntraOpNumThreads, s.options, 2));
  check(call(kSetGraphOptimizationLevel, s.options, 1));
  Handle clone = nullptr;
  check(call(kCloneSessionOptions, s.options, &clone));
  {
    std::ifstream file(model, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    check(call(kCreateSessionFromArray, s.env, bytes.data(), bytes.size(), clone, &s.session));
    std::fill(bytes.begin(), bytes.end(), '\0');
  }
  call<void>(kReleaseSessionOptions, clone);
  print_run(s);
  return 0;
}

/// Outputs in tensors of the program's, the second time over memory of the program's.
int run_in_place(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  const Feed feed(s);
  std::vector<Handle> first(feed.outputs.size());
  check(feed.run(s, nullptr, first));
  const std::vector<Handle> given = first;
  void* before = nullptr;
  void* after = nullptr;
  check(call(kGetTensorMutableData, first[0], &before));
  static_cast<float*>(before)[0] = -1;
  check(feed.run(s, nullptr, first));
  check(call(kGetTensorMutableData, first[0], &after));
  std::cout << "same values " << (given == first) << ", same memory " << (before == after) << '\n';
  print_value(first[0]);
  const int64_t wrong[] = {1};
  float memory[1] = {};
  Handle info = nullptr;
  check(call(kCreateCpuMemoryInfo, 1, 0, &info));
  Handle small = nullptr;
  check(call(kCreateTensorWithData, info, memory, sizeof(memory), wrong, size_t{1}, 1, &small));
  std::vector<Handle> misfit = {small};
  std::cout << "\ntoo small: " << (code_of(feed.run(s, nullptr, misfit)) != 0) << '\n';
  float* element = nullptr;
  const int64_t place[] = {0};
  check(call(kTensorAt, small, place, size_t{1}, &element));
  std::cout << "element " << (element == memory) << '\n';
  const int64_t outside[] = {1};
  std::cout << "outside " << (code_of(call(kTensorAt, small, outside, size_t{1}, &element)) != 0)
            << '\n';
  call<void>(kReleaseValue, small);
  call<void>(kReleaseMemoryInfo, info);
  for (Handle value : first) call<void>(kReleaseValue, value);
  return 0;
}

/// The output over the input, as a key-value cache.
int run_over(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  const Feed feed(s);
  std::vector<Handle> results = {feed.values[0]};
  for (int i = 0; i < 3; ++i) check(feed.run(s, nullptr, results));
  print_value(feed.values[0]);
  std::cout << '\n';
  return 0;
}

/// Codes of what goes wrong.
int errors(const std::string& model, const std::string&) {
  Session s;
  std::cout << "no file: "
            << code_of(call(kCreateSession, s.env, "none.onnx", s.options, &s.session)) << '\n';
  s.load(model);
  Feed feed(s);
  std::vector<Handle> results(feed.outputs.size());
  const std::vector<std::string> inputs = feed.inputs;
  feed.inputs[0] = "no such input";
  std::cout << "unknown input: " << code_of(feed.run(s, nullptr, results)) << '\n';
  feed.inputs = inputs;
  const std::vector<std::string> outputs = feed.outputs;
  feed.outputs[0] = "no such output";
  std::cout << "unknown output: " << code_of(feed.run(s, nullptr, results)) << '\n';
  feed.outputs = outputs;
  const int64_t shape[] = {1, 1, 1};
  Handle wrong = nullptr;
  check(call(kCreateTensor, allocator(), shape, size_t{3}, 1, &wrong));
  std::swap(feed.values[0], wrong);
  std::cout << "wrong rank: " << code_of(feed.run(s, nullptr, results)) << '\n';
  std::swap(feed.values[0], wrong);
  call<void>(kReleaseValue, wrong);
  Handle other = nullptr;
  const int64_t matrix[] = {2, 3};
  check(call(kCreateTensor, allocator(), matrix, size_t{2}, 7, &other));
  std::swap(feed.values[0], other);
  std::cout << "wrong type: " << code_of(feed.run(s, nullptr, results)) << '\n';
  std::swap(feed.values[0], other);
  call<void>(kReleaseValue, other);
  Handle options = nullptr;
  check(call(kCreateRunOptions, &options));
  const char* tag = nullptr;
  check(call(kSetRunTag, options, "a tag"));
  check(call(kGetRunTag, options, &tag));
  check(call(kAddRunConfigEntry, options, "a.key", "a value"));
  std::cout << "tag " << tag << ", entry "
            << call<const char*>(kGetRunConfigEntry, options, "a.key") << '\n';
  check(call(kSetTerminate, options));
  std::cout << "ended: " << (code_of(feed.run(s, options, results)) != 0) << '\n';
  check(call(kUnsetTerminate, options));
  check(feed.run(s, options, results));
  std::cout << "goes on: " << (results[0] != nullptr) << '\n';
  for (Handle value : results) call<void>(kReleaseValue, value);
  call<void>(kReleaseRunOptions, options);
  return 0;
}

/// `extent`: what the dimension "n" is fixed to.
int options(const std::string& model, const std::string& extent) {
  Session s;
  check(call(kOverrideByName, s.options, "n", static_cast<int64_t>(std::stoll(extent))));
  check(call(kAddConfigEntry, s.options, "a.key", "a value"));
  size_t size = 0;
  check(call(kGetConfigEntry, s.options, "a.key", static_cast<char*>(nullptr), &size));
  std::string value(size, ' ');
  check(call(kGetConfigEntry, s.options, "a.key", value.data(), &size));
  std::cout << "entry " << value.c_str() << " of " << size << '\n';
  float numbers[] = {10, 20, 30};
  const int64_t shape[] = {3};
  Handle info = nullptr;
  Handle weights = nullptr;
  check(call(kCreateCpuMemoryInfo, 1, 0, &info));
  check(call(kCreateTensorWithData, info, numbers, sizeof(numbers), shape, size_t{1}, 1, &weights));
  check(call(kAddInitializer, s.options, "w", weights));
  s.load(model);
  print_run(s);
  call<void>(kReleaseValue, weights);
  call<void>(kReleaseMemoryInfo, info);
  char** providers = nullptr;
  int count = 0;
  check(call(kGetProviders, &providers, &count));
  std::cout << "last provider " << providers[count - 1] << '\n';
  check(call(kReleaseProviders, providers, count));
  return 0;
}

int binding(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  const Feed feed(s);
  Handle bound = nullptr;
  Handle info = nullptr;
  check(call(kCreateBinding, s.session, &bound));
  check(call(kCreateCpuMemoryInfo, 1, 0, &info));
  for (size_t i = 0; i < feed.inputs.size(); ++i)
    check(call(kBindInput, bound, feed.inputs[i].c_str(), feed.values[i]));
  check(call(kBindOutputToDevice, bound, feed.outputs[0].c_str(), info));
  const auto print = [&] {
    check(call(kRunWithBinding, s.session, static_cast<Handle>(nullptr), bound));
    char* names = nullptr;
    size_t* lengths = nullptr;
    Handle* values = nullptr;
    size_t count = 0;
    check(call(kGetBoundNames, bound, allocator(), &names, &lengths, &count));
    std::cout << "bound " << count << ": " << std::string(names, lengths[0]) << ' ';
    check(call(kAllocatorFree, allocator(), names));
    check(call(kAllocatorFree, allocator(), lengths));
    check(call(kGetBoundValues, bound, allocator(), &values, &count));
    print_value(values[0]);
    std::cout << '\n';
    for (size_t i = 0; i < count; ++i) call<void>(kReleaseValue, values[i]);
    check(call(kAllocatorFree, allocator(), values));
  };
  print();
  void* data = nullptr;
  check(call(kGetTensorMutableData, feed.values[0], &data));
  static_cast<float*>(data)[0] = 100;  // bound memory is read again
  print();
  std::vector<Handle> results(feed.outputs.size());
  check(feed.run(s, nullptr, results));
  check(call(kGetTensorMutableData, results[0], &data));
  static_cast<float*>(data)[0] = -1;
  check(call(kBindOutput, bound, feed.outputs[0].c_str(), results[0]));
  check(call(kRunWithBinding, s.session, static_cast<Handle>(nullptr), bound));
  std::cout << "written " << static_cast<float*>(data)[0] << '\n';
  call<void>(kClearInputs, bound);
  std::cout << "without inputs: "
            << (code_of(call(kRunWithBinding, s.session, static_cast<Handle>(nullptr), bound)) != 0)
            << '\n';
  call<void>(kReleaseValue, results[0]);
  call<void>(kReleaseMemoryInfo, info);
  call<void>(kReleaseBinding, bound);
  return 0;
}

struct Waiting {
  std::atomic<bool> is_done = false;
  std::string message;
};

int run_async(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  const Feed feed(s);
  std::vector<Handle> results(feed.outputs.size());
  const std::vector<const char*> inputs = pointers(feed.inputs);  // they stay until the run ends
  const std::vector<const char*> outputs = pointers(feed.outputs);
  Waiting waiting;
  const auto done = +[](void* data, Handle* values, size_t count, Handle status) {
    auto* of_run = static_cast<Waiting*>(data);
    of_run->message =
        status ? "failed" : std::to_string(count) + (values[0] ? " values" : " nulls");
    if (status) call<void>(kReleaseStatus, status);
    of_run->is_done = true;
  };
  check(call(kRunAsync, s.session, static_cast<Handle>(nullptr), inputs.data(), feed.values.data(),
             inputs.size(), outputs.data(), outputs.size(), results.data(), done,
             static_cast<void*>(&waiting)));
  while (!waiting.is_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::cout << waiting.message << ' ';
  print_value(results[0]);
  std::cout << '\n';
  for (Handle value : results) call<void>(kReleaseValue, value);
  return 0;
}

/// A sequence made here, of which the model returns an element.
int sequence(const std::string& model, const std::string&) {
  Session s;
  s.load(model);
  std::vector<Handle> items;
  for (int64_t i = 1; i <= 3; ++i) {
    Handle item = nullptr;
    check(call(kCreateTensor, allocator(), &i, size_t{1}, 1, &item));
    void* data = nullptr;
    check(call(kGetTensorMutableData, item, &data));
    std::fill_n(static_cast<float*>(data), i, static_cast<float>(i));
    items.push_back(item);
  }
  Handle all = nullptr;
  check(call(kCreateValue, items.data(), items.size(), kSequence, &all));
  for (Handle item : items) call<void>(kReleaseValue, item);
  print_value(all);
  const char* input = "s";
  const std::vector<std::string> outputs = s.names(kGetOutputCount, kGetOutputName);
  std::vector<Handle> results(outputs.size());
  check(call(kRun, s.session, static_cast<Handle>(nullptr), &input, &all, size_t{1},
             pointers(outputs).data(), outputs.size(), results.data()));
  for (Handle value : results) {
    std::cout << ' ';
    print_value(value);
    call<void>(kReleaseValue, value);
  }
  std::cout << '\n';
  call<void>(kReleaseValue, all);
  return 0;
}

/// `folder`: the profile and the optimized model are written there.
int files(const std::string& model, const std::string& folder) {
  Session s;
  check(call(kEnableProfiling, s.options, (folder + "/profile").c_str()));
  check(call(kSetOptimizedModelFilePath, s.options, (folder + "/optimized.onnx").c_str()));
  s.load(model);
  print_run(s);
  const std::string name = text(kEndProfiling, s.session);
  std::ifstream profile(name);
  std::stringstream content;
  content << profile.rdbuf();
  std::cout << "profile there " << (name.rfind(folder + "/profile_", 0) == 0) << ", of nodes "
            << (content.str().find("\"cat\"") != std::string::npos) << '\n';
  std::cout << "optimized there " << std::ifstream(folder + "/optimized.onnx").good() << '\n';
  return 0;
}

/// Objects that need no model: arenas, pairs of texts, memory that the program is given back,
/// tables of other interfaces.
int objects(const std::string& model, const std::string&) {
  Session s;
  Handle arena = nullptr;
  check(call(kCreateArena, size_t{0}, -1, -1, -1, &arena));
  call<void>(kReleaseArena, arena);
  Handle pairs = nullptr;
  call<void>(kCreatePairs, &pairs);
  for (const char* key : {"b", "a", "c"}) call<void>(kAddPair, pairs, key, "of b, a or c");
  call<void>(kAddPair, pairs, "a", "again");
  call<void>(kRemovePair, pairs, "c");
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  call<void>(kGetPairs, pairs, &keys, &values, &count);
  std::map<std::string, std::string> all;
  for (size_t i = 0; i < count; ++i) all[keys[i]] = values[i];
  for (const auto& [key, value] : all) std::cout << key << " = " << value << '\n';
  std::cout << call<const char*>(kGetPair, pairs, "b") << ", "
            << (call<const char*>(kGetPair, pairs, "c") == nullptr) << '\n';
  call<void>(kReleasePairs, pairs);
  static int given_back = 0;
  static Handle memory = nullptr;
  check(call(kCreateCpuMemoryInfo, 1, 0, &memory));
  sample::Allocator deleter = {};
  deleter.version = 20;
  deleter.info = [](const sample::Allocator*) { return memory; };
  deleter.release = [](sample::Allocator*, void*) { ++given_back; };
  float number = 3;
  const int64_t shape[] = {1};
  Handle value = nullptr;
  check(call(kCreateTensorWithDeleter, static_cast<void*>(&deleter), static_cast<void*>(&number),
             sizeof(number), shape, size_t{1}, 1, &value));
  print_value(value);
  call<void>(kReleaseValue, value);
  call<void>(kReleaseMemoryInfo, memory);
  std::cout << ", given back " << given_back << '\n';
  check(call(kSetCancelled, s.options, true));
  std::cout << "not loaded "
            << (code_of(call(kCreateSession, s.env, model.c_str(), s.options, &s.session)) != 0)
            << '\n';
  check(call(kSetCancelled, s.options, false));
  s.load(model);
  Handle info = nullptr;
  Handle tensor = nullptr;
  check(call(kGetInputTypeInfo, s.session, size_t{0}, &info));
  check(call(kCastToTensorInfo, info, &tensor));
  std::cout << "shape " << call<bool>(kHasShape, tensor) << '\n';
  call<void>(kReleaseTypeInfo, info);
  std::cout << "no training " << (call<void*>(kGetTrainingApi, 1) == nullptr) << '\n';
  return 0;
}

int run_scenario(const std::string& name, const std::string& model, const std::string& argument) {
  static const std::map<std::string, int (*)(const std::string&, const std::string&)> kScenarios = {
      {"describe", describe},     {"run", run_model},   {"bytes", run_bytes},
      {"in_place", run_in_place}, {"errors", errors},   {"options", options},
      {"binding", binding},       {"async", run_async}, {"sequence", sequence},
      {"files", files},           {"objects", objects}, {"over", run_over}};
  return kScenarios.at(name)(model, argument);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::cout << dlerror() << '\n';
    return 2;
  }
  const auto base =
      reinterpret_cast<const sample::ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))();
  sample::table() = base->get_api(21);
  try {
    return run_scenario(arguments[2], arguments[3], count > 4 ? arguments[4] : "");
  } catch (const std::string& message) {
    std::cout << "failed: " << message << '\n';
    return 1;
  }
}
