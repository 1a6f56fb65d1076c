// The command groups of `fgnn`. Each function adds its subcommands to `app`.
// Their callbacks write their results to `context`, which must outlive `app`.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
#define FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_

#include "shared/command_line/command_line.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

void AddDoctorCommand(Command app, CommandContext& context);
// Adds import, generate, info, validate.
void AddDatasetGroup(Command app, CommandContext& context);
void AddUpCommand(Command app, CommandContext& context);
// Adds down, status.
void AddServiceCommands(Command app, CommandContext& context);
void AddRunCommand(Command app, CommandContext& context);
void AddResumeCommand(Command app, CommandContext& context);
void AddPlanCommand(Command app, CommandContext& context);
void AddSimulateCommand(Command app, CommandContext& context);
// Adds submit, jobs, show, watch, pause, cancel.
void AddJobCommands(Command app, CommandContext& context);
// Adds rm, prune.
void AddRemovalCommands(Command app, CommandContext& context);
// Adds devices, switch.
void AddDeviceCommands(Command app, CommandContext& context);
// Adds plot, metrics.
void AddPlotCommands(Command app, CommandContext& context);
void AddLogsCommand(Command app, CommandContext& context);
void AddPredictCommand(Command app, CommandContext& context);
// Adds sample, idmap, extract, cache, train, epoch.
void AddBenchGroup(Command app, CommandContext& context);
// Adds extract to that group.
void AddBenchExtract(Command bench, CommandContext& context);
// Adds train, epoch.
void AddBenchTraining(Command bench, CommandContext& context);
// Adds completion bash.
void AddCompletionCommand(Command app, CommandContext& context);
void AddHelpCommand(Command app, CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
