// SPDX-License-Identifier: Apache-2.0
// What api_program.cc needs of ONNX Runtime's C API: the places of its functions in the table, as
// the published header orders them, independent of what gantry declares; sessions, inputs, and
// values in print.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "sample_api.h"

namespace program {

using sample::call;
using sample::check;
using sample::Handle;

// Slots of the table, as the published header orders them.
enum Slot : size_t {
  kGetErrorCode = 1,
  kCreateEnv = 3,
  kCreateSession = 7,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetOptimizedModelFilePath = 11,
  kCloneSessionOptions = 12,
  kEnableProfiling = 14,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kGetInputCount = 30,
  kGetOutputCount = 31,
  kGetOverridableCount = 32,
  kGetInputTypeInfo = 33,
  kGetOutputTypeInfo = 34,
  kGetOverridableTypeInfo = 35,
  kGetInputName = 36,
  kGetOutputName = 37,
  kGetOverridableName = 38,
  kCreateRunOptions = 39,
  kSetRunTag = 42,
  kGetRunTag = 45,
  kSetTerminate = 46,
  kUnsetTerminate = 47,
  kCreateTensor = 48,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kFillStringTensor = 52,
  kCastToTensorInfo = 55,
  kGetOnnxType = 56,
  kGetElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetSymbolicDimensions = 63,
  kGetElementCount = 64,
  kGetTensorTypeAndShape = 65,
  kGetValueType = 67,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetDefaultAllocator = 78,
  kGetValue = 80,
  kGetValueCount = 81,
  kCreateValue = 82,
  kReleaseEnv = 92,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseRunOptions = 97,
  kReleaseTypeInfo = 98,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
  kEndProfiling = 110,
  kGetMetadata = 111,
  kGetProducer = 112,
  kGetGraphName = 113,
  kGetDomain = 114,
  kGetDescription = 115,
  kLookupMetadata = 116,
  kGetVersion = 117,
  kReleaseMetadata = 118,
  kGetMetadataKeys = 123,
  kOverrideByName = 124,
  kGetProviders = 125,
  kReleaseProviders = 126,
  kGetStringLength = 127,
  kGetString = 128,
  kAddConfigEntry = 130,
  kRunWithBinding = 133,
  kCreateBinding = 134,
  kReleaseBinding = 135,
  kBindInput = 136,
  kBindOutput = 137,
  kBindOutputToDevice = 138,
  kGetBoundNames = 139,
  kGetBoundValues = 140,
  kClearInputs = 141,
  kTensorAt = 143,
  kAddInitializer = 150,
  kCreateArena = 156,
  kReleaseArena = 157,
  kAddRunConfigEntry = 165,
  kGetTrainingApi = 219,
  kGetConfigEntry = 238,
  kRunAsync = 260,
  kCreateTensorWithDeleter = 292,
  kSetCancelled = 293,
  kCreatePairs = 295,
  kAddPair = 296,
  kGetPair = 297,
  kGetPairs = 298,
  kRemovePair = 299,
  kReleasePairs = 300,
  kGetRunConfigEntry = 373,
  kHasShape = 390,
};

enum Kind { kTensor = 1, kSequence = 2, kMap = 3 };

Handle allocator();

std::string taken(char* text);

template <class... Arguments>
std::string text(size_t slot, Arguments... arguments) {
  char* made = nullptr;
  check(call(slot, arguments..., allocator(), &made));
  return taken(made);
}

/// The code of a status, which is released; 0: it is null.
int code_of(Handle status);

void print_tensor_info(Handle info);
void print_type(Handle info);
void print_items(Handle value);
void print_value(Handle value);

/// A session, what was set for it and where it is made.
struct Session {
  Handle env = nullptr;
  Handle options = nullptr;
  Handle session = nullptr;

  Session() {
    check(call(kCreateEnv, 3, "api_program", &env));
    check(call(kCreateSessionOptions, &options));
  }
  ~Session() {
    call<void>(kReleaseSession, session);
    call<void>(kReleaseSessionOptions, options);
    call<void>(kReleaseEnv, env);
  }
  void load(const std::string& model) {
    check(call(kCreateSession, env, model.c_str(), options, &session));
  }

  std::vector<std::string> names(size_t counts, size_t slot) const {
    size_t count = 0;
    check(call(counts, session, &count));
    std::vector<std::string> all;
    for (size_t i = 0; i < count; ++i) all.push_back(text(slot, session, i));
    return all;
  }
};

std::vector<const char*> pointers(const std::vector<std::string>& texts);

/// A tensor of float or int64 with 0, 1, 2 ... 6, 0, ... or of strings; unknown extents are 2.
Handle input_of(const Session& s, size_t index);

/// Names and values of a run.
struct Feed {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Handle> values;

  explicit Feed(const Session& s)
      : inputs(s.names(kGetInputCount, kGetInputName)),
        outputs(s.names(kGetOutputCount, kGetOutputName)) {
    for (size_t i = 0; i < inputs.size(); ++i) values.push_back(input_of(s, i));
  }
  ~Feed() {
    for (Handle value : values) call<void>(kReleaseValue, value);
  }
  [[nodiscard]] Handle run(const Session& s, Handle options, std::vector<Handle>& results) const {
    return call(kRun, s.session, options, pointers(inputs).data(), values.data(), values.size(),
                pointers(outputs).data(), outputs.size(), results.data());
  }
};

void print_run(const Session& s);

}  // namespace program
