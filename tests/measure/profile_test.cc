#include "memsim/report/profile.h"

#include <string>

#include "gtest/gtest.h"
#include "memsim/internal/compiler.h"
#include "memsim/report/comparison.h"

namespace memsim {
namespace {

Configuration Resolved(const ConfigurationText& text) {
  const auto configuration = Resolve(text);
  EXPECT_TRUE(configuration.ok()) << configuration.status();
  return *configuration;
}

// v4.0, enabled, everything in root, the bare path, sampled. Expect at least 5000 samples and a positive
// share on each of the eleven functions of the published table.
TEST(ProfileTest, EveryPublishedFunctionShows) {
#if MEMSIM_SANITIZED || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "inlining and times of this build are not those of the model";
#endif
  ConfigurationText text;
  text.kernel = "v4.0";
  text.memcg = "root";
  ProfileOptions options;
  options.repetitions = 3;
  options.samples = 40000;
  options.sample_seconds = 20;
  const auto profile = MakeProfile(Resolved(text), options);
  ASSERT_TRUE(profile.ok()) << profile.status();
  if (profile->mechanism.rfind("perf", 0) != 0) GTEST_SKIP() << profile->mechanism_why;
  EXPECT_TRUE(profile->enough_samples());
  const auto published = LoadPublishedProfile("pft-profile-2015");
  ASSERT_TRUE(published.ok()) << published.status();
  ASSERT_EQ(published->functions.size(), 11u);
  for (const std::string& function : published->functions) {
    int64_t samples = 0;
    for (const ProfileRow& row : profile->rows) {
      if (row.name == function) samples = row.samples;
    }
    EXPECT_GT(samples, 0) << function;
  }
}

// Too few samples. Expect them labelled, not shown as shares.
TEST(ProfileTest, FewSamplesAreNotEnough) {
  Profile profile;
  profile.samples = kEnoughSamples - 1;
  EXPECT_FALSE(profile.enough_samples());
  profile.samples = kEnoughSamples;
  EXPECT_TRUE(profile.enough_samples());
}

// A child, 4096 pages counted in a second pass. Expect counts per page that are whole where they must be.
TEST(ProfileTest, CountsArePerPage) {
  ConfigurationText text;
  text.memcg = "depth:1";
  text.faults = 4096;
  const auto counts = CountExactly(Resolved(text), nullptr);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->pages, 4096);
  EXPECT_EQ(counts->by_function[static_cast<size_t>(Fn::kMemCgroupTryCharge)].calls, 1);
  EXPECT_EQ(counts->by_function[static_cast<size_t>(Fn::kPageLruvec)].calls, 2);
  EXPECT_EQ(counts->by_function[static_cast<size_t>(Fn::kCommitCharge)].calls, 1);
}

}  // namespace
}  // namespace memsim
