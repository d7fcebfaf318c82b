// SPDX-License-Identifier: Apache-2.0
// The table of functions that ONNX Runtime gives to libraries (OrtApi), with the functions that
// gantry has. The order of the slots is the API's and never changes; it grows at the end. Any
// thread, once it is filled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gantry::ort {

/// The version of the API whose order the slots are in, and what a program that asks for the
/// version of ONNX Runtime is told.
inline constexpr uint32_t kApiVersion = 29;
inline constexpr const char* kVersionText = "1.29.0";

/// The slots that have a function here, by their place in OrtApi.
enum class Slot : uint16_t {
  kCreateStatus = 0,
  kGetErrorCode = 1,
  kGetErrorMessage = 2,
  kCreateCustomOpDomain = 26,
  kCustomOpDomainAdd = 27,
  kAddCustomOpDomain = 28,
  kCreateTensorAsOrtValue = 48,
  kCreateTensorWithDataAsOrtValue = 49,
  kIsTensor = 50,
  kGetTensorMutableData = 51,
  kFillStringTensor = 52,
  kGetStringTensorDataLength = 53,
  kGetStringTensorContent = 54,
  kCastTypeInfoToTensorInfo = 55,
  kGetOnnxTypeFromTypeInfo = 56,
  kCreateTensorTypeAndShapeInfo = 57,
  kSetTensorElementType = 58,
  kSetDimensions = 59,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetSymbolicDimensions = 63,
  kGetTensorShapeElementCount = 64,
  kGetTensorTypeAndShape = 65,
  kGetTypeInfo = 66,
  kGetValueType = 67,
  kCreateMemoryInfo = 68,
  kCreateCpuMemoryInfo = 69,
  kCompareMemoryInfo = 70,
  kMemoryInfoGetName = 71,
  kMemoryInfoGetId = 72,
  kMemoryInfoGetMemType = 73,
  kMemoryInfoGetType = 74,
  kAllocatorAlloc = 75,
  kAllocatorFree = 76,
  kAllocatorGetInfo = 77,
  kGetAllocatorWithDefaultOptions = 78,
  kKernelInfoGetAttributeFloat = 85,
  kKernelInfoGetAttributeInt64 = 86,
  kKernelInfoGetAttributeString = 87,
  kKernelContextGetInputCount = 88,
  kKernelContextGetOutputCount = 89,
  kKernelContextGetInput = 90,
  kKernelContextGetOutput = 91,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseValue = 96,
  kReleaseTypeInfo = 98,
  kReleaseTensorTypeAndShapeInfo = 99,
  kReleaseCustomOpDomain = 101,
  kGetStringTensorElementLength = 127,
  kGetStringTensorElement = 128,
  kFillStringTensorElement = 129,
  kReleaseAllocator = 132,
  kKernelInfoGetAttributeArrayFloat = 162,
  kKernelInfoGetAttributeArrayInt64 = 163,
  kHasValue = 192,
  kKernelContextGetGpuComputeStream = 193,
  kGetTensorMemoryInfo = 194,
  kCopyKernelInfo = 217,
  kReleaseKernelInfo = 218,
  kMemoryInfoGetDeviceType = 225,
  kKernelInfoGetInputCount = 230,
  kKernelInfoGetOutputCount = 231,
  kKernelInfoGetInputName = 232,
  kKernelInfoGetOutputName = 233,
  kKernelInfoGetInputTypeInfo = 234,
  kKernelInfoGetOutputTypeInfo = 235,
  kKernelInfoGetAttributeTensor = 236,
  kHasSessionConfigEntry = 237,
  kKernelInfoGetNodeName = 244,
  kKernelInfoGetLogger = 245,
  kKernelContextGetLogger = 246,
  kLoggerLogMessage = 247,
  kLoggerGetLoggingSeverityLevel = 248,
  kKernelInfoGetConstantInputTensor = 249,
  kGetResizedStringTensorElementBuffer = 252,
  kKernelContextGetAllocator = 253,
  kGetBuildInfoString = 254,
  kKernelContextGetResource = 265,
  kKernelContextParallelFor = 274,
  kKernelContextGetScratchBuffer = 277,
  kKernelInfoGetAllocator = 278,
  kGetTensorSizeInBytes = 318,
  kGetTensorData = 378,
  kKernelInfoGetOperatorDomain = 392,
  kKernelInfoGetOperatorType = 393,
  kKernelInfoGetOperatorSinceVersion = 394,
};

class ApiTable {
 public:
  /// Slots without a function get one that returns a status which says so.
  ApiTable();

  /// Requires that `function` has the arguments and the result that the API gives to the slot.
  template <class F>
  void set(Slot slot, F* function) {
    slots_[static_cast<size_t>(slot)] = reinterpret_cast<Function>(function);
  }

 private:
  using Function = void (*)();
  static constexpr size_t kSlots = 428;  // those of ONNX Runtime 1.31
  std::array<Function, kSlots> slots_;
};

/// Each file of functions of the API fills in its slots.
void add_status_functions(ApiTable& table);
void add_memory_functions(ApiTable& table);
void add_logger_functions(ApiTable& table);
void add_value_functions(ApiTable& table);
void add_type_functions(ApiTable& table);

}  // namespace gantry::ort
