#include "tools/bench/files/task_dump.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/bench/files/npz_writer.h"

namespace fgnn {

absl::Status WriteTaskNpz(const TaskView& task,
                          const std::filesystem::path& path) {
  std::vector<NpzArray> arrays = {
      MakeNpzArray("seeds", task.seeds()),
      MakeNpzArray("input_nodes", task.input_nodes)};
  for (int h = 0; h < task.num_hops; ++h) {
    const BlockView& hop = task.hops[h];
    const std::string prefix = absl::StrCat("hop", h, "_");
    arrays.push_back(MakeNpzArray(prefix + "indptr", hop.indptr));
    arrays.push_back(MakeNpzArray(prefix + "indices", hop.indices));
    if (!hop.weights.empty()) {
      arrays.push_back(MakeNpzArray(prefix + "weights", hop.weights));
    }
  }
  return WriteNpz(path, arrays);
}

}  // namespace fgnn
