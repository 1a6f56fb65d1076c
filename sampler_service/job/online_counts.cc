#include "sampler_service/job/online_counts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Adds the numbers of a file to `counts` and `times`.
absl::Status AddFile(const fs::path& path, std::vector<uint32_t>& counts,
                     std::vector<uint32_t>& times) {
  FGNN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const uint64_t expected = counts.size() * sizeof(uint32_t) + times.size();
  if (file.bytes().size() != expected) {
    return absl::DataLossError(absl::StrCat(
        path.string(), " has ", file.bytes().size(), " bytes; expected ",
        expected, ", a count for each vertex and a byte for each batch"));
  }
  const auto* const of_file =
      reinterpret_cast<const uint32_t*>(file.bytes().data());
  for (size_t v = 0; v < counts.size(); ++v) counts[v] += of_file[v];
  const auto* const had = reinterpret_cast<const uint8_t*>(of_file) +
                          counts.size() * sizeof(uint32_t);
  for (size_t i = 0; i < times.size(); ++i) times[i] += had[i];
  return absl::OkStatus();
}

// Returns the end of the run of equal values that begins at `begin`.
size_t EndOfRun(const std::vector<uint32_t>& values, size_t begin) {
  const auto first = values.begin() + static_cast<ptrdiff_t>(begin);
  const auto end = std::find_if(
      first, values.end(), [&](uint32_t value) { return value != *first; });
  return static_cast<size_t>(end - values.begin());
}

}  // namespace

absl::StatusOr<std::unique_ptr<OnlineCounts>> OnlineCounts::Make(
    uint64_t num_nodes, uint64_t num_batches) {
  TableMemory<uint32_t> counts = AllocateTable<uint32_t>(num_nodes);
  if (counts == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory to count ", num_nodes, " vertices in another thread"));
  }
  return absl::WrapUnique(
      new OnlineCounts(num_nodes, num_batches, std::move(counts)));
}

void OnlineCounts::Add(BatchSeq drawn, absl::Span<const std::byte> block) {
  if (drawn.value() >= num_batches_) return;
  const MutexLock lock(&mutex_);
  if (std::exchange(has_[drawn.value()], 1) != 0) return;
  for (const uint32_t v : InputNodesOf(block)) ++counts_[v];
}

absl::Status WriteCounts(
    absl::Span<const std::unique_ptr<OnlineCounts>> of_threads,
    const fs::path& path) {
  std::vector<uint32_t> counts(of_threads.front()->num_nodes_);
  std::string times(of_threads.front()->num_batches_, '\0');
  for (const std::unique_ptr<OnlineCounts>& mine : of_threads) {
    const MutexLock lock(&mine->mutex_);
    for (size_t v = 0; v < counts.size(); ++v) counts[v] += mine->counts_[v];
    for (size_t i = 0; i < times.size(); ++i) {
      times[i] = static_cast<char>(times[i] + mine->has_[i]);
    }
  }
  std::string bytes(reinterpret_cast<const char*>(counts.data()),
                    counts.size() * sizeof(uint32_t));
  bytes += times;
  return WriteFileAtomically(path, bytes);
}

absl::StatusOr<std::vector<uint32_t>> SumOfCounts(
    absl::Span<const fs::path> files, const JobSampling& job,
    const CountOptions& counting) {
  std::vector<uint32_t> counts(job.dataset.num_nodes());
  std::vector<uint32_t> times(counting.batches.end.value());
  for (const fs::path& path : files) {
    FGNN_RETURN_IF_ERROR(AddFile(path, counts, times));
  }
  for (size_t begin = 0; begin < times.size();) {
    const size_t end = EndOfRun(times, begin);
    if (times[begin] != 1) {
      CountOptions again = counting;
      again.batches = {BatchSeq(begin), BatchSeq(end)};
      FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> once,
                            CountInputNodes(job.input(), job.options, again));
      // The arithmetic is unsigned: surplus counts are subtracted by overflow.
      for (size_t v = 0; v < counts.size(); ++v) {
        counts[v] += once[v] * (1 - times[begin]);
      }
    }
    begin = end;
  }
  return counts;
}

}  // namespace fgnn
