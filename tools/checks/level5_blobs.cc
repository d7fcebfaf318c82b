// SPDX-License-Identifier: Apache-2.0
// Level 5: compile blobs. A blob that fits is used, one that does not fit is ignored, and the
// results are the same in either case.
#include <memory>
#include <string>
#include <vector>

#include "levels.h"
#include "open_provider.h"
#include "progress.h"
#include "test_kernel.h"

namespace gantry::checks {
namespace {

constexpr const char* kRemedy =
    "check a blob before anything of it is used: a sum, the versions of provider and libraries, "
    "the "
    "device, and what the claim consists of; sdk/blob.h does";

// A kernel on the device under test that has a blob, and its results.
class Maker {
 public:
  explicit Maker(const Subject& subject) : subject_(subject), provider_(subject) {
    device_ = provider_.device();
    if (!device_.has_host_memory())
      opened_ = std::make_shared<OpenDevice>(provider_, device_.index);
    // The first claimed operator whose kernel has a blob.
    for (size_t probe = 0; probe < probe_operators().size() && blob_.empty(); ++probe) {
      try {
        const TestKernel kernel = make({{}, false, probe});
        probe = kernel.probe();
        probe_ = probe;
        blob_ = kernel.blob();
        op_type_ = kernel.op_type();
        expected_ = result_of(kernel);
      } catch (const Skip&) {
        break;
      }
    }
    if (blob_.empty()) throw Skip("no kernel that this check could use hands out a compiled form");
  }

  [[nodiscard]] const std::string& blob() const { return blob_; }
  [[nodiscard]] const std::string& op_type() const { return op_type_; }
  [[nodiscard]] TestKernel make(const TestKernel::Variant& variant) const {
    return {provider_, subject_, device_, opened_, variant};
  }
  [[nodiscard]] std::vector<float> result_of(const TestKernel& kernel) const {
    const TestKernel::Result result = kernel.run();
    expect(result.code == GANTRY_OK,
           "run of " + kernel.op_type() + ": expected success, found " + result.error,
           "see the provider's own message");
    return result.elements;
  }
  /// Compiles and runs with a blob. Throws Failure if the results differ from those without one.
  void expect_same(const std::string& blob, const std::string& what) const {
    note_progress("compiling with a blob that is " + what);
    const TestKernel kernel = make({blob, false, probe_});
    expect(result_of(kernel) == expected_,
           "compile of " + op_type_ + " with a blob that is " + what +
               ": expected the result of a kernel without one, found another result",
           kRemedy);
  }
  [[nodiscard]] size_t probe() const { return probe_; }

 private:
  const Subject& subject_;
  OpenProvider provider_;
  TestDevice device_;
  std::shared_ptr<OpenDevice> opened_;
  size_t probe_ = 0;
  std::string blob_;
  std::string op_type_;
  std::vector<float> expected_;
};

void come_back(const Subject& subject) {
  const Maker maker(subject);
  maker.expect_same(maker.blob(), "its own");
  const TestKernel kernel = maker.make({maker.blob(), false, maker.probe()});
  expect(kernel.blob() == maker.blob(),
         "serialize of " + maker.op_type() +
             ", made from a blob: expected that blob again, found another one",
         "hand out what you were given if it fits: the host takes anything else for a new form");
}

void survive_damage(const Subject& subject) {
  const Maker maker(subject);
  const std::string& good = maker.blob();
  for (const size_t length : {size_t{1}, good.size() / 4, good.size() / 2, good.size() - 1}) {
    if (length > 0 && length < good.size())
      maker.expect_same(good.substr(0, length), "cut to " + std::to_string(length) + " bytes");
  }
  constexpr size_t kPlaces = 24;
  for (size_t i = 0; i < kPlaces; ++i) {
    const size_t place = i * (good.size() - 1) / (kPlaces - 1);
    std::string damaged = good;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    maker.expect_same(damaged, "damaged at byte " + std::to_string(place));
  }
  maker.expect_same(good + good, "there twice");
  maker.expect_same(std::string(4096, '\xff'), "4096 bytes of nothing");
}

void survive_others(const Subject& subject) {
  const Maker maker(subject);
  // The blob of the same operator with other constants and another node name.
  const std::string other = maker.make({{}, true, maker.probe()}).blob();
  maker.expect_same(other, "another node's");
  for (size_t probe = maker.probe() + 1; probe < probe_operators().size(); ++probe) {
    try {
      const TestKernel kernel = maker.make({{}, false, probe});
      probe = kernel.probe();
      if (!kernel.blob().empty()) maker.expect_same(kernel.blob(), "of " + kernel.op_type());
    } catch (const Skip&) {
      break;
    }
  }
}

}  // namespace

void add_blob_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, void (*run)(const Subject&)) {
    checks.push_back({5, name, "P24", [run, &subject] { run(subject); }});
  };
  add("blobs.come-back", come_back);
  add("blobs.damaged", survive_damage);
  add("blobs.of-others", survive_others);
}

}  // namespace gantry::checks
