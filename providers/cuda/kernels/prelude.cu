// SPDX-License-Identifier: Apache-2.0
// The prelude of every kernel: element types, compute types, and mathematical functions and
// constants. Written for NVRTC without headers; with GANTRY_EMULATED the tests compile the same
// text for the host.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef GANTRY_EMULATED
#define MATH(name) __builtin_##name
#else
#define MATH(name) name
// MOST_THREADS is defined before this text. It bounds the registers per thread, so that a block of
// this size can be launched.
#define ENTRY(Parameters)                                    \
  extern "C" __global__ void __launch_bounds__(MOST_THREADS) \
      kernel(const __grid_constant__ Parameters p)
#endif

// Programmatic dependent launch: the next kernel may start once all blocks of this one have.
__forceinline__ void launch_dependents() {
#if !defined(GANTRY_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// This kernel may have started before the preceding kernel ended. Waits for its end, and so for
// that of all kernels before, because each of them waits too. No memory that they use may be read
// or written before.
__forceinline__ void wait_for_previous_kernel() {
#ifdef GANTRY_EMULATED
  emulated_await();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Prefetches the 32-byte sector at an address into L2. It reads nothing, so it is allowed before
// the preceding kernel has ended.
__forceinline__ void prefetch(const void* address) {
#if !defined(GANTRY_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

// Head of a kernel with the parameters `p`. The second form first runs `early`, before the
// preceding kernel has ended; it may only prefetch.
#define KERNEL(Parameters) PREFETCHING_KERNEL(Parameters, )
#define PREFETCHING_KERNEL(Parameters, before)           \
  __forceinline__ void kernel_body(const Parameters& p); \
  ENTRY(Parameters) {                                    \
    launch_dependents();                                 \
    before;                                              \
    wait_for_previous_kernel();                          \
    kernel_body(p);                                      \
  }                                                      \
  __forceinline__ void kernel_body(const Parameters& p)

// Storage types of 16-bit floats; they are computed in float.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

inline u32 bits_of(float x) {
#ifdef GANTRY_EMULATED
  u32 bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
#else
  return __float_as_uint(x);
#endif
}
inline float float_of(u32 bits) {
#ifdef GANTRY_EMULATED
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
#else
  return __uint_as_float(bits);
#endif
}

inline float widen(f16 x) {
#ifdef GANTRY_EMULATED
  // As the compiler's conversion, which is a call: tiles convert each element many times.
  const u32 size = (u32)(x.bits & 0x7fff) << 13;
  const float finite = float_of(size) * 0x1p112f;  // the exponent's bias is 127 and not 15
  const u32 wide = size < 0x0f800000 ? bits_of(finite) : size | 0x7f800000;
  return float_of(wide | (u32)(x.bits & 0x8000) << 16);
#else
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#endif
}
inline float widen(bf16 x) { return float_of((u32)x.bits << 16); }

// Rounds to nearest, ties to even; overflow becomes infinite.
inline f16 narrow_f16(float x) {
  f16 result;
#ifdef GANTRY_EMULATED
  const _Float16 half = (_Float16)x;
  __builtin_memcpy(&result.bits, &half, 2);
#else
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
#endif
  return result;
}
inline bf16 narrow_bf16(float x) {
  bf16 result;
  const u32 bits = bits_of(x);
  result.bits = x != x ? 0x7fc0 : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return result;
}

// The compute type of T, and loads and stores that convert.
template <class T>
struct Computed {
  typedef T type;
};
template <>
struct Computed<f16> {
  typedef float type;
};
template <>
struct Computed<bf16> {
  typedef float type;
};

template <class T>
inline T load(T x) {
  return x;
}
inline float load(f16 x) { return widen(x); }
inline float load(bf16 x) { return widen(x); }

template <class T, class C>
struct Store {
  static T of(C x) { return (T)x; }
};
template <class C>
struct Store<f16, C> {
  static f16 of(C x) { return narrow_f16((float)x); }
};
template <class C>
struct Store<bf16, C> {
  static bf16 of(C x) { return narrow_bf16((float)x); }
};
template <class T, class C>
inline T store(C x) {
  return Store<T, C>::of(x);
}

// Mathematical functions, overloaded for float and double.
#define UNARY_MATH(name)                                     \
  inline float name##_(float x) { return MATH(name##f)(x); } \
  inline double name##_(double x) { return MATH(name)(x); }
UNARY_MATH(exp)
UNARY_MATH(expm1)
UNARY_MATH(log)
UNARY_MATH(log1p)
UNARY_MATH(sin)
UNARY_MATH(cos)
UNARY_MATH(tan)
UNARY_MATH(asin)
UNARY_MATH(acos)
UNARY_MATH(atan)
UNARY_MATH(sinh)
UNARY_MATH(cosh)
UNARY_MATH(tanh)
UNARY_MATH(asinh)
UNARY_MATH(acosh)
UNARY_MATH(atanh)
UNARY_MATH(erf)
UNARY_MATH(sqrt)
UNARY_MATH(floor)
UNARY_MATH(ceil)
UNARY_MATH(rint)
UNARY_MATH(trunc)
UNARY_MATH(fabs)
inline float pow_(float x, float y) { return MATH(powf)(x, y); }
inline double pow_(double x, double y) { return MATH(pow)(x, y); }
inline float fmod_(float x, float y) { return MATH(fmodf)(x, y); }
inline double fmod_(double x, double y) { return MATH(fmod)(x, y); }

// Maximum and minimum; NaN if one operand is.
template <class T>
inline T larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
inline T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

// The least and largest finite value, and the ends of the order: infinities for floats.
template <class T>
struct Limits;
#define INTEGER_LIMITS(T, least, most)  \
  template <>                           \
  struct Limits<T> {                    \
    static T lowest() { return least; } \
    static T highest() { return most; } \
    static T below() { return least; }  \
    static T above() { return most; }   \
  };
INTEGER_LIMITS(bool, false, true)
INTEGER_LIMITS(i8, -128, 127)
INTEGER_LIMITS(u8, 0, 255)
INTEGER_LIMITS(i16, -32768, 32767)
INTEGER_LIMITS(u16, 0, 65535)
INTEGER_LIMITS(i32, -2147483647 - 1, 2147483647)
INTEGER_LIMITS(u32, 0, 4294967295u)
INTEGER_LIMITS(i64, -9223372036854775807LL - 1, 9223372036854775807LL)
INTEGER_LIMITS(u64, 0, 18446744073709551615ULL)
template <>
struct Limits<float> {
  static float lowest() { return -3.40282346638528859812e+38f; }
  static float highest() { return 3.40282346638528859812e+38f; }
  static float below() { return float_of(0xff800000u); }
  static float above() { return float_of(0x7f800000u); }
};
template <>
struct Limits<double> {
  static double lowest() { return -1.79769313486231570815e+308; }
  static double highest() { return 1.79769313486231570815e+308; }
  static double below() { return -(double)float_of(0x7f800000u); }
  static double above() { return (double)float_of(0x7f800000u); }
};

// Several adjacent elements, loaded and stored as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};
