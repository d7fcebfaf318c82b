// SPDX-License-Identifier: Apache-2.0
#include <gantry/files.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ValueFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("gantry_value_file_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  /// A .npy file as NumPy writes it, save for the padding of the header.
  std::filesystem::path write_npy(const std::string& dictionary, const std::string& elements) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(dictionary.size());
    bytes += '\0';
    return write("x.npy", bytes + dictionary + elements);
  }
  Tensor round_trip(const Tensor& tensor, const std::string& ending) {
    ValueInfo info;
    info.dtype = tensor.dtype();
    write_value(folder_ / ("x" + ending), tensor);
    return read_value(folder_ / ("x" + ending), info).tensor();
  }

  std::filesystem::path folder_;
};

ValueInfo info_of(Kind kind, DType dtype) {
  ValueInfo info;
  info.kind = kind;
  info.dtype = dtype;
  return info;
}

std::string message_of(const std::filesystem::path& file, Code code, const ValueInfo& info = {}) {
  try {
    read_value(file, info);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(file.string()));
    return error.message();
  }
  ADD_FAILURE() << file << " was read";
  return "";
}

TEST_F(ValueFile, EveryElementTypeReturnsUnchanged) {
  for (uint32_t number = 1; number <= 28; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype == DType::kString) continue;
    Tensor tensor(dtype, {3, 5});
    auto* bytes = static_cast<unsigned char*>(tensor.data());
    for (uint64_t i = 0; i < tensor.size_bytes(); ++i)
      bytes[i] = static_cast<unsigned char>(37 * i + 11);
    if (dtype == DType::kBool) std::memset(bytes, 1, tensor.size_bytes());
    // Unused bits of the last byte belong to no element.
    if (bits_of(dtype) < 8) {
      const uint32_t used = 15 * bits_of(dtype) % 8;
      bytes[tensor.size_bytes() - 1] &= static_cast<unsigned char>((1U << used) - 1);
    }
    for (const char* ending : {".npy", ".pb"}) {
      const Tensor read = round_trip(tensor, ending);
      EXPECT_EQ(read.dtype(), dtype) << to_string(dtype) << ending;
      EXPECT_THAT(read.shape(), ElementsAre(3, 5));
      EXPECT_EQ(std::memcmp(read.data(), tensor.data(), tensor.size_bytes()), 0)
          << to_string(dtype) << ending;
    }
  }
}

TEST_F(ValueFile, StringsReturnUnchanged) {
  const Tensor tensor({2, 2}, std::vector<std::string>{"a", "", "gr\xC3\xBC\xC3\x9F",
                                                       "\xE2\x82\xAC\xF0\x9F\x98\x80"});
  EXPECT_EQ(round_trip(tensor, ".npy").strings(), tensor.strings());
  EXPECT_EQ(round_trip(tensor, ".pb").strings(), tensor.strings());
}

TEST_F(ValueFile, ScalarsAndEmptyTensorsKeepTheirShape) {
  for (const char* ending : {".npy", ".pb"}) {
    EXPECT_THAT(round_trip(Tensor(DType::kFloat, {}), ending).shape(), ElementsAre());
    EXPECT_THAT(round_trip(Tensor(DType::kInt64, {2, 0, 3}), ending).shape(), ElementsAre(2, 0, 3));
    EXPECT_THAT(round_trip(Tensor(DType::kString, {0}), ending).shape(), ElementsAre(0));
  }
}

TEST_F(ValueFile, SequencesAndOptionalsReturnUnchanged) {
  const Tensor first({2}, std::vector<int64_t>{7, 8});
  const Value sequence =
      Value::sequence(DType::kInt64, {first, Tensor({1}, std::vector<int64_t>{9})});
  write_value(folder_ / "s.pb", sequence, "s");
  const Value read = read_value(folder_ / "s.pb", info_of(Kind::kSequence, DType::kInt64));
  ASSERT_EQ(read.kind(), Kind::kSequence);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_THAT(read.at(0).tensor().elements<int64_t>(), ElementsAre(7, 8));
  EXPECT_THAT(read.at(1).tensor().elements<int64_t>(), ElementsAre(9));

  write_value(folder_ / "o.pb", Value::optional(DType::kInt64, sequence));
  const Value full = read_value(folder_ / "o.pb", info_of(Kind::kOptional, DType::kInt64));
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full.at(0).size(), 2u);

  write_value(folder_ / "e.pb", Value::optional(DType::kInt64, Value()));
  EXPECT_EQ(read_value(folder_ / "e.pb", info_of(Kind::kOptional, DType::kInt64)).size(), 0u);
}

TEST_F(ValueFile, FortranOrderIsTurnedIntoRowMajor) {
  const std::vector<int16_t> columns = {1, 4, 2, 5, 3, 6};
  const auto file = write_npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                              {reinterpret_cast<const char*>(columns.data()), 12});
  EXPECT_THAT(read_value(file).tensor().elements<int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(ValueFile, BytesAreStringsWithoutTheirPadding) {
  const auto file = write_npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }",
                              std::string("ab\0xyz", 6));
  EXPECT_THAT(read_value(file).tensor().strings(), ElementsAre("ab", "xyz"));
}

TEST_F(ValueFile, NumPyFilesThatAreWrongSayHow) {
  EXPECT_THAT(message_of(folder_ / "none.npy", Code::kNotFound), HasSubstr("no such file"));
  EXPECT_THAT(message_of(write("x.txt", "1"), Code::kInvalidArgument), HasSubstr(".npy or .pb"));
  EXPECT_THAT(message_of(write("x.npy", "text"), Code::kInvalidArgument),
              HasSubstr("not those of a .npy file"));
  EXPECT_THAT(message_of(write("x.npy", std::string("\x93NUMPY\x01\x00\x70\x00{", 11)),
                         Code::kInvalidArgument),
              HasSubstr("truncated"));
  EXPECT_THAT(
      message_of(write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "1234"),
                 Code::kInvalidArgument),
      HasSubstr("float32[3], 3 elements of 4 bytes; found 4 bytes"));
  EXPECT_THAT(
      message_of(
          write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }",
                    ""),
          Code::kInvalidArgument),
      HasSubstr("x.npy"));
  EXPECT_THAT(
      message_of(write_npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", "12"),
                 Code::kInvalidArgument),
      HasSubstr("\"V2\""));
  EXPECT_THAT(
      message_of(
          write_npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }", ""),
          Code::kInvalidArgument),
      HasSubstr("1000000000 strings of 0 characters"));
  EXPECT_THAT(
      message_of(write_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12"),
                 Code::kUnsupported),
      HasSubstr("Python objects"));
  EXPECT_THAT(
      message_of(write_npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"),
                 Code::kUnsupported),
      HasSubstr("big-endian"));
}

TEST_F(ValueFile, ProtobufFilesThatAreWrongSayHow) {
  EXPECT_THAT(message_of(write("x.pb", "not protobuf"), Code::kInvalidArgument),
              HasSubstr("TensorProto"));
  // data_type 1, dims {3}, raw_data of 4 bytes.
  const std::string tensor("\x08\x03\x10\x01\x4A\x04\x00\x00\x00\x00", 10);
  EXPECT_THAT(message_of(write("x.pb", tensor), Code::kInvalidArgument),
              HasSubstr("needs 12 bytes; found 4"));
  // The mark by which the importer knows tensors without bytes means nothing in a file of a user.
  const std::string marked = tensor + std::string("\x62\x09payload:0", 11);
  EXPECT_THAT(message_of(write("x.pb", marked), Code::kInvalidArgument),
              HasSubstr("needs 12 bytes; found 4"));
}

TEST_F(ValueFile, WhatAFormatCannotHoldIsRefused) {
  const Value sequence = Value::sequence(DType::kFloat, {});
  EXPECT_THROW(write_value(folder_ / "s.npy", sequence), Error);
  EXPECT_THROW(write_value(folder_ / "s.txt", sequence), Error);
  EXPECT_THROW(write_value(folder_ / "none" / "s.pb", sequence), Error);
  EXPECT_THROW(write_value(folder_ / "s.pb", Value()), Error);
}

}  // namespace
}  // namespace gantry
