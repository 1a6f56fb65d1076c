// The checks of `fgnn doctor`.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_MACHINE_CHECKS_H_
#define FGNN_TOOLS_FGNN_COMMANDS_MACHINE_CHECKS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace fgnn {

struct MachineCheck {
  std::string name;  // "memory"
  bool ok = false;
  std::string detail;  // Finding of the check.
  std::string fix;     // If not ok: the command that mends it, or what to do.
};

// Checks a library that the trainer opens when a job needs it, by the output
// and the exit code of `fgnn-trainer libtorch`, `cublas` or `nccl`. `name`:
// "libtorch", "cuBLAS" or "NCCL". A machine without it is in order: only models
// of the user's, trainers on GPUs and training.sync nccl need them.
MachineCheck JudgeLibrary(const std::string& name, std::string_view output,
                          int exit_code);

// Checks the GPUs, by the output and the exit code of `fgnn-sampler gpus`. A
// machine without them is in order.
MachineCheck JudgeGpus(std::string_view output, int exit_code);

// Checks this machine, the programs beside this one and the state folder.
// Starts only `fgnn-trainer libtorch`, `cublas` and `nccl`, and `fgnn-sampler
// gpus`; leaves no files behind.
std::vector<MachineCheck> CheckMachine(const std::filesystem::path& state_dir);

// Returns a line per check, "ok" or "missing".
std::string ChecksText(const std::vector<MachineCheck>& checks);
nlohmann::ordered_json ChecksJson(const std::vector<MachineCheck>& checks);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_MACHINE_CHECKS_H_
