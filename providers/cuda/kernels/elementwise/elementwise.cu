// SPDX-License-Identifier: Apache-2.0
// The element-wise operators, each by its ONNX name, for the types they are computed in: float,
// double, integers and bool.
// One operator a line:
// clang-format off
template <class T> inline T Abs(T x) { return x < (T)0 ? (T)-x : x; }
inline float Abs(float x) { return fabs_(x); }
inline double Abs(double x) { return fabs_(x); }
template <class T> inline T Neg(T x) { return (T)-x; }
template <class T> inline T Sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x; }
template <class T> inline T Floor(T x) { return floor_(x); }
template <class T> inline T Ceil(T x) { return ceil_(x); }
template <class T> inline T Round(T x) { return rint_(x); }
template <class T> inline T Reciprocal(T x) { return (T)1 / x; }
template <class T> inline T Sqrt(T x) { return sqrt_(x); }
template <class T> inline T Exp(T x) { return exp_(x); }
template <class T> inline T Log(T x) { return log_(x); }
template <class T> inline T Sin(T x) { return sin_(x); }
template <class T> inline T Cos(T x) { return cos_(x); }
template <class T> inline T Tan(T x) { return tan_(x); }
template <class T> inline T Asin(T x) { return asin_(x); }
template <class T> inline T Acos(T x) { return acos_(x); }
template <class T> inline T Atan(T x) { return atan_(x); }
template <class T> inline T Sinh(T x) { return sinh_(x); }
template <class T> inline T Cosh(T x) { return cosh_(x); }
template <class T> inline T Tanh(T x) { return tanh_(x); }
template <class T> inline T Asinh(T x) { return asinh_(x); }
template <class T> inline T Acosh(T x) { return acosh_(x); }
template <class T> inline T Atanh(T x) { return atanh_(x); }
template <class T> inline T Erf(T x) { return erf_(x); }
template <class T> inline bool IsNaN(T x) { return x != x; }
template <class T> inline bool IsInf(T x, bool negative, bool positive) {
  return (negative && x == Limits<T>::below()) || (positive && x == Limits<T>::above());
}

template <class T> inline T Relu(T x) { return x < (T)0 ? (T)0 : x; }
template <class T> inline T LeakyRelu(T x, T alpha) { return x < (T)0 ? alpha * x : x; }
template <class T> inline T ThresholdedRelu(T x, T alpha) { return x > alpha ? x : (T)0; }
template <class T> inline T Elu(T x, T alpha) { return x < (T)0 ? alpha * expm1_(x) : x; }
template <class T> inline T Celu(T x, T alpha) {
  return x < (T)0 ? alpha * expm1_(x / alpha) : x;
}
template <class T> inline T Selu(T x, T alpha, T gamma) {
  return gamma * (x < (T)0 ? alpha * expm1_(x) : x);
}
// The exponential's argument is never positive, so it does not overflow.
template <class T> inline T Sigmoid(T x) {
  const T e = exp_(-fabs_(x));
  return (x < (T)0 ? e : (T)1) / ((T)1 + e);
}
template <class T> inline T HardSigmoid(T x, T alpha, T beta) {
  return larger((T)0, smaller((T)1, alpha * x + beta));
}
template <class T> inline T HardSwish(T x) { return x * HardSigmoid(x, (T)(1.0 / 6), (T)0.5); }
template <class T> inline T Swish(T x, T alpha) { return x * Sigmoid(alpha * x); }
template <class T> inline T Softplus(T x) { return larger(x, (T)0) + log1p_(exp_(-fabs_(x))); }
template <class T> inline T Softsign(T x) { return x / ((T)1 + fabs_(x)); }
template <class T> inline T Mish(T x) { return x * tanh_(Softplus(x)); }
template <class T> inline T Gelu(T x) {
  return (T)0.5 * x * ((T)1 + erf_(x * (T)0.70710678118654752440));
}
template <class T> inline T GeluTanh(T x) {
  return (T)0.5 * x *
         ((T)1 + tanh_((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x)));
}
template <class T> inline T Shrink(T x, T lambda, T bias) {
  return x < -lambda ? x + bias : x > lambda ? x - bias : (T)0;
}

template <class T> inline T Add(T a, T b) { return (T)(a + b); }
template <class T> inline T Sub(T a, T b) { return (T)(a - b); }
template <class T> inline T Mul(T a, T b) { return (T)(a * b); }
// Whether a divisor is -1, by which the least integer overflows. For unsigned types it is false.
template <class T> inline bool is_minus_one(T x) { return (T)-1 < (T)0 && x == (T)-1; }
// Integers: rounds towards zero; no trap on division by zero or overflow.
template <class T> inline T Div(T a, T b) {
  if (b == (T)0) return (T)0;
  return is_minus_one(b) ? (T)((T)0 - a) : (T)(a / b);
}
inline float Div(float a, float b) { return a / b; }
inline double Div(double a, double b) { return a / b; }
// The remainder has the divisor's sign, as in Python.
template <class T> inline T Mod(T a, T b) {
  if (b == (T)0 || is_minus_one(b)) return (T)0;
  const T rest = (T)(a % b);
  return rest != (T)0 && (rest < (T)0) != (b < (T)0) ? (T)(rest + b) : rest;
}
template <class F> inline F float_mod(F a, F b) {
  const F rest = fmod_(a, b);
  if (rest == 0) return b < 0 ? -(F)0 : (F)0;
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
inline float Mod(float a, float b) { return float_mod(a, b); }
inline double Mod(double a, double b) { return float_mod(a, b); }
// The remainder has the dividend's sign, as in C.
template <class T> inline T Fmod(T a, T b) {
  return b == (T)0 || is_minus_one(b) ? (T)0 : (T)(a % b);
}
inline float Fmod(float a, float b) { return fmod_(a, b); }
inline double Fmod(double a, double b) { return fmod_(a, b); }
template <class T> inline T Max(T a, T b) { return larger(a, b); }
template <class T> inline T Min(T a, T b) { return smaller(a, b); }
template <class T> inline T PRelu(T x, T slope) { return x < (T)0 ? (T)(slope * x) : x; }

template <class E> inline float Pow(float a, E b) { return pow_(a, (float)b); }
template <class E> inline double Pow(double a, E b) { return pow_(a, (double)b); }
inline float Pow(float a, double b) { return (float)pow_((double)a, b); }
template <class T> inline T integer_power(T a, i64 b) {
  if (b < 0) return a == (T)1 ? (T)1 : a == (T)-1 ? (b % 2 == 0 ? (T)1 : (T)-1) : (T)0;
  T result = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) result = (T)(result * a);
    a = (T)(a * a);
  }
  return result;
}
inline i32 Pow(i32 a, float b) { return (i32)pow_((double)a, (double)b); }
inline i32 Pow(i32 a, double b) { return (i32)pow_((double)a, b); }
template <class E> inline i32 Pow(i32 a, E b) { return integer_power(a, (i64)b); }
inline i64 Pow(i64 a, float b) { return (i64)pow_((double)a, (double)b); }
inline i64 Pow(i64 a, double b) { return (i64)pow_((double)a, b); }
template <class E> inline i64 Pow(i64 a, E b) { return integer_power(a, (i64)b); }

template <class T> inline bool Equal(T a, T b) { return a == b; }
template <class T> inline bool Less(T a, T b) { return a < b; }
template <class T> inline bool LessOrEqual(T a, T b) { return a <= b; }
template <class T> inline bool Greater(T a, T b) { return a > b; }
template <class T> inline bool GreaterOrEqual(T a, T b) { return a >= b; }
inline bool And(bool a, bool b) { return a && b; }
inline bool Or(bool a, bool b) { return a || b; }
inline bool Xor(bool a, bool b) { return a != b; }
inline bool Not(bool a) { return !a; }
template <class T> inline T BitwiseAnd(T a, T b) { return (T)(a & b); }
template <class T> inline T BitwiseOr(T a, T b) { return (T)(a | b); }
template <class T> inline T BitwiseXor(T a, T b) { return (T)(a ^ b); }
template <class T> inline T BitwiseNot(T a) { return (T)~a; }
// A shift by too many or a negative number of bits leaves only the sign fill.
template <class T> inline T ShiftLeft(T a, T b) {
  return (u64)b >= sizeof(T) * 8 ? (T)0 : (T)((u64)a << b);
}
template <class T> inline T ShiftRight(T a, T b) {
  return (u64)b >= sizeof(T) * 8 ? (a < (T)0 ? (T)-1 : (T)0) : (T)(a >> b);
}
template <class T> inline T Where(bool condition, T a, T b) { return condition ? a : b; }
template <class T> inline T Identity(T x) { return x; }
// Max first, so that the upper bound wins if the bounds cross.
// A bound that is NaN makes every element NaN, as the standard's Min and Max do.
template <class T> inline T ClipLow(T x, T low) { return x < low || low != low ? low : x; }
template <class T> inline T ClipHigh(T x, T high) { return x > high || high != high ? high : x; }

// Conversion; floats out of an integer type's range saturate, NaN becomes 0.
template <class To, class From>
struct Converted {
  static To of(From x) { return (To)x; }
};
template <class From>
struct Converted<bool, From> {
  static bool of(From x) { return x != (From)0; }
};
#define CONVERT_FROM(From)                                                     \
  template <class To>                                                          \
  struct Converted<To, From> {                                                 \
    static To of(From x) {                                                     \
      if (x != x) return (To)0;                                                \
      if (x <= (From)Limits<To>::lowest()) return Limits<To>::lowest();        \
      return x >= (From)Limits<To>::highest() ? Limits<To>::highest() : (To)x; \
    }                                                                          \
  };
CONVERT_FROM(float)
CONVERT_FROM(double)
#define CONVERT_FLOATS(To, From)                     \
  template <>                                        \
  struct Converted<To, From> {                       \
    static To of(From x) { return (To)x; }           \
  };
CONVERT_FLOATS(float, float)
CONVERT_FLOATS(float, double)
CONVERT_FLOATS(double, float)
CONVERT_FLOATS(double, double)
template <>
struct Converted<bool, float> {
  static bool of(float x) { return x != 0.0f; }
};
template <>
struct Converted<bool, double> {
  static bool of(double x) { return x != 0.0; }
};
template <class To, class From>
inline To Cast(From x) {
  return Converted<To, From>::of(x);
}

// Inputs: scale, then zero point; the quantised type Q is computed in a wider type.
template <class Q>
inline Q QuantizeLinear(float x, float scale, i32 zero) {
  const float y = rint_(x / scale) + (float)zero;
  return y != y ? (Q)zero : Cast<Q>(y);
}
inline float DequantizeLinear(i32 x, float scale, i32 zero) { return (float)(x - zero) * scale; }
// Batch normalisation for inference; mean and variance are per channel.
template <class T>
inline T Normalize(T x, T scale, T shift, T mean, T variance, T epsilon) {
  return (x - mean) / sqrt_(variance + epsilon) * scale + shift;
}
