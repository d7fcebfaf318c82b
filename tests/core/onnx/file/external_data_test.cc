// SPDX-License-Identifier: Apache-2.0
#include "onnx/file/external_data.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "expect_error.h"
#include "model_text.h"
#include "temp_folder.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::TensorProto;

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    folder_.write("m/data.bin",
                  std::string(16, '\0') + std::string(16, '\1') + std::string(32, '\0'));
    folder_.write("outside.bin", std::string(64, '\2'));
  }

  static ModelProto model_with(const std::map<std::string, std::string>& entries) {
    ModelProto model = test::parse_model("g (float[4] x) => (float[4] y) { y = Add(x, w) }");
    TensorProto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(TensorProto::FLOAT);
    tensor->add_dims(4);
    tensor->set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return model;
  }

  std::string save(const std::map<std::string, std::string>& entries) {
    return folder_.write("m/model.onnx", model_with(entries).SerializeAsString());
  }

  void expect_refusal(Code code, const std::map<std::string, std::string>& entries,
                      const std::vector<std::string>& parts) {
    const std::string path = save(entries);
    std::vector<std::string> all = {path, "\"w\""};
    all.insert(all.end(), parts.begin(), parts.end());
    test::expect_error(code, all, [&] { OnnxModel{ModelSource(path)}; });
  }

  test::TempFolder folder_;
};

TEST_F(ExternalData, IsMappedAtItsOffset) {
  const OnnxModel model{
      ModelSource(save({{"location", "data.bin"}, {"offset", "16"}, {"length", "16"}}))};
  const auto graph = model.to_graph();
  EXPECT_EQ(static_cast<const char*>(test::value_named(*graph, "w")->constant->view.data)[15],
            '\1');
  EXPECT_EQ(model.mapped_bytes(), 16u);
}

TEST_F(ExternalData, IsFoundThroughAFolderGivenWithTheBytes) {
  const std::string bytes = model_with({{"location", "data.bin"}}).SerializeAsString();
  EXPECT_NO_THROW(test::TestModel(bytes, folder_.path("m")));
  test::expect_error(Code::kInvalidModel, {"data.bin", "without a folder"},
                     [&] { test::TestModel model(bytes); });
}

TEST_F(ExternalData, MayStandInASubfolderOrBehindALinkInside) {
  folder_.write("m/sub/more.bin", std::string(16, '\3'));
  EXPECT_NO_THROW(OnnxModel{ModelSource(save({{"location", "sub/more.bin"}}))});
  EXPECT_NO_THROW(OnnxModel{ModelSource(save({{"location", "sub/../data.bin"}}))});
  std::filesystem::create_symlink("data.bin", folder_.path("m/inner.bin"));
  EXPECT_NO_THROW(OnnxModel{ModelSource(save({{"location", "inner.bin"}}))});
}

// As the caches of model hubs lay it out: names are links into a folder of blobs.
TEST_F(ExternalData, MayLieBesideTheFileThatTheModelsNameLinksTo) {
  folder_.write("blobs/8a1", model_with({{"location", "data.bin"}}).SerializeAsString());
  folder_.write("blobs/f00", std::string(16, '\5'));
  folder_.write("snapshot/keep", "");
  std::filesystem::create_symlink("../blobs/8a1", folder_.path("snapshot/model.onnx"));
  std::filesystem::create_symlink("../blobs/f00", folder_.path("snapshot/data.bin"));
  const OnnxModel model{ModelSource(std::filesystem::path(folder_.path("snapshot/model.onnx")))};
  EXPECT_EQ(model.mapped_bytes(), 16u);
  std::filesystem::remove(folder_.path("snapshot/data.bin"));
  std::filesystem::create_symlink("../outside.bin", folder_.path("snapshot/data.bin"));
  test::expect_error(Code::kInvalidModel, {"outside the model's folder", "blobs"}, [&] {
    OnnxModel{ModelSource(std::filesystem::path(folder_.path("snapshot/model.onnx")))};
  });
}

TEST_F(ExternalData, ALengthOfZeroIsTheTensorsOwn) {
  const OnnxModel model{ModelSource(save({{"location", "data.bin"}, {"length", "0"}}))};
  EXPECT_EQ(test::value_named(*model.to_graph(), "w")->constant->view.size_bytes, 16u);
}

TEST_F(ExternalData, MissingFile) {
  expect_refusal(Code::kNotFound, {{"location", "missing.bin"}}, {"missing.bin"});
}

TEST_F(ExternalData, OutsideTheFolder) {
  expect_refusal(Code::kInvalidModel, {{"location", "../outside.bin"}},
                 {"outside the model's folder"});
  expect_refusal(Code::kInvalidModel, {{"location", folder_.path("outside.bin")}}, {"relative"});
  std::filesystem::create_symlink("../outside.bin", folder_.path("m/link.bin"));
  expect_refusal(Code::kInvalidModel, {{"location", "link.bin"}}, {"outside the model's folder"});
  std::filesystem::create_directory_symlink("..", folder_.path("m/up"));
  expect_refusal(Code::kInvalidModel, {{"location", "up/outside.bin"}},
                 {"outside the model's folder"});
}

// A check of the whole text and an open of what stands before the NUL would see two files.
TEST_F(ExternalData, ALocationWithANul) {
  expect_refusal(Code::kInvalidModel, {{"location", std::string("data.bin\0/x", 11)}},
                 {"NUL", "file's name"});
}

TEST_F(ExternalData, NotARegularFile) {
  expect_refusal(Code::kInvalidModel, {{"location", "."}}, {"regular file"});
  ASSERT_EQ(mkfifo(folder_.path("m/pipe").c_str(), 0600), 0);
  expect_refusal(Code::kInvalidModel, {{"location", "pipe"}}, {"regular file"});
}

TEST_F(ExternalData, WrongNumbers) {
  expect_refusal(Code::kInvalidModel, {{"location", "data.bin"}, {"offset", "60"}},
                 {"64 bytes", "16 from byte 60"});
  expect_refusal(Code::kInvalidModel,
                 {{"location", "data.bin"}, {"offset", "18446744073709551615"}},
                 {"from byte 18446744073709551615"});
  expect_refusal(Code::kInvalidModel, {{"location", "data.bin"}, {"length", "8"}},
                 {"8 bytes", "16"});
  expect_refusal(Code::kInvalidModel, {{"location", "data.bin"}, {"offset", "-1"}}, {"\"-1\""});
  expect_refusal(Code::kInvalidModel, {{"offset", "0"}}, {"location"});
}

}  // namespace
}  // namespace gantry
