// SPDX-License-Identifier: Apache-2.0
// The mutex of the core: gantry/sdk/mutex.h, which providers use too, by its names. It is the one
// header of plugin_sdk/cpp that the core includes, as it knows nothing of providers.
#pragma once

#include <gantry/sdk/mutex.h>

namespace gantry {

using sdk::CondVar;
using sdk::Mutex;
using sdk::MutexLock;
using sdk::MutexUnlock;

}  // namespace gantry
