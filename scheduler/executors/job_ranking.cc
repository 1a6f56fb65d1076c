#include "scheduler/executors/job_ranking.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "scheduler/executors/call_together.h"
#include "scheduler/executors/daemon_address.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Files that samplers write their counts to. The destructor removes them.
class CountFiles {
 public:
  CountFiles(const fs::path& folder, const std::string& job_id, size_t count) {
    ::mkdir(folder.c_str(), 0700);  // A sampler says why it cannot write.
    for (size_t i = 0; i < count; ++i) {
      paths_.push_back(folder / absl::StrCat(job_id, "-", i, ".u32"));
    }
  }
  ~CountFiles() {
    std::error_code error;  // A file may never have been written.
    for (const fs::path& path : paths_) fs::remove(path, error);
  }
  CountFiles(const CountFiles&) = delete;
  CountFiles& operator=(const CountFiles&) = delete;

  const std::vector<fs::path>& paths() const { return paths_; }

 private:
  std::vector<fs::path> paths_;
};

}  // namespace

absl::StatusOr<RankedVertices> JobRanking::RankBy(
    const std::vector<std::filesystem::path>& counts, bool attached) {
  const Patience patience =
      attached ? caller_->WhileTicking() : caller_->WhileItMayGoOn();
  return caller_->CallAny(
      ExecutorRole::kSampler, attached, [&](const DaemonAddress& sampler) {
        return caller_->calls().RankVertices(
            sampler.socket, {.job_id = caller_->job().job_id, .counts = counts},
            patience);
      });
}

absl::StatusOr<uint64_t> JobRanking::RankVertices(const fs::path& folder) {
  FGNN_ASSIGN_OR_RETURN(RankedVertices ranked, RankBy({}, /*attached=*/false));
  if (!ranked.needs_counts) return ranked.rank_order_key;
  const size_t num_parts =
      std::max<size_t>(caller_->daemons()
                           .Find(ExecutorRole::kSampler, /*attached=*/false)
                           .size(),
                       1);
  const CountFiles files(folder, caller_->job().job_id, num_parts);
  FGNN_RETURN_IF_ERROR(CountInputNodes(files.paths()));
  FGNN_ASSIGN_OR_RETURN(ranked, RankBy(files.paths(), /*attached=*/false));
  return ranked.rank_order_key;
}

absl::StatusOr<uint64_t> JobRanking::FindRankOrder() {
  FGNN_ASSIGN_OR_RETURN(const RankedVertices ranked,
                        RankBy({}, /*attached=*/false));
  return ranked.needs_counts ? 0 : ranked.rank_order_key;
}

absl::StatusOr<uint64_t> JobRanking::RankByOnlineCounts(
    const fs::path& folder) {
  const std::vector<DaemonAddress> samplers =
      caller_->daemons().Find(ExecutorRole::kSampler, /*attached=*/true);
  const CountFiles files(folder, caller_->job().job_id, samplers.size());
  std::vector<fs::path> written;
  for (size_t i = 0; i < samplers.size(); ++i) {
    const absl::Status status = caller_->calls().WriteCounts(
        samplers[i].socket, caller_->job().job_id, files.paths()[i],
        caller_->WhileItMayGoOn());
    if (status.ok()) written.push_back(files.paths()[i]);
    if (status.ok() || ExecutorCaller::IsLost(status)) continue;
    FGNN_RETURN_IF_ERROR(caller_->MayGoOn());
    return Annotate(status, samplers[i].name);
  }
  // Without a file there are no counts to rank by. Lost counts come again as
  // batches are sampled.
  if (written.empty()) return 0;
  FGNN_ASSIGN_OR_RETURN(const RankedVertices ranked,
                        RankBy(written, /*attached=*/true));
  return ranked.rank_order_key;
}

absl::Status JobRanking::CountInputNodes(
    const std::vector<std::filesystem::path>& files) {
  const auto request_of = [&](size_t part) {
    return CountInputNodesRequest{
        .job_id = caller_->job().job_id,
        .part = static_cast<uint32_t>(part),
        .num_parts = static_cast<uint32_t>(files.size()),
        .path = files[part]};
  };
  const std::vector<DaemonAddress> samplers =
      caller_->daemons().Find(ExecutorRole::kSampler, /*attached=*/false);
  FGNN_RETURN_IF_ERROR(caller_->OpenEach(samplers));
  std::vector<absl::Status> counted(files.size(),
                                    absl::UnavailableError("not begun"));
  FGNN_RETURN_IF_ERROR(CallTogether(
      std::min(files.size(), samplers.size()),
      [&](size_t part, const KeepGoing& keep_going) {
        counted[part] = caller_->calls().CountInputNodes(
            samplers[part].socket, request_of(part),
            {.timeout = kLongCall, .keep_going = keep_going});
      },
      [this] { return caller_->MayGoOn(); }));
  for (size_t part = 0; part < files.size(); ++part) {
    if (counted[part].ok()) continue;
    if (!ExecutorCaller::IsLost(counted[part])) return counted[part];
    // The part's sampler died, or there are fewer samplers than before: any
    // other sampler counts the part.
    FGNN_RETURN_IF_ERROR(caller_->CallAny(
        ExecutorRole::kSampler, /*attached=*/false,
        [&](const DaemonAddress& sampler) {
          return caller_->calls().CountInputNodes(
              sampler.socket, request_of(part), caller_->WhileItMayGoOn());
        }));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
