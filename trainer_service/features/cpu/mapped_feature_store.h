// Reads features from the mapped dataset, for CPU devices. The page cache is
// the store.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_MAPPED_FEATURE_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_MAPPED_FEATURE_STORE_H_

#include <memory>

#include "shared/graph/dataset.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Reads f32, f16 and bf16; the latter two are widened without loss. `view`
// borrows from a Dataset, which must outlive the store.
std::unique_ptr<FeatureStore> MakeMappedFeatureStore(const FeatureView& view);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_MAPPED_FEATURE_STORE_H_
