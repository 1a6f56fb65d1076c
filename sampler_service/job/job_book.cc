#include "sampler_service/job/job_book.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/book/making/book_parts.h"
#include "shared/graph/book/partition_book.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::Status MakeMissingBook(const Dataset& dataset, const std::string& job_id,
                             const std::function<absl::Status()>& check) {
  if (dataset.host_rows().has_value()) return absl::OkStatus();
  absl::StatusOr<PartitionBook> book = PartitionBook::Open(dataset);
  if (book.ok()) return absl::OkStatus();
  const LogJob about(job_id);
  LogInfo("job {}: making the partition book of {} by METIS: {}", job_id,
          dataset.folder().string(),
          absl::IsNotFound(book.status())
              ? "there is none of the dataset's present state"
              : MessageOf(book.status()));
  const Stopwatch watch;
  absl::Status stopped;
  std::string last_stage;
  book = MakeBook(dataset, BookMethod::kMetis, /*balance=*/{},
                  [&](std::string_view stage) {
                    if (stage != last_stage) {
                      last_stage = stage;
                      LogInfo("job {}: partition book: {}, after {}", job_id,
                              last_stage, FormatSeconds(watch.Seconds()));
                    }
                    if (check != nullptr) stopped = check();
                    return stopped;
                  });
  FGNN_RETURN_IF_ERROR(stopped);
  if (!book.ok()) {
    return absl::Status(
        book.status().code(),
        absl::StrCat("the job needs a partition book, which cannot be made: ",
                     MessageOf(book.status()), "; 'fgnn dataset partition ",
                     dataset.folder().string(),
                     " --method stream' makes one in little memory"));
  }
  LogInfo("job {}: made the partition book {} in {}", job_id,
          absl::StrCat(absl::Hex(book->key(), absl::kZeroPad16)),
          FormatSeconds(watch.Seconds()));
  return absl::OkStatus();
}

absl::StatusOr<PartitionBook> OpenJobBook(const Dataset& dataset,
                                          uint64_t key) {
  absl::StatusOr<PartitionBook> book = PartitionBook::Open(dataset);
  if (book.ok() && key != 0 && book->key() != key) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the job began with the partition book ",
        absl::Hex(key, absl::kZeroPad16), ", but ", dataset.folder().string(),
        " has ", absl::Hex(book->key(), absl::kZeroPad16),
        "; make the book again as it was with 'fgnn dataset partition ",
        dataset.folder().string(), "', or start a new run"));
  }
  if (book.ok()) return book;
  // Of a host folder, the error has the way out.
  const std::string way_out =
      dataset.host_rows().has_value()
          ? ""
          : absl::StrCat("; make one with 'fgnn dataset partition ",
                         dataset.folder().string(), "'");
  return absl::InvalidArgumentError(absl::StrCat(
      "the job needs a partition book: ", MessageOf(book.status()), way_out));
}

}  // namespace fgnn
