// Features that are rounded before anybody gets them (features.wire).
#ifndef FGNN_TRAINER_SERVICE_FEATURES_ROUNDED_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_ROUNDED_STORE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Returns a store with the rows of `store`, as features.wire says: `store`
// itself if `wire` is "stored" or its type, else one whose type is `wire`,
// "f16" or "bf16". That one's reads return InvalidArgument if a number is too
// large for the type. InvalidArgument: the rows are of another type of 16 bits.
absl::StatusOr<std::unique_ptr<FeatureStore>> RoundAsWire(
    std::unique_ptr<FeatureStore> store, std::string_view wire);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_ROUNDED_STORE_H_
