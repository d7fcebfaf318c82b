// SPDX-License-Identifier: Apache-2.0
#include "artefact/artefact_file.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

#include "artefact/content_sum.h"
#include "base/alignment.h"
#include "base/descriptor.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<char, 16> kMagic = {"gantry artefact"};
constexpr uint32_t kVersion = 2;
constexpr uint64_t kDataOffset = 4096;

// The start of the file. Parts follow from kDataOffset, then the index: JSON and the checksums of
// chunks.
struct FileHeader {
  std::array<char, 16> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t reserved = 0;
  uint64_t file_bytes = 0;
  uint64_t index_offset = 0;
  uint64_t json_bytes = 0;
  uint64_t index_sum = 0;
  uint64_t sum = 0;  // checksum of the members before
};
static_assert(sizeof(FileHeader) == 64);

uint64_t sum_of_header(const FileHeader& header) {
  return sum_of({reinterpret_cast<const std::byte*>(&header), offsetof(FileHeader, sum)});
}

[[noreturn]] void damaged(const std::string& what) { throw Error(Code::kInvalidArgument, what); }

[[noreturn]] void unavailable(const std::string& what) {
  throw Error(Code::kUnavailable, what + ": " + std::generic_category().message(errno));
}

void write_all(int file, const void* data, uint64_t size_bytes) {
  const auto* bytes = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const ssize_t written = ::write(file, bytes, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) unavailable("it cannot be written");
    bytes += written;
    size_bytes -= static_cast<uint64_t>(written);
  }
}

// Computes the checksums of the chunks of a byte stream.
class RunningSums {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min<size_t>(bytes.size(), kSumChunk - chunk_.size());
      chunk_.insert(chunk_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
      if (chunk_.size() == kSumChunk) flush();
    }
  }
  std::vector<uint64_t> finish() {
    if (!chunk_.empty()) flush();
    return std::move(sums_);
  }

 private:
  void flush() {
    sums_.push_back(sum_of(chunk_));
    chunk_.clear();
  }
  std::vector<std::byte> chunk_;
  std::vector<uint64_t> sums_;
};

// A temporary file, removed unless it is renamed.
class Draft {
 public:
  explicit Draft(const fs::path& target) : name_(target.string() + ".XXXXXX") {
    file_ = Descriptor(mkostemp(name_.data(), O_CLOEXEC));  // readable by this user only
    if (file_.get() < 0) unavailable("it cannot be made");
  }
  ~Draft() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  [[nodiscard]] int file() const { return file_.get(); }
  void rename_to(const fs::path& target) {
    file_.reset();
    if (rename(name_.c_str(), target.c_str()) != 0) unavailable("it cannot be put in its place");
    name_.clear();
  }

 private:
  std::string name_;
  Descriptor file_;
};

}  // namespace

std::string difference_of(const ArtefactMetadata& kept, const ArtefactMetadata& now) {
  for (size_t i = 0; i < std::max(kept.size(), now.size()); ++i) {
    if (i >= now.size()) return kept[i].first + " was " + kept[i].second + ", and is not there now";
    if (i >= kept.size() || kept[i].first != now[i].first)
      return now[i].first + " is " + now[i].second + ", and was not there then";
    if (kept[i].second != now[i].second)
      return now[i].first + " was " + kept[i].second + ", and is " + now[i].second;
  }
  return {};
}

std::shared_ptr<const ArtefactFile> ArtefactFile::open(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0) {
    if (errno == ENOENT) throw Error(Code::kNotFound, "there is none");
    unavailable("it cannot be read");
  }
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(Code::kUnavailable, "it is no regular file");
  if ((status.st_uid != geteuid() && status.st_uid != 0) ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Error(Code::kUnavailable, "others than its user may write it");
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size < kDataOffset) damaged("it is truncated");
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) unavailable("it cannot be mapped");
  const std::shared_ptr<ArtefactFile> mapped(
      new ArtefactFile(std::move(file), {static_cast<const std::byte*>(memory), size}));
  mapped->watch_ =
      std::make_unique<const FileWatch>(path.string(), mapped->file_.get(), status, mapped->bytes_);
  mapped->read();
  return mapped;
}

ArtefactFile::~ArtefactFile() {
  watch_.reset();
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void ArtefactFile::read() {
  FileHeader header;
  std::memcpy(&header, bytes_.data(), sizeof(header));
  if (header.magic != kMagic) damaged("it is no artefact");
  if (header.version != kVersion) {
    damaged("its format is version " + std::to_string(header.version) + ", not " +
            std::to_string(kVersion));
  }
  if (header.sum != sum_of_header(header)) damaged("its header is damaged");
  const uint64_t size = bytes_.size();
  if (header.file_bytes != size) {
    damaged("it is truncated: " + std::to_string(header.file_bytes) + " bytes were written, " +
            std::to_string(size) + " are there");
  }
  // The checksum is right, so the values are as written; they are checked against the size all the
  // same.
  if (header.index_offset < kDataOffset || header.index_offset > size ||
      header.json_bytes > size - header.index_offset)
    damaged("its header is damaged");
  const std::span index = bytes_.subspan(header.index_offset);
  if (sum_of(index) != header.index_sum) damaged("its index is damaged");
  data_ = bytes_.subspan(kDataOffset, header.index_offset - kDataOffset);
  const uint64_t sums = (data_.size() + kSumChunk - 1) / kSumChunk;
  if (index.size() - header.json_bytes != sums * sizeof(uint64_t)) damaged("its index is damaged");
  sums_.resize(sums);
  if (sums > 0)  // an empty vector has no address
    std::memcpy(sums_.data(), index.data() + header.json_bytes, sums * sizeof(uint64_t));
  try {
    const auto* text = reinterpret_cast<const char*>(index.data());
    const json root = json::parse(text, text + header.json_bytes);
    metadata_ = root.at("facts").get<ArtefactMetadata>();
    for (const auto& [name, place] : root.at("parts").items()) {
      const auto offset = place.at(0).get<uint64_t>();
      const auto length = place.at(1).get<uint64_t>();
      if (offset > data_.size() || length > data_.size() - offset) damaged("its index is damaged");
      parts_.emplace(name, data_.subspan(offset, length));
    }
  } catch (const json::exception&) {
    damaged("its index is damaged");
  }
}

void ArtefactFile::verify(uint32_t threads) const {
  const std::vector<uint64_t> found = chunk_sums(data_, threads, false);
  const auto wrong = std::mismatch(found.begin(), found.end(), sums_.begin()).first;
  if (wrong == found.end()) return;
  const auto at = kDataOffset + static_cast<uint64_t>(wrong - found.begin()) * kSumChunk;
  damaged("it is damaged between bytes " + std::to_string(at) + " and " +
          std::to_string(std::min<uint64_t>(at + kSumChunk, bytes_.size())));
}

const std::span<const std::byte>* ArtefactFile::find(const std::string& name) const {
  const auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : &found->second;
}

uint64_t artefact_bytes(const std::vector<ArtefactPart>& parts) {
  uint64_t size = kDataOffset;
  for (const ArtefactPart& part : parts) size += round_up(part.bytes.size(), kTensorAlignment);
  return size;
}

uint64_t write_artefact(const fs::path& path, const ArtefactMetadata& metadata,
                        const std::vector<ArtefactPart>& parts) {
  Draft draft(path);
  const std::vector<char> room(kDataOffset, '\0');
  write_all(draft.file(), room.data(), room.size());
  json locations = json::object();
  RunningSums sums;
  uint64_t offset = 0;
  for (const ArtefactPart& part : parts) {
    locations[part.name] = {offset, part.bytes.size()};
    const uint64_t gap = round_up(part.bytes.size(), kTensorAlignment) - part.bytes.size();
    write_all(draft.file(), part.bytes.data(), part.bytes.size());
    write_all(draft.file(), room.data(), gap);
    sums.add(part.bytes);
    sums.add({reinterpret_cast<const std::byte*>(room.data()), gap});
    offset += part.bytes.size() + gap;
  }
  const std::string text = json({{"facts", metadata}, {"parts", locations}})
                               .dump(-1, ' ', false, json::error_handler_t::replace);
  const std::vector<uint64_t> list = sums.finish();
  std::string index = text;
  index.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(uint64_t));
  write_all(draft.file(), index.data(), index.size());
  FileHeader header;
  header.index_offset = kDataOffset + offset;
  header.file_bytes = header.index_offset + index.size();
  header.json_bytes = text.size();
  header.index_sum = sum_of({reinterpret_cast<const std::byte*>(index.data()), index.size()});
  header.sum = sum_of_header(header);
  if (lseek(draft.file(), 0, SEEK_SET) != 0) unavailable("it cannot be written");
  write_all(draft.file(), &header, sizeof(header));
  draft.rename_to(path);
  return header.file_bytes;
}

}  // namespace gantry
