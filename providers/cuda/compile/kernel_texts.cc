// SPDX-License-Identifier: Apache-2.0
#include "compile/kernel_texts.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

namespace gantry::cuda {
namespace {

struct Text {
  std::string_view name;
  std::string_view text;
};

constexpr Text kTexts[] = {
#include "kernel_texts.inc"
};

}  // namespace

std::string_view kernel_text(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kTexts), std::end(kTexts),
                                         [&](const Text& text) { return text.name == name; });
  if (found == std::end(kTexts))
    throw sdk::Error(GANTRY_INTERNAL, "CUDA: no kernel file is named " + std::string(name));
  return found->text;
}

std::string join(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

std::string kernel_source(std::initializer_list<std::string_view> names, const std::string& body) {
  std::string source(kernel_text("prelude.cu"));
  for (const std::string_view name : names) source += kernel_text(name);
  return source + body;
}

}  // namespace gantry::cuda
