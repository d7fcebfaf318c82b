// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gantry/sdk/bits.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "plan/types.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kMostBlocks = 0x7fffffff;
constexpr size_t kMostParameterBytes = 4096;  // limit of kernel parameters on all architectures
constexpr int kBounds[] = {256, 512, 1024};   // threads per block

template <class T>
std::vector<int64_t> widened(const void* data, int64_t count) {
  const T* elements = static_cast<const T*>(data);
  return {elements, elements + count};
}

}  // namespace

void for_each_program(const std::vector<Step>& steps,
                      const std::function<void(const Program&)>& use) {
  for (const Step& step : steps) {
    if (step.program) use(*step.program);
    for (const std::vector<Step>& candidate : step.candidates) for_each_program(candidate, use);
  }
}

std::vector<int64_t> Planner::host_integers(int slot) const {
  const InputMetadata& info = input(slot);
  switch (info.dtype) {
    case GANTRY_INT64:
      return widened<int64_t>(info.host_data, info.element_count());
    case GANTRY_INT32:
      return widened<int32_t>(info.host_data, info.element_count());
    case GANTRY_BOOL:
      return widened<uint8_t>(info.host_data, info.element_count());
    default:
      throw sdk::Error(GANTRY_INVALID_MODEL,
                       "input " + std::to_string(slot) + " has the element type " +
                           std::to_string(info.dtype) + ", expected integers");
  }
}

double Planner::host_number(int slot) const {
  const InputMetadata& info = input(slot);
  if (!info.host_data || info.element_count() < 1) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "input " + std::to_string(slot) + " has no element, expected one");
  }
  return number_at(info.dtype, info.host_data);
}

Buffer Planner::output(int slot, uint32_t dtype, std::vector<int64_t> shape) {
  plan_.outputs.push_back({static_cast<uint32_t>(slot), dtype, std::move(shape), {}});
  return {Buffer::Kind::kOutput, static_cast<uint32_t>(plan_.outputs.size() - 1), 0};
}

Buffer Planner::scratch(uint64_t size_bytes) {
  plan_.scratch_bytes.push_back(size_bytes);
  return {Buffer::Kind::kScratch, static_cast<uint32_t>(plan_.scratch_bytes.size() - 1), 0};
}

Buffer Planner::begin_cached(std::shared_ptr<CachedMemory>& memory, uint64_t size_bytes) {
  if (!memory && libraries_.allocate_cached) memory = libraries_.allocate_cached(size_bytes);
  plan_.cached.push_back(memory);
  cached_begin_ = plan_.steps.size();
  return {Buffer::Kind::kCached, static_cast<uint32_t>(plan_.cached.size() - 1), 0};
}

void Planner::end_cached(const Buffer& cached) {
  for (size_t i = cached_begin_; i < plan_.steps.size(); ++i)
    plan_.steps[i].fills = static_cast<int>(cached.index);
}

void Planner::host_output(int slot, uint32_t dtype, std::vector<int64_t> shape, const void* data,
                          uint64_t size_bytes) {
  const auto* bytes = static_cast<const std::byte*>(data);
  plan_.outputs.push_back(
      {static_cast<uint32_t>(slot), dtype, std::move(shape), {bytes, bytes + size_bytes}});
}

void Planner::fill(Buffer target, uint64_t size_bytes, unsigned char value) {
  if (size_bytes == 0) return;
  Step step;
  step.kind = Step::Kind::kFill;
  step.buffers = {target};
  step.size_bytes = size_bytes;
  step.value = value;
  plan_.steps.push_back(std::move(step));
}

void Planner::copy(Buffer target, Buffer source, uint64_t size_bytes) {
  if (size_bytes == 0) return;
  Step step;
  step.kind = Step::Kind::kCopy;
  step.buffers = {target, source};
  step.size_bytes = size_bytes;
  plan_.steps.push_back(std::move(step));
}

void Planner::call(std::vector<Buffer> buffers,
                   std::function<void(Stream&, void* const*)> function) {
  Step step;
  step.kind = Step::Kind::kCall;
  step.buffers = std::move(buffers);
  step.call = std::move(function);
  plan_.steps.push_back(std::move(step));
}

void Planner::end_candidates(const std::string& text, std::vector<std::string> families) {
  Step choice;
  choice.kind = Step::Kind::kAutotune;
  choice.tuning_key = text;
  choice.families = std::move(families);
  choice.candidates.resize(candidates_begin_.size());
  for (size_t candidate = candidates_begin_.size(); candidate-- > 0;) {
    const auto begin =
        plan_.steps.begin() + static_cast<std::ptrdiff_t>(candidates_begin_[candidate]);
    choice.candidates[candidate].assign(std::make_move_iterator(begin),
                                        std::make_move_iterator(plan_.steps.end()));
    plan_.steps.erase(begin, plan_.steps.end());
  }
  candidates_begin_.clear();
  plan_.steps.push_back(std::move(choice));
}

void Planner::add_launch(const std::string& source, int64_t blocks, int threads,
                         const void* parameters, size_t size_bytes,
                         std::vector<std::pair<size_t, Buffer>> addresses) {
  if (blocks == 0) return;
  if (blocks < 0 || blocks > kMostBlocks || size_bytes > kMostParameterBytes) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "a kernel of " + std::to_string(blocks) + " blocks with " +
                                             std::to_string(size_bytes) +
                                             " bytes of parameters cannot be launched");
  }
  // Few distinct bounds, so that one compiled kernel serves many block sizes.
  const int bound = *std::lower_bound(std::begin(kBounds), std::end(kBounds) - 1, threads);
  Step step;
  step.program = &programs_.get("#define MOST_THREADS " + std::to_string(bound) + "\n" + source);
  step.blocks = static_cast<unsigned>(blocks);
  step.threads = static_cast<unsigned>(threads);
  const auto* bytes = static_cast<const std::byte*>(parameters);
  step.parameters.assign(bytes, bytes + size_bytes);
  step.addresses = std::move(addresses);
  plan_.steps.push_back(std::move(step));
}

}  // namespace gantry::cuda
