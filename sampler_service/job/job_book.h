// Makes the partition book that a job needs and its dataset lacks.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_BOOK_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_BOOK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns whether a job needs a book: for seeds of a host's own, or for the
// parts of its batches.
inline bool NeedsBook(const TrainingSpec& training) {
  return training.has_own_seeds() || training.parts > 1;
}

// Makes the default book of `fgnn dataset partition` if the dataset has the
// rows of all vertices, and its book is missing, damaged, or one of an earlier
// state of the dataset. The log says why, each stage and the seconds. Equal
// datasets get equal books, on each host that has the whole folder.
//
// `check`, which may be empty, is called about once a second; its error ends
// the work and is returned. Otherwise returns errors of MakeBook(), with the
// command that makes a book in little memory. A host folder is left as it is.
absl::Status MakeMissingBook(const Dataset& dataset, const std::string& job_id,
                             const std::function<absl::Status()>& check);

// Opens the dataset's book. `key`: key of the book that the job began with; 0:
// it begins now. InvalidArgument, with the way out: there is no sound book.
// FailedPrecondition, with both keys and the way out: it is another one.
absl::StatusOr<PartitionBook> OpenJobBook(const Dataset& dataset,
                                          uint64_t key = 0);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_BOOK_H_
