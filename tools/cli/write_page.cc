// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "explanation.h"
#include "page.h"

namespace gantry::cli {
namespace {

// JSON for a script element; escapes `<`, which could end the element or begin a comment.
std::string embedded(const Json& document) {
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

void write_page(const std::filesystem::path& file, const Explanation& explanation) {
  const std::string facts = embedded(to_json(explanation));
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  std::string_view rest = kPage;
  const auto put = [&](std::string_view mark, std::string_view part) {
    const size_t at = rest.find(mark);
    stream << rest.substr(0, at) << part;
    rest.remove_prefix(at + mark.size());
  };
  put("/*STYLE*/", kPageStyle);
  put("/*FACTS*/", facts);
  put("/*SCRIPT*/", kPageScript);
  stream << rest;
  stream.close();
  if (!stream) {
    throw Error(Code::kUnavailable,
                "the page cannot be written: " + std::generic_category().message(errno))
        .in(file.string());
  }
}

}  // namespace gantry::cli
