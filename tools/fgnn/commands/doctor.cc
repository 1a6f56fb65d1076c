// doctor: lists what this machine has and lacks.
#include <algorithm>
#include <vector>

#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/machine_checks.h"
#include "tools/fgnn/reports/print_report.h"

namespace fgnn {
namespace {

void Doctor(CommandContext& context) {
  const std::vector<MachineCheck> checks =
      CheckMachine(context.place.state_dir);
  PrintAnswer(ChecksJson(checks), ChecksText(checks), context);
  const bool all_ok =
      std::all_of(checks.begin(), checks.end(),
                  [](const MachineCheck& check) { return check.ok; });
  context.exit_code = all_ok ? 0 : 1;
}

}  // namespace

void AddDoctorCommand(Command app, CommandContext& context) {
  app.AddSubcommand("doctor",
                    "What this machine has, what it lacks, and what mends it")
      .OnRun([&context] { Doctor(context); });
}

}  // namespace fgnn
