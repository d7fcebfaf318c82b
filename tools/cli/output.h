// SPDX-License-Identifier: Apache-2.0
// Output of commands: tables and numbers for people, JSON for programs, errors as one sentence, and
// a progress bar on a terminal. Results go to standard output, everything else to standard error.
#pragma once

#include <gantry/session.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gantry::cli {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Opens those of the descriptors 0 to 2 that are closed, so that no other file gets their number.
/// Writing to a standard output that was closed still fails.
void open_standard_streams();
/// From now on only this program's output goes to standard output; what providers and libraries
/// write there goes to standard error.
void keep_standard_output();
/// Flushes standard output. Returns false on an error.
bool flush_output();

/// `gantry: <message>` on standard error.
void print_error(const std::string& message);
/// Prints a line on standard output.
void print_line(const std::string& text);
/// Prints the document on standard output, indented. Invalid UTF-8 becomes replacement characters.
void print_json(const Json& document);

enum class Color { kGood, kBad, kQuiet };
/// The text in a color, if standard output is a terminal with colors and NO_COLOR is not set.
std::string paint(const std::string& text, Color color);
/// The line truncated to the width of the terminal; unchanged if standard output is not a terminal.
std::string fitted(const std::string& line);

/// A table with a header and columns as wide as needed. Columns without text are omitted. If the
/// terminal is too narrow, the widest columns are truncated with an ellipsis.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Requires as many cells as columns.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  [[nodiscard]] std::vector<size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A progress bar on standard error, if that is a terminal and the work takes longer than half a
/// second. The destructor erases it.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done`: from 0 to 1.
  void show(double done);

 private:
  std::string what_;
  bool is_terminal_;
  int shown_percent_ = -1;
  Clock::time_point start_;
};

/// "1.5 MiB", "17 B".
std::string format_bytes(uint64_t bytes);
/// "1.23 ms", "850 ns": three significant digits.
std::string format_time(double nanoseconds);
/// Joins names with `separator`, omitting those that start with `leave_out` (if not empty).
std::string join(const std::vector<std::string>& names, const std::string& separator,
                 const std::string& leave_out = "");

/// "float32[batch,3,?]": shape with names or ? for unknown extents; "[...]" if not even the rank is
/// known.
std::string describe(const ValueInfo& info);
std::string describe(DType dtype, const std::vector<int64_t>& shape);
/// Keys name, kind, dtype, shape (null: unknown extent; absent: unknown rank), symbols, required.
Json to_json(const ValueInfo& info);
/// Keys node, op_type, domain, device, provider, kernel, reason, memory, parent, body, inputs,
/// outputs, and estimated_us if the provider gave an estimate.
Json to_json(const NodePlacement& node);
Json to_json(const std::vector<NodePlacement>& nodes);
/// Prints `warning: ...` lines on standard output for configuration entries that have no effect.
void print_warnings(const Placement& placement);
/// "252 nodes, 480 in the file, as 115 kernels"; a count equal to the previous one is omitted.
std::string count_text(const Placement& placement);
Json counts_to_json(const Placement& placement);
/// Keys weights_bytes, arena_bytes, pool_bytes.
Json to_json(const MemoryUse& memory);

/// Text on the memory of a model's weights; `in_model`: their bytes in the model file.
std::string weights_text(uint64_t in_model, const MemoryUse& memory);

double milliseconds(Clock::duration duration);

}  // namespace gantry::cli
