// The exchanges of emulated GPUs, for a program: by the fake NCCL.
#include "trainer_service/sync/cuda/nccl_exchanges.h"

#include <cstdlib>
#include <string_view>

#include "shared/base/status.h"
#include "tests/fakes/cuda/fake_nccl.h"
#include "trainer_service/sync/cuda/nccl_exchange.h"
#include "trainer_service/sync/cuda/nccl_library.h"

namespace fgnn {
namespace {

absl::StatusOr<nccl::Api> OpenFakeNccl() {
  const char* const word = std::getenv("FGNN_FAKE_NCCL");
  const std::string_view fault = word == nullptr ? "" : word;
  if (fault == "missing") return LoadNccl("lib/fgnn/nccl", {});
  simt::SetFakeNccl({.silent = fault == "silent"});
  return simt::FakeNcclApi();
}

}  // namespace

ExchangeFactory NcclExchanges(int device) {
  return NcclExchangesWith(OpenFakeNccl, device);
}

absl::StatusOr<std::string> NameNccl() {
  FGNN_ASSIGN_OR_RETURN(const nccl::Api api, OpenFakeNccl());
  return NameOf(api);
}

}  // namespace fgnn
