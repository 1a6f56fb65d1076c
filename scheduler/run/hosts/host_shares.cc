#include "scheduler/run/hosts/host_shares.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/times/host_speed.h"
#include "shared/base/status.h"
#include "shared/graph/book/seed_shares.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Returns "head 3 (12.1 a second), host1 1 (4.0 a second)".
std::string DescribeSpeeds(const RunContext& run) {
  std::vector<std::string> all;
  for (size_t i = 0; i < run.hosts.size(); ++i) {
    all.push_back(absl::StrFormat(
        "%s %d (%.1f a second)", run.peers.all[i].name, run.hosts[i].num_places,
        run.hosts[i].batches_per_second));
  }
  return absl::StrJoin(all, ", ");
}

// Says in the log what a job's batches depend on.
void SaySeedShares(const RunContext& run) {
  const SeedShares& seeds = run.peers.seeds;
  const std::vector<uint64_t> train =
      TrainOfShares(seeds, run.dataset->validated.train_of_parts);
  LogInfo(
      "job {}: training.seeds own: batches depend on the partition book {} and "
      "on the hosts that the run began with: shares with places [{}] and train "
      "vertices [{}]",
      run.job.id, absl::StrCat(absl::Hex(seeds.book, absl::kZeroPad16)),
      absl::StrJoin(seeds.places, ", "), absl::StrJoin(train, ", "));
  for (size_t share = 0; share < train.size(); ++share) {
    if (train[share] > 0 || seeds.places[share] == 0) continue;
    LogWarning(
        "job {}: training.seeds own: share {} has no train vertex, so that its "
        "batches have no seeds",
        run.job.id, share);
  }
}

}  // namespace

absl::Status ShareBySpeed(RunContext& run, RunHosts& hosts) {
  JobDispatcher& dispatcher = *run.environment.dispatcher;
  if (run.hosts.size() <= 1) {
    if (!run.job.progress.shares.empty()) dispatcher.KeepShares(run.job.id, {});
    return absl::OkStatus();
  }
  if (run.has_places()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const std::vector<HostFindings> found, hosts.Measure());
  for (size_t host = 0; host < found.size(); ++host) {
    run.hosts[host].batches_per_second = found[host].batches_per_second;
  }
  ShareBySpeed(run.spec.training.batches_per_step, run.hosts);
  dispatcher.KeepShares(run.job.id, run.hosts);
  LogInfo("job {}: shares of a step's {} batches by measured speed: {}",
          run.job.id, run.spec.training.batches_per_step, DescribeSpeeds(run));
  return absl::OkStatus();
}

void KeepSeedShares(RunContext& run) {
  if (!run.spec.training.has_own_seeds()) return;
  const std::optional<RunRecord> record = ReadRunRecord(run.job.run_dir);
  if (record.has_value()) run.peers.seeds = record->seeds;
}

absl::Status ShareSeeds(RunContext& run, RunHosts& hosts) {
  if (!run.spec.training.has_own_seeds()) return absl::OkStatus();
  if (run.job.folder != FolderUse::kMake) KeepSeedShares(run);
  SeedShares& seeds = run.peers.seeds;
  const ValidatedDataset& dataset = run.dataset->validated;
  if (!seeds.are_own()) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<HostFindings> found,
                          hosts.Measure());
    std::vector<HostOfShare> shares;
    for (size_t host = 0; host < run.hosts.size(); ++host) {
      shares.push_back({.num_places = run.hosts[host].num_places,
                        .rows = found[host].rows.value_or(HostRows())});
    }
    seeds = MakeSeedShares(dataset.book, shares);
  }
  FGNN_RETURN_IF_ERROR(
      CheckSeedShares(seeds, run.spec.training.batches_per_step));
  FGNN_RETURN_IF_ERROR(CheckSameBook(seeds, dataset.book, run.spec.dataset));
  SaySeedShares(run);
  return absl::OkStatus();
}

}  // namespace fgnn
