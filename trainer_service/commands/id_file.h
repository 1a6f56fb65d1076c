// Files with ids or names of vertices, as users write them.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_

#include <cstddef>
#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Reads rows of `columns` global ids, [n, columns] with n >= 1, in the file's
// order. A "*.npy" file is an array of integers, [n] for one column or [n,
// columns]. Any other file is text with a row on each line: ids with blanks or
// a comma between them. Empty lines are skipped. If the dataset's vertices are
// of several kinds, text has what VertexFinder::Find() takes in the place of
// ids, in quotes as in CSV if there are blanks or commas in it.
//   InvalidArgument  an id or a name is none of the dataset, or the file has
//                    another form. The message names file and line, counted
//                    from 1, or the row of the array, counted from 0.
//   Other errors     those of the file system.
absl::StatusOr<std::vector<GlobalId>> ReadIdFile(
    const std::filesystem::path& path, size_t columns, const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_ID_FILE_H_
