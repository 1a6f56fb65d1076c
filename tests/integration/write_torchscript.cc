// A user's program that writes a TorchScript file: GraphSAGE of these widths.
//
//   write_torchscript FILE WIDTH WIDTH... [FLAW]     see fakes/script_sage.h
#include <iostream>
#include <string>
#include <vector>

#include "tests/fakes/script_sage.h"

int main(int argc, char** argv) {
  std::vector<int64_t> widths;
  std::string flaw;
  for (int i = 2; i < argc; ++i) {
    const int64_t width = std::atoll(argv[i]);
    if (width > 0) {
      widths.push_back(width);
    } else {
      flaw = argv[i];
    }
  }
  if (widths.size() < 2) {
    std::cerr << "write_torchscript FILE WIDTH WIDTH... [FLAW]\n";
    return 2;
  }
  fgnn::WriteScriptSage(argv[1], widths, flaw);
  return 0;
}
