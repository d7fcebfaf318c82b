// SPDX-License-Identifier: Apache-2.0
// Included before a kernel's source to compile it for the host: CUDA C++'s extensions, by functions
// of the emulator (kernel_emulator.h), which runs the threads of a block in turn. Includes nothing,
// so that kernels compile fast.
#define GANTRY_EMULATED 1

struct EmulatedIndex {
  unsigned x, y, z;
};

extern "C" {
// Set by the emulator before it resumes a thread.
__attribute__((visibility("default"))) EmulatedIndex threadIdx, blockIdx, blockDim, gridDim;
// Returns when all threads of the block (0) or of the warp (1) have called it. Set by the emulator.
__attribute__((visibility("default"))) void (*emulated_barrier)(int is_warp);
// Called where a thread waits for the preceding kernel of the stream. Set by the emulator.
__attribute__((visibility("default"))) void (*emulated_await)();
// Called on a misaligned access, which a device refuses. Set by the emulator.
__attribute__((visibility("default"))) void (*emulated_fault)();
// How the compiler's check of alignment reports (-fsanitize=alignment).
__attribute__((visibility("hidden"))) void __ubsan_handle_type_mismatch_v1(void*, void*) {
  emulated_fault();
}
}

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One block runs at a time, so shared memory may be static.
#define __shared__ static
#define ENTRY(Parameters)                                                                   \
  static void kernel_of_thread(const Parameters& p);                                        \
  extern "C" __attribute__((visibility("default"))) const unsigned kernel_parameter_bytes = \
      sizeof(Parameters);                                                                   \
  extern "C" __attribute__((visibility("default"))) void kernel(const void* parameters) {   \
    kernel_of_thread(*static_cast<const Parameters*>(parameters));                          \
  }                                                                                         \
  static void kernel_of_thread(const Parameters& p)

static inline void __syncthreads() { emulated_barrier(0); }
static inline void __syncwarp(unsigned = 0xffffffffu) { emulated_barrier(1); }

template <class T>
static inline T emulated_exchange(T value, unsigned lane) {
  static T room[1024];
  const unsigned self = threadIdx.x;
  room[self] = value;
  emulated_barrier(1);
  const unsigned other = (self & ~31u) + (lane & 31u);
  const T result = room[other < blockDim.x ? other : self];
  emulated_barrier(1);
  return result;
}
template <class T>
static inline T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return emulated_exchange(value, (threadIdx.x & 31u) ^ (unsigned)mask);
}
template <class T>
static inline T __shfl_down_sync(unsigned, T value, unsigned delta, int = 32) {
  const unsigned lane = (threadIdx.x & 31u) + delta;
  return emulated_exchange(value, lane < 32 ? lane : threadIdx.x & 31u);
}
template <class T>
static inline T __shfl_up_sync(unsigned, T value, unsigned delta, int = 32) {
  const unsigned lane = threadIdx.x & 31u;
  return emulated_exchange(value, lane >= delta ? lane - delta : lane);
}
template <class T>
static inline T __shfl_sync(unsigned, T value, int lane, int = 32) {
  return emulated_exchange(value, (unsigned)lane);
}

template <class T>
static inline T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = old + value;
  return old;
}
template <class T>
static inline T atomicCAS(T* at, T expected, T value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
