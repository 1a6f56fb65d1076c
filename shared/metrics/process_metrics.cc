#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "shared/base/files/file.h"
#include "shared/metrics/metric_page.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

void AddCpu(MetricPage& page) {
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  page.AddCounter("process_cpu_seconds_total",
                  "Seconds of processors that the process used.",
                  SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime));
}

void AddMemory(MetricPage& page) {
  const absl::StatusOr<std::string> text = ReadSmallFile("/proc/self/statm");
  if (!text.ok()) return;
  const std::vector<absl::string_view> pages = absl::StrSplit(*text, ' ');
  uint64_t all = 0;
  uint64_t resident = 0;
  if (pages.size() < 2 || !absl::SimpleAtoi(pages[0], &all) ||
      !absl::SimpleAtoi(pages[1], &resident)) {
    return;
  }
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  page.AddGauge("process_virtual_memory_bytes",
                "Bytes of the process's address space.",
                static_cast<double>(all) * page_bytes);
  page.AddGauge("process_resident_memory_bytes",
                "Bytes of the process in memory, shared ones too.",
                static_cast<double>(resident) * page_bytes);
}

void AddDescriptors(MetricPage& page) {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error) {
    // One is the look itself.
    page.AddGauge(
        "process_open_fds", "Open file descriptors.",
        static_cast<double>(std::distance(begin(open), end(open))) - 1);
  }
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  page.AddGauge("process_max_fds", "Most open file descriptors.",
                static_cast<double>(limit.rlim_cur));
}

// Returns the Unix time at which the machine started.
std::optional<uint64_t> BootTime() {
  const absl::StatusOr<std::string> text = ReadSmallFile("/proc/stat");
  if (!text.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    uint64_t seconds = 0;
    if (absl::ConsumePrefix(&line, "btime ") &&
        absl::SimpleAtoi(line, &seconds)) {
      return seconds;
    }
  }
  return std::nullopt;
}

void AddStart(MetricPage& page) {
  const absl::StatusOr<uint64_t> ticks = ReadProcessStartTime(::getpid());
  const std::optional<uint64_t> boot = BootTime();
  if (!ticks.ok() || !boot.has_value()) return;
  page.AddGauge("process_start_time_seconds",
                "Unix time at which the process started.",
                static_cast<double>(*boot) +
                    static_cast<double>(*ticks) /
                        static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace

void AddProcessMetrics(const std::string& version, MetricPage& page) {
  page.AddGauge("fgnn_build_info", "1, with the version of the program.", 1,
                {{"version", version}});
  AddCpu(page);
  AddMemory(page);
  AddDescriptors(page);
  AddStart(page);
}

void AddGpuMemory(uint64_t bytes, MetricPage& page) {
  page.AddGauge("fgnn_gpu_memory_bytes",
                "Bytes of the GPU's memory that this daemon has; its context "
                "on the GPU is not in them.",
                static_cast<double>(bytes));
}

}  // namespace fgnn
