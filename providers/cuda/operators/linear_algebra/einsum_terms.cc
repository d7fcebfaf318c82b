// SPDX-License-Identifier: Apache-2.0
#include "operators/linear_algebra/einsum_terms.h"

#include <gantry/sdk/error.h>

#include <algorithm>

namespace gantry::cuda {
namespace {

constexpr const char* kEllipsis = "...";
constexpr size_t kMostSpread = 8;  // limit of axes of an ellipsis

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

[[noreturn]] void fail(const std::string& equation, const std::string& what) {
  throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the equation \"" + equation + "\" " + what);
}

std::string digits(size_t count) {
  std::string text;
  for (size_t i = count; i-- > 0;) text += static_cast<char>('0' + i);
  return text;
}

// The term with `spread` digits for its ellipsis.
std::string spread_out(const std::string& equation, std::string term, size_t spread) {
  const size_t at = term.find(kEllipsis);
  if (at != std::string::npos) term.replace(at, 3, digits(spread));
  if (!std::all_of(term.begin(), term.end(),
                   [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); }))
    fail(equation, "has a term that is not letters and at most one ellipsis");
  return term;
}

size_t letters_of(const std::string& term) {
  return static_cast<size_t>(std::count_if(term.begin(), term.end(), is_letter));
}

// The output of an equation without one: the ellipsis, then the letters that occur once.
std::string implied(const std::string& left) {
  std::string letters;
  for (const char c : left) {
    if (is_letter(c) && std::count(left.begin(), left.end(), c) == 1) letters += c;
  }
  std::sort(letters.begin(), letters.end());
  return (left.find(kEllipsis) != std::string::npos ? kEllipsis : "") + letters;
}

}  // namespace

std::string einsum_letters(const std::string& equation) {
  std::string letters;
  for (const char c : equation) {
    if (is_letter(c) && letters.find(c) == std::string::npos) letters += c;
  }
  return letters;
}

EinsumTerms einsum_terms(const std::string& equation, const std::vector<size_t>& ranks) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = left.find(',', begin);
    terms.push_back(left.substr(begin, end - begin));
  }
  if (terms.size() != ranks.size()) {
    fail(equation, "has " + std::to_string(terms.size()) + " terms for " +
                       std::to_string(ranks.size()) + " inputs");
  }
  EinsumTerms result;
  size_t most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find(kEllipsis) != std::string::npos;
    const size_t letters = letters_of(terms[i]);
    if (ranks[i] < letters || (ranks[i] > letters && !has_ellipsis) ||
        ranks[i] - letters > kMostSpread) {
      fail(equation, "names " + std::to_string(letters) + " axes of input " + std::to_string(i) +
                         ", which has " + std::to_string(ranks[i]));
    }
    most = std::max(most, ranks[i] - letters);
    result.inputs.push_back(spread_out(equation, terms[i], ranks[i] - letters));
  }
  result.output = spread_out(
      equation, arrow == std::string::npos ? implied(left) : text.substr(arrow + 2), most);
  for (const char label : result.output) {
    const bool is_known =
        std::any_of(result.inputs.begin(), result.inputs.end(),
                    [&](const auto& term) { return term.find(label) != std::string::npos; });
    if (!is_known || std::count(result.output.begin(), result.output.end(), label) != 1)
      fail(equation, "has an output with a letter that no input has, or one twice");
  }
  return result;
}

}  // namespace gantry::cuda
