// SPDX-License-Identifier: Apache-2.0
// Increments the run counter, also when a captured graph is launched again. One thread.
KERNEL(RunCounterParameters) { *p.number = p.first + atomicAdd(p.runs, 1ULL) + 1; }
