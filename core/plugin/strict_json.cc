// SPDX-License-Identifier: Apache-2.0
#include "plugin/strict_json.h"

#include <set>
#include <vector>

namespace gantry {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& subject, const std::string& what) {
  throw Error(Code::kInvalidArgument, subject + ": " + what);
}

// Looks at the events of a parse and builds nothing: duplicates and depth are lost in the finished
// document.
class StrictEvents final : public nlohmann::json_sax<json> {
 public:
  StrictEvents(std::string_view text, const std::string& subject, int max_depth)
      : text_(text), subject_(subject), max_depth_(max_depth) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.member = name;
    if (!level.seen.insert(name).second)
      fail(subject_, pointer() + ": expected each member once, found it twice");
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception& error) override {
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i + 1 < position && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n' ? 1 : 0;
    }
    fail(subject_,
         "not valid JSON at line " + std::to_string(line) + ", column " + std::to_string(column) +
             (token.empty() ? "" : ", near '" + token.substr(0, 40) + "'") + ": " + reason(error));
  }

 private:
  struct Level {
    bool is_array = false;
    size_t index = 0;
    std::string member;
    std::set<std::string> seen;
  };

  // The library's text without its number and position, which it counts another way.
  static std::string reason(const json::exception& error) {
    const std::string text = error.what();
    const size_t start = text.find(" - ");
    if (start != std::string::npos) return text.substr(start + 3);
    const size_t bracket = text.find("] ");
    return bracket == std::string::npos ? text : text.substr(bracket + 2);
  }

  [[nodiscard]] std::string pointer() const {
    std::string result;
    for (const Level& level : levels_) {
      result = json_pointer(result, level.is_array ? std::to_string(level.index) : level.member);
    }
    return result;
  }

  bool value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  bool open(bool is_array) {
    if (static_cast<int>(levels_.size()) >= max_depth_) {
      fail(subject_,
           pointer() + ": expected at most " + std::to_string(max_depth_) + " levels, found more");
    }
    levels_.push_back({is_array, 0, {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }

  std::string_view text_;
  const std::string& subject_;
  int max_depth_;
  std::vector<Level> levels_;
};

}  // namespace

json parse_json(std::string_view text, const std::string& subject, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail(subject, "expected at most " + std::to_string(limits.max_bytes) + " bytes, found " +
                      std::to_string(text.size()));
  }
  StrictEvents events(text, subject, limits.max_depth);
  json::sax_parse(text.begin(), text.end(), &events);
  return json::parse(text.begin(), text.end());
}

std::string json_pointer(const std::string& pointer, const std::string& member) {
  std::string result = pointer + "/";
  for (const char c : member) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string describe_json(const json& value) {
  constexpr size_t kLongestShown = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_null()) return "null";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongestShown) text = text.substr(0, kLongestShown) + "...";
  return (value.is_string() ? "the string " : value.is_number() ? "the number " : "") + text;
}

}  // namespace gantry
