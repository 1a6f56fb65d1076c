#include "tests/unit/trainer_service/nn/split_batch.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <utility>

#include "shared/base/clock.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {
namespace {

// Numbers of the vertices of one level for one part.
struct Level {
  std::vector<uint32_t> own;  // Local ids of the whole batch, ascending.
  // Local ids by owner, then ascending.
  std::vector<std::vector<uint32_t>> remote;
};

float Get(const PartRows& rows, size_t i) {
  return rows.precision == Precision::kBfloat16
             ? Widen(static_cast<const Bfloat16*>(rows.rows)[i])
             : static_cast<const float*>(rows.rows)[i];
}
void Set(const PartRows& rows, size_t i, float value) {
  if (rows.precision == Precision::kBfloat16) {
    static_cast<Bfloat16*>(rows.rows)[i] = RoundToBfloat16(value);
  } else {
    static_cast<float*>(rows.rows)[i] = value;
  }
}

}  // namespace

std::vector<std::unique_ptr<SplitPart>> SplitBatch(
    const TrainingBatch& whole, uint32_t num_parts,
    const std::function<uint32_t(uint32_t v)>& owner) {
  const TaskView& task = *whole.task;
  const auto num_hops = static_cast<size_t>(task.num_hops);
  const auto owner_of = [&](uint32_t local) {
    return owner(task.input_nodes[local]);
  };
  // levels[p][k]: the vertices of level k; level 0 has the seeds.
  std::vector<std::vector<Level>> levels(num_parts);
  for (uint32_t p = 0; p < num_parts; ++p) {
    levels[p].resize(num_hops + 1);
    for (size_t k = 0; k <= num_hops; ++k) {
      const uint32_t count =
          k == 0 ? task.num_seeds : task.hops[k - 1].num_sources;
      Level& level = levels[p][k];
      level.remote.resize(num_parts);
      for (uint32_t v = 0; v < count; ++v) {
        if (owner_of(v) == p) level.own.push_back(v);
      }
      if (k == 0) continue;
      const BlockView& block = task.hops[k - 1];
      std::set<uint32_t> needed;
      for (uint32_t d = 0; d < block.num_destinations; ++d) {
        if (owner_of(d) != p) continue;
        for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
          const uint32_t v = block.indices[e];
          if (owner_of(v) != p) needed.insert(v);
        }
      }
      for (const uint32_t v : needed) level.remote[owner_of(v)].push_back(v);
    }
  }
  std::vector<std::unique_ptr<SplitPart>> parts;
  const size_t columns = whole.features.size() / task.input_nodes.size();
  const size_t classes =
      task.num_seeds == 0 ? 0 : whole.targets.size() / task.num_seeds;
  for (uint32_t p = 0; p < num_parts; ++p) {
    auto part = std::make_unique<SplitPart>();
    // The spans below point into these.
    part->arrays.reserve(8 * kMaxHops);
    part->weights.reserve(kMaxHops);
    const auto keep = [&](std::vector<uint32_t> array) {
      part->arrays.push_back(std::move(array));
      return absl::MakeConstSpan(part->arrays.back());
    };
    part->task = task;
    part->task.part = p;
    part->task.num_parts = num_parts;
    part->task.batch_seeds = task.num_seeds;
    part->task.num_seeds = static_cast<uint32_t>(levels[p][0].own.size());
    std::vector<uint32_t> inputs;
    for (size_t hop = 0; hop < num_hops; ++hop) {
      const Level& to = levels[p][hop];
      const Level& from = levels[p][hop + 1];
      std::map<uint32_t, uint32_t> number;
      std::vector<uint32_t> remote;
      for (const uint32_t v : from.own) {
        number.insert({v, static_cast<uint32_t>(number.size())});
      }
      inputs.clear();
      for (const uint32_t v : from.own) inputs.push_back(task.input_nodes[v]);
      for (const auto& of_owner : from.remote) {
        for (const uint32_t v : of_owner) {
          number.insert({v, static_cast<uint32_t>(number.size())});
          remote.push_back(task.input_nodes[v]);
          inputs.push_back(task.input_nodes[v]);
        }
      }
      const BlockView& block = task.hops[hop];
      std::vector<uint32_t> indptr = {0};
      std::vector<uint32_t> indices;
      std::vector<float> edge_weights;
      for (const uint32_t d : to.own) {
        for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
          indices.push_back(number.at(block.indices[e]));
          if (!block.weights.empty()) edge_weights.push_back(block.weights[e]);
        }
        indptr.push_back(static_cast<uint32_t>(indices.size()));
      }
      BlockView& made = part->task.hops[hop];
      made.num_destinations = static_cast<uint32_t>(to.own.size());
      made.num_sources = static_cast<uint32_t>(number.size());
      made.num_remote_sources = static_cast<uint32_t>(remote.size());
      made.indptr = keep(std::move(indptr));
      made.indices = keep(std::move(indices));
      part->weights.push_back(std::move(edge_weights));
      made.weights = part->weights.back();
      std::vector<uint32_t> counts;
      std::vector<uint32_t> send;
      for (uint32_t q = 0; q < num_parts; ++q) {
        for (uint32_t r = 0; r < num_parts; ++r) {
          counts.push_back(
              static_cast<uint32_t>(levels[r][hop + 1].remote[q].size()));
        }
        for (const uint32_t v : levels[q][hop + 1].remote[p]) {
          send.push_back(number.at(v));
        }
      }
      part->task.split.levels[hop] = {keep(std::move(counts)),
                                      keep(std::move(send)),
                                      keep(std::move(remote))};
    }
    for (const uint32_t v : inputs) {
      const auto at = static_cast<size_t>(
          std::find(task.input_nodes.begin(), task.input_nodes.end(), v) -
          task.input_nodes.begin());
      const float* const row = whole.features.data() + at * columns;
      part->features.insert(part->features.end(), row, row + columns);
    }
    for (const uint32_t v : levels[p][0].own) {
      if (!whole.labels.empty()) part->labels.push_back(whole.labels[v]);
      const float* const row = whole.targets.data() + v * classes;
      part->targets.insert(part->targets.end(), row, row + classes);
    }
    part->task.input_nodes = keep(std::move(inputs));
    part->batch = whole;
    part->batch.task = &part->task;
    part->batch.features = absl::MakeSpan(part->features);
    part->batch.labels = part->labels;
    part->batch.targets = part->targets;
    parts.push_back(std::move(part));
  }
  return parts;
}

void MemoryMessages::Send(const Key& key, std::vector<float> rows) {
  const MutexLock lock(&mutex_);
  messages_[key] = std::move(rows);
  changed_.NotifyAll();
}

std::vector<float> MemoryMessages::WaitFor(const Key& key) {
  MutexLock lock(&mutex_);
  // A part that failed never sends: its test then ends with an empty message.
  changed_.WaitUntil(&lock, DeadlineIn(std::chrono::minutes(1)),
                     [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                       return messages_.count(key) > 0;
                     });
  return messages_[key];
}

uint32_t MemoryShuffle::Count(uint32_t hop, uint32_t from, uint32_t to) const {
  return task_.split.levels[hop].counts[from * task_.num_parts + to];
}

absl::Status MemoryShuffle::Forward(uint32_t hop, const PartRows& rows,
                                    ThreadTeam& /*team*/) {
  const uint32_t self = task_.part;
  const uint64_t columns = rows.columns;
  size_t at = 0;
  for (uint32_t to = 0; to < task_.num_parts; ++to) {
    std::vector<float> message;
    for (uint32_t i = 0; i < Count(hop, self, to); ++i, ++at) {
      const size_t row = task_.split.levels[hop].send[at];
      for (size_t c = 0; c < columns; ++c) {
        message.push_back(Get(rows, row * columns + c));
      }
    }
    messages_->Send({hop, false, self, to}, std::move(message));
  }
  size_t place = rows.own * columns;
  for (uint32_t from = 0; from < task_.num_parts; ++from) {
    for (const float value : messages_->WaitFor({hop, false, from, self})) {
      Set(rows, place++, value);
    }
  }
  return place == (rows.own + rows.remote) * columns
             ? absl::OkStatus()
             : absl::InternalError("other rows than remote ones came");
}

absl::Status MemoryShuffle::Backward(uint32_t hop, const PartRows& gradient,
                                     ThreadTeam& /*team*/) {
  const uint32_t self = task_.part;
  const uint64_t columns = gradient.columns;
  size_t place = gradient.own * columns;
  for (uint32_t to = 0; to < task_.num_parts; ++to) {
    std::vector<float> message;
    for (size_t i = 0; i < Count(hop, to, self) * columns; ++i) {
      message.push_back(Get(gradient, place++));
    }
    messages_->Send({hop, true, self, to}, std::move(message));
  }
  std::map<size_t, float> sums;
  size_t at = 0;
  for (uint32_t from = 0; from < task_.num_parts; ++from) {
    const std::vector<float> came = messages_->WaitFor({hop, true, from, self});
    for (size_t i = 0; i < came.size(); ++i) {
      const size_t row = task_.split.levels[hop].send[at + i / columns];
      const size_t element = row * columns + i % columns;
      const auto sum = sums.insert({element, Get(gradient, element)}).first;
      sum->second += came[i];
    }
    at += came.size() / columns;
  }
  for (const auto& [element, sum] : sums) Set(gradient, element, sum);
  return absl::OkStatus();
}

absl::Status MemoryShuffle::Exchange(uint32_t hop, bool forward,
                                     const PackedExchange& rows) {
  const uint32_t self = task_.part;
  const uint64_t columns = rows.row_bytes / sizeof(uint16_t);
  const auto size = [&](uint32_t from, uint32_t to) {
    return columns * (forward ? Count(hop, from, to) : Count(hop, to, from));
  };
  const auto* out = static_cast<const uint16_t*>(rows.out);
  auto* in = static_cast<uint16_t*>(rows.in);
  for (uint32_t to = 0; to < task_.num_parts; ++to) {
    const uint64_t count = size(self, to);
    messages_->Send({hop, !forward, self, to}, {out, out + count});
    out += count;
  }
  for (uint32_t from = 0; from < task_.num_parts; ++from) {
    const std::vector<float> came =
        messages_->WaitFor({hop, !forward, from, self});
    if (came.size() != size(from, self)) {
      return absl::InternalError("a message has another size");
    }
    for (const float half : came) *in++ = static_cast<uint16_t>(half);
  }
  return absl::OkStatus();
}

}  // namespace fgnn
