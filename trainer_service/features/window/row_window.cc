#include "trainer_service/features/window/row_window.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

// A window has at most this share of the vertices, divided by the share that is
// cached: see README.md.
constexpr double kShareTimesCapacity = 0.005;
// A window may always have so many rows: they cost nothing.
constexpr uint64_t kFewestRows = 64;

constexpr GlobalId kNoNode = std::numeric_limits<GlobalId>::max();

// Bytes for each vertex of the dataset: its uses.
constexpr uint64_t kVertexBytes = RowWindow::kMostAhead / 8;

// Bytes for each row: the row, its vertex, and its entries in the table of
// places and in the list of rows to copy.
uint64_t BytesPerRow(uint64_t num_columns) {
  constexpr uint64_t kRows = 1000;
  return num_columns * sizeof(float) + sizeof(GlobalId) + 3 * sizeof(uint32_t) +
         RowMatch::BytesFor(kRows) / kRows;
}

}  // namespace

uint64_t RowWindow::ShareOf(uint64_t cached_rows, uint64_t num_nodes) {
  if (cached_rows == 0 || cached_rows >= num_nodes) return 0;
  // The more of the hottest rows are cached, the fewer a batch misses, and the
  // fewer are worth a place until their next use.
  const auto nodes = static_cast<double>(num_nodes);
  const double most =
      kShareTimesCapacity * nodes * nodes / static_cast<double>(cached_rows);
  return std::min(cached_rows / 2,
                  std::max(kFewestRows, static_cast<uint64_t>(most)));
}

uint64_t RowWindow::RowsIn(uint64_t bytes, uint64_t num_nodes,
                           uint64_t num_columns) {
  const uint64_t of_vertices = num_nodes * kVertexBytes;
  if (bytes <= of_vertices) return 0;
  return std::min((bytes - of_vertices) / BytesPerRow(num_columns), num_nodes);
}

absl::StatusOr<std::unique_ptr<RowWindow>> RowWindow::Make(
    uint64_t num_rows, uint64_t num_nodes, uint64_t num_columns) {
  std::unique_ptr<RowWindow> window;
  const absl::Status made = CatchExceptions([&] {
    window = absl::WrapUnique(new RowWindow(num_nodes, num_columns, num_rows));
    const MutexLock lock(&window->mutex_);
    const bool has_all = window->rows_ != nullptr && window->uses_ != nullptr;
    return has_all ? absl::OkStatus() : absl::ResourceExhaustedError("");
  });
  if (made.ok()) return window;
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for a window of ", num_rows, " rows, ",
                   FormatBytes(num_nodes * kVertexBytes +
                               num_rows * BytesPerRow(num_columns)),
                   "; lower cache.capacity"));
}

RowWindow::RowWindow(uint64_t num_nodes, uint64_t num_columns,
                     uint64_t num_rows)
    : num_nodes_(num_nodes),
      num_columns_(num_columns),
      rows_(AllocateTable<float>(num_rows * num_columns)),
      node_in_(num_rows, kNoNode),
      uses_(AllocateTable<Uses>(num_nodes)) {}

void RowWindow::Forget(uint32_t number) {
  const auto others = static_cast<Uses>(~(1U << number));
  for (uint64_t node = 0; node < num_nodes_; ++node) uses_[node] &= others;
  expected_[number].reset();
}

void RowWindow::Expect(BatchSeq seq, const BatchMisses& misses) {
  const MutexLock lock(&mutex_);
  for (const std::optional<BatchSeq>& one : expected_) {
    if (one == seq) return;
  }
  const uint32_t number = next_number_;
  if (const std::optional<BatchSeq> other = expected_[number];
      other.has_value()) {
    if (*other > last_passed_) return;
    // Another trainer has the batch, or it comes so late that it counts as one
    // that was not expected.
    Forget(number);
  }
  SetUses(misses, number, /*is_used=*/true);
  expected_[number] = seq;
  next_number_ = (number + 1) % kMostAhead;
}

void RowWindow::Pass(BatchSeq seq, const BatchMisses& misses) {
  const MutexLock lock(&mutex_);
  last_passed_ = std::max(last_passed_, seq);
  const auto found = std::find(expected_.begin(), expected_.end(), seq);
  if (found == expected_.end()) return;
  passed_ = static_cast<uint32_t>(found - expected_.begin());
  found->reset();
  SetUses(misses, passed_, /*is_used=*/false);
}

void RowWindow::SetUses(const BatchMisses& misses, uint32_t number,
                        bool is_used) {
  const auto bit = static_cast<Uses>(1U << number);
  const auto others = static_cast<Uses>(~bit);
  for (size_t i = 0; i < misses.nodes.size(); ++i) {
    // The extraction refuses a vertex that has no row.
    if (!misses.Has(i) || misses.nodes[i] >= num_nodes_) continue;
    Uses& uses = uses_[misses.nodes[i]];
    uses = is_used ? uses | bit : uses & others;
  }
}

uint32_t RowWindow::DistanceOf(GlobalId node) const {
  // The number behind the one that passed last becomes the lowest bit. Zero has
  // kNoUse zero bits.
  static_assert(kNoUse == std::countr_zero(Uses{0}));
  return static_cast<uint32_t>(
      std::countr_zero(std::rotr(uses_[node], static_cast<int>(passed_ + 1))));
}

bool RowWindow::Choice::Takes(uint32_t distance) {
  if (distance != last) return distance < last;
  if (num_of_last == 0) return false;
  --num_of_last;
  return true;
}

RowWindow::Choice RowWindow::Choose(const std::vector<Leaving>& leaving) const {
  std::array<uint64_t, kNoUse + 1> counts = {};
  for (const GlobalId node : node_in_) {
    if (node != kNoNode) ++counts[DistanceOf(node)];
  }
  for (const Leaving& one : leaving) ++counts[DistanceOf(one.node)];
  Choice choice = {.last = 0, .num_of_last = node_in_.size()};
  while (choice.last < kNoUse && counts[choice.last] <= choice.num_of_last) {
    choice.num_of_last -= counts[choice.last];
    ++choice.last;
  }
  return choice;
}

void RowWindow::Replace(std::vector<Leaving>* leaving) {
  const MutexLock lock(&mutex_);
  Choice choice = Choose(*leaving);
  // Rows that are here go first: they need no copy.
  for (GlobalId& node : node_in_) {
    if (node != kNoNode && !choice.Takes(DistanceOf(node))) node = kNoNode;
  }
  uint32_t place = 0;
  auto kept = leaving->begin();
  for (const Leaving& one : *leaving) {
    const uint32_t distance = DistanceOf(one.node);
    if (distance == kNoUse || !choice.Takes(distance)) continue;
    while (node_in_[place] != kNoNode) ++place;
    node_in_[place] = one.node;
    *kept++ = {one.node, one.row, place};
  }
  leaving->erase(kept, leaving->end());
}

uint64_t RowWindow::Find(absl::Span<const GlobalId> nodes,
                         uint32_t* places) const {
  uint64_t num_found = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (places[i] != kNotKept) continue;
    const uint32_t place = places_.PlaceOf(nodes[i]);
    if (place == kNotKept) continue;
    places[i] = kInWindow + place;
    ++num_found;
  }
  return num_found;
}

absl::Status RowWindow::Keep(absl::Span<const uint32_t> places,
                             const RowMatch& arriving,
                             const LeavingRows& leaving, ThreadTeam& team) {
  // Until all rows are copied, none may be found.
  absl::Cleanup keep_none = [this] {
    std::fill(node_in_.begin(), node_in_.end(), kNoNode);
    places_.Forget();
  };
  for (const uint32_t place : places) {
    if (place >= kInWindow && place != kNotKept) {
      node_in_[place - kInWindow] = kNoNode;
    }
  }
  std::vector<Leaving> kept;
  leaving.match->ForEach([&](GlobalId node, uint32_t row) {
    if (arriving.PlaceOf(node) == kNotKept) kept.push_back({node, row});
  });
  Replace(&kept);
  const auto num_tasks =
      NumTasks(static_cast<int64_t>(kept.size()), kExtractedRowsPerTask);
  FGNN_RETURN_IF_ERROR(team.Run(num_tasks, [&](int64_t task, int) {
    const size_t first = static_cast<size_t>(task) * kExtractedRowsPerTask;
    const size_t last = std::min(first + kExtractedRowsPerTask, kept.size());
    for (size_t k = first; k < last; ++k) {
      std::memcpy(rows_.get() + uint64_t{kept[k].place} * num_columns_,
                  leaving.rows + kept[k].row * num_columns_,
                  num_columns_ * sizeof(float));
    }
  }));
  places_.Keep({node_in_, {}, 0});
  std::move(keep_none).Cancel();
  return absl::OkStatus();
}

}  // namespace fgnn
