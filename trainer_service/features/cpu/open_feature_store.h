// The features of a dataset's folder as trainers of a job read them.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_OPEN_FEATURE_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_OPEN_FEATURE_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Opens the store that features.store names, rounded as features.wire says. Its
// rows are those of features.npy: of a host folder, own rows. kMadeUpStore:
// those of MakeMadeUpStore(), for all vertices. Borrows the dataset. Errors:
// those of OpenDiskFeatureStore() and RoundAsWire().
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(
    const Dataset& dataset, const FeaturesSpec& features);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_OPEN_FEATURE_STORE_H_
