// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <fmt/core.h>

namespace gantry::checks {
namespace {

constexpr int kLevels = 5;

// Escapes text for XML; characters that XML cannot represent become '?'.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += is_control || static_cast<unsigned char>(c) >= 0x7F ? '?' : c;
    }
  }
  return result;
}

std::string case_of(const CheckResult& result) {
  const std::string head =
      fmt::format(R"(    <testcase classname="level{}" name="{}" time="{:.3f}")", result.level,
                  escaped(result.name), result.ms / 1000);
  if (result.status == "passed") return head + "/>\n";
  const std::string text = escaped(result.message);
  if (result.status == "skipped") return head + "><skipped message=\"" + text + "\"/></testcase>\n";
  return head + "><failure type=\"" + escaped(result.status) + "\" message=\"" + text + "\">" +
         escaped(result.duty + ": " + result.message + "\n" + result.remedy) +
         "</failure></testcase>\n";
}

}  // namespace

bool Report::is_good() const {
  return std::none_of(results.begin(), results.end(),
                      [](const CheckResult& result) { return result.is_bad(); });
}

size_t Report::count(const std::string& status) const {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const CheckResult& result) { return result.status == status; }));
}

int Report::reached() const {
  int reached = 0;
  for (int level = 1; level <= kLevels; ++level) {
    bool has_passed = false;
    for (const CheckResult& result : results) {
      if (result.level != level) continue;
      if (result.is_bad()) return reached;
      has_passed = has_passed || result.status == "passed";
    }
    if (!has_passed) return reached;
    reached = level;
  }
  return reached;
}

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const CheckResult& result : report.results) {
    checks.push_back({{"name", result.name},
                      {"level", result.level},
                      {"duty", result.duty},
                      {"status", result.status},
                      {"message", result.message},
                      {"remedy", result.remedy},
                      {"ms", result.ms}});
  }
  const size_t passed = report.count("passed");
  const size_t skipped = report.count("skipped");
  return {{"manifest", report.manifest},
          {"good", report.is_good()},
          {"level_reached", report.reached()},
          {"passed", passed},
          {"failed", report.results.size() - passed - skipped},
          {"skipped", skipped},
          {"checks", checks}};
}

std::string to_junit(const Report& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"" +
                     escaped(report.manifest) + "\">\n";
  for (int level = 1; level <= kLevels; ++level) {
    std::string cases;
    size_t tests = 0;
    size_t failures = 0;
    size_t skipped = 0;
    for (const CheckResult& result : report.results) {
      if (result.level != level) continue;
      ++tests;
      failures += result.is_bad() ? 1 : 0;
      skipped += result.status == "skipped" ? 1 : 0;
      cases += case_of(result);
    }
    if (tests == 0) continue;
    text +=
        fmt::format("  <testsuite name=\"level{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
                    level, tests, failures, skipped);
    text += cases + "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace gantry::checks
