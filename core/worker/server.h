// SPDX-License-Identifier: Apache-2.0
// The server of a worker process: one provider, its kernels, and a thread for each channel.
#pragma once

namespace gantry {

/// The main function of gantry-worker. Channels arrive over the socket `boot`; the first request on
/// the first channel opens the provider. Returns when the application has ended or sends kQuit.
void serve_application(int boot);

}  // namespace gantry
