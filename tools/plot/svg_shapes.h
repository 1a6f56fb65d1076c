// Shapes of an SVG document, as text. Coordinates are in pixels, y grows
// downwards.
#ifndef FGNN_TOOLS_PLOT_SVG_SHAPES_H_
#define FGNN_TOOLS_PLOT_SVG_SHAPES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace fgnn {

struct PlotBox {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// Return one shape each. `attributes` are those of SVG, e.g. "fill=\"#fff\"".
std::string SvgText(double x, double y, const std::string& text,
                    const std::string& attributes);
std::string SvgSegment(double x1, double y1, double x2, double y2,
                       const std::string& attributes);
std::string SvgRectangle(const PlotBox& box, const std::string& attributes);

// Returns a document of that size on white paper.
std::string SvgDocument(double width, double height, const std::string& shapes);

// Returns the colour of the line or part with this index. Colour-blind people
// can tell the colours apart. After nine they begin again.
const char* PlotColour(size_t index);

// Returns at most `most` characters of the text; the last of a longer one is an
// ellipsis.
std::string Shortened(const std::string& text, size_t most);

struct DrawnLegend {
  std::string shapes;
  double height = 0;
};
// Draws the names side by side from the room's left and top on, in as many rows
// as its width asks for. Its height does not count. Each name has a swatch of
// its colour, `swatch_height` high.
DrawnLegend DrawLegend(const std::vector<std::string>& names,
                       const PlotBox& room, double swatch_height);

}  // namespace fgnn

#endif  // FGNN_TOOLS_PLOT_SVG_SHAPES_H_
