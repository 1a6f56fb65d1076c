#include "tools/fgnn/command_line.h"

#include <exception>
#include <iostream>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/version.h"

namespace fgnn {
namespace {

// Commands that neither reach a service nor look into its folder.
constexpr const char* kWithoutService[] = {"bench", "completion", "dataset",
                                           "simulate"};

// Called behind parsing and before the command runs.
void CheckStateDir(const CLI::App& app, const CommandContext& context) {
  if (!context.state_dir.empty()) return;
  for (const char* const command : kWithoutService) {
    if (app.got_subcommand(command)) return;
  }
  throw CLI::ValidationError(context.default_state_dir_status.ok()
                                 ? "--state-dir is empty"
                                 : MessageOf(context.default_state_dir_status));
}

}  // namespace

std::unique_ptr<CLI::App> MakeCommandLine(CommandContext& context) {
  auto app = std::make_unique<CLI::App>(
      "Trains graph neural networks on sampled mini-batches, as a service.",
      "fgnn");
  // So that --json and --state-dir may stand after the command too.
  app->fallthrough();
  app->require_subcommand(1);
  app->set_help_flag("-h,--help", "Explain a command and its flags");
  app->set_version_flag("--version", std::string("fgnn ") + kVersion,
                        "Print the version");
  app->add_option("--state-dir", context.state_dir,
                  "Folder of the service: sockets, jobs, logs, runs "
                  "(FGNN_STATE_DIR)")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_flag("--json", context.json,
                "Print JSON on stdout and everything else on stderr");
  AddRunCommand(*app, context);
  AddResumeCommand(*app, context);
  AddPlanCommand(*app, context);
  AddSimulateCommand(*app, context);
  AddDatasetGroup(*app, context);
  AddServiceCommands(*app, context);
  AddJobCommands(*app, context);
  AddDeviceCommands(*app, context);
  AddLogsCommand(*app, context);
  AddPredictCommand(*app, context);
  AddBenchGroup(*app, context);
  AddDoctorCommand(*app, context);
  AddCompletionCommand(*app, context);
  app->parse_complete_callback(
      [raw = app.get(), &context] { CheckStateDir(*raw, context); });
  return app;
}

namespace {

// Prints the error that ended the command.
int Fail(const std::string& message) {
  std::cerr << "fgnn: " << PrintableText(message) << "\n";
  return 1;
}

}  // namespace

int RunCommandLine(CLI::App& app, CommandContext& context,
                   std::vector<std::string> args) {
  try {
    // CLI11 takes words from the back.
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::Success& asked_for_text) {
    return app.exit(asked_for_text, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::cerr << "fgnn: " << DescribeUsageError(app, args, error) << "\n";
    return 2;
  } catch (const std::bad_alloc&) {
    // Unwinding has removed what the command had not finished.
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
