// SPDX-License-Identifier: Apache-2.0
// Does nothing: the neighbours of what is timed (plan/operation.cc).
struct IdleParameters {
  int nothing;
};
KERNEL(IdleParameters) {}
