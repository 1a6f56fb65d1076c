// Faults of parts in the segment of a job that runs, for the campaign's rows
// part-kills and part-damage. SEGMENT is a daemon's descriptor of it in /proc.
// It ends with 0 once that is done, and prints how often; the job may have
// ended before.
//
//   part_faults damage SEGMENT SEED COUNT     damages or retracts READY parts
//   part_faults kill SEGMENT SEED MOMENT PID  kills a daemon at a moment:
//     publication   a message of some part is published
//     wait          a part waits for a message of another one
//     between       a sampler is between two publications of a batch
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/minibatch/task.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"

namespace fgnn {
namespace {

// No job has so many daemons.
constexpr OwnerIndex kMe{kMaxOwners};
constexpr std::chrono::seconds kPatience{60};
constexpr int kHangs = 3;

class PartFaults {
 public:
  PartFaults(std::unique_ptr<Segment> segment, uint64_t seed)
      : segment_(std::move(segment)), random_(seed) {}

  // Returns how many parts it has damaged and retracted.
  std::pair<int, int> Damage(int count) {
    int damaged = 0;
    int retracted = 0;
    while (damaged + retracted < count && WaitForSteps(1 + Below(4))) {
      std::optional<ReadSlot> slot = ClaimAnyPart();
      if (!slot.has_value()) continue;
      if (Below(3) == 0) {
        if (!std::move(*slot).Reject().ok()) continue;
        ++retracted;
        continue;
      }
      DamageBytes(slot->block());
      ++damaged;  // It is READY again once the slot is gone.
    }
    return {damaged, retracted};
  }

  // Returns whether the daemon was killed.
  bool Kill(const std::string& moment, pid_t pid) {
    const std::function<bool()> has_come = MomentOf(moment);
    const Deadline deadline = DeadlineIn(kPatience);
    while (!has_come()) {
      if (HasEnded()) return false;
      if (MonotonicClock::now() >= deadline) std::exit(kHangs);
    }
    return ::kill(pid, SIGKILL) == 0;
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  uint32_t parts() const {
    return static_cast<uint32_t>(segment_->options().parts);
  }
  bool HasEnded() const {
    return queue_.stopped() ||
           board_.version() == segment_->shape().num_steps();
  }

  // Waits until so many steps are made. Returns false if the job ends before.
  bool WaitForSteps(uint64_t count) {
    const uint64_t goal = board_.version().value_or(0) + count;
    const Deadline deadline = DeadlineIn(kPatience);
    while (!HasEnded()) {
      const uint32_t seen = board_.changes();
      if (board_.version().value_or(0) >= goal) return true;
      if (MonotonicClock::now() >= deadline) std::exit(kHangs);
      if (!board_.WaitForChange(seen, deadline).ok()) return false;
    }
    return false;
  }

  // Claims a READY part, each part once: a part that comes damaged again and
  // again ends its job.
  std::optional<ReadSlot> ClaimAnyPart() {
    const uint32_t num_slots = segment_->options().num_slots;
    const uint32_t first = static_cast<uint32_t>(Below(num_slots));
    for (uint32_t i = 0; i < num_slots; ++i) {
      const uint32_t slot = (first + i) % num_slots;
      const SlotWord word = slots_.Load(slot);
      if (word.state != SlotState::kReady) continue;
      const TaskNumber task = slots_.TaskIn(slot, word);
      if (!touched_.insert(task).second) continue;
      auto claimed = queue_.TryClaimPart(segment_->shape().TaskOf(task));
      if (claimed.ok() && claimed->has_value()) return *std::move(claimed);
    }
    return std::nullopt;
  }

  void DamageBytes(absl::Span<const std::byte> block) {
    const absl::Span<const GlobalId> nodes = ViewOfTask(block).input_nodes;
    // A part of an owner without vertices has its header alone.
    const auto* const bytes =
        nodes.empty() ? block.data()
                      : reinterpret_cast<const std::byte*>(
                            &nodes[static_cast<size_t>(Below(nodes.size()))]);
    const_cast<std::byte*>(bytes)[Below(4)] ^= std::byte{0x10};
  }

  std::function<bool()> MomentOf(const std::string& moment) {
    const auto part = static_cast<uint32_t>(Below(parts()));
    const auto message =
        static_cast<uint32_t>(Below(segment_->options().num_messages));
    if (moment == "publication") {
      return [this, part, message, before = WordsOf(message, part)] {
        return WordsOf(message, part) != before;
      };
    }
    if (moment == "wait") {
      return [this, part, message] {
        const std::vector<uint64_t> mine = WordsOf(message, part);
        return mine != WordsOf(message, (part + 1) % parts());
      };
    }
    if (moment == "between") return [this] { return IsBetween(); };
    std::cerr << "no moment is called " << moment << '\n';
    std::exit(2);
  }

  // Returns the words of the part's message, of each batch of a step.
  std::vector<uint64_t> WordsOf(uint32_t message, uint32_t part) const {
    std::vector<uint64_t> words;
    for (uint32_t place = 0; place < segment_->options().batches_per_step;
         ++place) {
      words.push_back(
          segment_->regions().message_word(place, message, part).load());
    }
    return words;
  }

  // Whether a batch has a READY part and one that is written.
  bool IsBetween() const {
    for (uint32_t first = 0; first < segment_->options().num_slots;
         first += parts()) {
      std::set<SlotState> states;
      for (uint32_t part = 0; part < parts(); ++part) {
        states.insert(slots_.Load(first + part).state);
      }
      if (states.contains(SlotState::kReady) &&
          states.contains(SlotState::kWriting)) {
        return true;
      }
    }
    return false;
  }

  const std::unique_ptr<Segment> segment_;
  const SlotTable slots_{*segment_};
  GlobalQueue queue_{segment_.get(), kMe};
  GradientBoard board_{segment_.get(), kMe};
  std::mt19937_64 random_;
  std::set<TaskNumber> touched_;
};

absl::StatusOr<std::unique_ptr<Segment>> Open(const char* path) {
  UniqueFd fd(::open(path, O_RDWR | O_CLOEXEC));
  SegmentHeader header = {};
  if (!fd.valid() || ::pread(fd.get(), &header, sizeof(header), 0) !=
                         static_cast<ssize_t>(sizeof(header))) {
    return absl::NotFoundError("no segment is there");
  }
  return Segment::Attach(std::move(fd), header.options.job_key);
}

int Main(const std::vector<char*>& words) {
  if (words.size() < 5) return 2;
  absl::StatusOr<std::unique_ptr<Segment>> segment = Open(words[2]);
  if (absl::IsNotFound(segment.status())) {  // The job has trained all.
    std::cout << "0 0\n";
    return 0;
  }
  if (!segment.ok()) {
    std::cerr << segment.status().message() << '\n';
    return 1;
  }
  PartFaults faults(*std::move(segment), std::strtoull(words[3], nullptr, 10));
  if (std::string(words[1]) == "damage") {
    const auto [damaged, retracted] = faults.Damage(std::atoi(words[4]));
    std::cout << damaged << ' ' << retracted << '\n';
    return 0;
  }
  if (words.size() < 6) return 2;
  std::cout << faults.Kill(words[4], std::atoi(words[5])) << '\n';
  return 0;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::Main(std::vector<char*>(argv, argv + argc));
}
