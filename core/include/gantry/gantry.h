// SPDX-License-Identifier: Apache-2.0
// The public C++ API for running models. Not included: gantry/model.h (inspection), gantry/files.h
// (files of values) and gantry/provider_lint.h (checks of providers).
#pragma once

#include <gantry/config.h>     // IWYU pragma: export
#include <gantry/device.h>     // IWYU pragma: export
#include <gantry/dtype.h>      // IWYU pragma: export
#include <gantry/error.h>      // IWYU pragma: export
#include <gantry/log.h>        // IWYU pragma: export
#include <gantry/placement.h>  // IWYU pragma: export
#include <gantry/runtime.h>    // IWYU pragma: export
#include <gantry/session.h>    // IWYU pragma: export
#include <gantry/tensor.h>     // IWYU pragma: export
