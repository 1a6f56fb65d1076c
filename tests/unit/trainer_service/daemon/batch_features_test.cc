#include "trainer_service/daemon/batch_features.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"

namespace fgnn {
namespace {

// Features whose rows may be copied, or not.
struct SomeFeatures final : public TaskFeatures {
  explicit SomeFeatures(uint64_t taken) : bytes(taken) {}
  void Reset() override {}
  uint64_t match_bytes() const override { return bytes; }

  const uint64_t bytes;
};

class FeaturePoolTest : public testing::Test {
 protected:
  FeaturePoolTest() {
    WriteSmallDataset(folder_ / "data");
    backend_ = CpuBackend::OpenForJob(SmallJob(folder_ / "data"), 1).value();
  }

  const TempFolder folder_;
  std::unique_ptr<CpuBackend> backend_;
};

TEST_F(FeaturePoolTest, FeaturesWithoutRowsToCopyAreUsedAgainAtOnce) {
  FeaturePool pool(backend_.get(), /*ahead=*/0);
  std::shared_ptr<TaskFeatures> features = std::make_shared<SomeFeatures>(0);
  const TaskFeatures* const place = features.get();
  pool.SetBefore(features);
  EXPECT_EQ(pool.before(), nullptr);
  pool.GiveBack(std::move(features));
  EXPECT_EQ(pool.Take().get(), place);
}

TEST_F(FeaturePoolTest, TheBatchBeforeIsKeptWhileTheNextOneIsExtracted) {
  FeaturePool pool(backend_.get(), /*ahead=*/0);
  std::shared_ptr<TaskFeatures> first = std::make_shared<SomeFeatures>(1);
  const TaskFeatures* const first_place = first.get();
  pool.SetBefore(first);
  pool.GiveBack(std::move(first));
  std::shared_ptr<TaskFeatures> second = pool.Take();
  EXPECT_NE(second.get(), first_place);
  EXPECT_EQ(pool.before().get(), first_place);
  // From now on the first one is free.
  pool.SetBefore(std::make_shared<SomeFeatures>(1));
  EXPECT_EQ(pool.Take().get(), first_place);
}

TEST_F(FeaturePoolTest, FeaturesThatAThreadReadsAreNotTaken) {
  FeaturePool pool(backend_.get(), /*ahead=*/0);
  std::shared_ptr<TaskFeatures> first = std::make_shared<SomeFeatures>(1);
  const TaskFeatures* const first_place = first.get();
  pool.SetBefore(first);
  std::shared_ptr<const TaskFeatures> reader = pool.before();
  pool.GiveBack(std::move(first));
  pool.SetBefore(std::make_shared<SomeFeatures>(1));
  EXPECT_NE(pool.Take().get(), first_place);
  reader.reset();
  EXPECT_EQ(pool.Take().get(), first_place);
}

// A batch waits, one is trained, and the one before is neither.
TEST_F(FeaturePoolTest, NoMoreIsKeptThanIsPlanned) {
  FeaturePool pool(backend_.get(), /*ahead=*/1);
  const std::shared_ptr<TaskFeatures> waits = pool.Take();
  pool.Take();  // The second one; it was lost.
  std::shared_ptr<TaskFeatures> trained = std::make_shared<SomeFeatures>(1);
  const TaskFeatures* const place = trained.get();
  pool.SetBefore(trained);
  pool.GiveBack(std::move(trained));
  EXPECT_EQ(pool.Take().get(), place);
  EXPECT_EQ(pool.before(), nullptr);
}

}  // namespace
}  // namespace fgnn
