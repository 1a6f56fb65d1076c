#include "trainer_service/features/cpu/open_feature_store.h"

#include <cstdint>
#include <string>
#include <utility>

#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"
#include "trainer_service/features/cpu/disk_feature_store.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/features/made_up_store.h"
#include "trainer_service/features/rounded_store.h"

namespace fgnn {
namespace {

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenStored(
    const Dataset& dataset, const std::string& store) {
  const FeatureView& features = dataset.features();
  if (store == kMadeUpStore) {
    return MakeMadeUpStore(dataset.num_nodes(), features.columns);
  }
  const uint64_t bytes = features.rows * features.row_bytes();
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  if (store != "disk" && (store == "memory" || bytes <= available)) {
    return MakeMappedFeatureStore(features);
  }
  LogInfo("features of {} are read from the disk: {}, with {} of memory left",
          dataset.name(), FormatBytes(bytes), FormatBytes(available));
  absl::StatusOr<std::unique_ptr<DiskFeatureStore>> opened =
      OpenDiskFeatureStore(dataset.feature_file());
  if (!opened.ok()) return Annotate(opened.status(), "features.store");
  return std::unique_ptr<FeatureStore>(*std::move(opened));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(
    const Dataset& dataset, const FeaturesSpec& features) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> store,
                        OpenStored(dataset, features.store));
  return RoundAsWire(std::move(store), features.wire);
}

}  // namespace fgnn
