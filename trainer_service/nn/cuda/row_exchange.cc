#include "trainer_service/nn/cuda/row_exchange.h"

#include <cuda_runtime_api.h>

#include <numeric>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/growing_array.h"
#include "trainer_service/nn/cuda/kernels/sent_rows.h"

namespace fgnn {
namespace {

uint32_t NumSent(const DeviceBlock& block) {
  return std::accumulate(block.num_sent.begin(), block.num_sent.end(), 0U);
}

absl::StatusOr<std::byte*> MakeRows(const BatchRun& run,
                                    const ExchangedHop& hop, uint64_t count) {
  return run.Make<std::byte>(count * hop.row_bytes());
}

SentRowsArgs ArgsOf(const ExchangedHop& hop, void* rows) {
  SentRowsArgs args;
  args.places = hop.block->send;
  args.columns = static_cast<uint32_t>(hop.columns);
  args.type = hop.type;
  args.x = rows;
  return args;
}

absl::Status Copy(const BatchRun& run, void* to, const void* from,
                  uint64_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(to, from, bytes, kind, run.stream()),
                    "cannot copy rows of other parts");
}

// ResourceExhausted would mean the device's memory, in which a caller makes
// room for a second try.
absl::Status GrowOnHost(uint64_t bytes, PinnedArray<std::byte>* array) {
  const absl::Status grown = GrowArray(bytes, array);
  if (!absl::IsResourceExhausted(grown)) return grown;
  return absl::UnavailableError(absl::StrCat(
      grown.message(),
      " of the host, for rows of other parts; lower sampling.batch_size, "
      "sampling.fanouts or model.hidden"));
}

}  // namespace

absl::StatusOr<CudaRowExchange> CudaRowExchange::Make() {
  FGNN_ASSIGN_OR_RETURN(CudaEvent sent, CudaEvent::Make());
  return CudaRowExchange(std::move(sent));
}

absl::Status CudaRowExchange::Trade(const BatchRun& run,
                                    const ExchangedHop& hop,
                                    const TradedRows& rows) {
  const uint64_t out_bytes = rows.num_out * hop.row_bytes();
  FGNN_RETURN_IF_ERROR(GrowOnHost(out_bytes, &out_));
  FGNN_RETURN_IF_ERROR(
      Copy(run, out_.get(), rows.out, out_bytes, cudaMemcpyDeviceToHost));
  FGNN_RETURN_IF_ERROR(sent_.Record(*hop.stream));
  FGNN_RETURN_IF_ERROR(sent_.WaitForWork([] {}));
  // The device reads in_ no more: it has done all that was queued before.
  FGNN_RETURN_IF_ERROR(GrowOnHost(rows.num_in * hop.row_bytes(), &in_));
  return hop.shuffle->Exchange(
      hop.hop, rows.forward,
      {.out = out_.get(), .in = in_.get(), .row_bytes = hop.row_bytes()});
}

absl::Status CudaRowExchange::FillRemote(const BatchRun& run,
                                         const ExchangedHop& hop, void* rows) {
  const DeviceBlock& block = *hop.block;
  SentRowsArgs args = ArgsOf(hop, rows);
  args.count = NumSent(block);
  FGNN_ASSIGN_OR_RETURN(args.sent, MakeRows(run, hop, args.count));
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchTakeSentRows(args, run.stream()),
                                  "cannot take rows for other parts"));
  FGNN_RETURN_IF_ERROR(Trade(run, hop,
                             {.forward = true,
                              .out = args.sent,
                              .num_out = args.count,
                              .num_in = block.num_remote_sources}));
  return Copy(
      run,
      static_cast<std::byte*>(rows) + block.num_own_sources() * hop.row_bytes(),
      in_.get(), block.num_remote_sources * hop.row_bytes(),
      cudaMemcpyHostToDevice);
}

absl::StatusOr<void*> CudaRowExchange::Forward(const BatchRun& run,
                                               const ExchangedHop& hop,
                                               const void* own) {
  FGNN_ASSIGN_OR_RETURN(std::byte* const all,
                        MakeRows(run, hop, hop.block->num_sources));
  FGNN_RETURN_IF_ERROR(Copy(run, all, own,
                            hop.block->num_own_sources() * hop.row_bytes(),
                            cudaMemcpyDeviceToDevice));
  FGNN_RETURN_IF_ERROR(FillRemote(run, hop, all));
  return all;
}

absl::Status CudaRowExchange::Backward(const BatchRun& run,
                                       const ExchangedHop& hop,
                                       void* gradient) {
  const DeviceBlock& block = *hop.block;
  const uint64_t num_sent = NumSent(block);
  FGNN_ASSIGN_OR_RETURN(std::byte * came, MakeRows(run, hop, num_sent));
  FGNN_RETURN_IF_ERROR(Trade(run, hop,
                             {.forward = false,
                              .out = static_cast<const std::byte*>(gradient) +
                                     block.num_own_sources() * hop.row_bytes(),
                              .num_out = block.num_remote_sources,
                              .num_in = num_sent}));
  FGNN_RETURN_IF_ERROR(Copy(run, came, in_.get(), num_sent * hop.row_bytes(),
                            cudaMemcpyHostToDevice));
  // A row that several parts have gets their gradients in the parts' order:
  // that of the launches.
  SentRowsArgs args = ArgsOf(hop, gradient);
  for (const uint32_t count : block.num_sent) {
    args.count = count;
    args.sent = came;
    FGNN_RETURN_IF_ERROR(CudaStatus(LaunchAddSentRows(args, run.stream()),
                                    "cannot add gradients of other parts"));
    args.places += count;
    came += count * hop.row_bytes();
  }
  return absl::OkStatus();
}

}  // namespace fgnn
