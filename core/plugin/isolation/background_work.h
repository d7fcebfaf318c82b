// SPDX-License-Identifier: Apache-2.0
// Background work that outlives the wait for it: a run that is stopped while a worker starts or
// compiles returns at once, and the next run uses the result. Any thread.
#pragma once

#include <gantry/error.h>

#include <functional>
#include <future>
#include <string>

namespace gantry {

/// Polled by the thread that waits; a code other than kOk ends the wait. Empty: the wait has no
/// limit.
using StopQuestion = std::function<Code()>;

/// Returns the stop code of the load of the calling thread (load_limits()).
StopQuestion stop_of_load();

using BackgroundWork = std::shared_future<void>;

/// Begins `work` on a thread of its own; if none can be started, the first wait runs it. The
/// destructor of the last future waits for its end.
BackgroundWork start_background_work(const std::function<void()>& work);
/// True: there is no work, or it has ended.
bool is_over(const BackgroundWork& work);
/// Waits for the end, and throws the exception of the work. If `stop` ends the wait, throws its
/// code with `what` as the subject; the work goes on.
void wait_for(const BackgroundWork& work, const StopQuestion& stop, const std::string& what);

}  // namespace gantry
