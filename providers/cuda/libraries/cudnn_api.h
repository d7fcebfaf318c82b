// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN 9's binary interface that the provider uses: its graph API, in which everything
// is a descriptor with attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/shared_library.h"

namespace gantry::cuda {

enum DnnKind : int {
  kDnnPointwise = 0,
  kDnnConvolution = 1,
  kDnnEngine = 2,
  kDnnEngineConfig = 3,
  kDnnHeuristics = 4,
  kDnnPlan = 5,
  kDnnConvolutionForward = 10,
  kDnnConvolutionBackwardData = 12,
  kDnnPointwiseOperation = 13,
  kDnnGraph = 15,
  kDnnVariantPack = 16,
  kDnnTensor = 17
};

enum DnnAttribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kReluLowerClip = 3,
  kReluUpperClip = 4,
  kConvolutionType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPaddingsAfter = 104,
  kConvolutionPaddingsBefore = 105,
  kConvolutionSpatialCount = 106,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardAlpha = 706,
  kBackwardBeta = 707,
  kBackwardConvolution = 708,
  kBackwardW = 709,
  kBackwardDx = 710,
  kBackwardDy = 711,
  kOperationPointwise = 750,
  kOperationX = 751,
  kOperationB = 752,
  kOperationY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorExtents = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kPackIds = 1000,
  kPackAddresses = 1001,
  kPackWorkspace = 1003,
  kEngineNotes = 1303
};

/// Types of attribute values.
enum DnnType : int {
  kDnnHandleType = 0,
  kDnnDataType = 1,
  kDnnBoolean = 2,
  kDnnInt64 = 3,
  kDnnFloatType = 4,
  kDnnDouble = 5,
  kDnnPointer = 6,
  kDnnConvolutionModeType = 7,
  kDnnHeuristicsModeType = 8,
  kDnnNoteType = 11,
  kDnnPointwiseModeType = 14,
  kDnnDescriptorType = 15
};

enum DnnData : int { kDnnFloat = 0, kDnnHalf = 2, kDnnBfloat = 9 };
enum DnnMode : int { kDnnAdd = 0, kDnnRelu = 100, kDnnCrossCorrelation = 1 };
enum DnnHeuristicsMode : int { kDnnModeFallback = 2, kDnnModeA = 3 };
enum DnnNote : int { kNoteTensorCore = 0, kNoteDownConvert = 1, kNoteNondeterministic = 4 };

constexpr char kDnnLibrary[] = "libcudnn.so.9";

#define GANTRY_CUDA_DNN_FUNCTIONS(X)                                                 \
  X(version, cudnnGetVersion, size_t, ())                                            \
  X(error_string, cudnnGetErrorString, const char*, (int))                           \
  X(create, cudnnCreate, int, (void**))                                              \
  X(destroy, cudnnDestroy, int, (void*))                                             \
  X(set_stream, cudnnSetStream, int, (void*, StreamHandle))                          \
  X(descriptor_create, cudnnBackendCreateDescriptor, int, (int, void**))             \
  X(descriptor_destroy, cudnnBackendDestroyDescriptor, int, (void*))                 \
  X(finalize, cudnnBackendFinalize, int, (void*))                                    \
  X(set, cudnnBackendSetAttribute, int, (void*, int, int, int64_t, const void*))     \
  X(get, cudnnBackendGetAttribute, int, (void*, int, int, int64_t, int64_t*, void*)) \
  X(execute, cudnnBackendExecute, int, (void*, void*, void*))

/// The library's functions; 0 is success.
struct DnnFunctions {
  GANTRY_CUDA_DNN_FUNCTIONS(GANTRY_CUDA_MEMBER)
  /// Looks all of them up; returns the exported name of the first that the library lacks, or null.
  [[nodiscard]] const char* find_in(const SharedLibrary& library) {
    const char* missing = nullptr;
    GANTRY_CUDA_DNN_FUNCTIONS(GANTRY_CUDA_FIND)
    return missing;
  }
};

/// A backend descriptor. It remembers the first failure, so that the caller can check once, at
/// finalize(). One thread.
class DnnDescriptor {
 public:
  DnnDescriptor(const DnnFunctions& functions, DnnKind kind);
  ~DnnDescriptor();
  DnnDescriptor(DnnDescriptor&& other) noexcept;
  DnnDescriptor(const DnnDescriptor&) = delete;
  DnnDescriptor& operator=(const DnnDescriptor&) = delete;

  template <class T>
  void set(DnnAttribute attribute, DnnType type, const T& value) {
    set_all(attribute, type, 1, &value);
  }
  template <class T>
  void set(DnnAttribute attribute, DnnType type, const std::vector<T>& values) {
    set_all(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  void set(DnnAttribute attribute, const DnnDescriptor& other);
  /// Call it when all attributes are set. Returns the status of the first failure, or 0.
  int finalize();

  /// Reads an attribute of at most `most` elements into `out`; returns their number, 0 on failure.
  int64_t get(DnnAttribute attribute, DnnType type, int64_t most, void* out) const;
  [[nodiscard]] void* handle() const { return handle_; }
  [[nodiscard]] int status() const { return status_; }

 private:
  void set_all(DnnAttribute attribute, DnnType type, int64_t count, const void* values);

  const DnnFunctions* functions_;
  void* handle_ = nullptr;
  int status_ = 0;
};

}  // namespace gantry::cuda
