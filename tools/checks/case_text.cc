// SPDX-License-Identifier: Apache-2.0
#include "case_text.h"

#include <sstream>

namespace gantry::checks {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<int64_t> numbers_of(const std::string& text, char separator) {
  std::istringstream stream(text);
  std::vector<int64_t> numbers;
  for (std::string number; std::getline(stream, number, separator);)
    if (!number.empty()) numbers.push_back(std::stoll(number));
  return numbers;
}

Tensor constant_of(const std::string& word) {
  const size_t end = word.find('}');
  const std::vector<int64_t> numbers = numbers_of(word.substr(4, end - 4));
  std::vector<int64_t> shape = numbers_of(word.substr(end + 1), 'x');
  if (shape.empty()) shape = {static_cast<int64_t>(numbers.size())};
  return {shape, numbers};
}

DType type_of(const std::string& word, DType own) {
  return word == "T" ? own : dtype_from_string(word);
}

ModelAttribute attribute_of(const std::string& word) {
  const size_t at = word.find_first_of("=:");
  const std::string name = word.substr(0, at);
  const std::string text = word.substr(at + 1);
  if (word[at] == ':') return {name, text};
  if (text.find('.') != std::string::npos) return {name, std::stof(text)};
  if (text.find(',') != std::string::npos) return {name, numbers_of(text)};
  return {name, int64_t{std::stoll(text)}};
}

}  // namespace gantry::checks
