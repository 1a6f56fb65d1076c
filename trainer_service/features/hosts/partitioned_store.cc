#include "trainer_service/features/hosts/partitioned_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/thread.h"
#include "shared/telemetry/log.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

// Own rows that one thread copies at a time: a disk's queue runs empty at the
// end of each.
constexpr size_t kOwnRowsAtOnce = 8192;
// Largest row: a message of 1 MiB has one, and little else.
constexpr uint64_t kMostRowBytes = 1'000 << 10;

absl::Status OtherRowsThanAsked() {
  return absl::DataLossError("it sent other rows than it was asked for");
}

absl::Status Stopped() {
  return absl::CancelledError("no rows of other hosts are read any more");
}

}  // namespace

absl::StatusOr<std::unique_ptr<PartitionedStore>> PartitionedStore::Make(
    std::unique_ptr<FeatureStore> own, OwnPart part,
    std::chrono::milliseconds patience) {
  if (own->row_bytes() > kMostRowBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a row of features has ", own->row_bytes(),
                     " bytes; hosts send each other at most ", kMostRowBytes,
                     "; use the whole dataset on each host"));
  }
  return absl::WrapUnique(
      new PartitionedStore(std::move(own), std::move(part), patience));
}

absl::Status PartitionedStore::CopyRows(absl::Span<const GlobalId> nodes,
                                        float* out) const {
  const auto take = [&](uint32_t place, const std::byte* row) {
    WidenToFloats(type(), row, num_columns(), out + place * num_columns());
  };
  return Load({nodes, {}, 0}, Waits::kUntilStop, take, [&](const Wanted& own) {
    return CopyOwn(own, 0, own.nodes.size(), take);
  });
}

absl::Status PartitionedStore::CopyStoredRows(absl::Span<const GlobalId> nodes,
                                              std::byte* out) const {
  const auto take = [&](uint32_t place, const std::byte* row) {
    std::memcpy(out + place * row_bytes(), row, row_bytes());
  };
  return Load({nodes, {}, 0}, Waits::kUntilStop, take, [&](const Wanted& own) {
    return CopyOwn(own, 0, own.nodes.size(), take);
  });
}

absl::Status PartitionedStore::LoadStoredRows(absl::Span<const GlobalId> nodes,
                                              std::byte* out,
                                              ThreadTeam& team) const {
  const auto take = [&](uint32_t place, const std::byte* row) {
    std::memcpy(out + place * row_bytes(), row, row_bytes());
  };
  return Load(
      {nodes, {}, 0}, Waits::kForPatience, take, [&](const Wanted& own) {
        const size_t count = own.nodes.size();
        const auto num_tasks = static_cast<size_t>(
            NumTasks(static_cast<int64_t>(count), kExtractedRowsPerTask));
        FirstError failed;
        FGNN_RETURN_IF_ERROR(
            team.Run(static_cast<int64_t>(num_tasks), [&](int64_t task, int) {
              const size_t first =
                  static_cast<size_t>(task) * kExtractedRowsPerTask;
              failed.Note(CopyOwn(
                  own, first, std::min(first + kExtractedRowsPerTask, count),
                  take));
            }));
        return failed.status();
      });
}

absl::Status PartitionedStore::ExtractMisses(const BatchMisses& misses,
                                             float* out, ThreadTeam& team,
                                             OtherRows other) const {
  const auto take = [&](uint32_t place, const std::byte* row) {
    WidenToFloats(type(), row, num_columns(), out + place * num_columns());
  };
  return Load(misses, Waits::kForPatience, take, [&](const Wanted& own) {
    // The own store knows own rows. All other places are no misses of its.
    std::vector<GlobalId> rows(misses.nodes.size(), 0);
    std::vector<uint32_t> is_own(misses.nodes.size(), 0);
    for (size_t i = 0; i < own.nodes.size(); ++i) {
      rows[own.places[i]] =
          static_cast<GlobalId>(part_.index.RowOf(own.nodes[i]));
      is_own[own.places[i]] = 1;
    }
    return own_->ExtractMisses({rows, is_own, 1}, out, team, other);
  });
}

uint64_t PartitionedStore::CountRemote(const BatchMisses& misses) const {
  uint64_t count = 0;
  for (size_t i = 0; i < misses.nodes.size(); ++i) {
    if (misses.Has(i) && !part_.index.Has(misses.nodes[i])) ++count;
  }
  return count;
}

absl::Status PartitionedStore::Load(
    const BatchMisses& misses, Waits waits, TakeRow take,
    absl::FunctionRef<absl::Status(const Wanted& own)> load_own) const {
  FGNN_ASSIGN_OR_RETURN(const HostOfPart hosts, FindHosts(waits));
  Wanted own;
  std::vector<Wanted> of_hosts(*std::max_element(hosts.begin(), hosts.end()) +
                               1);
  for (uint32_t i = 0; i < misses.nodes.size(); ++i) {
    if (!misses.Has(i)) continue;
    const GlobalId node = misses.nodes[i];
    Wanted& wanted =
        part_.index.Has(node) ? own : of_hosts[hosts[part_.book.PartOf(node)]];
    wanted.nodes.push_back(node);
    wanted.places.push_back(i);
  }
  FirstError failed;
  const std::function<bool()> is_stopped = [&] {
    ++progress_;
    return failed.any() || stopped_.HasBeenNotified();
  };
  std::vector<Thread> threads;  // They borrow all of the above.
  for (uint32_t host = 0; host < of_hosts.size(); ++host) {
    if (of_hosts[host].nodes.empty()) continue;
    absl::StatusOr<Thread> thread = Thread::Start("fgnn-rows", [&, host] {
      failed.Note(CatchExceptions(
          [&] { return Ask(host, of_hosts[host], waits, take, is_stopped); }));
    });
    failed.Note(thread.status());
    if (thread.ok()) threads.push_back(*std::move(thread));
  }
  if (!failed.any()) failed.Note(load_own(own));
  threads.clear();
  return failed.status();
}

absl::Status PartitionedStore::Ask(
    uint32_t host, const Wanted& wanted, Waits waits, TakeRow take,
    const std::function<bool()>& is_stopped) const {
  const size_t count = wanted.nodes.size();
  if (hosts_.links == nullptr) {
    const std::vector<std::byte> zeros(row_bytes());
    for (const uint32_t place : wanted.places) take(place, zeros.data());
    return absl::OkStatus();
  }
  const Stopwatch watch;
  size_t done = 0;
  Deadline give_up = GiveUpAt(waits);
  const auto take_rows = [&](absl::Span<const std::byte> rows) {
    const size_t more = rows.size() / row_bytes();
    if (rows.size() % row_bytes() != 0 || more > count - done) {
      return OtherRowsThanAsked();
    }
    for (size_t i = 0; i < more; ++i, ++done) {
      take(wanted.places[done], rows.data() + i * row_bytes());
    }
    ++progress_;
    give_up = GiveUpAt(waits);
    return absl::OkStatus();
  };
  while (done < count) {
    absl::Status asked = hosts_.links->CopyRows(
        host, absl::MakeConstSpan(wanted.nodes).subspan(done), take_rows,
        is_stopped);
    if (asked.ok() && done < count) asked = OtherRowsThanAsked();
    if (!asked.ok() && is_stopped()) return Stopped();
    if (absl::IsUnavailable(asked)) {
      FGNN_RETURN_IF_ERROR(
          NoteBreak(host, give_up,
                    absl::StrCat(count - done, " rows of features"), asked));
      continue;
    }
    FGNN_RETURN_IF_ERROR(
        Annotate(asked, absl::StrCat("features of ", HostName(host))));
  }
  NoteAnswer(host);
  if (hosts_.totals != nullptr) {
    hosts_.totals->Add(HostName(host), {.rows = count,
                                        .bytes = count * row_bytes(),
                                        .seconds = watch.Seconds()});
  }
  return absl::OkStatus();
}

absl::Status PartitionedStore::CopyOwn(const Wanted& own, size_t first,
                                       size_t last, TakeRow take) const {
  std::vector<GlobalId> rows;
  std::vector<std::byte> copies;
  while (first < last) {
    const size_t count = std::min(last - first, kOwnRowsAtOnce);
    rows.clear();
    for (size_t i = 0; i < count; ++i) {
      rows.push_back(
          static_cast<GlobalId>(part_.index.RowOf(own.nodes[first + i])));
    }
    copies.resize(count * row_bytes());
    FGNN_RETURN_IF_ERROR(own_->CopyStoredRows(rows, copies.data()));
    for (size_t i = 0; i < count; ++i) {
      take(own.places[first + i], copies.data() + i * row_bytes());
    }
    first += count;
  }
  return absl::OkStatus();
}

absl::StatusOr<PartitionedStore::HostOfPart> PartitionedStore::FindHosts(
    Waits waits) const {
  if (hosts_.links == nullptr) return HostOfPart{};
  {
    const MutexLock lock(&mutex_);
    if (found_.has_value()) return *found_;
  }
  // Two threads may ask at once. They get the same answers.
  std::vector<std::optional<RowsOfHost>> rows;
  for (uint32_t host = 0; host < hosts_.hosts.all.size(); ++host) {
    rows.emplace_back();
    if (host == hosts_.hosts.self) continue;
    FGNN_ASSIGN_OR_RETURN(rows.back(), AskWhatItHas(host, waits));
  }
  FGNN_ASSIGN_OR_RETURN(const HostOfPart found, ChooseHosts(rows));
  const MutexLock lock(&mutex_);
  found_ = found;
  return found;
}

absl::StatusOr<RowsOfHost> PartitionedStore::AskWhatItHas(uint32_t host,
                                                          Waits waits) const {
  const Deadline give_up = GiveUpAt(waits);
  const std::function<bool()> is_stopped = [this] {
    ++progress_;
    return stopped_.HasBeenNotified();
  };
  while (true) {
    absl::StatusOr<RowsOfHost> rows = hosts_.links->Describe(host, is_stopped);
    if (!rows.ok() && is_stopped()) return Stopped();
    if (!absl::IsUnavailable(rows.status())) {
      NoteAnswer(host);
      FGNN_RETURN_IF_ERROR(Annotate(
          rows.status(), absl::StrCat("features of ", HostName(host))));
      return rows;
    }
    FGNN_RETURN_IF_ERROR(NoteBreak(
        host, give_up, "a word on its rows of features", rows.status()));
  }
}

absl::StatusOr<PartitionedStore::HostOfPart> PartitionedStore::ChooseHosts(
    const std::vector<std::optional<RowsOfHost>>& rows) const {
  constexpr uint32_t kNone = UINT32_MAX;
  const HostRows& own = part_.rows;
  std::array<uint32_t, kMostOwners> of_owners;
  of_owners.fill(kNone);
  uint32_t whole = kNone;  // The first host with all rows.
  // From the last host to the first one, which is what stays.
  for (uint32_t host = static_cast<uint32_t>(rows.size()); host-- > 0;) {
    if (!rows[host].has_value()) continue;
    const RowsOfHost& has = *rows[host];
    if (has.type != type() || has.columns != num_columns()) {
      return absl::FailedPreconditionError(absl::StrCat(
          HostName(host), " sends ", has.columns, " features of type ",
          std::string(NameOf(has.type)), ", and this host has ", num_columns(),
          " of ", std::string(NameOf(type())),
          "; give both hosts the same dataset"));
    }
    if (has.rows.is_whole()) {
      whole = host;
      continue;
    }
    if (has.rows.book != own.book || has.rows.owners != own.owners) {
      return absl::FailedPreconditionError(absl::StrCat(
          HostName(host), " has ", Describe(has.rows), ", and this host ",
          Describe(own), "; ", HowToCut(own.owners)));
    }
    of_owners[has.rows.owner] = host;
  }
  HostOfPart found = {};
  for (uint32_t part = 0; part < kFineParts; ++part) {
    const uint32_t owner = OwnerOfPart(part, own.owners);
    if (owner == own.owner) continue;
    found[part] = of_owners[owner] != kNone ? of_owners[owner] : whole;
    if (found[part] != kNone) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "no host of the job has the rows of owner ", owner, " of ", own.owners,
        "; add the host that has that folder, or one with the whole dataset"));
  }
  return found;
}

Deadline PartitionedStore::GiveUpAt(Waits waits) const {
  return waits == Waits::kForPatience ? DeadlineIn(patience_) : Deadline::max();
}

absl::Status PartitionedStore::NoteBreak(uint32_t host, Deadline give_up,
                                         const std::string& what,
                                         const absl::Status& why) const {
  bool is_news = false;
  {
    const MutexLock lock(&mutex_);
    is_news = silent_.insert(host).second;
  }
  if (is_news) {
    LogWarning("waits for {} of {}: {}; it is asked again", what,
               HostName(host), MessageOf(why));
  }
  if (MonotonicClock::now() >= give_up) {
    return Annotate(why, absl::StrCat("features of ", HostName(host)));
  }
  stopped_.WaitUntil(DeadlineIn(kTick));
  return absl::OkStatus();
}

void PartitionedStore::NoteAnswer(uint32_t host) const {
  {
    const MutexLock lock(&mutex_);
    if (silent_.erase(host) == 0) return;
  }
  LogInfo("{} sends rows of features again", HostName(host));
}

}  // namespace fgnn
