// SPDX-License-Identifier: Apache-2.0
#include "child.h"

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
    if (wrote <= 0) return;  // whoever asked has gone
    done += static_cast<size_t>(wrote);
  }
}

// What a check came to, as members of its line.
json outcome_of(const Check& check) {
  try {
    check.run();
    return {{"status", "passed"}, {"message", ""}, {"remedy", ""}};
  } catch (const Failure& failure) {
    return {{"status", "failed"}, {"message", failure.what()}, {"remedy", failure.remedy()}};
  } catch (const Skip& skip) {
    return {{"status", "skipped"}, {"message", skip.what()}, {"remedy", ""}};
  } catch (const std::exception& error) {
    // Of a session, or thrown through the boundary.
    return {{"status", "failed"},
            {"message", error.what()},
            {"remedy",
             "see the message; an exception that the provider itself throws has to be "
             "caught on its side of the boundary"}};
  } catch (...) {
    return {{"status", "failed"},
            {"message", "something was thrown through the boundary that is no std::exception"},
            {"remedy", "catch everything on the provider's side and return an error"}};
  }
}

}  // namespace

int run_child(const Subject& subject, size_t first, int descriptor) {
  prctl(PR_SET_PDEATHSIG, 9);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a crash is a finding here, its core file is nobody's wish
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
  }
  tell(descriptor, {{"done", true}});
  return 0;
}

}  // namespace gantry::checks
