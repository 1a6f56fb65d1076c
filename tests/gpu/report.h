// What a program of tests/gpu prints: a line for each figure, beside what it is
// held against, and a last line that counts.
#ifndef FGNN_TESTS_GPU_REPORT_H_
#define FGNN_TESTS_GPU_REPORT_H_

#include <cstdio>
#include <string>

namespace fgnn {

// One thread prints. Every line is written at once, for a program that may be
// stopped from outside.
class Report {
 public:
  // A figure that was measured. `beside`: its limit, or what to compare it
  // with.
  void Figure(const std::string& name, double value, const std::string& unit,
              const std::string& beside) {
    Print(name, Number(value) + " " + unit, beside);
    ++passed_;
  }
  // A fact without a number.
  void Fact(const std::string& name, const std::string& value,
            const std::string& beside) {
    Print(name, value, beside);
    ++passed_;
  }
  // A check. `beside`: what was found.
  void Check(const std::string& name, bool holds, const std::string& beside) {
    Print(name, holds ? "ok" : "FAILED", beside);
    ++(holds ? passed_ : failed_);
  }
  void Fail(const std::string& name, const std::string& why) {
    Check(name, false, why);
  }
  // Prints the last line. Returns the program's exit code.
  int Finish() const {
    std::printf("%d passed, %d failed\n", passed_, failed_);
    std::fflush(stdout);
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

  // Four digits: nothing here repeats better.
  static std::string Number(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), value >= 1000 ? "%.0f" : "%.4g", value);
    return text;
  }

 private:
  static void Print(const std::string& name, const std::string& value,
                    const std::string& beside) {
    std::printf("%-62s %-14s %s\n", name.c_str(), value.c_str(),
                beside.c_str());
    std::fflush(stdout);
  }

  int passed_ = 0;
  int failed_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_REPORT_H_
