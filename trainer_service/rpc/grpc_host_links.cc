#include "trainer_service/rpc/grpc_host_links.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/rpc/call_events.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "trainer_service/rpc/host_calls.h"
#include "trainer_service/rpc/host_probe.h"

namespace fgnn {
namespace {

// Returns the same moment by the clock that gRPC takes.
std::chrono::system_clock::time_point SystemTimeOf(Deadline deadline) {
  const auto left = deadline - MonotonicClock::now();
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(
             std::min<MonotonicClock::duration>(left, kLongestHostCall));
}

// Returns what the message says, and takes its numbers out of it.
EntryPart PartOf(v1::EntryPart& message) {
  EntryPart part = {
      .task = {BatchSeq(message.task().seq()), message.task().part()}};
  if (!message.has_record()) {
    part.floats = std::move(*message.mutable_floats());
    return part;
  }
  part.end = {.gradient_crc = message.gradient_crc()};
  if (message.has_weights_crc()) part.end->weights_crc = message.weights_crc();
  // A record of another size is not of this program. Without its numbers the
  // entry is refused as damaged.
  if (message.record().size() == sizeof(part.end->record)) {
    std::memcpy(&part.end->record, message.record().data(),
                sizeof(part.end->record));
    part.floats = std::move(*message.mutable_floats());
  }
  return part;
}

// One call. It reads a message only once it is asked for the next entry.
class GrpcEntryStream final : public EntryStream {
 public:
  GrpcEntryStream(const std::shared_ptr<grpc::Channel>& channel,
                  const v1::AskEntriesRequest& request)
      : stub_(v1::ExchangeService::NewStub(channel)) {
    SetDeadline(context_, kLongestHostCall);
    reader_ = stub_->PrepareAsyncAskEntries(&context_, request, &events_);
    reader_->StartCall(this);
  }

  // A call that is cancelled ends by itself.
  ~GrpcEntryStream() override {
    context_.TryCancel();
    DrainEvents(events_);
  }

  absl::StatusOr<std::optional<EntryPart>> Next(Deadline deadline) override {
    if (state_ == State::kReady) Read();
    while (state_ != State::kEnded) {
      void* tag = nullptr;
      bool ok = false;
      const auto got = events_.AsyncNext(&tag, &ok, SystemTimeOf(deadline));
      if (got != grpc::CompletionQueue::GOT_EVENT) return std::nullopt;
      if (state_ == State::kEnding) {
        state_ = State::kEnded;
      } else if (!ok) {
        state_ = State::kEnding;
        reader_->Finish(&status_, this);
      } else if (state_ == State::kReading) {
        state_ = State::kReady;
        return PartOf(message_);
      } else {
        Read();
      }
    }
    FGNN_RETURN_IF_ERROR(LinkError(FromGrpc(status_)));
    return std::nullopt;
  }
  bool is_over() override { return state_ == State::kEnded && status_.ok(); }

 private:
  // What the call's one event that comes next tells; kReady and kEnded: none
  // comes.
  enum class State { kStarting, kReading, kReady, kEnding, kEnded };

  void Read() {
    state_ = State::kReading;
    reader_->Read(&message_, this);
  }

  const std::unique_ptr<v1::ExchangeService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue events_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::EntryPart>> reader_;
  State state_ = State::kStarting;
  v1::EntryPart message_;
  grpc::Status status_;
};

// Returns the part of the message, which is borrowed. `floats` are a copy in
// memory that is aligned for them.
WeightsPart PartOf(const v1::WeightsPart& message, std::vector<float>& floats) {
  floats.resize(message.floats().size() / sizeof(float));
  std::memcpy(floats.data(), message.floats().data(),
              floats.size() * sizeof(float));
  WeightsPart part = {.floats = floats};
  if (message.has_weights_crc()) {
    part.crcs = WeightsPart::Crcs{.weights = message.weights_crc(),
                                  .optimizer_state = message.state_crc()};
  }
  return part;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcHostLinks::ChannelTo(
    uint32_t host) const {
  const auto found = hosts_.find(host);
  if (found != hosts_.end()) return found->second;
  return absl::NotFoundError(
      absl::StrCat("the job has no host with index ", host));
}

absl::Status GrpcHostLinks::CopyWeights(uint32_t host, uint64_t version,
                                        TakeWeights take) {
  FGNN_ASSIGN_OR_RETURN(const auto channel, ChannelTo(host));
  const auto stub = v1::ExchangeService::NewStub(channel);
  v1::AskWeightsRequest request;
  request.set_job_id(job_id_);
  request.set_attempt(attempt_);
  request.set_version(version);
  std::vector<float> floats;
  absl::Status taken;
  const absl::Status ended = ReadStream<v1::WeightsPart>(
      kLongestHostCall,
      [&](grpc::ClientContext* context, grpc::CompletionQueue* events) {
        return stub->PrepareAsyncAskWeights(context, request, events);
      },
      [] { return false; },
      [&](const v1::WeightsPart& message) {
        return taken = take(PartOf(message, floats));
      });
  return taken.ok() ? LinkError(ended) : taken;
}

absl::StatusOr<LinkQuality> GrpcHostLinks::Probe(
    uint32_t host, const std::function<bool()>& is_stopped) {
  FGNN_ASSIGN_OR_RETURN(const auto channel, ChannelTo(host));
  return ProbeHost(channel, is_stopped);
}

absl::StatusOr<std::unique_ptr<EntryStream>> GrpcHostLinks::Ask(
    uint32_t host, uint64_t version, const std::vector<BatchPart>& tasks) {
  FGNN_ASSIGN_OR_RETURN(const auto channel, ChannelTo(host));
  v1::AskEntriesRequest request;
  request.set_job_id(job_id_);
  request.set_attempt(attempt_);
  request.set_host(self_);
  request.set_version(version);
  for (const BatchPart& task : tasks) {
    v1::BoardTask* const asked = request.add_tasks();
    asked->set_seq(task.seq.value());
    asked->set_part(task.part);
  }
  return std::make_unique<GrpcEntryStream>(channel, request);
}

}  // namespace fgnn
