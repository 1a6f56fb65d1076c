#include "scheduler/run/hosts/run_hosts.h"

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/planning/hosts/host_evaluation.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Longest wait for hosts whose schedulers have yet to call this one again.
constexpr std::chrono::seconds kJoinWithin{60};

// Returns the names of the run's other hosts.
std::vector<std::string> NamesOfOthers(const RunContext& run) {
  std::vector<std::string> names;
  for (size_t host = 0; host < run.hosts.size(); ++host) {
    if (host != run.self) names.push_back(run.hosts[host].name);
  }
  return names;
}

}  // namespace

absl::Status RunHosts::Take() {
  if (!are_others()) return absl::OkStatus();
  const absl::Status taken = members().Take(run_.job.id, NamesOfOthers(run_));
  if (taken.ok()) return taken;
  NoteLoss(taken);
  return keep_going_();
}

absl::Status RunHosts::WaitForJoins() {
  JobDispatcher& dispatcher = *run_.environment.dispatcher;
  const Deadline deadline = DeadlineIn(kJoinWithin);
  std::string said;  // What clients were told last.
  while (true) {
    const absl::Status taken = members().Take(run_.job.id, NamesOfOthers(run_));
    if (taken.ok() || MonotonicClock::now() >= deadline) {
      if (!taken.ok()) NoteLoss(taken);
      dispatcher.SetWaitingFor(run_.job.id, "");
      return absl::OkStatus();
    }
    if (std::string now = MessageOf(taken); now != said) {
      said = std::move(now);
      LogInfo("job {}: waits: {}", run_.job.id, said);
      dispatcher.SetWaitingFor(run_.job.id, said);
    }
    FGNN_RETURN_IF_ERROR(keep_going_());
    dispatcher.WaitUntilClosed(DeadlineIn(kTick));
  }
}

JobHosts RunHosts::HostsFor(uint32_t self) const {
  JobHosts hosts = {
      .all = {}, .self = self, .attempt = attempt_, .seeds = run_.peers.seeds};
  for (const HostShare& share : run_.hosts) {
    const MemberFacts facts =
        share.name.empty() ? members().head() : members().FactsOf(share.name);
    hosts.all.push_back({.name = facts.name,
                         .exchange = facts.exchange,
                         .num_places = share.num_places});
  }
  return hosts;
}

void RunHosts::OrderAll(bool has_places) {
  for (uint32_t host = 0; host < run_.hosts.size(); ++host) {
    if (host == run_.self) continue;
    JobHosts hosts = HostsFor(host);
    for (JobHost& one : hosts.all) one.num_places *= has_places ? 1 : 0;
    members().Order(run_.hosts[host].name, {.job_id = run_.job.id,
                                            .spec = WholeSpecOf(run_.job),
                                            .hosts = std::move(hosts),
                                            .dataset_content = dataset_content_,
                                            .first_version = first_version_,
                                            .openings = openings_,
                                            .evaluation = evaluation_});
  }
}

void RunHosts::Begin(uint64_t dataset_content) {
  dataset_content_ = dataset_content;
  if (attempt_ != 0) return;
  attempt_ = HashString(
      absl::StrCat(run_.environment.host->options().generation, ".",
                   MonotonicClock::now().time_since_epoch().count()));
}

absl::StatusOr<std::vector<HostFindings>> RunHosts::Measure() {
  if (!are_others()) return std::vector<HostFindings>{run_.findings};
  Begin(run_.dataset->validated.content);
  SetPeers();
  OrderAll(/*has_places=*/false);
  while (true) {
    if (loss_ == HostLoss::kNone) {
      FGNN_RETURN_IF_ERROR(ArePrepared().status());
      std::vector<HostFindings> found;
      for (size_t host = 0; host < run_.hosts.size(); ++host) {
        if (!preflight_.FindingsOf(host).has_measured()) break;
        found.push_back(preflight_.FindingsOf(host));
      }
      if (found.size() == run_.hosts.size()) return found;
    }
    // Ends with the run's preemption if a host is lost.
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    run_.environment.dispatcher->WaitUntilClosed(DeadlineIn(kTick));
  }
}

void RunHosts::Prepare(uint64_t dataset_content, uint64_t first_version) {
  if (!are_others()) return;
  Begin(dataset_content);
  first_version_ = first_version;
  SetPeers();
  OrderAll();
}

void RunHosts::SetPeers() {
  run_.peers = HostsFor(static_cast<uint32_t>(run_.self));
  preflight_ = Preflight(run_.peers);
  TakeFindings(members().head().name, run_.findings);
}

void RunHosts::TakeFindings(const std::string& host,
                            const HostFindings& findings) {
  preflight_.Take(host, findings, MonotonicClock::now());
  for (const HostReach& reach : findings.reaches) {
    if (reach.host >= run_.peers.all.size()) continue;
    members().pairs().Note({.from = host,
                            .to = run_.peers.all[reach.host].name,
                            .error = reach.error,
                            .link = reach.link});
  }
}

absl::Status RunHosts::CheckRows() {
  if (!are_others()) {
    preflight_ = Preflight({.all = {JobHost()}});
    preflight_.Take("", run_.findings, MonotonicClock::now());
  }
  const std::string lacks = preflight_.Lacks();
  if (lacks.empty()) return absl::OkStatus();
  if (!run_.environment.dispatcher->NeedHosts(run_.job.id,
                                              run_.hosts.size() + 1, lacks)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "hosts: ", lacks, "; name devices of a host that has them"));
  }
  NoteLoss(absl::UnavailableError(lacks));
  return keep_going_();
}

void RunHosts::SayWhoIsUnreached() {
  std::string now = preflight_.Unreached();
  if (now == unreached_) return;
  unreached_ = std::move(now);
  if (!unreached_.empty()) {
    LogWarning("job {}: waits: {}", run_.job.id, unreached_);
  }
  run_.environment.dispatcher->SetWaitingFor(run_.job.id, unreached_);
}

absl::Status RunHosts::TakeOver(uint64_t dataset_content,
                                uint64_t first_version) {
  if (!are_others()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(WaitForJoins());
  const std::vector<std::string> names = NamesOfOthers(run_);
  const auto attempt = members().AttemptOf(names.front(), run_.job.id);
  for (const std::string& name : names) {
    if (loss_ != HostLoss::kNone) return absl::OkStatus();
    if (!attempt.has_value() ||
        members().AttemptOf(name, run_.job.id) != attempt) {
      NoteLoss(absl::UnavailableError(
          absl::StrCat("host ", name, " does not have the job any more")));
    }
  }
  if (loss_ != HostLoss::kNone) return absl::OkStatus();
  attempt_ = *attempt;
  dataset_content_ = dataset_content;
  first_version_ = first_version;
  SetPeers();
  OrderAll();
  return absl::OkStatus();
}

absl::Status RunHosts::LeaveOutIfMay(const std::string& host,
                                     const absl::Status& why) {
  if (why.ok() || !preflight_.Lacks(host).empty() ||
      !run_.environment.dispatcher->LeaveOut(run_.job.id, host,
                                             MessageOf(why))) {
    return why;
  }
  NoteLoss(why);
  return absl::OkStatus();
}

absl::StatusOr<bool> RunHosts::ArePrepared() {
  bool are_prepared = true;
  for (const std::string& name : NamesOfOthers(run_)) {
    const absl::StatusOr<std::optional<MemberJobReport>> report =
        members().ReportOf(name, run_.job.id, attempt_);
    if (!report.ok()) {
      NoteLoss(report.status(), name);
      return false;
    }
    if (!report->has_value()) {
      are_prepared = false;
      continue;
    }
    const absl::Status error =
        Annotate((*report)->error, absl::StrCat("host ", name));
    FGNN_RETURN_IF_ERROR(LeaveOutIfMay(name, error));
    if (loss_ != HostLoss::kNone) return false;
    TakeFindings(name, (*report)->findings);
    run_.others[name] = (*report)->executors;
    are_prepared = are_prepared && (*report)->is_prepared;
  }
  std::string misfit;
  const absl::Status fit = preflight_.Check(MonotonicClock::now(), &misfit);
  FGNN_RETURN_IF_ERROR(LeaveOutIfMay(misfit, fit));
  if (loss_ == HostLoss::kNone) FGNN_RETURN_IF_ERROR(CheckRows());
  return are_prepared && loss_ == HostLoss::kNone;
}

void RunHosts::NoteLoss(const absl::Status& why, const std::string& host) {
  const std::string lacks = host.empty() ? "" : preflight_.Lacks(host);
  if (!lacks.empty()) {
    run_.environment.dispatcher->NeedHosts(run_.job.id, run_.hosts.size(),
                                           lacks);
  }
  LogWarning("job {}: {}; lets go of its devices", run_.job.id, MessageOf(why));
  loss_ = lacks.empty() ? HostLoss::kHost : HostLoss::kRows;
}

absl::Status RunHosts::WaitUntilPrepared() {
  if (!are_others()) return absl::OkStatus();
  while (true) {
    if (loss_ == HostLoss::kNone) {
      if (!ReachesAll(run_.findings, run_.hosts.size())) {
        FGNN_ASSIGN_OR_RETURN(run_.findings.reaches,
                              run_.executors.calls().ReadReach());
        TakeFindings(members().head().name, run_.findings);
      }
      FGNN_ASSIGN_OR_RETURN(const bool are_prepared, ArePrepared());
      SayWhoIsUnreached();
      if (are_prepared && ReachesAll(run_.findings, run_.hosts.size())) {
        return absl::OkStatus();
      }
    }
    // Ends with the run's preemption if a host is lost.
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    run_.environment.dispatcher->WaitUntilClosed(DeadlineIn(kTick));
  }
}

void RunHosts::Open(const MemberOpening& opening) {
  if (attempt_ == 0) return;
  std::vector<MemberOpening> openings;
  if (!openings_.empty()) {
    // Stops within an epoch are of one opening, which grows.
    const bool is_same = openings_.back().first_step == opening.first_step;
    if (!is_same) openings.push_back(openings_.back());
    if (is_same && openings_.size() > 1) openings.push_back(openings_.front());
  }
  openings.push_back(opening);
  openings_ = std::move(openings);
  OrderAll();
}

bool RunHosts::DoAllEvaluate() {
  if (attempt_ == 0 || loss_ != HostLoss::kNone) return false;
  if (do_all_evaluate_.has_value()) return *do_all_evaluate_;
  const std::string& wanted = run_.spec.hosts.evaluation;
  if (wanted != "auto" || !run_.planned_by.has_value()) {
    do_all_evaluate_ = wanted == "all";
    return *do_all_evaluate_;
  }
  std::map<std::pair<std::string, std::string>, double> rates;
  for (const HostPair& pair : members().pairs().All()) {
    // The host that measures gets the bytes.
    rates[{pair.to, pair.from}] = pair.link.bytes_per_second;
  }
  const auto name_of = [this](const HostShare& host) {
    return host.name.empty() ? members().head().name : host.name;
  };
  const EvaluationChoice choice = ChooseEvaluation(
      *run_.planned_by, run_.hosts,
      [&](const HostShare& from, const HostShare& to) -> std::optional<double> {
        const double rate = rates[{name_of(from), name_of(to)}];
        return rate > 0 ? std::optional(rate) : std::nullopt;
      });
  const absl::StatusOr<uint64_t> available = AvailableMemoryBytes();
  const bool is_room =
      available.ok() && *available > ResultBytes(*run_.planned_by);
  do_all_evaluate_ = choice.by_all && is_room;
  LogInfo(
      "job {}: {} an evaluation: {:.2f} s on this host alone; on all hosts, "
      "each gets {} and it takes {}{}",
      run_.job.id,
      *do_all_evaluate_ ? "all hosts share" : "the head alone makes",
      choice.alone_seconds, FormatBytes(choice.bytes),
      choice.all_seconds.has_value()
          ? absl::StrFormat("%.2f s", *choice.all_seconds)
          : "a time that is not known",
      is_room ? "" : "; there is no memory for that");
  return *do_all_evaluate_;
}

absl::StatusOr<Evaluation> RunHosts::Evaluate(
    const std::string& checkpoint, const std::vector<std::string>& splits) {
  JobEvaluation evaluation = run_.executors.evaluation();
  // Members have the newest weights, and no checkpoint.
  if (!checkpoint.empty() || !DoAllEvaluate()) {
    return evaluation.Evaluate(checkpoint, splits);
  }
  // A scheduler that takes the run over begins to count anew.
  const uint64_t number =
      HashString(absl::StrCat(run_.environment.host->options().generation, ".",
                              attempt_, ".", ++num_evaluations_));
  evaluation_ = {.number = number,
                 .version = run_.board().version().value_or(0),
                 .splits = splits};
  OrderAll();
  const HostEvaluation over = {
      .division = DivisionOf(run_, number),
      .goes_on = [this]() -> absl::Status {
        if (loss_ == HostLoss::kNone) return absl::OkStatus();
        return absl::UnavailableError("a host of the evaluation is lost");
      }};
  absl::StatusOr<Evaluation> scores =
      evaluation.Evaluate(checkpoint, splits, &over);
  evaluation_.reset();
  // Hosts that are lost, or that the job leaves, have no orders to change.
  if (attempt_ != 0 && loss_ == HostLoss::kNone) OrderAll();
  if (scores.ok() || loss_ == HostLoss::kNone) return scores;
  LogInfo("job {}: evaluates on this host alone", run_.job.id);
  return evaluation.Evaluate(checkpoint, splits);
}

ChunkDivision DivisionOf(const RunContext& run, uint64_t evaluation) {
  ChunkDivision division = {
      .evaluation = evaluation,
      .num_hosts = static_cast<uint32_t>(run.hosts.size()),
      .self = static_cast<uint32_t>(run.self)};
  for (size_t host = 0; host < run.hosts.size(); ++host) {
    division.trainers[host] =
        static_cast<uint16_t>(run.hosts[host].num_training);
  }
  return division;
}

absl::Status RunHosts::Check() {
  if (attempt_ == 0 || loss_ != HostLoss::kNone) return absl::OkStatus();
  return ArePrepared().status();
}

void RunHosts::Release() {
  if (!are_others()) return;
  attempt_ = 0;
  loss_ = HostLoss::kNone;
  run_.others.clear();
  members().Leave(run_.job.id);
}

}  // namespace fgnn
