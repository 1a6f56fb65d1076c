// The command groups of `fgnn`. Each function adds its subcommands to `app`;
// their callbacks answer in `context`, which must outlive `app`.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
#define FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_

#include "shared/command_line/command_line.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

void AddDoctorCommand(Command app, CommandContext& context);
// import, generate, info, validate.
void AddDatasetGroup(Command app, CommandContext& context);
// up, down, status.
void AddServiceCommands(Command app, CommandContext& context);
void AddRunCommand(Command app, CommandContext& context);
void AddResumeCommand(Command app, CommandContext& context);
void AddPlanCommand(Command app, CommandContext& context);
void AddSimulateCommand(Command app, CommandContext& context);
// submit, jobs, show, watch, pause, cancel.
void AddJobCommands(Command app, CommandContext& context);
// devices, switch.
void AddDeviceCommands(Command app, CommandContext& context);
void AddLogsCommand(Command app, CommandContext& context);
void AddPredictCommand(Command app, CommandContext& context);
// sample, idmap, extract, cache, train, epoch.
void AddBenchGroup(Command app, CommandContext& context);
// Of that group.
void AddBenchExtract(Command bench, CommandContext& context);
// train, epoch.
void AddBenchTraining(Command bench, CommandContext& context);
// completion bash.
void AddCompletionCommand(Command app, CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_COMMANDS_H_
