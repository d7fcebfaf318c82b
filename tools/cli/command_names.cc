// SPDX-License-Identifier: Apache-2.0
#include "command_names.h"

namespace gantry::cli {

std::string words_of(const CLI::App& command) {
  return (command.get_parent() ? words_of(*command.get_parent()) + " " : "") + command.get_name();
}

std::vector<std::string> names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* child : command.get_subcommands(nullptr)) names.push_back(child->get_name());
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace gantry::cli
