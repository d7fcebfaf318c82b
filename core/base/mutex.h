// SPDX-License-Identifier: Apache-2.0
// The mutex of the core: the types of gantry/sdk/mutex.h, which providers use too. It is the only
// header of plugin_sdk/cpp that the core includes, as it does not depend on providers.
#pragma once

#include <gantry/sdk/mutex.h>

namespace gantry {

using sdk::CondVar;
using sdk::Mutex;
using sdk::MutexLock;
using sdk::MutexUnlock;

}  // namespace gantry
