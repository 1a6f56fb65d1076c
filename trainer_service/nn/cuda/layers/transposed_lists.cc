#include "trainer_service/nn/cuda/layers/transposed_lists.h"

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/transposed_block.h"

namespace fgnn {

absl::StatusOr<TransposedLists> Transpose(const BatchRun& run,
                                          const DeviceBlock& block,
                                          bool counts_own) {
  TransposeArgs args;
  args.indptr = block.indptr;
  args.indices = block.indices;
  args.num_destinations = block.num_destinations;
  args.num_sources = block.num_sources;
  args.entries = block.entries;
  args.counts_own = counts_own;
  FGNN_ASSIGN_OR_RETURN(args.out_indptr,
                        run.Make<uint32_t>(uint64_t{block.num_sources} + 1));
  FGNN_ASSIGN_OR_RETURN(args.out_indices, run.Make<uint32_t>(block.entries));
  FGNN_ASSIGN_OR_RETURN(args.out_entries, run.Make<uint32_t>(block.entries));
  FGNN_ASSIGN_OR_RETURN(args.inverse_degrees,
                        run.Make<float>(block.num_destinations));
  FGNN_ASSIGN_OR_RETURN(args.workspace, run.Make<uint32_t>(TransposeWords(
                                            block.num_sources, block.entries)));
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchTranspose(args, run.stream()),
                                  "cannot transpose a block"));
  TransposedLists transposed;
  FGNN_ASSIGN_OR_RETURN(transposed.lists,
                        run.FindLongLists({.indptr = args.out_indptr,
                                           .indices = args.out_indices,
                                           .num_lists = block.num_sources,
                                           .entries = block.entries}));
  transposed.block_entries = args.out_entries;
  transposed.inverse_degrees = args.inverse_degrees;
  return transposed;
}

}  // namespace fgnn
