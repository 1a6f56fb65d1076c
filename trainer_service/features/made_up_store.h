// Features that are no dataset's.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_MADE_UP_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_MADE_UP_STORE_H_

#include <cstdint>
#include <memory>

#include "trainer_service/features/feature_store.h"

namespace fgnn {

// FeaturesSpec::store of a measurement with such features. No job may say it.
inline constexpr char kMadeUpStore[] = "made-up";

// Returns f32 numbers in [-.5, .5) that depend on row and column alone. So
// hosts that have other rows of a dataset can compare what they compute.
std::unique_ptr<FeatureStore> MakeMadeUpStore(uint64_t rows, uint64_t columns);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_MADE_UP_STORE_H_
