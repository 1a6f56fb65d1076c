#include "tools/dataset/building/class_labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Parses "3", and also "3.0", which spreadsheets and pandas write.
bool ParseClass(std::string_view text, int64_t* value) {
  if (ParseNumber(text, value)) return true;
  const size_t dot = text.find('.');
  return dot != std::string_view::npos &&
         text.find_first_not_of('0', dot + 1) == std::string_view::npos &&
         ParseNumber(text.substr(0, dot), value);
}

}  // namespace

void ClassLabels::Add(std::string_view text) {
  text = TrimBlanks(text);
  labels_.push_back(text.empty() ? -1
                                 : static_cast<int64_t>(texts_.Intern(text)));
}

bool ClassLabels::HoldNumbers() const {
  bool all_whole = true;
  for (size_t i = 0; i < texts_.size(); ++i) {
    double number = 0;
    if (!ParseNumber(texts_.text(i), &number) || !std::isfinite(number)) {
      return false;
    }
    int64_t whole = 0;
    all_whole = all_whole && ParseClass(texts_.text(i), &whole);
  }
  return !all_whole;
}

std::vector<float> ClassLabels::TakeNumbers() {
  std::vector<float> numbers;
  numbers.reserve(labels_.size());
  for (const int64_t label : labels_) {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (label >= 0)
      ParseNumber(texts_.text(static_cast<size_t>(label)), &number);
    numbers.push_back(static_cast<float>(number));
  }
  *this = ClassLabels();
  return numbers;
}

ClassLabels::Result ClassLabels::Take(bool integers_count) {
  const size_t num_texts = texts_.size();
  std::vector<int64_t> class_of(num_texts);
  bool integers = integers_count;
  for (size_t i = 0; i < num_texts && integers; ++i) {
    integers = ParseClass(texts_.text(i), &class_of[i]);
  }
  Result result;
  if (!integers) {
    std::vector<size_t> order(num_texts);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return texts_.text(a) < texts_.text(b);
    });
    for (size_t place = 0; place < num_texts; ++place) {
      class_of[order[place]] = static_cast<int64_t>(place);
      result.class_names.emplace_back(texts_.text(order[place]));
    }
  }
  result.labels = std::move(labels_);
  for (int64_t& label : result.labels) {
    if (label >= 0) label = class_of[static_cast<size_t>(label)];
  }
  *this = ClassLabels();
  return result;
}

}  // namespace fgnn
