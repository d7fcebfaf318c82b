// SPDX-License-Identifier: Apache-2.0
// gantry completion: prints a shell script that completes commands and options, generated from the
// command definitions.
#include <fmt/core.h>

#include "command.h"
#include "command_names.h"
#include "output.h"

namespace gantry::cli {
namespace {

// Appends a line for each command: "gantry provider new") words="--out --json";;
void add_cases(const CLI::App& command, std::string& cases) {
  cases +=
      fmt::format("    \"{}\") words=\"{}\";;\n", words_of(command), join(names_of(command), " "));
  for (const CLI::App* child : command.get_subcommands(nullptr)) add_cases(*child, cases);
}

// Falls back to file names for words that are not commands.
std::string script(const CLI::App& app, bool is_zsh) {
  std::string cases;
  add_cases(app, cases);
  return fmt::format(R"({}_gantry() {{
  local path=gantry words= i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    case "$path" in
{}    esac
    [ $i -lt $COMP_CWORD ] || break
    case " $words " in
      *" ${{COMP_WORDS[i]}} "*) [[ ${{COMP_WORDS[i]}} == -* ]] || path+=" ${{COMP_WORDS[i]}}";;
    esac
  done
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _gantry gantry)",
                     is_zsh ? "autoload -U +X bashcompinit && bashcompinit\n" : "", cases);
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("completion", "A script that lets a shell complete commands and options");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash or zsh: source <(gantry completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([shell, &app, &chosen] {
    chosen = [shell, &app] {
      print_line(script(app, *shell == "zsh"));
      return kGood;
    };
  });
}

}  // namespace gantry::cli
