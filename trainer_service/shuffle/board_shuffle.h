// The exchange of rows between the parts of a batch, over the message board.
#ifndef FGNN_TRAINER_SERVICE_SHUFFLE_BOARD_SHUFFLE_H_
#define FGNN_TRAINER_SERVICE_SHUFFLE_BOARD_SHUFFLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {

// Where the messages of a batch lie in its place. All parts of a batch have the
// same counts, so they agree.
class MessagePlaces {
 public:
  // Messages of hidden rows of hop h: forwards h, backwards (L - 1) + h. Behind
  // them, features of hop L - 1 if the task shares inputs.
  MessagePlaces(const TaskView& task, const ModelOptions& model);

  // Returns the number of a message of the sources of `hop`.
  uint32_t MessageOf(uint32_t hop, bool forward) const {
    if (hop + 1 == num_hops_) return 2 * hop;
    return forward ? hop : num_hops_ - 1 + hop;
  }
  // Returns where the rows that part `from` sends to part `to` begin, in bytes.
  uint64_t BeginOf(uint32_t message, uint32_t from, uint32_t to) const {
    return begins_[(message * num_parts_ + from) * num_parts_ + to];
  }
  // Returns the bytes of all messages.
  uint64_t total_bytes() const { return total_bytes_; }
  uint32_t num_messages() const {
    return static_cast<uint32_t>(begins_.size() / (num_parts_ * num_parts_));
  }

 private:
  void Add(const TaskView& task, uint32_t hop, bool forward,
           uint64_t row_bytes);

  uint32_t num_hops_;
  uint32_t num_parts_;
  std::vector<uint64_t> begins_;  // [messages][from][to]
  uint64_t total_bytes_ = 0;
};

// Not thread-safe.
class BoardShuffle final : public RowShuffle {
 public:
  // Waits for a message of a part that is not there. Returns OK once the
  // message is there. Its error ends the exchange and is returned.
  using Wait = std::function<absl::Status(uint32_t message, uint32_t part)>;

  // The task is a part of a batch whose step is open. Borrows all.
  BoardShuffle(const TaskView* task, const ModelOptions& model,
               MessageBoard* board, Wait wait)
      : task_(*task),
        places_(*task, model),
        board_(*board),
        wait_(std::move(wait)),
        sent_bytes_(places_.num_messages()) {}

  // Errors of all: those of the wait. DataLoss: the messages of the batch take
  // more than its place on the board.
  absl::Status Forward(uint32_t hop, const PartRows& rows,
                       ThreadTeam& team) override;
  absl::Status Backward(uint32_t hop, const PartRows& gradient,
                        ThreadTeam& team) override;
  absl::Status Exchange(uint32_t hop, bool forward,
                        const PackedExchange& rows) override;

  // Returns the bytes of all rows that the part has sent so far, in this visit
  // or in an earlier one. The task may be gone.
  uint64_t message_bytes() const {
    return std::accumulate(sent_bytes_.begin(), sent_bytes_.end(), uint64_t{0});
  }

 private:
  // A message of each part: rows of the sources of a hop, in one direction.
  struct Messages {
    uint32_t hop;
    bool forward;
  };
  // Returns how many rows part `from` sends to part `to`.
  uint32_t Count(const Messages& messages, uint32_t from, uint32_t to) const;
  absl::Status CheckPlace() const;
  absl::Status WaitFor(uint32_t message, uint32_t part) const;
  // Publishes the part's own message, if it is not there. write(rows, place)
  // writes the next rows, which go to one part.
  template <typename Write>
  absl::Status Send(const Messages& messages, uint64_t row_bytes,
                    const Write& write);
  // Waits for the messages of the other parts. read(rows, place) reads the
  // next rows, which came from one part.
  template <typename Read>
  absl::Status Receive(const Messages& messages, const Read& read) const;

  const TaskView& task_;
  const MessagePlaces places_;
  MessageBoard& board_;
  const Wait wait_;
  std::vector<uint64_t> sent_bytes_;  // By message.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SHUFFLE_BOARD_SHUFFLE_H_
