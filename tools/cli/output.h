// SPDX-License-Identifier: Apache-2.0
// How commands print: tables and numbers for people, JSON for programs, errors as one sentence, a
// progress bar where someone watches. Facts go to standard output, everything else to standard
// error.
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

/// Opens those of descriptors 0 to 2 that are closed, before a file of another purpose gets such a
/// number. Writing to a standard output that was closed then fails.
void open_standard_streams();
/// From here on standard output has what this program prints alone: what providers and libraries
/// write there goes to standard error.
void keep_standard_output();
/// Writes out what was printed. False: it cannot be written.
bool flush_output();

/// `gantry: <message>` on standard error.
void print_error(const std::string& message);
/// Text on standard output, with a line end.
void print_line(const std::string& text);
/// The document on standard output, indented. Text that is no UTF-8 gets replacement characters.
void print_json(const Json& document);

enum class Color { kGood, kBad, kQuiet };
/// The text in a color, if standard output is a terminal that has some and NO_COLOR is not set.
std::string paint(const std::string& text, Color color);
/// A line cut to the width of the terminal; as it is if standard output is none.
std::string fitted(const std::string& line);

/// Rows under a header, columns as wide as they need; columns without any text are left out. On a
/// terminal that is too narrow the widest columns are cut, marked with an ellipsis.
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

/// A bar on standard error, if that is a terminal and the work takes longer than half a second.
/// Vanishes when it is destroyed.
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
/// Names with `separator` between them; those that start with `leave_out` (if given) are left out.
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
/// `warning: ...` lines on standard output, of what the configuration says in vain.
void print_warnings(const Placement& placement);
/// "252 nodes, 480 in the file, as 115 kernels": what is no other number than before is left out.
std::string count_text(const Placement& placement);
Json counts_to_json(const Placement& placement);
/// Keys weights_bytes, arena_bytes, pool_bytes.
Json to_json(const MemoryUse& memory);

/// What became of a model's weights, of so many bytes as the model has them.
std::string weights_text(uint64_t in_model, const MemoryUse& memory);

double milliseconds(Clock::duration duration);

}  // namespace gantry::cli
