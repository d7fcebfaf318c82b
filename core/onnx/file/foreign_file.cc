// SPDX-License-Identifier: Apache-2.0
#include "onnx/file/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace gantry {
namespace {

struct Format {
  size_t offset;
  std::string_view mark;
  const char* what;
};

using namespace std::string_view_literals;

constexpr Format kFormats[] = {
    {0, "version https://git-lfs"sv,
     "a Git LFS pointer, which stands for the file in a repository; fetch the file itself with "
     "\"git lfs pull\""},
    {0, "PK\3\4"sv,
     "a ZIP archive, as PyTorch's .pt and .pth files, NumPy's .npz and Keras' .keras are; export "
     "the model to ONNX, or unpack it"},
    {0, "\x1f\x8b"sv, "a gzip file; unpack it first"},
    {0, "\xfd\x37zXZ"sv, "an xz file; unpack it first"},
    {0, "7z\xbc\xaf"sv, "a 7z archive; unpack it first"},
    {4, "ORTM"sv,
     "a model in ONNX Runtime's own format (.ort); give the .onnx file that it was made of"},
    {4, "TFL3"sv, "a TensorFlow Lite model; convert it to ONNX"},
    {0, "GGUF"sv, "a GGUF file; export the model to ONNX"},
    {0, "\x89HDF"sv, "an HDF5 file, as Keras' .h5 are; convert the model to ONNX"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "\x80\2"sv, "a Python pickle; export the model to ONNX"},
    {0, "\x80\4"sv, "a Python pickle; export the model to ONNX"},
    {0, "\x80\5"sv, "a Python pickle; export the model to ONNX"},
    {0, "\x89PNG"sv, "a PNG picture"},
    {0, "\xff\xd8\xff"sv, "a JPEG picture"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or library (ELF)"},
    {8, "{\""sv, "a safetensors file, which has weights and no graph; export the model to ONNX"},
};

// Ignores case and leading white space.
bool begins_as_text(std::string_view text, std::string_view mark) {
  const auto is_space = [](unsigned char letter) { return std::isspace(letter) != 0; };
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  const auto* begin = std::find_if_not(text.begin(), text.end(), is_space);
  return static_cast<size_t>(text.end() - begin) >= mark.size() &&
         std::equal(mark.begin(), mark.end(), begin,
                    [&](char wanted, char found) { return same(found, wanted); });
}

}  // namespace

std::string foreign_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    if (text.size() > format.offset && text.substr(format.offset).starts_with(format.mark))
      return format.what;
  }
  const std::string_view head = text.substr(0, 256);
  if (begins_as_text(head, "<!doctype html") || begins_as_text(head, "<html"))
    return "an HTML page, perhaps what a server answered in the file's place";
  if (begins_as_text(head, "<?xml"))
    return "an XML file, as OpenVINO's models are; give the ONNX model";
  if (begins_as_text(head, "<ir_version") || begins_as_text(head, "ir_version"))
    return "a model as text; write it in ONNX's binary form (onnx.save of the Python package onnx)";
  if (begins_as_text(head, "{")) return "JSON or a text like it";
  return "";
}

}  // namespace gantry
