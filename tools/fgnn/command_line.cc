#include "tools/fgnn/command_line.h"

#include <exception>
#include <iostream>
#include <new>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "shared/base/error_json.h"
#include "shared/base/standard_output.h"
#include "shared/base/status.h"
#include "shared/base/utf8.h"
#include "shared/build/build_facts.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/examples.h"
#include "tools/fgnn/version.h"

namespace fgnn {
namespace {

// Returns the place of the command that the words named.
CommandPlace ChosenPlace(Command root, const CommandContext& context) {
  const std::optional<Command> command = root.Chosen();
  const auto found = command.has_value() ? context.places.find(command->Name())
                                         : context.places.end();
  return found == context.places.end() ? CommandPlace::kAnyMachine
                                       : found->second;
}

absl::Status CheckStateDir(Command root, const CommandContext& context) {
  if (!context.place.state_dir.empty() || !context.place.server.empty()) {
    return absl::OkStatus();
  }
  if (ChosenPlace(root, context) == CommandPlace::kWithoutService) {
    return absl::OkStatus();
  }
  return context.default_state_dir_status.ok()
             ? absl::InvalidArgumentError("--state-dir is empty")
             : context.default_state_dir_status;
}

// Decides between --server and --state-dir, where both are known: a flag counts
// before the environment. InvalidArgument: both are flags, or the command works
// on the service's own machine only.
absl::Status CheckServer(Command root, CommandContext& context) {
  if (context.place.server.empty()) return absl::OkStatus();
  if (context.place.state_dir != context.default_state_dir) {
    if (context.place.server != context.default_server) {
      return absl::InvalidArgumentError(
          "--server and --state-dir name two services; leave one out");
    }
    context.place.server.clear();
    return absl::OkStatus();
  }
  if (ChosenPlace(root, context) == CommandPlace::kThisMachine) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'fgnn ", root.Chosen()->Name(),
        "' works on the service's own machine only; call it there, without "
        "--server and FGNN_SERVER"));
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<CommandLine> MakeCommandLine(CommandContext& context) {
  auto line = std::make_unique<CommandLine>(
      "Trains graph neural networks on sampled mini-batches, as a service.",
      "fgnn");
  line->SetVersion(absl::StrCat("fgnn ", kVersion, "\n", BuildFacts()));
  const Command app = line->root();
  app.NeedSubcommand();
  app.AddOption("--state-dir", context.place.state_dir,
                "Folder of the service: sockets, jobs, logs, runs "
                "(FGNN_STATE_DIR)")
      .Takes("DIR")
      .ShowDefault();
  app.AddOption(
         "--server", context.place.server,
         "Address of a service on another machine, which is used instead "
         "(FGNN_SERVER)")
      .Takes("HOST:PORT");
  app.AddOption("--tls-dir", context.place.tls_dir,
                "Folder with ca.pem, and user.pem and user.key or token, for "
                "--server (FGNN_TLS_DIR)")
      .Takes("DIR")
      .ShowDefault();
  app.AddFlag("--insecure", context.place.insecure,
              "Speak to --server in the clear, with a token");
  app.AddFlag("--json", context.json,
              "Print JSON on stdout and everything else on stderr");
  AddRunCommand(app, context);
  AddResumeCommand(app, context);
  AddPlanCommand(app, context);
  AddSimulateCommand(app, context);
  AddDatasetGroup(app, context);
  AddUpCommand(app, context);
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
  AddHelpCommand(app, context);
  AddExamples(app);
  line->CheckFirst([app, &context]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckServer(app, context));
    return CheckStateDir(app, context);
  });
  return line;
}

namespace {

// InvalidArgument, naming the word: it is not UTF-8, so that neither JSON nor a
// message to the service could hold it.
absl::Status CheckWords(const std::vector<std::string>& args) {
  for (const std::string& word : args) {
    if (FindNotUtf8(word) != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", word, "' is not UTF-8 text"));
    }
  }
  return absl::OkStatus();
}

// Parses the words and runs their command. Returns the error that ended it.
absl::Status ParseAndRun(CommandLine& line, const CommandContext& context,
                         const std::vector<std::string>& args) {
  FGNN_RETURN_IF_ERROR(CheckWords(args));
  try {
    const absl::StatusOr<std::string> text = line.Parse(args);
    if (!text.ok()) {
      return absl::InvalidArgumentError(
          DescribeUsageError(line.root(), args, MessageOf(text.status())));
    }
    std::cout << *text;
  } catch (const std::bad_alloc&) {
    // The stack was unwound, which removed everything unfinished.
    return absl::ResourceExhaustedError(
        "not enough memory; end other programs, or ask for less at a time");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(
        "ended by an error that the program does not know: ", error.what()));
  }
  return context.status;
}

}  // namespace

int RunCommandLine(CommandLine& line, CommandContext& context,
                   std::vector<std::string> args) {
  absl::Status status = ParseAndRun(line, context, args);
  // The words may be wrong before the parser has seen the flag.
  const bool json = context.json || absl::c_linear_search(args, "--json");
  const absl::Status written = FlushStandardOutput();
  if (status.ok() && !written.ok()) {
    status = written;
    context.exit_code.reset();
  }
  const int exit_code = context.exit_code.value_or(ExitCode(status));
  if (status.ok()) return exit_code;
  std::cerr << "fgnn: " << MessageOf(InOneLine(status)) << "\n";
  if (json) std::cout << ErrorJson(status, exit_code) << std::endl;
  return exit_code;
}

}  // namespace fgnn
