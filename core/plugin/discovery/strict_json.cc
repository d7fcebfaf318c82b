// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/strict_json.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

namespace gantry {
namespace {

using nlohmann::json;

constexpr size_t kLongestReason = 200;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// Iterates over a text and counts the characters read, since the parser's events have no positions.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ != b.at_;
  }

 private:
  const char* at_;
  size_t* taken_;
};

// Converts ascending offsets of a text to lines and columns, in one pass.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  JsonPosition at(size_t offset) {
    for (; offset_ < offset && offset_ < text_.size(); ++offset_) {
      if (text_[offset_] == '\n') {
        position_ = {position_.line + 1, 1};
      } else if (offset_ + 1 >= text_.size() || starts_character(text_[offset_ + 1])) {
        ++position_.column;
      }
    }
    return position_;
  }

 private:
  std::string_view text_;
  size_t offset_ = 0;
  JsonPosition position_{1, 1};
};

// Hints for the most common syntax errors.
std::string hint_for(std::string_view text, size_t offset) {
  const std::string_view rest = text.substr(std::min(offset, text.size()));
  const size_t before =
      text.substr(0, offset).find_last_not_of(" \t\n\r");  // the last character before it
  const char last = before == std::string_view::npos ? '\0' : text[before];
  if (rest.empty()) return "; something that was opened is not closed";
  const char next = rest.front();
  if (next == '/' || next == '#') return "; JSON has no comments";
  if (offset == 0 && (next == '\xff' || next == '\xfe')) return "; expected UTF-8, found UTF-16";
  if (next == '\'') return "; names and texts stand in double quotes";
  if ((next == '}' || next == ']') && last == ',') return "; the comma before it is one too many";
  if (next == '"' && std::string_view(",:{[").find(last) == std::string_view::npos)
    return "; a comma or colon is missing before it";
  if (rest.starts_with("True") || rest.starts_with("False") || rest.starts_with("None"))
    return "; the words of JSON are true, false and null";
  if (std::isalpha(static_cast<unsigned char>(next)) != 0 && !rest.starts_with("true") &&
      !rest.starts_with("false") && !rest.starts_with("null"))
    return "; names and texts stand in double quotes";
  return {};
}

// Checks the events of a parse: the finished document has no duplicates, depth or positions.
class StrictEvents final : public nlohmann::json_sax<json> {
 public:
  StrictEvents(std::string_view text, const std::string& subject, const JsonLimits& limits)
      : text_(text), subject_(subject), limits_(limits), lines_(text) {
    if (text.starts_with("\xEF\xBB\xBF")) last_ = 3;  // the parser skips a byte order mark
  }

  [[nodiscard]] size_t* taken() { return &taken_; }
  JsonPositions take_positions() { return std::move(positions_); }

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
    const JsonPosition here = lines_.at(start_of_token(text_.size()));
    last_ = taken_;
    if (name.size() > limits_.max_name_bytes) {
      throw JsonError(subject_, here,
                      pointer() + ": expected names of at most " +
                          std::to_string(limits_.max_name_bytes) + " bytes, found one of " +
                          std::to_string(name.size()));
    }
    Level& level = levels_.back();
    level.member = name;
    bool is_new = false;
    member_ = positions_.add(level.number, name, {here, here}, is_new);
    if (!is_new) {
      throw JsonError(subject_, here,
                      json_pointer(pointer(), name) +
                          ": expected each member once, found it twice, first in line " +
                          std::to_string(positions_[member_].position.name.line));
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception& error) override {
    size_t offset = start_of_token(position);
    // An error in a string: the position is that of the error, as the string may be long.
    const bool is_in_string = offset < text_.size() && text_[offset] == '"' && !token.empty();
    const std::string why = reason(error);
    std::string hint;
    if (is_in_string && why.starts_with("invalid string") && position > 0) {
      offset = std::min(position, text_.size()) - 1;
      if (why.find("(LF)") != std::string::npos) hint = "; a closing quote is missing";
    } else {
      hint = hint_for(text_, offset);
    }
    if (offset >= text_.size()) offset = text_.find_last_not_of(" \t\n\r") + 1;
    throw JsonError(subject_, lines_.at(offset), "not valid JSON: " + why + hint);
  }

 private:
  struct Level {
    bool is_array = false;
    size_t index = 0;
    std::string member;
    JsonPositions::Number number = 0;  // of the object or array itself
    [[nodiscard]] std::string name() const { return is_array ? std::to_string(index) : member; }
  };

  // The library's message without its id, its position (counted differently), and the text it has
  // read, which may be long and not UTF-8.
  static std::string reason(const json::exception& error) {
    std::string text = error.what();
    const size_t start = text.find(" - ");
    const size_t bracket = text.find("] ");
    if (start != std::string::npos) {
      text = text.substr(start + 3);
    } else if (bracket != std::string::npos) {
      text = text.substr(bracket + 2);
    }
    const size_t read = text.find("; last read: ");
    if (read != std::string::npos) {
      const size_t more = text.find("'; expected ", read);
      text = text.substr(0, read) + (more == std::string::npos ? "" : text.substr(more + 1));
    }
    return text.substr(0, kLongestReason);
  }

  // The start of the token of the current event: after the previous token, spaces, and the commas
  // and colons that have no event. `end`: the end of the token, as far as known.
  [[nodiscard]] size_t start_of_token(size_t end) const {
    size_t offset = last_;
    while (offset < text_.size() &&
           (is_space(text_[offset]) ||
            ((text_[offset] == ',' || text_[offset] == ':') && offset + 1 < end))) {
      ++offset;
    }
    return offset;
  }

  // Pointer of the object or array being read.
  [[nodiscard]] std::string pointer() const {
    std::string result;
    for (size_t i = 0; i + 1 < levels_.size(); ++i)
      result = json_pointer(result, levels_[i].name());
    return result;
  }

  // Records the start of a value.
  void begin_value() {
    const JsonPosition here = lines_.at(start_of_token(text_.size()));
    last_ = taken_;
    bool is_new = false;
    if (levels_.empty()) {
      member_ = positions_.add(0, {}, {here, here}, is_new);
    } else if (levels_.back().is_array) {
      member_ = positions_.add(levels_.back().number, levels_.back().name(), {here, here}, is_new);
    }
    positions_[member_].position.value = here;
  }
  bool end_value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  bool value() {
    begin_value();
    return end_value();
  }
  bool open(bool is_array) {
    begin_value();
    positions_[member_].is_object = !is_array;
    levels_.push_back({is_array, 0, {}, member_});
    if (static_cast<int>(levels_.size()) > limits_.max_depth) {
      throw JsonError(subject_, positions_[member_].position.value,
                      pointer() + ": expected at most " + std::to_string(limits_.max_depth) +
                          " levels, found more");
    }
    return true;
  }
  bool close() {
    last_ = taken_;
    levels_.pop_back();
    return end_value();
  }

  std::string_view text_;
  const std::string& subject_;
  const JsonLimits& limits_;
  Lines lines_;
  size_t taken_ = 0;  // characters that the parser has read; one more after a number
  size_t last_ = 0;   // end of the last token
  JsonPositions positions_;
  JsonPositions::Number member_ = 0;  // the member whose value comes next or came last
  std::vector<Level> levels_;
};

}  // namespace

JsonError::JsonError(const std::string& subject, JsonPosition position, std::string what)
    : Error(Code::kInvalidArgument, at_position(subject, position) + ": " + what),
      position_(position),
      what_(std::move(what)) {}

JsonDocument parse_json(std::string_view text, const std::string& subject,
                        const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    throw JsonError(subject, {},
                    "expected at most " + std::to_string(limits.max_bytes) + " bytes, found " +
                        std::to_string(text.size()));
  }
  StrictEvents events(text, subject, limits);
  size_t end = 0;
  *events.taken() = 0;
  json::sax_parse(CountingIterator(text.data(), events.taken()),
                  CountingIterator(text.data() + text.size(), &end), &events);
  return {json::parse(text.begin(), text.end()), events.take_positions()};
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

JsonPositions::Number JsonPositions::add(Number parent, const std::string& name,
                                         const JsonMemberPosition& position, bool& is_new) {
  const auto next = static_cast<Number>(members_.size());
  is_new = true;
  if (next > 0) {
    const auto [known, is_added] = numbers_.try_emplace({parent, name}, next);
    is_new = is_added;
    if (!is_added) return known->second;
  }
  members_.push_back({position, false});
  return next;
}

const JsonPositions::Member* JsonPositions::innermost(std::string_view pointer, bool& is_it) const {
  is_it = !members_.empty();
  if (members_.empty()) return nullptr;
  std::pair<Number, std::string> wanted;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the slash
    const size_t end = std::min(pointer.find('/'), pointer.size());
    wanted.second.clear();
    for (size_t i = 0; i < end; ++i) {
      const bool is_escaped = pointer[i] == '~' && i + 1 < end;
      wanted.second += !is_escaped ? pointer[i] : pointer[++i] == '0' ? '~' : '/';
    }
    pointer.remove_prefix(end);
    const auto found = numbers_.find(wanted);
    is_it = found != numbers_.end();
    if (!is_it) break;
    wanted.first = found->second;
  }
  return &members_[wanted.first];
}

const JsonPositions::Member* JsonPositions::find(std::string_view pointer) const {
  bool is_it = false;
  const Member* const member = innermost(pointer, is_it);
  return is_it ? member : nullptr;
}

JsonMemberPosition position_of(const JsonPositions& positions, std::string_view pointer) {
  bool is_it = false;
  const JsonPositions::Member* const member = positions.innermost(pointer, is_it);
  return member ? member->position : JsonMemberPosition{};
}

std::string at_position(const std::string& subject, JsonPosition position) {
  if (position.line == 0) return subject;
  return subject + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

std::string describe_problem(const std::string& subject, const JsonPositions& positions,
                             const JsonProblem& problem) {
  const JsonMemberPosition position = position_of(positions, problem.pointer);
  return at_position(subject, problem.is_in_name ? position.name : position.value) + ": " +
         (problem.pointer.empty() ? "/" : problem.pointer) + ": " + problem.what;
}

namespace {

// The characters of a line; bytes that are not UTF-8 are shown as "?".
std::vector<std::string_view> characters_of(std::string_view line) {
  std::vector<std::string_view> characters;
  for (size_t start = 0; start < line.size();) {
    size_t end = start + 1;
    while (end < line.size() && !starts_character(line[end])) ++end;
    const auto lead = static_cast<unsigned char>(line[start]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    characters.push_back(end - start == length ? line.substr(start, length) : "?");
    start = end;
  }
  return characters;
}

}  // namespace

std::string excerpt(std::string_view text, JsonPosition position) {
  constexpr size_t kMostBefore = 60;  // characters of a long line before the column
  constexpr size_t kMostAfter = 40;
  for (uint32_t line = 1; line < position.line; ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find_first_of("\r\n"));
  const std::vector<std::string_view> characters = characters_of(text);
  const size_t column = position.column == 0 ? 0 : position.column - 1;
  const size_t first = column > kMostBefore ? column - kMostBefore : 0;
  std::string shown = "\n    ";
  std::string below = "\n    ";
  for (size_t i = first; i < std::min(characters.size(), column + kMostAfter); ++i) {
    shown += characters[i];
    if (i < column) below += characters[i] == "\t" ? '\t' : ' ';
  }
  return shown + below + "^";
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
