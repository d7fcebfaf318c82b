// SPDX-License-Identifier: Apache-2.0
#include "artefact/artefact_file.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string text_of(const std::span<const std::byte>* bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "none";
}

class ArtefactFileTest : public testing::Test {
 protected:
  ArtefactFileTest() : file_(folder_.path("a.artefact")) {
    std::mt19937_64 random(1);
    large_.resize(3'000'001);  // in several chunks, and no multiple of anything
    for (char& byte : large_) byte = static_cast<char>(random());
    size_ = write_artefact(file_, metadata_, parts());
  }
  [[nodiscard]] std::vector<ArtefactPart> parts() const {
    return {{"small", bytes_of(small_)}, {"none", {}}, {"large", bytes_of(large_)}};
  }
  // Opens and reads all of it; what is wrong.
  [[nodiscard]] std::string fault() const {
    try {
      ArtefactFile::open(file_)->verify(2);
      return {};
    } catch (const Error& error) {
      return error.message();
    }
  }
  [[nodiscard]] std::string content() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  test::TempFolder folder_;
  const ArtefactMetadata metadata_ = {{"processor", "a"}, {"model", "b"}};
  const std::string small_ = "a few bytes";
  std::string large_;
  fs::path file_;
  uint64_t size_ = 0;
};

TEST_F(ArtefactFileTest, GivesBackWhatWasWritten) {
  const auto file = ArtefactFile::open(file_);
  file->verify(2);
  EXPECT_EQ(file->metadata(), metadata_);
  EXPECT_EQ(text_of(file->find("small")), small_);
  EXPECT_EQ(text_of(file->find("large")), large_);
  EXPECT_EQ(text_of(file->find("none")), "");
  EXPECT_EQ(file->find("another"), nullptr);
  for (const char* name : {"small", "large"})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->find(name)->data()) % 64, 0U) << name;
  EXPECT_EQ(file->size_bytes(), size_);
  EXPECT_EQ(fs::file_size(file_), size_);
}

TEST_F(ArtefactFileTest, IsReadableByItsUserAlone) {
  struct stat metadata = {};
  ASSERT_EQ(stat(file_.c_str(), &metadata), 0);
  EXPECT_EQ(metadata.st_mode & 0777U, 0600U);
  fs::permissions(file_, fs::perms::group_write, fs::perm_options::add);
  expect_error(Code::kUnavailable, {"others than its user may write it"},
               [&] { (void)ArtefactFile::open(file_); });
}

TEST_F(ArtefactFileTest, AFlippedBitIsFoundWhereverItIs) {
  const std::string good = content();
  std::vector<size_t> places = {0, 16, 24, 33, 41, 56, 4096, 4096 + small_.size() + 2};
  for (size_t i = 1; i <= 40; ++i) places.push_back(4096 + (good.size() - 4097) * i / 40);
  for (const size_t place : places) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    std::ofstream(file_, std::ios::binary) << bad;
    EXPECT_NE(fault(), "") << "byte " << place;
  }
  std::ofstream(file_, std::ios::binary) << good;
  EXPECT_EQ(fault(), "");
}

TEST_F(ArtefactFileTest, ATruncatedOneIsFoundWhereverItEnds) {
  const std::string good = content();
  for (const size_t length : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{4095},
                              size_t{4096}, good.size() / 2, good.size() - 1}) {
    std::ofstream(file_, std::ios::binary) << good.substr(0, length);
    EXPECT_THAT(fault(), testing::HasSubstr("it is truncated")) << length << " bytes";
  }
  std::ofstream(file_, std::ios::binary) << good << "more";
  EXPECT_NE(fault(), "");
}

TEST_F(ArtefactFileTest, OtherFilesAreNone) {
  std::ofstream(file_, std::ios::binary) << std::string(10'000, 'x');
  EXPECT_EQ(fault(), "it is no artefact");
  fs::remove(file_);
  expect_error(Code::kNotFound, {}, [&] { (void)ArtefactFile::open(file_); });
  fs::create_directory(file_);
  expect_error(Code::kUnavailable, {"no regular file"}, [&] { (void)ArtefactFile::open(file_); });
}

TEST_F(ArtefactFileTest, AMapOutlivesTheFileThatReplacesIt) {
  const auto old = ArtefactFile::open(file_);
  write_artefact(file_, {{"model", "c"}}, {{"small", bytes_of(large_)}});
  EXPECT_EQ(text_of(old->find("large")), large_);
  EXPECT_EQ(text_of(ArtefactFile::open(file_)->find("small")), large_);
}

TEST_F(ArtefactFileTest, SeveralWritersLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  writers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int round = 0; round < 3; ++round) write_artefact(file_, metadata_, parts());
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "drafts were left";
}

TEST_F(ArtefactFileTest, ADiskThatIsFullLeavesTheOldFileAndNoDraft) {
  // A limit on files' sizes ends writes as a full disk does.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto restore = [&] { setrlimit(RLIMIT_FSIZE, &before); };
  expect_error(Code::kUnavailable, {"it cannot be written"}, [&] {
    write_artefact(file_, {{"model", "c"}}, parts());
  });
  restore();
  EXPECT_EQ(ArtefactFile::open(file_)->metadata(), metadata_);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST(ArtefactMetadata, TheFirstDifferenceIsTold) {
  const ArtefactMetadata kept = {{"processor", "a"}, {"model", "b"}};
  EXPECT_EQ(difference_of(kept, kept), "");
  EXPECT_EQ(difference_of(kept, {{"processor", "a"}, {"model", "c"}}), "model was b, and is c");
  EXPECT_EQ(difference_of(kept, {{"processor", "a"}}), "model was b, and is not there now");
  EXPECT_EQ(difference_of({}, kept), "processor is a, and was not there then");
}

}  // namespace
}  // namespace gantry
