#include "sampler_service/order/matched_order.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/memory/memory.h"
#include "sampler_service/order/matched_path.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Threads of a sampler are at the batches of the newest windows, and rarely at
// one that was claimed again. A window that is not kept is ordered once more.
constexpr size_t kKeptWindows = 16;

}  // namespace

BatchRange WindowOf(BatchSeq seq, const MatchedOrderOptions& options) {
  const BatchPlace place = PlaceInEpoch(seq, options.batches_per_epoch);
  const uint64_t in_window = place.batch % options.window;
  const uint64_t left = options.batches_per_epoch - (place.batch - in_window);
  const BatchSeq begin = seq - in_window;
  return {begin, begin + std::min<uint64_t>(options.window, left)};
}

absl::StatusOr<std::unique_ptr<MatchedOrder>> MatchedOrder::Create(
    const SamplerInput& input, const SamplerOptions& sampling,
    const MatchedOrderOptions& options) {
  FGNN_ASSIGN_OR_RETURN(WindowOverlap overlap,
                        WindowOverlap::Create(input.graph.num_nodes()));
  return absl::WrapUnique(new MatchedOrder(
      options, std::make_unique<Workspace>(Workspace{
                   std::move(overlap),
                   ScratchBlock(MaxTaskBytesOf(input.graph, sampling))})));
}

MatchedOrder::~MatchedOrder() {
  const MutexLock lock(&mutex_);
  if (const std::optional<std::string> line = gain_.Line()) {
    LogInfo("{}", *line);
  }
}

const MatchedOrder::Window* MatchedOrder::Find(BatchSeq begin) const {
  const auto found =
      std::find_if(windows_.begin(), windows_.end(),
                   [&](const Window& window) { return window.begin == begin; });
  return found == windows_.end() ? nullptr : &*found;
}

absl::StatusOr<MatchedOrder::Window> MatchedOrder::OrderWindow(
    const BatchRange& batches, Workspace& workspace, Sampler& sampler,
    absl::FunctionRef<absl::Status()> check, WindowGain* gain) const {
  workspace.overlap.StartWindow();
  for (BatchSeq drawn = batches.begin; drawn < batches.end; ++drawn) {
    FGNN_RETURN_IF_ERROR(check());
    FGNN_RETURN_IF_ERROR(
        workspace.block.Tally(sampler, drawn, &workspace.overlap));
  }
  const OverlapMatrix overlap = workspace.overlap.Count();
  std::vector<uint32_t> as_drawn(overlap.size());
  std::iota(as_drawn.begin(), as_drawn.end(), 0);
  Window window = {batches.begin, MatchedPath(overlap, options_.chains)};
  *gain = {.input_nodes = overlap.InputNodes(),
           .shared_as_drawn = SharedAlong(overlap, as_drawn, options_.chains),
           .shared = SharedAlong(overlap, window.order, options_.chains)};
  return window;
}

void MatchedOrder::Keep(Window window, const WindowGain& gain) {
  const BatchPlace first =
      PlaceInEpoch(window.begin, options_.batches_per_epoch);
  if (const std::optional<std::string> line =
          gain_.Add(first.epoch, first.batch / options_.window, gain)) {
    LogInfo("{}", *line);
  }
  if (windows_.size() == kKeptWindows) windows_.pop_front();
  windows_.push_back(std::move(window));
}

absl::StatusOr<BatchSeq> MatchedOrder::DrawnOf(
    BatchSeq seq, Sampler& sampler, absl::FunctionRef<absl::Status()> check) {
  const BatchRange batches = WindowOf(seq, options_);
  std::unique_ptr<Workspace> workspace;
  while (workspace == nullptr) {
    FGNN_RETURN_IF_ERROR(check());
    MutexLock lock(&mutex_);
    changed_.WaitUntil(
        &lock, DeadlineIn(kTick), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return Find(batches.begin) != nullptr || workspace_ != nullptr;
        });
    if (const Window* const window = Find(batches.begin)) {
      return batches.begin + window->order[seq - batches.begin];
    }
    workspace = std::move(workspace_);
  }
  WindowGain gain;
  Window window;
  // What throws must give the workspace back, for which other threads wait.
  const absl::Status status = CatchExceptions([&]() -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(
        window, OrderWindow(batches, *workspace, sampler, check, &gain));
    return absl::OkStatus();
  });
  const MutexLock lock(&mutex_);
  workspace_ = std::move(workspace);
  changed_.NotifyAll();
  FGNN_RETURN_IF_ERROR(status);
  const BatchSeq drawn = batches.begin + window.order[seq - batches.begin];
  Keep(std::move(window), gain);
  return drawn;
}

}  // namespace fgnn
