// Splits a batch into the parts of split parallelism.
#ifndef FGNN_SAMPLER_SERVICE_SPLIT_BATCH_SPLITTER_H_
#define FGNN_SAMPLER_SERVICE_SPLIT_BATCH_SPLITTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/host_rows.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Makes the P parts of a batch, each a task of its own (GSplit). Part p has the
// vertices whose fine part in the book has the owner p of P.
// shared/minibatch/task.h defines the parts. They are a pure function of the
// batch, the book and P.
//
// Buffers grow to the largest batch so far; a batch that fits allocates
// nothing. Thread-compatible: one per thread.
class BatchSplitter {
 public:
  // The book is borrowed. num_parts is in [2, kMostParts].
  BatchSplitter(const PartitionBook* book, uint32_t num_parts);

  // Numbers the vertices of all parts of `whole`: a task that ReadTask() has
  // accepted, or that this process has just written. The task's block is
  // borrowed until the next call. After an error no part may be written.
  // InvalidArgument: the task is a part itself, has pairs, or has weights in
  // some hops only. DataLoss: an input node is not in the book.
  absl::Status Prepare(const TaskView& whole);

  // Returns the bytes of the part's task.
  uint64_t BytesOf(uint32_t part) const;

  // Writes the part's task into the block, 64-byte aligned. Parts may be
  // written in any order, and again. ResourceExhausted: the block has less than
  // BytesOf(part).
  absl::Status Write(uint32_t part, uint64_t job_key,
                     const SampleSeconds& seconds, absl::Span<std::byte> block);

 private:
  template <typename T>
  using PerPart = std::array<T, kMostParts>;

  // The numbers of one hop, of each part.
  struct Hop {
    PerPart<uint32_t> num_destinations;
    PerPart<uint32_t> num_own;  // Number of the sources that the part owns.
    PerPart<uint32_t> num_remote;
    PerPart<uint32_t> num_sent;
    PerPart<uint64_t> num_edges;
    PerPart<uint64_t> first_remote;  // Place of its list in remote_.
    // Numbers of rows that part q sends to part p, at [q * P + p].
    std::array<uint32_t, kMostParts * kMostParts> counts;
  };

  void FindOwners();
  void FindNeeds(const BlockView& block, Hop* hop);
  void CountRows(Hop* hop);
  void ListRemotes(Hop* hop);

  absl::Status WriteHop(uint32_t part, size_t h, TaskWriter* writer);
  absl::Status WriteInput(uint32_t part, TaskWriter* writer) const;
  absl::Status WriteSplit(uint32_t part, TaskWriter* writer) const;

  absl::Span<const uint32_t> OwnOf(uint32_t part) const;
  absl::Span<const uint32_t> RemotesOf(uint32_t part, const Hop& hop) const;

  const PartitionBook* book_;
  uint32_t num_parts_;
  std::array<uint8_t, kFineParts> owner_of_part_;

  TaskView whole_;
  bool has_weights_ = false;
  std::array<Hop, kMaxHops> hops_;
  PerPart<uint64_t> first_own_;  // Place of the part's list in own_.
  std::vector<uint8_t> owners_;  // [U], by local id.
  // Local ids that each part owns, ascending, part by part.
  std::vector<uint32_t> own_;
  // Bits of the parts that need each source of a hop, by local id.
  std::vector<uint16_t> needs_;
  // Local ids of each part's remote sources, in their order, hop by hop.
  std::vector<uint32_t> remote_;
  uint64_t num_remote_ = 0;  // Number of entries of remote_ in use.
  // Number of each vertex in the part that is being written.
  std::vector<uint32_t> numbers_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SPLIT_BATCH_SPLITTER_H_
