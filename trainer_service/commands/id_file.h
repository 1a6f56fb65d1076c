// Files with ids of vertices, as users write them.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/types.h"

namespace fgnn {

// Reads rows of `columns` global ids, [n, columns] with n >= 1, in the file's
// order. A "*.npy" file is an array of integers, [n] for one column or [n,
// columns]. Any other file is text with a row on each line: ids with blanks or
// a comma between them. Empty lines are skipped.
//   InvalidArgument  an id is none of a graph of `num_nodes` vertices, or the
//                    file has another form. The message names file and line,
//                    counted from 1, or the row of the array, counted from 0.
//   Other errors     those of the file system.
absl::StatusOr<std::vector<GlobalId>> ReadIdFile(
    const std::filesystem::path& path, size_t columns, uint64_t num_nodes);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_
