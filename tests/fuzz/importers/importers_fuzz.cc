// Imports damaged sources, one after the other, and looks at what comes out.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "shared/graph/dataset.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/importers/mutation.h"
#include "tests/fuzz/importers/sound_sources.h"
#include "tools/dataset/inspecting/dataset_info.h"
#include "tools/fgnn/dataset/import_cli.h"

#if defined(__SANITIZE_ADDRESS__)
#define FGNN_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FGNN_HAS_ASAN 1
#endif
#endif

#ifdef FGNN_HAS_ASAN
#include <sanitizer/lsan_interface.h>

// A source has some kilobytes: no importer has a reason to take more.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=0:max_allocation_size_mb=256:"
         "hard_rss_limit_mb=1024:quarantine_size_mb=32:detect_leaks=1";
}
#endif

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr rlim_t kMostFileBytes = rlim_t{128} << 20;
// A sanitizer on a loaded machine is slow: a million classes took 60 s there.
// What hangs, hangs for ever.
constexpr unsigned kMostSecondsPerCase = 300;
constexpr uint64_t kCasesPerLeakCheck = 500;

struct Options {
  double seconds = 2;
  uint64_t seed = 1;
  std::optional<uint64_t> only;  // This case alone; its files are kept.
};

// In memory that both processes see.
struct Progress {
  uint64_t next_case = 0;
  uint64_t imported = 0;
  uint64_t refused = 0;
};

[[noreturn]] void Finding(const std::string& what) {
  ::dprintf(STDERR_FILENO, "fuzz: %s\n", what.c_str());
  std::abort();
}

void Check(bool holds, const std::string& what) {
  if (!holds) Finding(what);
}

// The importers speak to files of the C library; sanitizers to descriptors.
void Silence() {
  stdout = std::fopen("/dev/null", "w");
  stderr = std::fopen("/dev/null", "w");
  Check(stdout != nullptr && stderr != nullptr, "fopen /dev/null");
}

void LimitSizes() {
  const rlimit file = {kMostFileBytes, kMostFileBytes};
  Check(::setrlimit(RLIMIT_FSIZE, &file) == 0, "setrlimit RLIMIT_FSIZE");
#ifndef FGNN_HAS_ASAN
  const rlimit memory = {rlim_t{1} << 30, rlim_t{1} << 30};
  Check(::setrlimit(RLIMIT_AS, &memory) == 0, "setrlimit RLIMIT_AS");
#endif
}

void CheckLeaks() {
#ifdef FGNN_HAS_ASAN
  Check(__lsan_do_recoverable_leak_check() == 0, "memory leaks");
#endif
}

// As somebody would type it behind "fgnn dataset import".
std::vector<std::string> WordsOf(const ImportSource& source, const fs::path& in,
                                 const fs::path& out) {
  std::vector<std::string> words = {source.kind};
  for (const auto& [flag, path] : source.paths) {
    if (!flag.empty()) words.push_back(flag);
    words.push_back((path.empty() ? in : in / path).string());
  }
  words.insert(words.end(), {"--out", out.string()});
  words.insert(words.end(), source.needed.begin(), source.needed.end());
  return words;
}

void AddFlags(const ImportSource& source, Choices& choices,
              std::vector<std::string>* words) {
  for (const auto& flag : source.flags) {
    if (choices.OneIn(4)) words->insert(words->end(), flag.begin(), flag.end());
  }
}

absl::Status RunImporter(std::vector<std::string> words) {
  CommandLine line("");
  absl::Status status;
  const bool json = words.size() % 2 == 0;
  AddImportCommands(line.root(), json, status);
  try {
    const absl::StatusOr<std::string> text = line.Parse(std::move(words));
    if (!text.ok()) return text.status();
  } catch (const std::exception& error) {
    Finding(std::string("an exception: ") + error.what());
  }
  return status;
}

void CheckDataset(const fs::path& out) {
  const auto dataset = Dataset::Open(out, Validation::kEverything);
  Check(dataset.ok(), "an invalid dataset: " + MessageOf(dataset.status()));
  const auto info = ReadDatasetInfo(out);
  Check(info.ok(), "no info: " + MessageOf(info.status()));
  Check(!FormatInfo(*info).empty() && !InfoToJson(*info).empty(), "empty info");
}

void CheckRefusal(const absl::Status& status, const fs::path& folder) {
  const std::string line = MessageOf(InOneLine(status));
  Check(!line.empty() && line == PrintableText(line), "no line: " + line);
  Check(ExitCode(status) == 1 || ExitCode(status) == 2, "exit code");
  for (const auto& entry : fs::directory_iterator(folder)) {
    Check(entry.path().filename() == "in",
          "left behind: " + entry.path().string());
  }
}

void RunCase(const std::vector<ImportSource>& sources, const Options& options,
             uint64_t number, const fs::path& folder, Progress* progress) {
  Choices choices(options.seed, number);
  ImportSource source = choices.From(sources);
  // The first cases are the sources as they are.
  const bool is_sound = number < sources.size();
  if (is_sound) source = sources[number];
  if (!is_sound && !choices.OneIn(3)) MutateSource(sources, choices, &source);
  fs::create_directories(folder / "in");
  WriteSource(source, folder / "in");
  if (!is_sound && choices.OneIn(2)) MutateWritten(folder / "in", choices);

  const fs::path out = folder / "out";
  std::vector<std::string> words = WordsOf(source, folder / "in", out);
  if (!is_sound) AddFlags(source, choices, &words);
  if (options.only.has_value()) {
    for (const std::string& word : words) ::dprintf(1, "%s ", word.c_str());
    ::dprintf(1, "\n");
  }
  const absl::Status status = RunImporter(words);
  if (options.only.has_value()) {
    ::dprintf(1, "%s\n", status.ToString().c_str());
  }
  if (status.ok()) {
    CheckDataset(out);
    ++progress->imported;
  } else {
    Check(!is_sound, "a sound source is refused: " + MessageOf(status));
    CheckRefusal(status, folder);
    ++progress->refused;
  }
}

// Does not return.
void RunCases(const Options& options, Clock::time_point end,
              const fs::path& folder, Progress* progress) {
  Silence();
  LimitSizes();
  const std::ostringstream report;
  std::cout.rdbuf(report.rdbuf());
  const std::vector<ImportSource> sources = SoundSources();
  while (Clock::now() < end) {
    const uint64_t number = progress->next_case++;
    ::alarm(kMostSecondsPerCase);
    RunCase(sources, options, number, folder, progress);
    if (options.only.has_value()) break;
    fs::remove_all(folder);
    report.rdbuf()->str("");
    if (progress->next_case % kCasesPerLeakCheck == 0) CheckLeaks();
  }
  CheckLeaks();
  ::alarm(0);
  ::_exit(0);
}

std::string DescribeEnd(int state) {
  if (WIFEXITED(state)) {
    return "exit code " + std::to_string(WEXITSTATUS(state));
  }
  return std::string("signal ") + ::strsignal(WTERMSIG(state));
}

// The cases run in a child: what ends it is a finding, and the rest goes on.
int Run(const Options& options) {
  void* const shared = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Check(shared != MAP_FAILED, "mmap");
  auto* const progress = new (shared) Progress();
  progress->next_case = options.only.value_or(0);
  const TempFolder temp;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(options.seconds));
  int findings = 0;
  while (Clock::now() < end) {
    const fs::path folder = options.only.has_value()
                                ? fs::temp_directory_path() / "importers_fuzz"
                                : temp / "case";
    fs::remove_all(folder);
    const pid_t child = ::fork();
    Check(child >= 0, "fork");
    if (child == 0) RunCases(options, end, folder, progress);
    int state = 0;
    Check(::waitpid(child, &state, 0) == child, "waitpid");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) break;
    ++findings;
    std::printf("FINDING (%s): --seed %llu --case %llu\n",
                DescribeEnd(state).c_str(),
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(progress->next_case - 1));
    std::fflush(stdout);
    if (options.only.has_value()) break;
  }
  std::printf("seed %llu: %llu imported, %llu refused, %d findings\n",
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(progress->imported),
              static_cast<unsigned long long>(progress->refused), findings);
  const bool any = progress->imported > 0 || options.only.has_value();
  return findings == 0 && any ? 0 : 1;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::Options options;
  fgnn::CommandLine line("Imports damaged sources with every importer");
  const fgnn::Command app = line.root();
  app.AddOption("--seconds", options.seconds, "How long; default: 2");
  app.AddOption("--seed", options.seed, "Of the damage; default: 1");
  app.AddOption("--case", options.only,
                "This case alone; its files stay in the temporary folder's "
                "importers_fuzz");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  return fgnn::Run(options);
}
