/* SPDX-License-Identifier: Apache-2.0 */
int gantry_fake_dependency(void);
__attribute__((visibility("default"))) int gantry_fake_dependency(void) { return 4711; }
