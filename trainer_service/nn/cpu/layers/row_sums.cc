#include "trainer_service/nn/cpu/layers/row_sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "shared/base/status.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"

namespace fgnn {
namespace {

template <typename Number>
inline __attribute__((always_inline)) void AddProductsOf(const Number* x,
                                                         const Number* y,
                                                         int64_t rows,
                                                         int64_t columns,
                                                         float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[c] += Widen(x[r * columns + c]) * Widen(y[r * columns + c]);
    }
  }
}

// Adds to out [columns] the products of x's and y's elements [rows, columns].
FGNN_TARGET_CLONES
void AddProducts(const float* x, const float* y, int64_t rows, int64_t columns,
                 float* out) {
  AddProductsOf(x, y, rows, columns, out);
}

FGNN_TARGET_CLONES
void AddProducts(const Bfloat16* x, const Bfloat16* y, int64_t rows,
                 int64_t columns, float* out) {
  AddProductsOf(x, y, rows, columns, out);
}

// Returns the number of floats in the cache lines that `count` of them fill.
int64_t WholeLines(int64_t count) { return NumTasks(count, 16) * 16; }

// The sums over a chunk of rows, and the number of the first output.
template <typename Number>
struct Chunk {
  const SumsOverRows<Number>* sums;
  int64_t number;
  size_t output;
};

// A sum, and the place of its partial sums, `stride` floats apart.
struct Output {
  absl::Span<float> out;
  int64_t at;
  int64_t num_chunks;
  int64_t stride;
};

// Computes the partial sums of a chunk. `output` is its first.
template <typename Number>
void SumChunk(const Chunk<Number>& chunk, const Output* output, float* partials,
              PackedFactorOf<Number>* block) {
  const auto next = [&] {
    const Output& next_output = *output++;
    return partials + next_output.at + chunk.number * next_output.stride;
  };
  const auto& [a, row_sum, products] = *chunk.sums;
  const int64_t most_rows = RowsPerPartial(a.rows);
  const int64_t first = chunk.number * most_rows;
  const int64_t rows = std::min(most_rows, a.rows - first);
  const FactorOf<Number> a_rows = {a.data + first * a.columns, rows, a.columns};
  if (!row_sum.empty()) SumOfRows(a_rows.data, rows, a.columns, next());
  std::vector<RightFactor<Number>> factors;
  for (const RightFactor<Number>& b : products) {
    factors.push_back({b.data + first * b.columns, b.columns, next()});
  }
  if (!factors.empty()) ProductsOverRows<Number>(a_rows, factors, block);
}

// Sets all outputs to the sums of their partial sums.
absl::Status AddUp(const std::vector<Output>& outputs, const float* partials,
                   ThreadTeam* team) {
  int64_t most_tasks = 0;
  for (const Output& output : outputs) {
    const auto size = static_cast<int64_t>(output.out.size());
    most_tasks = std::max(most_tasks, NumTasks(size, kFloatsPerSumTask));
  }
  // Smaller outputs have tasks without elements.
  return team->Run(
      static_cast<int64_t>(outputs.size()) * most_tasks,
      [&](int64_t task, int) {
        const auto& [out, at, num_chunks, stride] =
            outputs[static_cast<size_t>(task / most_tasks)];
        const int64_t first = task % most_tasks * kFloatsPerSumTask;
        if (first >= static_cast<int64_t>(out.size())) return;
        SumOfPartials(partials + at + first, num_chunks, stride,
                      out.subspan(static_cast<size_t>(first),
                                  static_cast<size_t>(kFloatsPerSumTask)));
      });
}

}  // namespace

template <typename Number>
absl::Status RowSums<Number>::Of(absl::Span<const SumsOverRows<Number>> all) {
  std::vector<Chunk<Number>> chunks;
  std::vector<Output> outputs;
  int64_t num_floats = 0;
  for (const SumsOverRows<Number>& sums : all) {
    const int64_t num_chunks =
        NumTasks(sums.a.rows, RowsPerPartial(sums.a.rows));
    for (int64_t i = 0; i < num_chunks; ++i) {
      chunks.push_back({&sums, i, outputs.size()});
    }
    const auto add = [&](float* out, int64_t size) {
      const int64_t stride = WholeLines(size);
      outputs.push_back(
          {{out, static_cast<size_t>(size)}, num_floats, num_chunks, stride});
      num_floats += num_chunks * stride;
    };
    const int64_t columns = sums.a.columns;
    if (!sums.rows.empty()) add(sums.rows.data(), columns);
    for (const auto& b : sums.products) add(b.out, columns * b.columns);
  }
  float* partials = partials_.Reserve(num_floats);
  FGNN_RETURN_IF_ERROR(team_->Run(
      static_cast<int64_t>(chunks.size()), [&](int64_t task, int worker) {
        const Chunk<Number>& chunk = chunks[static_cast<size_t>(task)];
        SumChunk(chunk, &outputs[chunk.output], partials,
                 &blocks_[static_cast<size_t>(worker)]);
      }));
  return AddUp(outputs, partials, team_);
}

template <typename Number>
absl::Status RowSums<Number>::OverChunks(int64_t rows, AddRows add,
                                         absl::Span<float> out) {
  const int64_t columns = static_cast<int64_t>(out.size());
  const int64_t chunk = RowsPerPartial(rows);
  const int64_t num_chunks = NumTasks(rows, chunk);
  const int64_t stride = WholeLines(columns);
  float* partials = partials_.Reserve(stride * num_chunks);
  FGNN_RETURN_IF_ERROR(team_->Run(num_chunks, [&](int64_t task, int) {
    const int64_t first = task * chunk;
    float* const sum = partials + task * stride;
    std::fill_n(sum, columns, 0.0F);
    add(first, std::min(chunk, rows - first), sum);
  }));
  SumOfPartials(partials, num_chunks, stride, out);
  return absl::OkStatus();
}

template <typename Number>
absl::StatusOr<float> RowSums<Number>::OfElementProducts(
    const FactorOf<Number>& a, const FactorOf<Number>& b) {
  const auto columns = static_cast<size_t>(a.columns);
  const absl::Span<float> sums =
      absl::MakeSpan(column_sums_.Reserve(columns), columns);
  FGNN_RETURN_IF_ERROR(OverChunks(
      a.rows,
      [&a, &b](int64_t first, int64_t count, float* sum) {
        AddProducts(a.data + first * a.columns, b.data + first * b.columns,
                    count, a.columns, sum);
      },
      sums));
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

template class RowSums<float>;
template class RowSums<Bfloat16>;

}  // namespace fgnn
