#include "trainer_service/sync/gloo_exchange.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <functional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "trainer_service/compute/aligned_buffer.h"

namespace fgnn {
namespace {

constexpr uint32_t kIsThere = 1;

// Returns the number of words of a batch: the gradient, the number of seeds as
// bits, and whether the batch exists. The words are sent as integers, so that
// they are not rounded.
uint64_t WordsOfBatch(const ExchangeOptions& options) {
  return options.num_parameters + 2;
}
uint64_t WordsOfMember(const ExchangeOptions& options) {
  return options.batches_per_member * WordsOfBatch(options);
}

absl::Status CheckOptions(const ExchangeOptions& options) {
  if (options.num_members >= 1 && options.rank < options.num_members &&
      options.batches_per_member >= 1 && options.num_parameters >= 1 &&
      options.timeout.count() >= 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "gradients cannot be exchanged by rank ", options.rank, " of ",
      options.num_members, " members with ", options.batches_per_member,
      " batches of ", options.num_parameters, " parameters each within ",
      options.timeout.count(), " ms"));
}

at::Tensor WordsAt(float* words, uint64_t count) {
  return at::from_blob(words, {static_cast<int64_t>(count)}, at::kInt);
}

}  // namespace

struct GlooExchange::Group {
  explicit Group(const ExchangeOptions& all_options) : options(all_options) {}

  // Runs a call that waits for other members. gloo throws the same exception
  // for all failures, so the duration of the call decides which error this
  // returns.
  absl::Status Call(const std::string& what,
                    const std::function<void()>& call) {
    const Stopwatch stopwatch;
    std::string reason;
    try {
      call();
      return absl::OkStatus();
    } catch (const c10::Error& thrown) {
      reason = thrown.what_without_backtrace();
    } catch (const std::exception& thrown) {
      reason = thrown.what();
    }
    is_broken = true;
    const std::string text =
        absl::StrCat("trainer ", options.rank, " of ", options.num_members,
                     " cannot ", what, ": ");
    if (std::chrono::duration<double>(stopwatch.Seconds()) >= options.timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat(text, "a member did not answer within ",
                       options.timeout.count(), " ms (", reason, ")"));
    }
    return absl::UnavailableError(
        absl::StrCat(text, "a member went away (", reason, ")"));
  }

  const ExchangeOptions options;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  bool is_broken = false;
  AlignedBuffer own;  // [batches_per_member][P + 2]
  AlignedBuffer all;  // [num_members][batches_per_member][P + 2]
};

GlooExchange::GlooExchange(std::unique_ptr<Group> group)
    : group_(std::move(group)) {}

GlooExchange::~GlooExchange() = default;

absl::StatusOr<std::unique_ptr<GlooExchange>> GlooExchange::Join(
    const ExchangeOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckOptions(options));
  auto group = std::make_unique<Group>(options);
  FGNN_RETURN_IF_ERROR(group->Call("join the others", [&] {
    auto store = c10::make_intrusive<c10d::FileStore>(
        options.meeting_file.string(), static_cast<int>(options.num_members));
    store->setTimeout(options.timeout);
    auto of_gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
    of_gloo->threads = 1;
    of_gloo->devices = {
        options.address.empty()
            ? c10d::ProcessGroupGloo::createDefaultDevice()
            : c10d::ProcessGroupGloo::createDeviceForHostname(options.address)};
    group->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        std::move(store), static_cast<int>(options.rank),
        static_cast<int>(options.num_members), std::move(of_gloo));
  }));
  return std::unique_ptr<GlooExchange>(new GlooExchange(std::move(group)));
}

absl::StatusOr<StepGradients> GlooExchange::AllGather(
    const StepGradients& own) {
  const ExchangeOptions& options = group_->options;
  const size_t num_own = own.gradients.size();
  const bool agree =
      num_own == own.num_seeds.size() &&
      num_own <= options.batches_per_member &&
      std::all_of(own.gradients.begin(), own.gradients.end(),
                  [&](absl::Span<const float> gradient) {
                    return gradient.size() == options.num_parameters;
                  });
  if (!agree) {
    return absl::InvalidArgumentError(absl::StrCat(
        num_own, " gradients and ", own.num_seeds.size(),
        " numbers of seeds are not those of up to ", options.batches_per_member,
        " batches of ", options.num_parameters, " parameters"));
  }
  if (group_->is_broken) {
    return absl::FailedPreconditionError(
        "a member of this exchange was lost before; join a new one");
  }
  const uint64_t per_batch = WordsOfBatch(options);
  const uint64_t per_member = WordsOfMember(options);
  float* const mine = group_->own.Floats(per_member);
  // The words of a batch that does not exist stay 0.
  std::fill_n(mine, per_member, 0.0F);
  for (size_t batch = 0; batch < num_own; ++batch) {
    float* const words = mine + batch * per_batch;
    std::copy(own.gradients[batch].begin(), own.gradients[batch].end(), words);
    words[options.num_parameters] = std::bit_cast<float>(own.num_seeds[batch]);
    words[options.num_parameters + 1] = std::bit_cast<float>(kIsThere);
  }
  float* const all = group_->all.Floats(options.num_members * per_member);
  FGNN_RETURN_IF_ERROR(group_->Call("exchange the gradients of a step", [&] {
    std::vector<at::Tensor> input = {WordsAt(mine, per_member)};
    std::vector<std::vector<at::Tensor>> output(1);
    for (uint32_t rank = 0; rank < options.num_members; ++rank) {
      output[0].push_back(WordsAt(all + rank * per_member, per_member));
    }
    group_->gloo->allgather(output, input)->wait(options.timeout);
  }));
  StepGradients step;
  for (uint64_t at = 0; at < options.num_members * per_member;
       at += per_batch) {
    const float* const behind = all + at + options.num_parameters;
    if (std::bit_cast<uint32_t>(behind[1]) != kIsThere) continue;
    step.gradients.emplace_back(all + at, options.num_parameters);
    step.num_seeds.push_back(std::bit_cast<uint32_t>(behind[0]));
  }
  return step;
}

}  // namespace fgnn
