#include "tools/fgnn/commands/machine_checks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/device/memory.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Least bytes in which the job of tools/quickstart.yaml runs.
constexpr uint64_t kLeastMemoryBytes = uint64_t{1} << 30;
// Time to read a library from a slow disk, or in which a driver says what GPUs
// there are.
constexpr std::chrono::seconds kProgramTimeout{20};

constexpr char kBuildFix[] =
    "tools/setup && cmake --preset release && cmake --build --preset release";

MachineCheck Ok(std::string name, std::string detail) {
  return {std::move(name), true, std::move(detail), ""};
}

MachineCheck Missing(std::string name, std::string detail, std::string fix) {
  return {std::move(name), false, std::move(detail), std::move(fix)};
}

MachineCheck CheckCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return Missing("cores", std::strerror(errno), "taskset -p $$");
  }
  std::string detail =
      absl::StrCat(CPU_COUNT(&allowed), " (", AllCoresDevice(), ")");
  const auto quota = ReadSmallFile("/sys/fs/cgroup/cpu.max");
  if (quota.ok() && quota->rfind("max", 0) != 0) {
    absl::StrAppend(
        &detail, "; cgroup's cpu.max: ", quota->substr(0, quota->find('\n')));
  }
  return Ok("cores", detail);
}

MachineCheck CheckMemory() {
  const absl::StatusOr<uint64_t> bytes = AvailableMemoryBytes();
  if (!bytes.ok()) {
    return Missing("memory", MessageOf(bytes.status()),
                   "mount -t proc proc /proc");
  }
  const std::string detail = absl::StrCat(FormatBytes(*bytes), " available");
  if (*bytes >= kLeastMemoryBytes) return Ok("memory", detail);
  return Missing("memory",
                 absl::StrCat(detail, ", small jobs need ",
                              FormatBytes(kLeastMemoryBytes)),
                 "end other programs, or raise the cgroup's memory.max");
}

MachineCheck CheckKernel() {
  utsname names{};
  const std::string release =
      ::uname(&names) == 0 ? names.release : "unknown release";
  std::string missing;
  const UniqueFd segment(
      ::memfd_create("fgnn-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.valid() ||
      ::fcntl(segment.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    missing += " memfd sealing,";
  }
  const UniqueFd process(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!process.valid()) missing += " pidfd_open,";
  uint32_t word = 0;
  if (::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0) != 0) {
    missing += " futex,";
  }
  if (missing.empty()) {
    return Ok("kernel", release + ": memfd sealing, pidfd_open, futex");
  }
  missing.pop_back();
  return Missing("kernel", absl::StrCat(release, " refuses", missing),
                 "a kernel of 5.3 or later, and a container whose seccomp "
                 "profile allows these calls");
}

MachineCheck CheckProgram(const std::string& name) {
  const auto program = FindProgram(name);
  return program.ok() ? Ok(name, program->string())
                      : Missing(name, MessageOf(program.status()), kBuildFix);
}

// Has `judge` check the output and the exit code of a program's command.
template <typename Judge>
MachineCheck CheckAnswer(const std::string& name, const std::string& program,
                         const char* command, const Judge& judge) {
  const auto found = FindProgram(program);
  if (!found.ok()) {
    return Missing(name, absl::StrCat("unknown without ", program), kBuildFix);
  }
  const auto ran = RunProgram(*found, {command}, DeadlineIn(kProgramTimeout));
  if (!ran.ok()) return Missing(name, MessageOf(ran.status()), kBuildFix);
  return judge(ran->output, ran->exit_code);
}

// `command`: that of fgnn-trainer which opens the library.
MachineCheck CheckLibrary(const std::string& name, const char* command) {
  return CheckAnswer(name, "fgnn-trainer", command,
                     [&name](std::string_view output, int exit_code) {
                       return JudgeLibrary(name, output, exit_code);
                     });
}

// Checks the folder, or the first existing one above it.
MachineCheck CheckStateFolder(const fs::path& state_dir) {
  std::error_code error;
  fs::path there = fs::absolute(state_dir);
  while (!fs::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const std::string detail = absl::StrCat(
      state_dir.string(),
      fs::exists(state_dir, error) ? "" : " (made when a service starts)");
  if (fs::is_directory(there, error) &&
      ::access(there.c_str(), W_OK | X_OK) == 0) {
    return Ok("state folder", detail);
  }
  return Missing("state folder",
                 absl::StrCat(there.string(), " cannot be written"),
                 "fgnn --state-dir DIR …, or FGNN_STATE_DIR=DIR");
}

MachineCheck CheckSocketPath(const fs::path& state_dir) {
  // The longest socket name of a service.
  const fs::path longest =
      ExecutorSocketPath(fs::absolute(state_dir), "trainer.99");
  if (MakeSocketAddress(longest).ok()) {
    return Ok("socket path",
              absl::StrCat(longest.string().size(), " of at most 107 bytes"));
  }
  return Missing(
      "socket path",
      absl::StrCat(longest.string().size(), " bytes, the system allows 107"),
      "fgnn --state-dir DIR …, with a shorter path");
}

MachineCheck CheckService(const fs::path& state_dir) {
  const absl::StatusOr<bool> listens = ServiceListens(state_dir);
  if (!listens.ok()) {
    return Missing("service", MessageOf(listens.status()),
                   "ask its owner for fgnn up --socket-group GROUP, with a "
                   "group that both are in");
  }
  if (!*listens) return Ok("service", "none runs; 'fgnn up' starts one");
  auto client = ServiceClient::Connect({.state_dir = state_dir});
  const auto info = client.ok()
                        ? client->GetService()
                        : absl::StatusOr<v1::ServiceInfo>(client.status());
  if (!info.ok()) {
    return Missing("service", MessageOf(info.status()), "fgnn down; fgnn up");
  }
  return Ok("service", absl::StrCat("runs, version ", info->version(), ", pid ",
                                    info->pid()));
}

}  // namespace

MachineCheck JudgeLibrary(const std::string& name, std::string_view output,
                          int exit_code) {
  const std::string library = name + " ";
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(output), '\n', absl::SkipWhitespace());
  for (const std::string& line : lines) {
    if (exit_code == 0 && line.rfind(library, 0) == 0) {
      return Ok(name, line.substr(library.size()));
    }
  }
  constexpr std::string_view kReason = "fgnn: ";
  if (exit_code == 1 && !lines.empty() && lines[0].rfind(kReason, 0) == 0) {
    return Ok(name, absl::StrCat("none; ", lines[0].substr(kReason.size())));
  }
  return Missing(
      name,
      exit_code == 0
          ? "fgnn-trainer does not say; it is of another release"
          : absl::StrCat("fgnn-trainer: ", absl::StrJoin(lines, " ")),
      kBuildFix);
}

MachineCheck JudgeGpus(std::string_view output, int exit_code) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(output), '\n', absl::SkipWhitespace());
  if (exit_code == 0 && lines.size() == 1) return Ok("GPUs", lines[0]);
  constexpr std::string_view kReason = "fgnn: ";
  if (exit_code != 0 && lines.size() == 1 && lines[0].rfind(kReason, 0) == 0) {
    return Ok("GPUs", absl::StrCat("none; ", lines[0].substr(kReason.size())));
  }
  return Missing("GPUs",
                 absl::StrCat("fgnn-sampler: ", absl::StrJoin(lines, " ")),
                 kBuildFix);
}

std::vector<MachineCheck> CheckMachine(const fs::path& state_dir) {
  return {CheckCores(),
          CheckMemory(),
          CheckKernel(),
          CheckProgram("fgnn-scheduler"),
          CheckProgram("fgnn-gate"),
          CheckProgram("fgnn-sampler"),
          CheckProgram("fgnn-trainer"),
          CheckLibrary("libtorch", "libtorch"),
          CheckAnswer("GPUs", "fgnn-sampler", "gpus", JudgeGpus),
          CheckLibrary("cuBLAS", "cublas"),
          CheckLibrary("NCCL", "nccl"),
          CheckStateFolder(state_dir),
          CheckSocketPath(state_dir),
          CheckService(state_dir)};
}

std::string ChecksText(const std::vector<MachineCheck>& checks) {
  std::string text;
  size_t width = 0;
  for (const MachineCheck& check : checks) {
    width = std::max(width, check.name.size());
  }
  for (const MachineCheck& check : checks) {
    absl::StrAppend(&text, check.ok ? "ok       " : "missing  ", check.name,
                    std::string(width - check.name.size() + 2, ' '),
                    check.detail, "\n");
    if (!check.ok) absl::StrAppend(&text, "         mend: ", check.fix, "\n");
  }
  return text;
}

nlohmann::ordered_json ChecksJson(const std::vector<MachineCheck>& checks) {
  nlohmann::ordered_json json = {{"ok", true}};
  json["checks"] = nlohmann::ordered_json::array();
  for (const MachineCheck& check : checks) {
    nlohmann::ordered_json entry = {
        {"name", check.name}, {"ok", check.ok}, {"detail", check.detail}};
    if (!check.ok) {
      entry["fix"] = check.fix;
      json["ok"] = false;
    }
    json["checks"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace fgnn
