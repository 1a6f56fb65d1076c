#include "trainer_service/shuffle/board_shuffle.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {
namespace {

constexpr int64_t kRowsPerTask = 256;
constexpr uint64_t kAlignmentBytes = 64;

uint64_t BytesOfNumber(Precision precision) {
  return precision == Precision::kBfloat16 ? sizeof(Bfloat16) : sizeof(float);
}

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// Calls copy(i) for each row i of `count`, on the team's threads.
template <typename Copy>
absl::Status ForRows(ThreadTeam& team, int64_t count, const Copy& copy) {
  return team.Run(NumTasks(count, kRowsPerTask), [&](int64_t task, int) {
    const int64_t last = std::min(count, (task + 1) * kRowsPerTask);
    for (int64_t i = task * kRowsPerTask; i < last; ++i) copy(i);
  });
}

// Adds a row of Numbers to another one, in f32.
template <typename Number>
void AddTo(Number* to, const std::byte* from, uint64_t columns) {
  const auto* const numbers = reinterpret_cast<const Number*>(from);
  for (uint64_t c = 0; c < columns; ++c) {
    const float sum = Widen(to[c]) + Widen(numbers[c]);
    if constexpr (sizeof(Number) == sizeof(float)) {
      to[c] = sum;
    } else {
      to[c] = RoundToBfloat16(sum);
    }
  }
}

}  // namespace

MessagePlaces::MessagePlaces(const TaskView& task, const ModelOptions& model)
    : num_hops_(model.layers), num_parts_(task.num_parts) {
  for (const bool forward : {true, false}) {
    for (uint32_t hop = 0; hop + 1 < num_hops_; ++hop) {
      Add(task, hop, forward, model.hidden * BytesOfNumber(model.precision));
    }
  }
  if (!task.shares_inputs) return;
  // Cores send features in f32, whatever the precision is. Devices send them as
  // their first layer reads them, perhaps in less than this room.
  Add(task, num_hops_ - 1, /*forward=*/true,
      model.input_columns * sizeof(float));
}

void MessagePlaces::Add(const TaskView& task, uint32_t hop, bool forward,
                        uint64_t row_bytes) {
  const absl::Span<const uint32_t> counts = task.split.levels[hop].counts;
  for (uint32_t from = 0; from < num_parts_; ++from) {
    for (uint32_t to = 0; to < num_parts_; ++to) {
      // A gradient goes back where its row came from.
      const uint32_t rows = forward ? counts[from * num_parts_ + to]
                                    : counts[to * num_parts_ + from];
      begins_.push_back(total_bytes_);
      total_bytes_ += Aligned(rows * row_bytes);
    }
  }
}

absl::Status BoardShuffle::CheckPlace() const {
  const uint64_t have = board_.BytesOf(task_.seq).size();
  if (places_.total_bytes() <= have) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("messages of batch ", task_.seq.value(), " take ",
                   places_.total_bytes(), " bytes, and its place has ", have));
}

absl::Status BoardShuffle::WaitFor(uint32_t message, uint32_t part) const {
  if (board_.IsThere(task_.seq, message, part)) return absl::OkStatus();
  return wait_(message, part);
}

uint32_t BoardShuffle::Count(const Messages& messages, uint32_t from,
                             uint32_t to) const {
  // A gradient goes back where its row came from.
  if (!messages.forward) std::swap(from, to);
  return task_.split.levels[messages.hop].counts[from * task_.num_parts + to];
}

template <typename Write>
absl::Status BoardShuffle::Send(const Messages& messages, uint64_t row_bytes,
                                const Write& write) {
  FGNN_RETURN_IF_ERROR(CheckPlace());
  const uint32_t self = task_.part;
  const uint32_t message = places_.MessageOf(messages.hop, messages.forward);
  sent_bytes_[message] = 0;
  for (uint32_t to = 0; to < task_.num_parts; ++to) {
    sent_bytes_[message] += Count(messages, self, to) * row_bytes;
  }
  if (board_.IsThere(task_.seq, message, self)) return absl::OkStatus();
  std::byte* const place = board_.BytesOf(task_.seq).data();
  for (uint32_t to = 0; to < task_.num_parts; ++to) {
    const uint32_t rows = Count(messages, self, to);
    // A part without rows may have no memory for them.
    if (rows == 0) continue;
    FGNN_RETURN_IF_ERROR(
        write(rows, place + places_.BeginOf(message, self, to)));
  }
  board_.Publish(task_.seq, message, self);
  return absl::OkStatus();
}

template <typename Read>
absl::Status BoardShuffle::Receive(const Messages& messages,
                                   const Read& read) const {
  const uint32_t self = task_.part;
  const uint32_t message = places_.MessageOf(messages.hop, messages.forward);
  const std::byte* const place = board_.BytesOf(task_.seq).data();
  for (uint32_t from = 0; from < task_.num_parts; ++from) {
    const uint32_t rows = Count(messages, from, self);
    if (rows == 0) continue;
    FGNN_RETURN_IF_ERROR(WaitFor(message, from));
    FGNN_RETURN_IF_ERROR(
        read(rows, place + places_.BeginOf(message, from, self)));
  }
  return absl::OkStatus();
}

absl::Status BoardShuffle::Forward(uint32_t hop, const PartRows& rows,
                                   ThreadTeam& team) {
  const Messages messages = {hop, /*forward=*/true};
  const uint64_t row_bytes = rows.columns * BytesOfNumber(rows.precision);
  auto* const all = static_cast<std::byte*>(rows.rows);
  const uint32_t* send = task_.split.levels[hop].send.data();
  FGNN_RETURN_IF_ERROR(
      Send(messages, row_bytes, [&](uint32_t count, std::byte* out) {
        const uint32_t* const numbers = std::exchange(send, send + count);
        return ForRows(team, count, [&](int64_t i) {
          std::memcpy(out + static_cast<uint64_t>(i) * row_bytes,
                      all + numbers[i] * row_bytes, row_bytes);
        });
      }));
  std::byte* remote = all + rows.own * row_bytes;
  return Receive(messages, [&](uint32_t count, const std::byte* came) {
    std::memcpy(remote, came, count * row_bytes);
    remote += count * row_bytes;
    return absl::OkStatus();
  });
}

absl::Status BoardShuffle::Backward(uint32_t hop, const PartRows& gradient,
                                    ThreadTeam& team) {
  const Messages messages = {hop, /*forward=*/false};
  const uint64_t row_bytes =
      gradient.columns * BytesOfNumber(gradient.precision);
  auto* const all = static_cast<std::byte*>(gradient.rows);
  const std::byte* remote = all + gradient.own * row_bytes;
  FGNN_RETURN_IF_ERROR(
      Send(messages, row_bytes, [&](uint32_t count, std::byte* out) {
        std::memcpy(out, remote, count * row_bytes);
        remote += count * row_bytes;
        return absl::OkStatus();
      }));
  // A row that several parts have gets their gradients in the parts' order.
  const uint32_t* sent = task_.split.levels[hop].send.data();
  return Receive(messages, [&](uint32_t count, const std::byte* came) {
    const uint32_t* const numbers = std::exchange(sent, sent + count);
    return ForRows(team, count, [&](int64_t i) {
      std::byte* const to = all + numbers[i] * row_bytes;
      const std::byte* const row = came + static_cast<uint64_t>(i) * row_bytes;
      if (gradient.precision == Precision::kBfloat16) {
        AddTo(reinterpret_cast<Bfloat16*>(to), row, gradient.columns);
      } else {
        AddTo(reinterpret_cast<float*>(to), row, gradient.columns);
      }
    });
  });
}

absl::Status BoardShuffle::Exchange(uint32_t hop, bool forward,
                                    const PackedExchange& rows) {
  const Messages messages = {hop, forward};
  const auto* out = static_cast<const std::byte*>(rows.out);
  FGNN_RETURN_IF_ERROR(
      Send(messages, rows.row_bytes, [&](uint32_t count, std::byte* place) {
        std::memcpy(place, out, count * rows.row_bytes);
        out += count * rows.row_bytes;
        return absl::OkStatus();
      }));
  auto* in = static_cast<std::byte*>(rows.in);
  return Receive(messages, [&](uint32_t count, const std::byte* came) {
    std::memcpy(in, came, count * rows.row_bytes);
    in += count * rows.row_bytes;
    return absl::OkStatus();
  });
}

}  // namespace fgnn
