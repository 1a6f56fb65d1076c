#include "tools/plot/svg_shapes.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace fgnn {
namespace {

// Okabe and Ito's colours, then greys. Yellow is left out, as it cannot be seen
// on white paper.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73",
                                 "#cc79a7", "#e69f00", "#56b4e9",
                                 "#000000", "#7f7f7f", "#b0b0b0"};

// Sizes in pixels.
constexpr double kLegendRow = 20;
constexpr double kSwatch = 22;
constexpr double kGap = 8;             // Space beside a swatch.
constexpr double kCharacterWidth = 8;  // Width of a wide character, size 13.

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

double WidthOf(const std::string& text) {
  return kCharacterWidth * static_cast<double>(std::count_if(
                               text.begin(), text.end(), BeginsCharacter));
}

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

std::string SvgText(double x, double y, const std::string& text,
                    const std::string& attributes) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y,
                         attributes, Escaped(text));
}

std::string SvgSegment(double x1, double y1, double x2, double y2,
                       const std::string& attributes) {
  return absl::StrFormat(
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1,
      x2, y2, attributes);
}

std::string SvgRectangle(const PlotBox& box, const std::string& attributes) {
  return absl::StrFormat(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>\n",
      box.left, box.top, box.width, box.height, attributes);
}

std::string SvgDocument(double width, double height,
                        const std::string& shapes) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
      width, height, width, height, shapes);
}

const char* PlotColour(size_t index) {
  return kColours[index % kColours.size()];
}

std::string Shortened(const std::string& text, size_t most) {
  size_t characters = 0;
  size_t cut = 0;  // Bytes that stay before the ellipsis.
  for (size_t i = 0; i < text.size(); ++i) {
    if (!BeginsCharacter(text[i])) continue;
    if (++characters == most) cut = i;
  }
  return characters <= most ? text : absl::StrCat(text.substr(0, cut), "…");
}

DrawnLegend DrawLegend(const std::vector<std::string>& names,
                       const PlotBox& room, double swatch_height) {
  DrawnLegend legend;
  double x = room.left;
  double y = room.top + kLegendRow / 2;
  for (size_t i = 0; i < names.size(); ++i) {
    const double width = kSwatch + kGap + WidthOf(names[i]) + kGap;
    if (x > room.left && x + width > room.right()) {
      x = room.left;
      y += kLegendRow;
    }
    const PlotBox swatch = {x, y - swatch_height / 2, kSwatch, swatch_height};
    absl::StrAppend(
        &legend.shapes,
        SvgRectangle(swatch, absl::StrCat("fill=\"", PlotColour(i), "\"")),
        SvgText(x + kSwatch + kGap, y + 4, names[i], ""));
    x += width;
  }
  legend.height = names.empty() ? 0 : y + kLegendRow / 2 - room.top;
  return legend;
}

}  // namespace fgnn
