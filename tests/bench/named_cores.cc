// Preloaded by tests/bench/executors: $FGNN_BENCH_CORES lists cores, "0,1,0,1",
// and a program sees as many, the first of which is core 0. So several devices
// can be made of one core, which a job may not name twice.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace {

std::vector<int> NamedCores() {
  std::vector<int> cores;
  const char* const text = std::getenv("FGNN_BENCH_CORES");
  for (const char* rest = text; rest != nullptr && *rest != '\0';) {
    char* end = nullptr;
    cores.push_back(static_cast<int>(std::strtol(rest, &end, 10)));
    rest = *end == ',' ? end + 1 : "";
  }
  return cores;
}

}  // namespace

extern "C" int sched_getaffinity(pid_t, size_t size, cpu_set_t* set) noexcept {
  CPU_ZERO_S(size, set);
  for (size_t i = 0; i < NamedCores().size(); ++i) CPU_SET_S(i, size, set);
  return 0;
}

extern "C" int sched_setaffinity(pid_t pid, size_t size,
                                 const cpu_set_t* set) noexcept {
  const std::vector<int> cores = NamedCores();
  cpu_set_t real;
  CPU_ZERO(&real);
  for (size_t i = 0; i < cores.size(); ++i) {
    if (CPU_ISSET_S(i, size, set)) CPU_SET(cores[i], &real);
  }
  return static_cast<int>(
      ::syscall(SYS_sched_setaffinity, pid, sizeof(real), &real));
}
