// SPDX-License-Identifier: Apache-2.0
// The float type in which mathematical functions of a type are computed.
template <class T>
struct Real {
  typedef double type;
};
template <>
struct Real<float> {
  typedef float type;
};
