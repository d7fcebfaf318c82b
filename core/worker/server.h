// SPDX-License-Identifier: Apache-2.0
// The calls of a worker process: one provider, its kernels, and a thread for each channel.
#pragma once

namespace gantry {

/// All of gantry-worker: channels arrive over the socket `boot`, the first request on the first of
/// them opens the provider. Returns when the application has gone or wants it to end.
void serve_application(int boot);

}  // namespace gantry
