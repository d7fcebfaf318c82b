// SPDX-License-Identifier: Apache-2.0
// What the provider declares of NVIDIA's interfaces, against the toolkit's own headers, where they
// are installed: numbers, layouts and the parameters of functions.
#include <cublasLt.h>
#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>
#include <type_traits>

#include "../../../providers/cuda/compile/nvrtc_compiler.h"
#include "../../../providers/cuda/driver/driver.h"
#include "../../../providers/cuda/driver/launch_config.h"
#include "../../../providers/cuda/libraries/cublaslt_api.h"

namespace gantry::cuda {
namespace {

static_assert(kSuccess == int{CUDA_SUCCESS} && kInvalidValue == int{CUDA_ERROR_INVALID_VALUE} &&
              kOutOfMemory == int{CUDA_ERROR_OUT_OF_MEMORY} &&
              kDeinitialized == int{CUDA_ERROR_DEINITIALIZED} &&
              kNoDevice == int{CUDA_ERROR_NO_DEVICE} && kNotReady == int{CUDA_ERROR_NOT_READY} &&
              kSystemNotReady == int{CUDA_ERROR_SYSTEM_NOT_READY});
static_assert(kMultiprocessorCount == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT} &&
              kPciBus == int{CU_DEVICE_ATTRIBUTE_PCI_BUS_ID} &&
              kCacheBytes == int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE} &&
              kPciDevice == int{CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID} &&
              kPciDomain == int{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID} &&
              kCapabilityMajor == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR} &&
              kCapabilityMinor == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR} &&
              kHasMemoryPools == int{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED});
static_assert(kPoolReleaseThreshold == int{CU_MEMPOOL_ATTR_RELEASE_THRESHOLD} &&
              kPoolReservedBytes == int{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT});
static_assert(kHostMemory == int{CU_MEMORYTYPE_HOST} && kDeviceMemory == int{CU_MEMORYTYPE_DEVICE});
static_assert(kNonBlockingStream == unsigned{CU_STREAM_NON_BLOCKING} &&
              kNoTiming == unsigned{CU_EVENT_DISABLE_TIMING} &&
              kCaptureOfThread == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});

static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps) &&
              offsetof(PoolProperties, handle_types) == offsetof(CUmemPoolProps, handleTypes) &&
              offsetof(PoolProperties, location_type) == offsetof(CUmemPoolProps, location) &&
              offsetof(PoolProperties, security) ==
                  offsetof(CUmemPoolProps, win32SecurityAttributes) &&
              offsetof(PoolProperties, most_bytes) == offsetof(CUmemPoolProps, maxSize) &&
              offsetof(PoolProperties, usage) == offsetof(CUmemPoolProps, usage));
static_assert(PoolProperties().allocation_type == int{CU_MEM_ALLOCATION_TYPE_PINNED} &&
              PoolProperties().location_type == int{CU_MEM_LOCATION_TYPE_DEVICE});
static_assert(sizeof(PoolAccess) == sizeof(CUmemAccessDesc) &&
              offsetof(PoolAccess, device) ==
                  offsetof(CUmemAccessDesc, location) + offsetof(CUmemLocation, id) &&
              offsetof(PoolAccess, flags) == offsetof(CUmemAccessDesc, flags) &&
              PoolAccess().location_type == int{CU_MEM_LOCATION_TYPE_DEVICE} &&
              PoolAccess().flags == int{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
static_assert(sizeof(Copy2d) == sizeof(CUDA_MEMCPY2D) &&
              offsetof(Copy2d, source_type) == offsetof(CUDA_MEMCPY2D, srcMemoryType) &&
              offsetof(Copy2d, source_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
              offsetof(Copy2d, target_type) == offsetof(CUDA_MEMCPY2D, dstMemoryType) &&
              offsetof(Copy2d, target_device) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
              offsetof(Copy2d, target_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
              offsetof(Copy2d, height) == offsetof(CUDA_MEMCPY2D, Height));

static_assert(kProgrammaticStreamSerialization ==
                  int{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION} &&
              sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
              offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) == 0 &&
              sizeof(CUlaunchAttributeValue::programmaticStreamSerializationAllowed) ==
                  sizeof(LaunchAttribute().value[0]));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, blocks_y) == offsetof(CUlaunchConfig, gridDimY) &&
              offsetof(LaunchConfig, threads) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfig, threads_z) == offsetof(CUlaunchConfig, blockDimZ) &&
              offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

// Parameters of the same number, and each passed in the same way: as many bytes, and as an address,
// a whole number or a float alike.
template <class A, class B>
constexpr bool kIsPassedAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> ==
                                  std::is_pointer_v<B>&& std::is_floating_point_v<A> ==
                                  std::is_floating_point_v<B>;

template <class Ours, class Theirs>
struct IsCalledAlike : std::false_type {};
template <class R, class... A, class S, class... B>
struct IsCalledAlike<R (*)(A...), S (*)(B...)> : std::bool_constant<[] {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return sizeof(R) == sizeof(S) && (kIsPassedAlike<A, B> && ...);
  } else {
    return false;
  }
}()> {};

#define EXPECT_DRIVER_ALIKE(member, symbol, result, parameters) \
  static_assert(IsCalledAlike<decltype(DriverFunctions::member), decltype(&(symbol))>(), #symbol);
GANTRY_CUDA_DRIVER_FUNCTIONS(EXPECT_DRIVER_ALIKE)

static_assert(kBlasFloat == int{CUDA_R_32F} && kBlasDouble == int{CUDA_R_64F} &&
              kBlasHalf == int{CUDA_R_16F} && kBlasBfloat == int{CUDA_R_16BF});
static_assert(kCompute32 == int{CUBLAS_COMPUTE_32F} && kCompute64 == int{CUBLAS_COMPUTE_64F} &&
              kComputeTf32 == int{CUBLAS_COMPUTE_32F_FAST_TF32});
static_assert(kLayoutBatchCount == int{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT} &&
              kLayoutBatchStride == int{CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET} &&
              kMatmulTransposeA == int{CUBLASLT_MATMUL_DESC_TRANSA} &&
              kMatmulTransposeB == int{CUBLASLT_MATMUL_DESC_TRANSB} &&
              kMatmulEpilogue == int{CUBLASLT_MATMUL_DESC_EPILOGUE} &&
              kMatmulBias == int{CUBLASLT_MATMUL_DESC_BIAS_POINTER} &&
              kPreferenceWorkspace == int{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES} &&
              kPreferenceReduction == int{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK} &&
              kPreferenceAlignmentA == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES} &&
              kPreferenceAlignmentB == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES} &&
              kPreferenceAlignmentC == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES} &&
              kPreferenceAlignmentD == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES} &&
              kReduceWide == unsigned{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE} &&
              kBlasUnsupported == int{CUBLAS_STATUS_NOT_SUPPORTED} &&
              kEpilogueGelu == int{CUBLASLT_EPILOGUE_GELU} &&
              (kEpilogueGelu | kEpilogueBias) == int{CUBLASLT_EPILOGUE_GELU_BIAS} &&
              (kEpilogueRelu | kEpilogueBias) == int{CUBLASLT_EPILOGUE_RELU_BIAS} &&
              kEpilogueBias == int{CUBLASLT_EPILOGUE_BIAS} &&
              kEpilogueRelu == int{CUBLASLT_EPILOGUE_RELU} && int{CUBLAS_OP_T} == 1);
static_assert(sizeof(BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t) &&
              sizeof(BlasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(BlasHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state) &&
              offsetof(BlasHeuristic, waves) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

#define EXPECT_BLAS_ALIKE(member, symbol, result, parameters) \
  static_assert(IsCalledAlike<decltype(BlasFunctions::member), decltype(&(symbol))>(), #symbol);
GANTRY_CUDA_BLAS_FUNCTIONS(EXPECT_BLAS_ALIKE)

#define EXPECT_COMPILER_ALIKE(member, symbol, result, parameters) \
  static_assert(IsCalledAlike<decltype(CompilerFunctions::member), decltype(&(symbol))>(), #symbol);
GANTRY_CUDA_COMPILER_FUNCTIONS(EXPECT_COMPILER_ALIKE)

// The exported names that the headers' macros stand for.
#define NAME_OF_(name) #name
#define NAME_OF(name) NAME_OF_(name)
TEST(CudaHeaders, NameTheFunctionsAlike) {
  EXPECT_STREQ(NAME_OF(cuDeviceTotalMem), "cuDeviceTotalMem_v2");
  EXPECT_STREQ(NAME_OF(cuDeviceGetUuid), "cuDeviceGetUuid_v2");
  EXPECT_STREQ(NAME_OF(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(NAME_OF(cuMemcpyHtoDAsync), "cuMemcpyHtoDAsync_v2");
  EXPECT_STREQ(NAME_OF(cuMemcpyDtoHAsync), "cuMemcpyDtoHAsync_v2");
  EXPECT_STREQ(NAME_OF(cuMemcpyDtoDAsync), "cuMemcpyDtoDAsync_v2");
  EXPECT_STREQ(NAME_OF(cuMemcpy2DAsync), "cuMemcpy2DAsync_v2");
  EXPECT_STREQ(NAME_OF(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(NAME_OF(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_STREQ(NAME_OF(cuStreamBeginCapture), "cuStreamBeginCapture_v2");
  EXPECT_STREQ(NAME_OF(cuGraphInstantiate), "cuGraphInstantiateWithFlags");
}

}  // namespace
}  // namespace gantry::cuda
