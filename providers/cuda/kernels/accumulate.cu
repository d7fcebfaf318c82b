// SPDX-License-Identifier: Apache-2.0
// Accumulators of reductions. Each takes elements one by one and can be merged with another one, so
// that threads share the work. C: compute type.
template <class C>
struct Sum {
  C sum;
  void clear() { sum = 0; }
  void add(C x, i64) { sum += x; }
  void take(const Sum& other) { sum += other.sum; }
  C result(i64) const { return sum; }
};
template <class C>
struct Mean : Sum<C> {
  C result(i64 count) const { return this->sum / (C)count; }
};
template <class C>
struct L1 : Sum<C> {
  void add(C x, i64) { this->sum += x < (C)0 ? -x : x; }
};
template <class C>
struct SumSquare : Sum<C> {
  void add(C x, i64) { this->sum += x * x; }
};
template <class C>
struct L2 : SumSquare<C> {
  C result(i64) const { return (C)sqrt_((typename Real<C>::type)this->sum); }
};
template <class C, int kOrder>
struct Norm : Sum<C> {
  void add(C x, i64) { this->sum += pow_(x < (C)0 ? -x : x, (C)kOrder); }
  C result(i64) const { return pow_(this->sum, (C)1 / (C)kOrder); }
};
template <class C>
struct LogSum : Sum<C> {
  C result(i64) const { return (C)log_((typename Real<C>::type)this->sum); }
};
template <class C>
struct Prod {
  C product;
  void clear() { product = 1; }
  void add(C x, i64) { product *= x; }
  void take(const Prod& other) { product *= other.product; }
  C result(i64) const { return product; }
};
template <class C>
struct Maximum {
  C value;
  void clear() { value = Limits<C>::below(); }
  void add(C x, i64) { value = larger(value, x); }
  void take(const Maximum& other) { value = larger(value, other.value); }
  C result(i64) const { return value; }
};
template <class C>
struct Minimum {
  C value;
  void clear() { value = Limits<C>::above(); }
  void add(C x, i64) { value = smaller(value, x); }
  void take(const Minimum& other) { value = smaller(value, other.value); }
  C result(i64) const { return value; }
};
// Log-sum-exp relative to the running maximum, so that no exponential overflows.
template <class C>
struct LogSumExp {
  typedef typename Real<C>::type R;
  R most, sum;
  void clear() {
    most = Limits<R>::below();
    sum = 0;
  }
  void add(C x, i64) { merge((R)x, 1); }
  void take(const LogSumExp& other) { merge(other.most, other.sum); }
  void merge(R other_most, R other_sum) {
    const R larger_one = larger(most, other_most);
    if (larger_one == Limits<R>::below()) return;
    if (larger_one == Limits<R>::above()) {
      most = larger_one;
      sum = 1;
      return;
    }
    sum = sum * exp_(most - larger_one) + other_sum * exp_(other_most - larger_one);
    most = larger_one;
  }
  C result(i64) const { return (C)(most + log_(sum)); }
};
// Index of the first or last extreme element; NaN counts as the most extreme.
template <class C, bool kLargest, bool kLast>
struct Arg {
  C value;
  i64 number;
  void clear() { number = -1; }
  void add(C x, i64 at) { merge(x, at); }
  void take(const Arg& other) {
    if (other.number >= 0) merge(other.value, other.number);
  }
  void merge(C x, i64 at) {
    const bool is_nan = x != x;
    const bool was_nan = value != value;
    const bool is_better = is_nan ? !was_nan : !was_nan && (kLargest ? x > value : x < value);
    const bool is_equal = is_nan ? was_nan : x == value;
    if (number < 0 || is_better || (is_equal && (kLast ? at > number : at < number))) {
      value = x;
      number = at;
    }
  }
  i64 result(i64) const { return number; }
};
