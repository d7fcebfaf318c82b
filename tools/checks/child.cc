// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <gantry/error.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "levels.h"
#include "progress.h"

namespace gantry::checks {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

void tell(int descriptor, const json& line) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(descriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // the parent has ended
    done += static_cast<size_t>(wrote);
  }
}

// The result of a check that threw. "lost": the device was lost, so that later checks of this
// process could only fail.
json failed(const std::string& message, const std::string& remedy, bool is_lost) {
  return {{"status", "failed"}, {"message", message}, {"remedy", remedy}, {"lost", is_lost}};
}

// The result of a check, as members of its JSON line.
json outcome_of(const Check& check) {
  try {
    check.run();
    return {{"status", "passed"}, {"message", ""}, {"remedy", ""}};
  } catch (const Failure& failure) {
    // An error that the provider returned is in the text, with the name of its code.
    const std::string message = failure.what();
    const bool is_lost = message.find(to_string(Code::kDeviceLost)) != std::string::npos;
    return failed(message, failure.remedy(), is_lost);
  } catch (const Skip& skip) {
    return {{"status", "skipped"}, {"message", skip.what()}, {"remedy", ""}};
  } catch (const std::exception& error) {
    // Thrown by a session, or by the provider through the ABI.
    const auto* told = dynamic_cast<const Error*>(&error);
    return failed(error.what(),
                  "see the message; an exception that the provider itself throws has to be "
                  "caught on its side of the boundary",
                  told && told->code() == Code::kDeviceLost);
  } catch (...) {
    return failed("something was thrown through the boundary that is no std::exception",
                  "catch everything on the provider's side and return an error", false);
  }
}

}  // namespace

int run_child(const Subject& subject, size_t first, int descriptor) {
  prctl(PR_SET_PDEATHSIG, 9);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a crash is a result here; no core file
  const Checks checks = all_checks(subject);
  progress_sink() = [=](const std::string& what) { tell(descriptor, {{"note", what}}); };
  for (size_t number = first; number < checks.size(); ++number) {
    const Check& check = checks[number];
    tell(descriptor,
         {{"begin", number}, {"name", check.name}, {"level", check.level}, {"duty", check.duty}});
    const auto start = Clock::now();
    json line = outcome_of(check);
    line["end"] = number;
    line["ms"] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    tell(descriptor, line);
    if (line.value("lost", false)) return 0;  // the parent continues in a new process
  }
  tell(descriptor, {{"done", true}});
  return 0;
}

}  // namespace gantry::checks
