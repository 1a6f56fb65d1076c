#include "tools/bench/files/task_files.h"

#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "tools/bench/files/task_block.h"

namespace fgnn {

absl::Status WriteTaskFiles(const SamplerInput& input,
                            const SamplerOptions& options, uint32_t count,
                            const std::filesystem::path& folder) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        NewCpuSampler(input, options));
  FGNN_ASSIGN_OR_RETURN(const TaskBlock block,
                        TaskBlock::Create(input, options));
  for (BatchSeq seq(0); seq < BatchSeq(count); ++seq) {
    FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                          sampler->Sample(seq, block.span()));
    const std::string_view bytes(
        reinterpret_cast<const char*>(block.span().data()), task.bytes);
    FGNN_RETURN_IF_ERROR(WriteFileAtomically(
        folder / absl::StrCat("task-", seq.value()), bytes));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
