// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gantry::cli {
namespace {

FILE* documents = stdout;  // the caller's standard output

constexpr int kBarWidth = 30;
constexpr auto kLongWork = std::chrono::milliseconds(500);

constexpr const char* kEllipsis = "\u2026";
constexpr size_t kLeastColumn = 12;  // columns are not truncated below this

// Calls visit(first byte, bytes, columns on the screen) for each character; colors take no column.
template <class Visit>
void for_each_character(const std::string& text, Visit&& visit) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const bool is_color = text[i] == '\x1b';
    if (is_color) {
      end = std::min(text.size(), text.find('m', i) + 1);
    } else {
      while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    }
    if (!visit(i, end - i, is_color ? 0 : 1)) return;
    i = end;
  }
}

// Columns on the screen: code points, not bytes.
size_t width_of(const std::string& text) {
  size_t width = 0;
  for_each_character(text, [&](size_t, size_t, size_t columns) {
    width += columns;
    return true;
  });
  return width;
}

std::string cut(const std::string& text, size_t most) {
  if (width_of(text) <= most) return text;
  std::string kept;
  size_t width = 0;
  for_each_character(text, [&](size_t at, size_t bytes, size_t columns) {
    if (columns > 0 && width + 1 >= most) return columns == 0;
    kept.append(text, at, bytes);
    width += columns;
    return true;
  });
  return kept +
         (text.find('\x1b') == std::string::npos ? kEllipsis : std::string(kEllipsis) + "\x1b[0m");
}

std::string padded(const std::string& text, size_t width, Table::Align align) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::kLeft ? text + space : space + text;
}

// Columns of the terminal; std::nullopt if standard output is not a terminal.
std::optional<size_t> terminal_width() {
  if (isatty(fileno(documents)) != 1) return std::nullopt;
  winsize size = {};
  if (ioctl(fileno(documents), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool has_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(fileno(documents)) == 1 && (!no_color || !*no_color) &&
         !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace

void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // open() returns the lowest free number. Standard output is opened read-only, so that writing
    // to it fails.
    const bool is_written = number == STDERR_FILENO;
    if (open("/dev/null", is_written ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void keep_standard_output() {
  const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  FILE* stream = copy < 0 ? nullptr : fdopen(copy, "w");
  if (!stream) return;
  std::fflush(stdout);
  documents = stream;
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

bool flush_output() { return std::fflush(documents) == 0 && std::fflush(stdout) == 0; }

void print_error(const std::string& message) { fmt::print(stderr, "gantry: {}\n", message); }

void print_line(const std::string& text) { fmt::print(documents, "{}\n", text); }

void print_json(const Json& document) {
  fmt::print(documents, "{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string paint(const std::string& text, Color color) {
  static const bool kHasColor = has_color();
  if (!kHasColor) return text;
  const char* code = color == Color::kGood ? "32" : color == Color::kBad ? "31" : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string fitted(const std::string& line) {
  const std::optional<size_t> width = terminal_width();
  return width ? cut(line, *width) : line;
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  size_t total = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] != 0) widths[i] = std::max(widths[i], width_of(columns_[i].title));
    if (widths[i] != 0) total += widths[i] + 2;
  }
  const std::optional<size_t> terminal = terminal_width();
  while (terminal && total > *terminal + 2) {
    size_t& widest = *std::max_element(widths.begin(), widths.end());
    if (widest <= kLeastColumn) break;
    --widest;
    --total;
  }
  return widths;
}

void Table::print() const {
  const std::vector<size_t> widths = this->widths();
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] != 0)
        line += padded(cut(row[i], widths[i]), widths[i], columns_[i].align) + "  ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    print_line(line);
  };
  print_row(titles);
  for (const auto& row : rows_) print_row(row);
}

Progress::Progress(std::string what)
    : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()) {}

Progress::~Progress() {
  if (shown_percent_ >= 0) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show(double done) {
  const int percent = static_cast<int>(100 * std::clamp(done, 0.0, 1.0));
  if (!is_terminal_ || percent == shown_percent_ || Clock::now() - start_ < kLongWork) return;
  shown_percent_ = percent;
  const int filled = percent * kBarWidth / 100;
  fmt::print(stderr, "\r\x1b[K{} [{}{}] {}%", what_, std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBarWidth - filled), ' '), percent);
  std::fflush(stderr);
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    value /= 1024;
    if (value < 1023.95) return fmt::format("{:.1f} {}", value, unit);
  }
  return fmt::format("{:.1f} TiB", value / 1024);
}

std::string format_time(double nanoseconds) {
  for (const char* unit : {"ns", "us", "ms"}) {
    if (nanoseconds < 999.5) {
      const int decimals = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
      return fmt::format("{:.{}f} {}", nanoseconds, decimals, unit);
    }
    nanoseconds /= 1000;
  }
  return fmt::format("{:.2f} s", nanoseconds);
}

std::string join(const std::vector<std::string>& names, const std::string& separator,
                 const std::string& leave_out) {
  std::string text;
  for (const std::string& name : names) {
    if (!leave_out.empty() && name.starts_with(leave_out)) continue;
    text += (text.empty() ? "" : separator) + name;
  }
  return text;
}

std::string describe(const ValueInfo& info) {
  std::string text(to_string(info.dtype));
  if (!info.has_rank) {
    text += info.kind == Kind::kTensor ? "[...]" : "";
  } else {
    std::vector<std::string> extents;
    for (size_t i = 0; i < info.shape.size(); ++i) {
      const bool is_named = i < info.symbols.size() && !info.symbols[i].empty();
      extents.push_back(info.shape[i] >= 0 ? std::to_string(info.shape[i])
                        : is_named         ? info.symbols[i]
                                           : "?");
    }
    text += "[" + join(extents, ",") + "]";
  }
  switch (info.kind) {
    case Kind::kSequence:
      return "sequence(" + text + ")";
    case Kind::kOptional:
      return "optional(" + text + ")";
    case Kind::kMap:
      return "map(" + text + ")";
    default:
      return text;
  }
}

std::string describe(DType dtype, const std::vector<int64_t>& shape) {
  ValueInfo info;
  info.dtype = dtype;
  info.has_rank = true;
  info.shape = shape;
  return describe(info);
}

Json to_json(const ValueInfo& info) {
  static constexpr const char* kKinds[] = {"unknown", "tensor", "sequence", "optional", "map"};
  Json json{{"name", info.name},
            {"kind", kKinds[std::min<size_t>(static_cast<size_t>(info.kind), 4)]},
            {"dtype", to_string(info.dtype)}};
  if (info.has_rank) {
    Json shape = Json::array();
    for (const int64_t extent : info.shape)
      shape.push_back(extent >= 0 ? Json(extent) : Json(nullptr));
    json["shape"] = shape;
    json["symbols"] = info.symbols;
  }
  json["required"] = info.required;
  return json;
}

Json to_json(const NodePlacement& node) {
  Json json{{"node", node.node},
            {"op_type", node.op_type},
            {"domain", node.domain},
            {"device", node.device},
            {"provider", node.provider},
            {"kernel", node.kernel},
            {"implementation", node.implementation},
            {"reason", node.reason},
            {"instead_of", node.instead_of},
            {"memory", node.memory},
            {"parent", node.parent},
            {"body", node.body},
            {"inputs", node.inputs},
            {"outputs", node.outputs}};
  if (node.time_ns >= 0) json["estimated_us"] = node.time_ns / 1e3;
  return json;
}

Json to_json(const std::vector<NodePlacement>& nodes) {
  Json json = Json::array();
  for (const NodePlacement& node : nodes) json.push_back(to_json(node));
  return json;
}

void print_warnings(const Placement& placement) {
  for (const std::string& warning : placement.warnings) print_line("warning: " + warning);
}

std::string count_text(const Placement& placement) {
  const uint64_t nodes = placement.nodes.size();
  std::string text = fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s");
  if (placement.nodes_in_model > 0 && placement.nodes_in_model != nodes)
    text += fmt::format(", {} in the file", placement.nodes_in_model);
  if (placement.kernels > 0 && placement.kernels != nodes)
    text += fmt::format(", as {} kernel{}", placement.kernels, placement.kernels == 1 ? "" : "s");
  return text;
}

Json counts_to_json(const Placement& placement) {
  return {{"nodes_in_file", placement.nodes_in_model},
          {"nodes", placement.nodes.size()},
          {"kernels", placement.kernels}};
}

Json to_json(const MemoryUse& memory) {
  return {{"weights_bytes", memory.weights},
          {"arena_bytes", memory.arena},
          {"pool_bytes", memory.pool}};
}

std::string weights_text(uint64_t in_model, const MemoryUse& memory) {
  return fmt::format("{} in the model; {} are read as they are, of the others what kernels packed",
                     format_bytes(in_model), format_bytes(memory.weights));
}

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace gantry::cli
