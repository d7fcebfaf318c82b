// SPDX-License-Identifier: Apache-2.0
// What the provider declares of cuDNN's graph interface, against its own headers, and its graphs of
// convolutions as the library itself takes them; that needs no GPU, only its finding of ways does.
#include <gantry/provider.h>

#include <cudnn.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "../../../providers/cuda/libraries/cudnn_graph.h"

namespace gantry::cuda {
namespace {

static_assert(kDnnPointwise == int{CUDNN_BACKEND_POINTWISE_DESCRIPTOR} &&
              kDnnConvolution == int{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR} &&
              kDnnEngine == int{CUDNN_BACKEND_ENGINE_DESCRIPTOR} &&
              kDnnEngineConfig == int{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR} &&
              kDnnHeuristics == int{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR} &&
              kDnnPlan == int{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR} &&
              kDnnConvolutionForward ==
                  int{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR} &&
              kDnnConvolutionBackwardData ==
                  int{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR} &&
              kDnnPointwiseOperation == int{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR} &&
              kDnnGraph == int{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR} &&
              kDnnVariantPack == int{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR} &&
              kDnnTensor == int{CUDNN_BACKEND_TENSOR_DESCRIPTOR});
static_assert(kPointwiseMode == int{CUDNN_ATTR_POINTWISE_MODE} &&
              kPointwisePrecision == int{CUDNN_ATTR_POINTWISE_MATH_PREC} &&
              kReluLowerClip == int{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP} &&
              kReluUpperClip == int{CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP} &&
              kConvolutionType == int{CUDNN_ATTR_CONVOLUTION_COMP_TYPE} &&
              kConvolutionMode == int{CUDNN_ATTR_CONVOLUTION_CONV_MODE} &&
              kConvolutionDilations == int{CUDNN_ATTR_CONVOLUTION_DILATIONS} &&
              kConvolutionStrides == int{CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES} &&
              kConvolutionPaddingsAfter == int{CUDNN_ATTR_CONVOLUTION_POST_PADDINGS} &&
              kConvolutionPaddingsBefore == int{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS} &&
              kConvolutionSpatialCount == int{CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS});
static_assert(kHeuristicsMode == int{CUDNN_ATTR_ENGINEHEUR_MODE} &&
              kHeuristicsGraph == int{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH} &&
              kHeuristicsResults == int{CUDNN_ATTR_ENGINEHEUR_RESULTS} &&
              kConfigEngine == int{CUDNN_ATTR_ENGINECFG_ENGINE} &&
              kPlanHandle == int{CUDNN_ATTR_EXECUTION_PLAN_HANDLE} &&
              kPlanConfig == int{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG} &&
              kPlanWorkspace == int{CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE} &&
              kEngineNotes == int{CUDNN_ATTR_ENGINE_NUMERICAL_NOTE});
static_assert(kForwardAlpha == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA} &&
              kForwardBeta == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA} &&
              kForwardConvolution == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC} &&
              kForwardW == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W} &&
              kForwardX == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X} &&
              kForwardY == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y} &&
              kBackwardAlpha == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA} &&
              kBackwardBeta == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA} &&
              kBackwardConvolution == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC} &&
              kBackwardW == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W} &&
              kBackwardDx == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX} &&
              kBackwardDy == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY} &&
              kOperationPointwise == int{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR} &&
              kOperationX == int{CUDNN_ATTR_OPERATION_POINTWISE_XDESC} &&
              kOperationB == int{CUDNN_ATTR_OPERATION_POINTWISE_BDESC} &&
              kOperationY == int{CUDNN_ATTR_OPERATION_POINTWISE_YDESC} &&
              kGraphHandle == int{CUDNN_ATTR_OPERATIONGRAPH_HANDLE} &&
              kGraphOperations == int{CUDNN_ATTR_OPERATIONGRAPH_OPS});
static_assert(kTensorAlignment == int{CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT} &&
              kTensorType == int{CUDNN_ATTR_TENSOR_DATA_TYPE} &&
              kTensorExtents == int{CUDNN_ATTR_TENSOR_DIMENSIONS} &&
              kTensorStrides == int{CUDNN_ATTR_TENSOR_STRIDES} &&
              kTensorId == int{CUDNN_ATTR_TENSOR_UNIQUE_ID} &&
              kTensorIsVirtual == int{CUDNN_ATTR_TENSOR_IS_VIRTUAL} &&
              kPackIds == int{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS} &&
              kPackAddresses == int{CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS} &&
              kPackWorkspace == int{CUDNN_ATTR_VARIANT_PACK_WORKSPACE});
static_assert(kDnnHandleType == int{CUDNN_TYPE_HANDLE} &&
              kDnnDataType == int{CUDNN_TYPE_DATA_TYPE} && kDnnBoolean == int{CUDNN_TYPE_BOOLEAN} &&
              kDnnInt64 == int{CUDNN_TYPE_INT64} && kDnnFloatType == int{CUDNN_TYPE_FLOAT} &&
              kDnnDouble == int{CUDNN_TYPE_DOUBLE} && kDnnPointer == int{CUDNN_TYPE_VOID_PTR} &&
              kDnnConvolutionModeType == int{CUDNN_TYPE_CONVOLUTION_MODE} &&
              kDnnHeuristicsModeType == int{CUDNN_TYPE_HEUR_MODE} &&
              kDnnNoteType == int{CUDNN_TYPE_NUMERICAL_NOTE} &&
              kDnnPointwiseModeType == int{CUDNN_TYPE_POINTWISE_MODE} &&
              kDnnDescriptorType == int{CUDNN_TYPE_BACKEND_DESCRIPTOR});
static_assert(kDnnFloat == int{CUDNN_DATA_FLOAT} && kDnnHalf == int{CUDNN_DATA_HALF} &&
              kDnnBfloat == int{CUDNN_DATA_BFLOAT16} && kDnnAdd == int{CUDNN_POINTWISE_ADD} &&
              kDnnRelu == int{CUDNN_POINTWISE_RELU_FWD} &&
              kDnnCrossCorrelation == int{CUDNN_CROSS_CORRELATION} &&
              kDnnModeFallback == int{CUDNN_HEUR_MODE_FALLBACK} &&
              kDnnModeA == int{CUDNN_HEUR_MODE_A} &&
              kNoteTensorCore == int{CUDNN_NUMERICAL_NOTE_TENSOR_CORE} &&
              kNoteDownConvert == int{CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS} &&
              kNoteNondeterministic == int{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC});

struct Library {
  SharedLibrary library{dlopen(GANTRY_CUDNN, RTLD_NOW), GANTRY_CUDNN};
  DnnFunctions functions;
  bool is_whole = library.is_open() && !functions.find_in(library);
};

ConvShape shape_of(uint32_t dtype, bool is_channels_last) {
  ConvShape shape;
  shape.dtype = dtype;
  shape.x = {2, 64, 30, 30};
  shape.w = {32, 64, 3, 3};
  shape.y = {2, 32, 15, 15};
  shape.strides = {2, 2};
  shape.dilations = {1, 1};
  shape.before = shape.after = {1, 1};
  shape.is_channels_last = is_channels_last;
  return shape;
}

// 15 places are made of 29 or of 30.
void transpose(ConvShape& shape) {
  shape.is_transposed = true;
  shape.x = {2, 32, 15, 15};
  shape.w = {32, 64, 3, 3};
  shape.y = {2, 64, 30, 29};
}

TEST(Cudnn, TakesTheOperationsOfConvolutions) {
  const Library cudnn;
  ASSERT_TRUE(cudnn.is_whole) << cudnn.library.reason();
  for (const uint32_t dtype : {GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16}) {
    for (int form = 0; form < 64; ++form) {
      ConvShape shape = shape_of(dtype, (form & 1) != 0);
      if ((form & 32) != 0) transpose(shape);
      shape.has_bias = (form & 2) != 0;
      shape.has_addend = (form & 4) != 0;
      shape.has_relu = (form & 8) != 0;
      shape.most = (form & 16) != 0 ? 6 : 0;
      const ConvGraph graph(cudnn.functions, shape, nullptr);
      EXPECT_EQ(graph.status(), 0)
          << shape.text() << ": " << cudnn.functions.error_string(graph.status());
      EXPECT_EQ(graph.ids().size(), 3U + (shape.has_bias ? 1U : 0U) + (shape.has_addend ? 1U : 0U));
    }
  }
}

TEST(Cudnn, RefusesExtentsThatDoNotFit) {
  const Library cudnn;
  ASSERT_TRUE(cudnn.is_whole) << cudnn.library.reason();
  ConvShape shape = shape_of(GANTRY_FLOAT, false);
  shape.y = {2, 32, 16, 15};
  EXPECT_NE(ConvGraph(cudnn.functions, shape, nullptr).status(), 0);
  transpose(shape);
  shape.y = {2, 64, 31, 29};
  EXPECT_NE(ConvGraph(cudnn.functions, shape, nullptr).status(), 0);
}

}  // namespace
}  // namespace gantry::cuda
