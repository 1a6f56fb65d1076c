#include "trainer_service/features/cpu/disk_feature_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/mutex.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/features/cpu/page_reader.h"

namespace fgnn {
namespace {

// Sorted rows of a task: enough that the queue seldom runs empty.
constexpr size_t kReadsPerTask = 8192;
// Number of other rows that are copied between two checks of the queue.
constexpr size_t kOtherRows = 64;
constexpr uint32_t kMostDepth = 4096;

// A pool of objects that threads borrow and give back. Thread-safe.
template <typename T>
class Shelf {
 public:
  std::unique_ptr<T> Take() {
    const MutexLock lock(&mutex_);
    if (things_.empty()) return nullptr;
    std::unique_ptr<T> thing = std::move(things_.back());
    things_.pop_back();
    return thing;
  }
  void Put(std::unique_ptr<T> thing) {
    const MutexLock lock(&mutex_);
    things_.push_back(std::move(thing));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<T>> things_ ABSL_GUARDED_BY(mutex_);
};

class UringFeatureStore : public DiskFeatureStore {
 public:
  UringFeatureStore(const FeatureFile& file, UniqueFd fd,
                    const DiskStoreOptions& options)
      : fd_(std::move(fd)),
        file_{file, fd_.get(), options.depth},
        make_queue_(options.make_queue) {}

  uint64_t num_rows() const override { return file_.features.rows; }
  uint64_t num_columns() const override { return file_.features.columns; }
  FeatureType type() const override { return file_.features.type; }
  const std::byte* data() const override { return nullptr; }
  uint64_t num_reads() const override { return num_reads_; }

  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    return ReadAll(nodes, [&](uint32_t place, const std::byte* row) {
      WidenToFloats(type(), row, num_columns(), out + place * num_columns());
    });
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    const uint64_t bytes = row_bytes();
    return ReadAll(nodes, [&](uint32_t place, const std::byte* row) {
      std::memcpy(out + place * bytes, row, bytes);
    });
  }
  absl::Status ExtractMisses(const BatchMisses& misses, float* out,
                             ThreadTeam& team, OtherRows other) const override;

  // Adds a reader for a thread. Readers are made at the start, so that an error
  // shows at once.
  absl::Status AddReader() const {
    FGNN_ASSIGN_OR_RETURN(auto reader, PageReader::Create(file_, make_queue_));
    readers_.Put(std::move(reader));
    return absl::OkStatus();
  }

 private:
  using Rows = std::vector<WantedRow>;

  std::unique_ptr<Rows> TakeRows() const {
    std::unique_ptr<Rows> rows = lists_.Take();
    if (rows == nullptr) rows = std::make_unique<Rows>();
    rows->clear();
    return rows;
  }
  absl::Status Read(absl::Span<const WantedRow> rows, PageReader::TakeRow take,
                    PageReader::Meanwhile meanwhile) const {
    std::unique_ptr<PageReader> reader = readers_.Take();
    if (reader == nullptr) {
      FGNN_ASSIGN_OR_RETURN(reader, PageReader::Create(file_, make_queue_));
    }
    const uint64_t before = reader->num_reads();
    absl::Status status = reader->Read(rows, take, meanwhile);
    num_reads_ += reader->num_reads() - before;
    if (!reader->is_broken()) readers_.Put(std::move(reader));
    return status;
  }
  absl::Status ReadAll(absl::Span<const GlobalId> nodes,
                       PageReader::TakeRow take) const {
    std::unique_ptr<Rows> rows = TakeRows();
    for (uint32_t i = 0; i < nodes.size(); ++i) rows->push_back({nodes[i], i});
    std::sort(rows->begin(), rows->end());
    absl::Status status = Read(*rows, take, [] { return false; });
    lists_.Put(std::move(rows));
    return status;
  }

  const UniqueFd fd_;
  const PagedFile file_;
  const MakeReadQueue make_queue_;
  mutable Shelf<PageReader> readers_;
  mutable Shelf<Rows> lists_;
  mutable std::atomic<uint64_t> num_reads_ = 0;
};

// Misses are sorted over the whole batch, so that each page is read once, and
// shared among threads. Threads whose reads are in flight copy some of the
// other rows.
absl::Status UringFeatureStore::ExtractMisses(const BatchMisses& misses,
                                              float* out, ThreadTeam& team,
                                              OtherRows other) const {
  const size_t count = misses.nodes.size();
  std::unique_ptr<Rows> rows = TakeRows();
  for (uint32_t i = 0; i < count; ++i) {
    if (misses.Has(i)) rows->push_back({misses.nodes[i], i});
  }
  std::sort(rows->begin(), rows->end());

  const auto take = [&](uint32_t place, const std::byte* row) {
    WidenToFloats(type(), row, num_columns(), out + place * num_columns());
  };
  std::atomic<size_t> next_other = 0;
  const auto meanwhile = [&] {
    const size_t first = next_other.fetch_add(kOtherRows);
    if (first >= count) return false;
    other(first, std::min(first + kOtherRows, count));
    return true;
  };
  // Without misses the threads still share the other rows.
  const size_t num_tasks =
      std::max<size_t>((rows->size() + kReadsPerTask - 1) / kReadsPerTask,
                       static_cast<size_t>(team.size()));
  FirstError failed;
  FGNN_RETURN_IF_ERROR(
      team.Run(static_cast<int64_t>(num_tasks), [&](int64_t task, int) {
        if (failed.any()) return;
        const size_t first =
            rows->size() * static_cast<size_t>(task) / num_tasks;
        const size_t last =
            rows->size() * (static_cast<size_t>(task) + 1) / num_tasks;
        failed.Note(Read(absl::MakeSpan(*rows).subspan(first, last - first),
                         take, meanwhile));
      }));
  lists_.Put(std::move(rows));
  return failed.status();
}

absl::StatusOr<UniqueFd> OpenDirect(const FeatureFile& file) {
  const std::string path = file.path.string();
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!fd.valid() && errno == EINVAL) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": its file system has no direct I/O (O_DIRECT); put the dataset "
        "on one that has, as ext4 or xfs, or keep features in memory"));
  }
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("open ", path));
  struct stat state = {};
  if (::fstat(fd.get(), &state) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("look at ", path));
  }
  const uint64_t need = file.offset + file.rows * file.row_bytes();
  if (static_cast<uint64_t>(state.st_size) < need) {
    return absl::DataLossError(
        absl::StrCat(path, ": has ", state.st_size, " B, but its ", file.rows,
                     " rows end at ", need, "; copy or build it again"));
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskFeatureStore>> OpenDiskFeatureStore(
    const FeatureFile& file, const DiskStoreOptions& options) {
  if (options.depth == 0 || options.depth > kMostDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path.string(), ": a depth of ", options.depth,
                     " reads; 1 to ", kMostDepth, " are possible"));
  }
  if (file.row_bytes() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path.string(), ": has no columns"));
  }
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, OpenDirect(file));
  auto store =
      std::make_unique<UringFeatureStore>(file, std::move(fd), options);
  FGNN_RETURN_IF_ERROR(store->AddReader());
  return store;
}

}  // namespace fgnn
