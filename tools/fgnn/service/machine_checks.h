// What `fgnn doctor` looks at.
#ifndef FGNN_TOOLS_FGNN_SERVICE_MACHINE_CHECKS_H_
#define FGNN_TOOLS_FGNN_SERVICE_MACHINE_CHECKS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace fgnn {

struct MachineCheck {
  std::string name;  // "memory"
  bool ok = false;
  std::string detail;  // What was found.
  std::string fix;  // Where not ok: the command that mends it, or what to do.
};

// libtorch, by what `fgnn-trainer --version` printed and how it ended.
MachineCheck JudgeTorch(std::string_view output, int exit_code);

// Looks at this machine, the programs beside this one and the state folder.
// Starts nothing but `fgnn-trainer --version`; leaves nothing behind.
std::vector<MachineCheck> CheckMachine(const std::filesystem::path& state_dir);

// A line per check, "ok" or "missing".
std::string ChecksText(const std::vector<MachineCheck>& checks);
nlohmann::ordered_json ChecksJson(const std::vector<MachineCheck>& checks);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_MACHINE_CHECKS_H_
