#include "scheduler/gate/process/gate_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "scheduler/gate/packets/gate_packet.h"
#include "scheduler/gate/packets/leave.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::seconds kEndLimit{2};
// For a gate that is started again, or is busy.
constexpr std::chrono::seconds kPassLimit{2};
constexpr std::chrono::milliseconds kBusyPause{5};
// Until the gate is asked again whether a client's marks are back.
constexpr std::chrono::seconds kShutFor{2};
// The gate closes the connections of further clients.
constexpr size_t kMostShut = 4'096;
constexpr int kPauseMs = 200;  // Before a program is started again.
constexpr int kLongestWaitMs = 1'000;

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

absl::StatusOr<Pair> MakePair(int type) {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends.data()) != 0) {
    return ErrnoToStatus(errno, "connect with the gate");
  }
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Waits for the first report. OK: it is "ready".
absl::Status WaitUntilReady(int control, const std::string& program) {
  pollfd comes = {.fd = control, .events = POLLIN, .revents = 0};
  const int ready =
      ::poll(&comes, 1, std::chrono::milliseconds(kStartLimit).count());
  if (ready <= 0) {
    return absl::UnavailableError(absl::StrCat(
        program, " was not ready within ", kStartLimit.count(), " s"));
  }
  const auto report = ReceiveReport(control);
  if (!report.ok() || !report->has_value()) {
    return absl::UnavailableError(
        absl::StrCat(program, " ended before it was ready"));
  }
  if (**report == kReadyWord) return absl::OkStatus();
  const std::vector<std::string> words =
      absl::StrSplit(**report, absl::MaxSplits(' ', 2));
  int code = 0;
  if (words.size() == 3 && words[0] == kFailedWord &&
      absl::SimpleAtoi(words[1], &code)) {
    return absl::Status(static_cast<absl::StatusCode>(code), words[2]);
  }
  return absl::InternalError(absl::StrCat(program, " says '", **report, "'"));
}

}  // namespace

absl::StatusOr<GateProcess::Running> GateProcess::Launch(
    const GateProcessOptions& options) {
  FGNN_ASSIGN_OR_RETURN(Pair pair, MakePair(SOCK_SEQPACKET));
  FGNN_ASSIGN_OR_RETURN(DaemonProcess process,
                        DaemonProcess::Spawn({.program = options.program,
                                              .arguments = options.arguments,
                                              .log = {},
                                              .stdin_fd = pair.theirs.get()}));
  pair.theirs.Reset();  // So that the end of the process is seen.
  const absl::Status ready =
      WaitUntilReady(pair.ours.get(), options.program.string());
  if (ready.ok()) return Running{std::move(process), std::move(pair.ours)};
  (void)process.Signal(SIGKILL);
  process.WaitForEnd(DeadlineIn(kEndLimit));
  process.Reap();
  return ready;
}

absl::StatusOr<std::unique_ptr<GateProcess>> GateProcess::Start(
    GateProcessOptions options) {
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoToStatus(errno, "make an event");
  FGNN_ASSIGN_OR_RETURN(Running running, Launch(options));
  return std::unique_ptr<GateProcess>(
      new GateProcess(std::move(options), std::move(stop), std::move(running)));
}

GateProcess::GateProcess(GateProcessOptions options, UniqueFd stop,
                         Running running)
    : options_(std::move(options)),
      stop_(std::move(stop)),
      running_(std::move(running)),
      thread_("gate", [this] { Run(); }) {}

GateProcess::~GateProcess() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(stop_.get(), &one, sizeof(one));
  thread_.Join();
  const MutexLock lock(&mutex_);
  running_.control.Reset();
  if (!running_.process.WaitForEnd(DeadlineIn(kEndLimit))) {
    (void)running_.process.Signal(SIGKILL);
    running_.process.WaitForEnd(DeadlineIn(kEndLimit));
  }
  running_.process.Reap();
}

absl::StatusOr<UniqueFd> GateProcess::Pass(UniqueFd client,
                                           const std::string& key) {
  if (const absl::string_view why = Count(key); !why.empty()) {
    // TLS would cost too much.
    if (options_.is_in_the_clear) {
      const std::string told = MakeLeave(why);
      [[maybe_unused]] const ssize_t size = ::send(
          client.get(), told.data(), told.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return absl::ResourceExhaustedError(why);
  }
  FGNN_ASSIGN_OR_RETURN(Pair pair, MakePair(SOCK_STREAM));
  const HandedConnection handed = {.key = key,
                                   .client = std::move(client),
                                   .server = std::move(pair.theirs)};
  const Deadline deadline = DeadlineIn(kPassLimit);
  while (true) {
    MutexLock lock(&mutex_);
    const bool is_there = is_back_.WaitUntil(
        &lock, deadline,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_away_; });
    const absl::Status sent =
        is_there ? SendConnection(running_.control.get(), handed)
                 : absl::UnavailableError("the gate is not there");
    if (sent.ok()) return std::move(pair.ours);
    const bool may_pass =
        absl::IsUnavailable(sent) || absl::IsResourceExhausted(sent);
    if (!may_pass || MonotonicClock::now() + kBusyPause > deadline) return sent;
    // The thread has not seen yet that the gate ended; or it is busy.
    is_back_.WaitUntil(&lock, DeadlineIn(kBusyPause), [] { return false; });
  }
}

bool GateProcess::HasToEnd(int control, int milliseconds) const {
  pollfd fds[] = {{stop_.get(), POLLIN, 0}, {control, POLLIN, 0}};
  ::poll(fds, 2, milliseconds);
  return (fds[0].revents & POLLIN) != 0;
}

void GateProcess::Run() {
  int control = -1;
  while (true) {
    if (control < 0) {
      const MutexLock lock(&mutex_);
      control = running_.control.get();
    }
    if (HasToEnd(control, kLongestWaitMs)) return;
    const auto report = ReceiveReport(control);
    if (report.ok()) {
      if (report->has_value()) Read(**report);
      continue;
    }
    StartAgain();
    control = -1;
  }
}

void GateProcess::StartAgain() {
  {
    const MutexLock lock(&mutex_);
    is_away_ = true;
    running_.process.WaitForEnd(DeadlineIn(kEndLimit));
    LogWarning(
        "the gate of {} ended {}; it is started again, and its clients "
        "connect again",
        options_.name, running_.process.Reap().how);
  }
  while (!HasToEnd(/*control=*/-1, kPauseMs)) {
    absl::StatusOr<Running> started = Launch(options_);
    if (started.ok()) {
      const MutexLock lock(&mutex_);
      running_ = *std::move(started);
      is_away_ = false;
      is_back_.NotifyAll();
      return;
    }
    LogError("the gate of {}: {}", options_.name, MessageOf(started.status()));
    if (HasToEnd(/*control=*/-1, kLongestWaitMs)) return;
  }
}

void GateProcess::Shut(const std::string& key) {
  const Deadline now = MonotonicClock::now();
  const MutexLock lock(&mutex_);
  std::erase_if(shut_, [&](const auto& one) { return one.second <= now; });
  if (shut_.size() < kMostShut) shut_[key] = now + kShutFor;
}

absl::string_view GateProcess::Count(const std::string& key) {
  const Deadline now = MonotonicClock::now();
  const MutexLock lock(&mutex_);
  const auto found = shut_.find(key);
  if (found != shut_.end() && now < found->second) return kFloods;
  if (absl::c_linear_search(options_.trusted_keys, key)) return "";
  if (connects_.size() > kMostShut) connects_.ForgetFull(now);
  return connects_.Take(key, 1, now) ? "" : kConnects;
}

void GateProcess::Read(absl::string_view report) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(report, absl::MaxSplits(' ', 1));
  int64_t seconds = 0;
  if (parts.first == kSaysWord) {
    LogWarning("{}", std::string(parts.second));
  } else if (parts.first == kExpiresWord) {
    if (options_.on_expiry != nullptr &&
        absl::SimpleAtoi(parts.second, &seconds)) {
      options_.on_expiry(seconds);
    }
  } else if (parts.first == kRefusedWord) {
    const std::vector<std::string> words =
        absl::StrSplit(parts.second, absl::MaxSplits(' ', 2));
    for (size_t i = 0; words.size() == 3 && i < kNumRefusalReasons; ++i) {
      const auto reason = static_cast<RefusalReason>(i);
      if (words[0] == WordOf(reason)) {
        if (reason == RefusalReason::kFlood) Shut(words[1]);
        options_.on_refused(reason, words[1], words[2]);
      }
    }
  }
}

}  // namespace fgnn
