// Fills the table that the trainers of a job share, together with the others.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_FILL_HOT_TABLE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_FILL_HOT_TABLE_H_

#include <chrono>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/hot_table/hot_table.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Time in which a chunk that another trainer fills has to be done. What is not
// there by then is loaded from the store when it is needed.
inline constexpr std::chrono::milliseconds kFillPatience{10'000};

// Reads the rows of free chunks from the store, with all threads of `team`.
// Then waits for the chunks that others fill, as long as one of them is done
// within `patience`. `hottest`: the vertices of the table's rows. `owner`:
// index of this trainer in the job's segment. Returns the number of rows that
// this call has read. InvalidArgument: the table is not for these vertices or
// for this store. Other errors: the store's; others may fill the chunk then.
absl::StatusOr<uint64_t> FillHotTable(
    const FeatureStore& store, absl::Span<const GlobalId> hottest,
    OwnerIndex owner, ThreadTeam& team, HotTable& table,
    std::chrono::milliseconds patience = kFillPatience);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_FILL_HOT_TABLE_H_
