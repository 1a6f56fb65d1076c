// Rows of layers whose numbers are float or Bfloat16. Rows are computed in f32,
// then stored and multiplied as Numbers. For float all of this costs nothing.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_ROWS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"

namespace fgnn {

// Rows of one task of a layer. What is computed for them, in f32, stays in the
// second-level cache until the product or the rounding has read it. A multiple
// of kDropoutTile.
template <typename Number>
inline constexpr int64_t kRowsPerTask =
    std::is_same_v<Number, float> ? 256 : 128;
static_assert(kRowsPerTask<float> % kDropoutTile == 0);
static_assert(kRowsPerTask<Bfloat16> % kDropoutTile == 0);

// Memory in which workers compute what StoreRows() then rounds.
template <typename Number>
class FloatRows {
 public:
  explicit FloatRows(const ThreadTeam& team)
      : rooms_(static_cast<size_t>(team.size())) {}

  // Returns room for `count` floats that become `rows`; for float, returns
  // `rows` themselves. Valid until the worker's next call. std::bad_alloc.
  float* Of(Number* rows, int64_t count, int worker) {
    if constexpr (std::is_same_v<Number, float>) {
      return rows;
    } else {
      return rooms_[static_cast<size_t>(worker)].Reserve(count);
    }
  }

 private:
  std::vector<Scratch<float>> rooms_;  // Room of each worker.
};

// A layer's loops over rows, on the team's threads, kRowsPerTask at a time.
// Borrows the team. Run() and Make() fail as ThreadTeam::Run() does.
template <typename Number>
class RowTasks {
 public:
  explicit RowTasks(ThreadTeam* team) : team_(team), floats_(*team) {}

  // Calls task(first, last, worker) for all rows in [0, rows).
  template <typename Task>
  absl::Status Run(int64_t rows, const Task& task) {
    return team_->Run(
        NumTasks(rows, kRowsPerTask<Number>), [&](int64_t i, int worker) {
          const int64_t first = i * kRowsPerTask<Number>;
          task(first, std::min(first + kRowsPerTask<Number>, rows), worker);
        });
  }

  // Makes `to` [rows, columns]. make(first, last, worker, out) computes the
  // rows in [first, last), which are then stored.
  template <typename Maker>
  absl::Status Make(int64_t rows, int64_t columns, Number* to,
                    const Maker& make) {
    return Run(rows, [&](int64_t first, int64_t last, int worker) {
      Number* const stored = to + first * columns;
      const int64_t count = (last - first) * columns;
      float* const out = Floats(stored, count, worker);
      make(first, last, worker, out);
      StoreRows(out, count, stored);
    });
  }

  // Returns what FloatRows::Of() returns.
  float* Floats(Number* rows, int64_t count, int worker) {
    return floats_.Of(rows, count, worker);
  }

 private:
  ThreadTeam* const team_;
  FloatRows<Number> floats_;
};

// The rows of a layer's input [.., columns] that its products and gradients
// read: those of a dense input, or copies of stored rows.
template <typename Number>
class InputRows {
 public:
  InputRows(int64_t columns, const ThreadTeam& team)
      : columns_(columns), floats_(team) {}

  // Starts with an input of which the first `count` rows are needed. Borrows
  // what x points to. std::bad_alloc.
  void Start(const LayerInput<Number>& x, int64_t count) {
    stored_ = x.dense == nullptr ? x.stored : nullptr;
    data_ = stored_ == nullptr ? x.dense : copies_.Reserve(count * columns_);
  }

  // Makes the copies of the rows in [first, last), if they are stored. Several
  // workers may copy parts that do not overlap. std::bad_alloc.
  void Copy(int64_t first, int64_t last, int worker) {
    if (stored_ == nullptr) return;
    const int64_t count = (last - first) * columns_;
    Number* const to = copies_.data() + first * columns_;
    float* const floats = floats_.Of(to, count, worker);
    const std::byte* const* const from = stored_->rows.data() + first;
    GatherRows(
        stored_->type, static_cast<uint64_t>(columns_),
        static_cast<size_t>(last - first), [from](size_t i) { return from[i]; },
        floats);
    StoreRows(floats, count, to);
  }

  // Returns the input's rows in a store; null if they are dense.
  const StoredRows* stored() const { return stored_; }
  // Returns the rows from row `row` on.
  const Number* From(int64_t row) const { return data_ + row * columns_; }

 private:
  const int64_t columns_;
  const StoredRows* stored_ = nullptr;
  Scratch<Number> copies_;
  const Number* data_ = nullptr;
  FloatRows<Number> floats_;
};

// The output of a layer [.., columns]: see LayerOutput.
template <typename Number>
class OutputRows {
 public:
  // `last`: the layer makes logits.
  OutputRows(int64_t columns, bool last, const ThreadTeam& team)
      : columns_(columns), last_(last), floats_(team) {}

  // Returns room for `count` rows, and `room` more. std::bad_alloc.
  LayerOutput<Number> Reserve(int64_t count, int64_t room = 0) {
    output_.rows = rows_.Reserve((count + room) * columns_);
    if constexpr (std::is_same_v<Number, float>) {
      output_.logits = output_.rows;
    } else if (last_) {
      output_.logits = logits_.Reserve(count * columns_);
    }
    return output_;
  }

  // Returns the floats in which a worker computes the rows in [first, last).
  // std::bad_alloc.
  float* Floats(int64_t first, int64_t last, int worker) {
    const int64_t at = first * columns_;
    if (last_) return output_.logits + at;
    return floats_.Of(output_.rows + at, (last - first) * columns_, worker);
  }

  // Applies ReLU and dropout to these rows, unless they are logits.
  void Finish(const Dropout& dropout, int64_t first, int64_t last, float* z) {
    if (last_) return;
    const int64_t at = first * columns_;
    const int64_t count = (last - first) * columns_;
    ApplyReluAndDropout(dropout, at, count, z);
    StoreRows(z, count, output_.rows + at);
  }
  // Adds the bias [columns] first.
  void Finish(const RepeatedRow& bias, const Dropout& dropout, int64_t first,
              int64_t last, float* z) {
    if (last_) return AddRow(bias.floats(), columns_, last - first, z);
    const int64_t at = first * columns_;
    AddRowReluAndDropout(dropout, bias, at, (last - first) * columns_, z,
                         output_.rows + at);
  }

  // Returns the rows of the last Reserve().
  const Number* rows() const { return output_.rows; }

 private:
  const int64_t columns_;
  const bool last_;
  LayerOutput<Number> output_;
  Scratch<Number> rows_;
  Scratch<float> logits_;
  FloatRows<Number> floats_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_ROWS_H_
