// fgnn_gpu_facts [--kills N] [--first K] [GROUP…]: prints facts of device 0
// that FGNN's plans rest on. README.md of tests/gpu has the groups.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/facts/child.h"
#include "tests/gpu/facts/facts.h"

namespace fgnn {
namespace {

struct Group {
  std::string name;
  std::function<cudaError_t(Report*)> measure;
};

std::vector<Group> Groups(KillRange kills) {
  return {
      {"device", DeviceFacts},
      {"registration", RegistrationFacts},
      {"copies", CopyFacts},
      {"reads", RandomReadFacts},
      {"launches", LaunchFacts},
      {"contexts", ContextFacts},
      {"slices", TimeSliceFacts},
      {"kills", [kills](Report* report) { return KillFacts(kills, report); }}};
}

// Returns false, and says so, if there is no group of that name.
bool IsGroup(const std::vector<Group>& groups, const std::string& name) {
  std::string known;
  for (const Group& group : groups) {
    if (group.name == name) return true;
    known += " " + group.name;
  }
  std::fprintf(stderr, "fgnn_gpu_facts: unknown group '%s'; there are%s\n",
               name.c_str(), known.c_str());
  return false;
}

int Run(KillRange kills, const std::vector<std::string>& wanted) {
  const std::vector<Group> groups = Groups(kills);
  for (const std::string& name : wanted) {
    if (!IsGroup(groups, name)) return 2;
  }
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices);
      error != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU (%s)\n", TextOf(error).c_str());
    return 77;
  }
  Report report;
  for (const Group& group : groups) {
    bool chosen = wanted.empty();
    for (const std::string& name : wanted) chosen |= name == group.name;
    if (!chosen) continue;
    const auto start = std::chrono::steady_clock::now();
    if (const cudaError_t error = group.measure(&report);
        error != cudaSuccess) {
      report.Fail(group.name, TextOf(error));
    }
    std::printf("-- %s took %.1f s\n", group.name.c_str(), SecondsSince(start));
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--child") == 0) {
    return fgnn::RunChild(static_cast<fgnn::Role>(std::atoi(argv[2])),
                          std::atoi(argv[3]), std::atoi(argv[4]));
  }
  fgnn::KillRange kills = {.first = 0, .count = 25};
  std::vector<std::string> groups;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--kills") == 0 && i + 1 < argc) {
      kills.count = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--first") == 0 && i + 1 < argc) {
      kills.first = std::atoi(argv[++i]);
    } else {
      groups.emplace_back(argv[i]);
    }
  }
  return fgnn::Run(kills, groups);
}
