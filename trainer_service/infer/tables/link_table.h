// Files of predicted links.
#ifndef FGNN_TRAINER_SERVICE_INFER_TABLES_LINK_TABLE_H_
#define FGNN_TRAINER_SERVICE_INFER_TABLES_LINK_TABLE_H_

#include <filesystem>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/new_neighbors.h"

namespace fgnn {

// Replaces `path` by the scores [n] of `pairs` [n, 2]. "*.npy" gets f32 [n].
// "*.csv" gets a heading and lines
//   source,source_name,destination,destination_name,score,probability
// AppendVertexHeading() says how vertices of several kinds are named. Names
// that are not known are empty. Errors: those of the file system.
absl::Status WritePairScores(const std::filesystem::path& path,
                             absl::Span<const GlobalId> pairs,
                             absl::Span<const float> scores,
                             const Dataset& dataset);

// Replaces `path` by the neighbours of `vertices` [n]. "*.npy" gets their ids,
// i64 [n, K], -1 where there are fewer. "*.csv" gets a heading and a line for
// each of them:
//   id,name,rank,neighbour,neighbour_name,score,probability
// Vertices are named as above. Ranks count from 1. Errors: those of the file
// system.
absl::Status WriteNewNeighbors(const std::filesystem::path& path,
                               absl::Span<const GlobalId> vertices,
                               const NewNeighbors& found,
                               const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_TABLES_LINK_TABLE_H_
