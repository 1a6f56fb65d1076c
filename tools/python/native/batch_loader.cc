#include "tools/python/native/batch_loader.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"

namespace fgnn {
namespace {

RankBatches RankBatchesOf(const JobBatches& source,
                          const BatchLoaderOptions& options, BatchSeq begin) {
  return RankBatches({.batches_per_epoch = source.batches_per_epoch(),
                      .rank = options.rank,
                      .world = options.world,
                      .drops_last = options.drops_last},
                     begin);
}

absl::Status Check(const JobBatches& source,
                   const BatchLoaderOptions& options) {
  if (options.world == 0 || options.rank >= options.world) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank: ", options.rank, " is not below world ",
                     options.world, "; ranks count from 0"));
  }
  const uint64_t batches = source.batches_per_epoch();
  if (options.drops_last && batches < options.world) {
    return absl::InvalidArgumentError(
        absl::StrCat("world: ", options.world,
                     " ranks need as many batches in an epoch, "
                     "which has ",
                     batches, " of ", source.num_examples(),
                     " seeds; take a smaller batch_size, or drop_last='none'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchLoader>> BatchLoader::Start(
    std::unique_ptr<JobBatches> source, const BatchLoaderOptions& options) {
  FGNN_RETURN_IF_ERROR(Check(*source, options));
  auto loader =
      std::unique_ptr<BatchLoader>(new BatchLoader(std::move(source), options));
  for (uint32_t i = 0; i < options.num_threads; ++i) {
    FGNN_ASSIGN_OR_RETURN(loader->samplers_.emplace_back(),
                          loader->source_->NewSampler());
  }
  for (const ThreadSampler& sampler : loader->samplers_) {
    FGNN_ASSIGN_OR_RETURN(Thread thread,
                          Thread::Start("fgnn-loader", [loader = loader.get(),
                                                        sampler = &sampler] {
                            loader->Loop(*sampler);
                          }));
    loader->threads_.push_back(std::move(thread));
  }
  return loader;
}

BatchLoader::BatchLoader(std::unique_ptr<JobBatches> source,
                         const BatchLoaderOptions& options)
    : source_(std::move(source)),
      options_(options),
      // What is ahead, what the loop holds, and its next one.
      pool_(std::make_shared<BatchPool>(source_->bound_bytes(),
                                        options.ahead + 2)),
      own_(RankBatchesOf(*source_, options, BatchSeq(0))) {}

BatchLoader::~BatchLoader() {
  {
    const MutexLock lock(&mutex_);
    stops_ = true;
  }
  changed_.NotifyAll();
  threads_.clear();
  pool_->Close();
}

absl::StatusOr<uint64_t> BatchLoader::Seek(BatchSeq begin) {
  FGNN_RETURN_IF_ERROR(source_->CheckUnchanged());
  std::map<uint64_t, Made> forgotten;
  uint64_t num_batches = 0;
  {
    const MutexLock lock(&mutex_);
    // The threads may be at work on the next epoch already.
    const auto next = ready_.find(next_taken_);
    const bool has_failed = next != ready_.end() && !next->second.ok();
    if (run_ > 0 && !has_failed && own_.BeginsEpoch(begin, next_taken_)) {
      return own_.num_in_epoch();
    }
    forgotten.swap(ready_);
    ++run_;
    own_ = RankBatchesOf(*source_, options_, begin);
    next_claimed_ = 0;
    next_taken_ = 0;
    num_batches = own_.num_in_first();
  }
  changed_.NotifyAll();
  for (auto& [index, batch] : forgotten) {
    if (batch.ok()) pool_->GiveBack(*std::move(batch));
  }
  return num_batches;
}

absl::StatusOr<std::unique_ptr<LoadedBatch>> BatchLoader::Next(
    Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!own_.Has(next_taken_)) {
    return absl::OutOfRangeError("this rank has no batch of an epoch");
  }
  const bool is_made = changed_.WaitUntil(
      &lock, deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ready_.contains(next_taken_);
      });
  if (!is_made) return absl::DeadlineExceededError("the batch is being made");
  const auto made = ready_.find(next_taken_);
  if (!made->second.ok()) return made->second.status();
  std::unique_ptr<LoadedBatch> batch = *std::move(made->second);
  ready_.erase(made);
  ++next_taken_;
  changed_.NotifyAll();
  return batch;
}

bool BatchLoader::Claim(Claimed* claimed) {
  MutexLock lock(&mutex_);
  const auto can = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // The first Seek() begins the work.
    return stops_ || (run_ > 0 && own_.Has(next_claimed_) &&
                      next_claimed_ - next_taken_ < options_.ahead);
  };
  while (!changed_.WaitUntil(&lock, DeadlineIn(kTick), can)) {
  }
  if (stops_) return false;
  *claimed = {.run = run_,
              .index = next_claimed_,
              .batch = own_.BatchOf(next_claimed_)};
  ++next_claimed_;
  return true;
}

absl::Status BatchLoader::CheckNeeded(const Claimed& claimed) {
  const MutexLock lock(&mutex_);
  return stops_ || run_ != claimed.run
             ? absl::CancelledError("the loader has gone elsewhere")
             : absl::OkStatus();
}

BatchLoader::Made BatchLoader::Make(const Claimed& claimed,
                                    const ThreadSampler& sampler) {
  std::unique_ptr<LoadedBatch> batch;
  const absl::Status status = CatchExceptions([&] {
    batch = pool_->Take();
    return source_->Make(
        claimed.batch, sampler, [&] { return CheckNeeded(claimed); },
        batch.get());
  });
  if (status.ok()) return batch;
  if (batch != nullptr) pool_->GiveBack(std::move(batch));
  return Annotate(status, absl::StrCat("batch ", claimed.batch.value()));
}

void BatchLoader::Loop(const ThreadSampler& sampler) {
  Claimed claimed;
  while (Claim(&claimed)) {
    Made made = Make(claimed, sampler);
    {
      const MutexLock lock(&mutex_);
      if (claimed.run == run_) {
        ready_.emplace(claimed.index, std::move(made));
        made = absl::CancelledError("taken");
      }
    }
    changed_.NotifyAll();
    if (made.ok()) pool_->GiveBack(*std::move(made));
  }
}

}  // namespace fgnn
