// JobExecutors: who counts and ranks the vertices that trainers cache.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/host/job_executors.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Where samplers write their counts to; gone with this.
class CountFiles {
 public:
  CountFiles(const fs::path& folder, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      paths_.push_back(folder / absl::StrCat("input-node-counts-", i, ".u32"));
    }
  }
  ~CountFiles() {
    std::error_code error;  // What never came to be.
    for (const fs::path& path : paths_) fs::remove(path, error);
  }
  CountFiles(const CountFiles&) = delete;
  CountFiles& operator=(const CountFiles&) = delete;

  const std::vector<fs::path>& paths() const { return paths_; }

 private:
  std::vector<fs::path> paths_;
};

}  // namespace

absl::StatusOr<RankedVertices> JobExecutors::RankBy(
    const std::vector<std::filesystem::path>& counts, bool attached) {
  const auto keep_going = [this, attached] {
    return attached ? Tick() : MayGoOn();
  };
  return CallAny<absl::StatusOr<RankedVertices>>(
      ExecutorRole::kSampler, attached, [&](const DaemonAddress& sampler) {
        return calls_->RankVertices(
            sampler.socket, {.spec_bytes = job_.spec_bytes, .counts = counts},
            {.timeout = kLongCall, .keep_going = keep_going});
      });
}

absl::StatusOr<uint64_t> JobExecutors::RankVertices(const fs::path& folder) {
  FGNN_ASSIGN_OR_RETURN(RankedVertices ranked, RankBy({}, /*attached=*/false));
  if (!ranked.needs_counts) return ranked.rank_order_key;
  const size_t num_parts = std::max<size_t>(
      host_->Find(job_.job_id, ExecutorRole::kSampler, /*attached=*/false)
          .size(),
      1);
  const CountFiles files(folder, num_parts);
  FGNN_RETURN_IF_ERROR(CountInputNodes(files.paths()));
  FGNN_ASSIGN_OR_RETURN(ranked, RankBy(files.paths(), /*attached=*/false));
  return ranked.rank_order_key;
}

absl::StatusOr<uint64_t> JobExecutors::FindRankOrder() {
  FGNN_ASSIGN_OR_RETURN(const RankedVertices ranked,
                        RankBy({}, /*attached=*/false));
  return ranked.needs_counts ? 0 : ranked.rank_order_key;
}

absl::StatusOr<uint64_t> JobExecutors::RankByOnlineCounts(
    const fs::path& folder) {
  const std::vector<DaemonAddress> samplers =
      host_->Find(job_.job_id, ExecutorRole::kSampler, /*attached=*/true);
  const CountFiles files(folder, samplers.size());
  std::vector<fs::path> written;
  for (size_t i = 0; i < samplers.size(); ++i) {
    const absl::Status status = calls_->WriteCounts(
        samplers[i].socket, job_.job_id, files.paths()[i],
        {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }});
    if (status.ok()) written.push_back(files.paths()[i]);
    if (status.ok() || IsLost(status)) continue;
    FGNN_RETURN_IF_ERROR(MayGoOn());
    return Annotate(status, samplers[i].name);
  }
  // Without a file nobody would count. What was lost is sampled again.
  if (written.empty()) return 0;
  FGNN_ASSIGN_OR_RETURN(const RankedVertices ranked,
                        RankBy(written, /*attached=*/true));
  return ranked.rank_order_key;
}

absl::Status JobExecutors::CountInputNodes(
    const std::vector<std::filesystem::path>& files) {
  const auto call_of = [&](size_t part) {
    return CountCall{.spec_bytes = job_.spec_bytes,
                     .part = static_cast<uint32_t>(part),
                     .num_parts = static_cast<uint32_t>(files.size()),
                     .path = files[part]};
  };
  const std::vector<DaemonAddress> samplers =
      host_->Find(job_.job_id, ExecutorRole::kSampler, /*attached=*/false);
  std::vector<absl::Status> counted(files.size(),
                                    absl::UnavailableError("not begun"));
  FGNN_RETURN_IF_ERROR(CallTogether(
      std::min(files.size(), samplers.size()),
      [&](size_t part, const KeepGoing& keep_going) {
        counted[part] = calls_->CountInputNodes(
            samplers[part].socket, call_of(part),
            {.timeout = kLongCall, .keep_going = keep_going});
      },
      [this] { return MayGoOn(); }));
  for (size_t part = 0; part < files.size(); ++part) {
    if (counted[part].ok()) continue;
    if (!IsLost(counted[part])) return counted[part];
    // Its sampler died, or there are fewer than before: any other does it.
    FGNN_RETURN_IF_ERROR(CallAny<absl::Status>(
        ExecutorRole::kSampler, /*attached=*/false,
        [&](const DaemonAddress& sampler) {
          return calls_->CountInputNodes(
              sampler.socket, call_of(part),
              {.timeout = kLongCall,
               .keep_going = [this] { return MayGoOn(); }});
        }));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
