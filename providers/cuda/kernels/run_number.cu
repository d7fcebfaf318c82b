// SPDX-License-Identifier: Apache-2.0
// The number of a run, different for each, also if a captured graph is launched again: for a single
// thread.
KERNEL(RunNumberParameters) { *p.number = p.first + atomicAdd(p.runs, 1ULL) + 1; }
