// SPDX-License-Identifier: Apache-2.0
// The functions that programs find by their names; all others are in the table.
#pragma once

#define GANTRY_ORT_EXPORT extern "C" __attribute__((visibility("default")))
