// SPDX-License-Identifier: Apache-2.0
// The run services of the host table: what a kernel may ask for while it runs. Any thread.
#pragma once

namespace gantry {

/// Fills the run slots of the host table, once per process. Call it before the first provider is
/// opened.
void install_run_services_once();

}  // namespace gantry
