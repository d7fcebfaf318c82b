// SPDX-License-Identifier: Apache-2.0
// Work that outlives the wait for it: a run that is stopped while a worker starts or compiles ends
// at once, and the next run finds the work done. Any thread.
#pragma once

#include <gantry/error.h>

#include <functional>
#include <future>
#include <string>

namespace gantry {

/// Asked now and then by the thread that waits; a code other than kOk ends the wait. Empty: it has
/// no end.
using StopQuestion = std::function<Code()>;

/// By the limits of the load that the asking thread is part of.
StopQuestion stop_of_load();

using WorkApart = std::shared_future<void>;

/// Begins `work` on a thread of its own; where none is to be had, in the first wait for it. The
/// last future of it to be destroyed waits for its end.
WorkApart begin_apart(std::function<void()> work);
/// True: it is none, or has ended.
bool is_over(const WorkApart& work);
/// Waits for the end, and throws what the work threw. Throws the code of `stop` with `what` as the
/// subject when that ends the wait; the work goes on.
void wait_for(const WorkApart& work, const StopQuestion& stop, const std::string& what);

}  // namespace gantry
