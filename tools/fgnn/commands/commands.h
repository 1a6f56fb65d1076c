// The command groups of `fgnn`. Each function adds its subcommands to `app`;
// their callbacks answer in `context`, which must outlive `app`.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
#define FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "tools/fgnn/command_context.h"

namespace fgnn {

void AddDoctorCommand(CLI::App& app, CommandContext& context);
// import, generate, info, validate.
void AddDatasetGroup(CLI::App& app, CommandContext& context);
// up, down, status.
void AddServiceCommands(CLI::App& app, CommandContext& context);
void AddRunCommand(CLI::App& app, CommandContext& context);
void AddResumeCommand(CLI::App& app, CommandContext& context);
void AddPlanCommand(CLI::App& app, CommandContext& context);
void AddSimulateCommand(CLI::App& app, CommandContext& context);
// submit, jobs, show, watch, pause, cancel.
void AddJobCommands(CLI::App& app, CommandContext& context);
// devices, switch.
void AddDeviceCommands(CLI::App& app, CommandContext& context);
void AddLogsCommand(CLI::App& app, CommandContext& context);
void AddPredictCommand(CLI::App& app, CommandContext& context);
// sample, idmap, extract, cache, train, epoch.
void AddBenchGroup(CLI::App& app, CommandContext& context);
// Of that group.
void AddBenchExtract(CLI::App& bench, CommandContext& context);
// train, epoch.
void AddBenchTraining(CLI::App& bench, CommandContext& context);
// completion bash.
void AddCompletionCommand(CLI::App& app, CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
