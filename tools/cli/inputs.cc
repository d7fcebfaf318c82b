// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <gantry/files.h>

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <set>
#include <utility>

#include "elements.h"
#include "options.h"
#include "output.h"
#include "suggest.h"

namespace gantry::cli {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(Code::kInvalidArgument, message); }

/// NAME=VALUE, split at the first '='.
std::pair<std::string, std::string> split(const std::string& text, const std::string& option,
                                          const char* value) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw CLI::ValidationError(option,
                               "takes NAME=" + std::string(value) + "; found \"" + text + "\"");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

const ValueInfo& find_input(const std::vector<ValueInfo>& declared, const std::string& name) {
  std::vector<std::string> names;
  std::vector<std::string> described;
  for (const ValueInfo& info : declared) {
    if (info.name == name) return info;
    names.push_back(info.name);
    described.push_back(info.name + " (" + describe(info) + ")");
  }
  fail("the model has no input \"" + name + "\"; it has " +
       (described.empty() ? "none" : join(described, ", ")) + did_you_mean(name, names));
}

/// Extents from --dim, by symbol or INPUT.AXIS.
class Dims {
 public:
  Dims(const std::vector<ValueInfo>& declared, const std::vector<std::string>& texts) {
    std::vector<std::string> known;
    for (const ValueInfo& info : declared) {
      for (size_t axis = 0; axis < info.shape.size(); ++axis) {
        if (info.shape[axis] >= 0) continue;
        std::string name = name_of(info, axis);
        const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
        if (!is_known) known.push_back(std::move(name));
      }
    }
    for (const std::string& text : texts) {
      const auto [name, number] = split(text, "--dim", "N");
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fail(fmt::format("--dim {}: the model's inputs have no open extent \"{}\"; they have {}{}",
                         text, name, known.empty() ? "none" : join(known, ", "),
                         did_you_mean(name, known)));
      }
      int64_t extent = 0;
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), extent);
      if (error != std::errc() || end != number.data() + number.size() || extent < 0) {
        throw CLI::ValidationError("--dim",
                                   "expected NAME=N with a number from 0, found \"" + text + "\"");
      }
      extents_[name] = extent;
    }
  }

  /// Name of an axis on the command line.
  static std::string name_of(const ValueInfo& info, size_t axis) {
    const bool is_named = axis < info.symbols.size() && !info.symbols[axis].empty();
    return is_named ? info.symbols[axis] : info.name + "." + std::to_string(axis);
  }
  /// The shape with the known extents; -1 for unknown ones.
  [[nodiscard]] std::vector<int64_t> shape_of(const ValueInfo& info) const {
    std::vector<int64_t> shape = info.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto given = extents_.find(name_of(info, axis));
      if (shape[axis] < 0 && given != extents_.end()) shape[axis] = given->second;
    }
    return shape;
  }

 private:
  std::map<std::string, int64_t> extents_;
};

Tensor random_input(const ValueInfo& info, const Dims& dims, uint64_t seed) {
  if (info.kind != Kind::kTensor || !info.has_rank) {
    fail("input \"" + info.name + "\" is " + describe(info) +
         ", for which there are no random elements; give --input " + info.name + "=FILE");
  }
  const std::vector<int64_t> shape = dims.shape_of(info);
  std::vector<std::string> open;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) open.push_back("--dim " + Dims::name_of(info, axis) + "=N");
  }
  if (!open.empty()) {
    fail("input \"" + info.name + "\" is " + describe(info) +
         "; random elements need every extent: give " + join(open, " "));
  }
  // Seeds by name, so that an input's elements do not depend on the other inputs.
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : info.name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::mt19937_64 generator(seed ^ hash);
  try {
    return random_tensor(info.dtype, shape, generator);
  } catch (const Error& error) {
    throw error.in("random elements for input \"" + info.name + "\"");
  }
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  const auto repeated = [&](const char* name, std::vector<std::string>& target, const char* help,
                            const char* type) {
    command.add_option(name, target, help)->type_name(type)->allow_extra_args(false);
  };
  repeated("--input", options.files, "An input from a .npy or .pb file; may be repeated",
           "NAME=FILE");
  repeated("--image", options.images,
           "An input from a PNG or JPEG file, resized to what the model takes; may be repeated",
           "NAME=FILE");
  command
      .add_option("--image-scale", options.image.scale,
                  "Element = (pixel * scale - mean) / std; default: 1/255")
      ->type_name("S")
      ->check(number_between(-1e30, 1e30));
  command
      .add_option("--image-mean", options.image.mean,
                  "Mean, or one for each channel, with commas; default: 0")
      ->type_name("M,...")
      ->check(number_between(-1e30, 1e30))
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--image-std", options.image.deviation,
                  "Deviation, or one for each channel; default: 1")
      ->type_name("D,...")
      ->check(number_between(1e-30, 1e30))
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--image-order", options.image.order,
                  "Order of the channels, rgb or bgr; default: rgb")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"rgb", "bgr"}));
  repeated("--dim", options.dims,
           "An extent that the model leaves open: by its name, or as INPUT.AXIS; may be repeated",
           "NAME=N");
  command.add_flag("--random", options.random, "Random elements for inputs that are not given");
  command.add_option("--seed", options.seed, "Of the random elements; default: 0")->type_name("N");
}

Inputs make_inputs(const std::vector<ValueInfo>& declared, const InputOptions& options) {
  const Dims dims(declared, options.dims);
  Inputs inputs;
  const auto add = [&](const std::string& name, Value value) {
    if (!inputs.emplace(name, std::move(value)).second)
      fail("input \"" + name + "\" is given twice");
  };
  for (const std::string& text : options.files) {
    const auto [name, file] = split(text, "--input", "FILE");
    add(name, read_value(file, find_input(declared, name)));
  }
  for (const std::string& text : options.images) {
    const auto [name, file] = split(text, "--image", "FILE");
    const ValueInfo& info = find_input(declared, name);
    add(name, image_tensor(file, info, dims.shape_of(info), options.image));
  }
  std::vector<std::string> missing;
  for (const ValueInfo& info : declared) {
    if (!info.required || inputs.contains(info.name)) continue;
    if (options.random) {
      inputs.emplace(info.name, random_input(info, dims, options.seed));
    } else {
      missing.push_back("\"" + info.name + "\" (" + describe(info) + ")");
    }
  }
  if (!missing.empty()) {
    fail("no value for input " + join(missing, ", ") + "; give --input NAME=FILE or --random");
  }
  return inputs;
}

std::vector<Inputs> make_input_sets(const std::vector<ValueInfo>& declared,
                                    const InputOptions& options, const std::string& vary) {
  if (vary.empty()) return {make_inputs(declared, options)};
  constexpr int64_t kMost = 1000;
  const auto [name, range] = split(vary, "--vary", "FROM:TO");
  const size_t colon = range.find(':');
  int64_t from = 0;
  int64_t to = -1;
  const auto read = [](const std::string& text, int64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (colon == std::string::npos || !read(range.substr(0, colon), from) ||
      !read(range.substr(colon + 1), to) || from < 0 || to < from || to - from >= kMost) {
    throw CLI::ValidationError("--vary", "expected NAME=FROM:TO, at most " + std::to_string(kMost) +
                                             " numbers from 0, found \"" + vary + "\"");
  }
  std::vector<Inputs> sets;
  for (int64_t extent = from; extent <= to; ++extent) {
    InputOptions one = options;
    one.dims.push_back(name + "=" + std::to_string(extent));
    sets.push_back(make_inputs(declared, one));
  }
  return sets;
}

}  // namespace gantry::cli
