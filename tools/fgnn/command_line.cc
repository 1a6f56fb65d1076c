#include "tools/fgnn/command_line.h"

#include <exception>
#include <iostream>
#include <new>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/version.h"

namespace fgnn {
namespace {

// Commands that neither call a service nor read its folder.
constexpr const char* kWithoutService[] = {"bench", "completion", "dataset",
                                           "simulate"};

absl::Status CheckStateDir(Command root, const CommandContext& context) {
  if (!context.state_dir.empty()) return absl::OkStatus();
  const std::optional<Command> command = root.Chosen();
  if (command.has_value() &&
      absl::c_linear_search(kWithoutService, command->Name())) {
    return absl::OkStatus();
  }
  return context.default_state_dir_status.ok()
             ? absl::InvalidArgumentError("--state-dir is empty")
             : context.default_state_dir_status;
}

}  // namespace

std::unique_ptr<CommandLine> MakeCommandLine(CommandContext& context) {
  auto line = std::make_unique<CommandLine>(
      "Trains graph neural networks on sampled mini-batches, as a service.",
      "fgnn");
  line->SetVersion(std::string("fgnn ") + kVersion);
  const Command app = line->root();
  app.NeedSubcommand();
  app.AddOption("--state-dir", context.state_dir,
                "Folder of the service: sockets, jobs, logs, runs "
                "(FGNN_STATE_DIR)")
      .Takes("DIR")
      .ShowDefault();
  app.AddFlag("--json", context.json,
              "Print JSON on stdout and everything else on stderr");
  AddRunCommand(app, context);
  AddResumeCommand(app, context);
  AddPlanCommand(app, context);
  AddSimulateCommand(app, context);
  AddDatasetGroup(app, context);
  AddServiceCommands(app, context);
  AddJobCommands(app, context);
  AddRemovalCommands(app, context);
  AddDeviceCommands(app, context);
  AddLogsCommand(app, context);
  AddPlotCommands(app, context);
  AddPredictCommand(app, context);
  AddBenchGroup(app, context);
  AddDoctorCommand(app, context);
  AddCompletionCommand(app, context);
  line->CheckFirst([app, &context] { return CheckStateDir(app, context); });
  return line;
}

namespace {

// Prints the error that ended the command.
int Fail(const std::string& message) {
  std::cerr << "fgnn: " << PrintableText(message) << "\n";
  return 1;
}

}  // namespace

int RunCommandLine(CommandLine& line, CommandContext& context,
                   std::vector<std::string> args) {
  try {
    const absl::StatusOr<std::string> text = line.Parse(args);
    if (!text.ok()) {
      std::cerr << "fgnn: "
                << DescribeUsageError(line.root(), args,
                                      MessageOf(text.status()))
                << "\n";
      return 2;
    }
    if (!text->empty()) {
      std::cout << *text;
      return 0;
    }
  } catch (const std::bad_alloc&) {
    // The stack was unwound, which removed everything unfinished.
    return Fail(
        "not enough memory; end other programs, or ask for less at a time");
  } catch (const std::exception& error) {
    return Fail(absl::StrCat(
        "ended by an error that the program does not know: ", error.what()));
  }
  std::cout.flush();
  if (!context.status.ok()) {
    std::cerr << "fgnn: " << MessageOf(InOneLine(context.status)) << "\n";
  }
  return context.exit_code.value_or(ExitCode(context.status));
}

}  // namespace fgnn
