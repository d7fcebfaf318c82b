// SPDX-License-Identifier: Apache-2.0
// Opaque handles, device addresses and ordinals of the CUDA driver library.
#pragma once

#include <cstdint>

namespace gantry::cuda {

using Address = uint64_t;
using DeviceNumber = int;
using ContextHandle = struct CudaContext*;
using StreamHandle = struct CudaStream*;
using EventHandle = struct CudaEvent*;
using ModuleHandle = struct CudaModule*;
using FunctionHandle = struct CudaFunction*;
using PoolHandle = struct CudaMemoryPool*;
using GraphHandle = struct CudaGraph*;
using GraphExecHandle = struct CudaGraphExec*;

}  // namespace gantry::cuda
