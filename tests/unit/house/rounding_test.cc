// The bits of batches and weights are promised: see "What it promises" in
// trainer_service/README.md. Compilers fuse a product and a sum where a
// processor can, unless they are told not to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct Unit {
  std::string file;
  std::string command;
};

std::string TextOf(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.is_open()) << path;
  return std::string((std::istreambuf_iterator<char>(in)),
                     std::istreambuf_iterator<char>());
}

// Units of C++ of a room's targets, as this build compiles them: sources of the
// room (.cc), several of them as one (.cxx), and kernels for the emulator.
std::vector<Unit> UnitsOf(const std::string& room) {
  const fs::path build = fs::path(std::getenv("FGNN_BIN_DIR")).parent_path();
  const nlohmann::json commands =
      nlohmann::json::parse(TextOf(build / "compile_commands.json"));
  std::vector<Unit> units;
  for (const nlohmann::json& entry : commands) {
    const Unit unit = {entry.at("file").get<std::string>(),
                       entry.at("command").get<std::string>()};
    const bool of_room = unit.command.find(" -o " + room) != std::string::npos;
    const fs::path ending = fs::path(unit.file).extension();
    if (of_room && (ending == ".cc" || ending == ".cxx")) {
      units.push_back(unit);
    }
  }
  return units;
}

// Returns what the compiler is told last about products: "off", "fast"; empty:
// nothing.
std::string ContractionOf(const Unit& unit) {
  const std::string option = "-ffp-contract=";
  const size_t at = unit.command.rfind(option);
  if (at == std::string::npos) return "";
  const size_t begin = at + option.size();
  return unit.command.substr(begin, unit.command.find(' ', begin) - begin);
}

TEST(RoundingTest, UnitsWhoseBitsArePromisedFuseNoProduct) {
  for (const std::string room : {"sampler_service/", "trainer_service/"}) {
    const std::vector<Unit> units = UnitsOf(room);
    EXPECT_GT(units.size(), 50U) << room;
    for (const Unit& unit : units) {
      const std::string told = ContractionOf(unit);
      const bool by_processor =
          TextOf(unit.file).find("trainer_service/compute/target_clones.h\"") !=
          std::string::npos;
      EXPECT_TRUE(told == "off" || (told == "fast" && by_processor))
          << unit.file << " is compiled with '" << told << "'; see "
          << "fgnn_exact_room() in tools/cmake/fgnn_targets.cmake";
    }
  }
}

}  // namespace
}  // namespace fgnn
