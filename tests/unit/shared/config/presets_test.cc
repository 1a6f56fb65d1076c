#include "shared/config/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<v1::JobSpec> EffectiveOnTwoDevices(const std::string& lines) {
  absl::StatusOr<v1::JobSpec> spec =
      ParseJobYaml("dataset: /d\n" + lines, "job.yaml");
  return spec.ok() ? MakeEffective(*std::move(spec), {"cpu:0", "cpu:1"}) : spec;
}

TEST(PresetsTest, EachIsAWholeJobThatKeepsItsName) {
  for (const std::string& name : PresetNames()) {
    SCOPED_TRACE(name);
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec,
                              EffectiveOnTwoDevices("preset: " + name));
    EXPECT_EQ(spec.preset(), name);
    EXPECT_EQ(spec.sampling().batch_size(), 8000U);
    EXPECT_EQ(spec.training().epochs(), 10U);  // No paper's: the default.
    EXPECT_EQ(spec.training().batches_per_step(), 1U);
    EXPECT_THAT(ToYaml(spec, /*with_help=*/false),
                HasSubstr("\npreset: " + name + "\n"));
  }
}

TEST(PresetsTest, AreAsThePapersSay) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec gcn,
                            EffectiveOnTwoDevices("preset: fgnn/gcn"));
  EXPECT_EQ(gcn.model().kind(), "gcn");
  EXPECT_EQ(gcn.model().hidden(), 256U);
  EXPECT_THAT(gcn.sampling().fanouts(), ElementsAre(15, 10, 5));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec sage,
                            EffectiveOnTwoDevices("preset: fgnn/graphsage"));
  EXPECT_EQ(sage.model().layers(), 2U);
  EXPECT_THAT(sage.sampling().fanouts(), ElementsAre(10, 25));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec pinsage,
                            EffectiveOnTwoDevices("preset: fgnn/pinsage"));
  EXPECT_EQ(pinsage.sampling().kind(), "random_walk");
  EXPECT_THAT(pinsage.sampling().fanouts(), ElementsAre(5, 5, 5));
  EXPECT_EQ(pinsage.sampling().walks().num(), 4U);
  EXPECT_EQ(pinsage.sampling().walks().length(), 3U);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec gin,
                            EffectiveOnTwoDevices("preset: fastgl/gin"));
  EXPECT_EQ(gin.model().kind(), "gin");
  EXPECT_EQ(gin.model().hidden(), 64U);
  EXPECT_THAT(gin.sampling().fanouts(), ElementsAre(15, 10, 5));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec gat,
                            EffectiveOnTwoDevices("preset: fastgl/gat"));
  EXPECT_EQ(gat.model().kind(), "gat");
  EXPECT_EQ(gat.model().hidden() / gat.model().heads(), 8U);
}

TEST(PresetsTest, GiveWayToWhatTheJobSays) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec spec,
      EffectiveOnTwoDevices("preset: fgnn/gcn\n"
                            "model: {hidden: 16, layers: 2}\n"
                            "sampling: {fanouts: [4, 3]}\n"));
  EXPECT_EQ(spec.model().kind(), "gcn");
  EXPECT_EQ(spec.model().hidden(), 16U);
  EXPECT_THAT(spec.sampling().fanouts(), ElementsAre(4, 3));
  EXPECT_EQ(spec.sampling().batch_size(), 8000U);
}

TEST(PresetsTest, ChangeNothingOfAnEffectiveJob) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      v1::JobSpec spec,
      EffectiveOnTwoDevices("preset: fastgl/gin\n"
                            "sampling: {fanouts: [2, 2, 2]}\n"));
  const std::string before = ToYaml(spec, /*with_help=*/false);
  ASSERT_THAT(FillPreset(&spec), IsOk());
  EXPECT_EQ(ToYaml(spec, /*with_help=*/false), before);
}

TEST(PresetsTest, AnUnknownOneNamesThoseThereAre) {
  EXPECT_THAT(EffectiveOnTwoDevices("preset: fgnn/gnc"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "preset: 'fgnn/gnc' is not known; did you mean "
                       "'fgnn/gcn'? choose from: fgnn/gcn, fgnn/graphsage, "
                       "fgnn/pinsage, fastgl/gcn, fastgl/gin, fastgl/gat"));
}

}  // namespace
}  // namespace fgnn
