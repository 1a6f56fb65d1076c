#include "trainer_service/nn/product_order.h"

namespace fgnn {
namespace {

// Estimated flops of a product that take as long as one byte of random rows.
constexpr double kFlopsPerByte = 10;

}  // namespace

bool TransformsFirst(ProductOrder order, const LayerShape& shape,
                     const BlockView& block, double gathered_rows) {
  if (order != ProductOrder::kCheapest) {
    return order == ProductOrder::kTransformFirst;
  }
  const double products = shape.first ? 2 : 3;
  const double flops = 2.0 * static_cast<double>(shape.in) *
                       static_cast<double>(shape.out) * products;
  const double aggregate = gathered_rows * static_cast<double>(shape.in) * 4 *
                               (shape.first ? 1 : 2) +
                           block.num_destinations * flops / kFlopsPerByte;
  const double transform =
      gathered_rows * static_cast<double>(shape.out) * 4 * 2 +
      block.num_sources * flops / kFlopsPerByte;
  return transform < aggregate;
}

}  // namespace fgnn
