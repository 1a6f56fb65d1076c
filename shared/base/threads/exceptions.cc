#include "shared/base/threads/exceptions.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"

namespace fgnn {

absl::Status CatchExceptions(absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::InternalError("out of memory");
  } catch (const std::length_error& error) {
    return absl::InternalError(
        absl::StrCat("out of memory: ", PrintableText(error.what())));
  } catch (const std::system_error& error) {
    const bool no_thread =
        error.code() == std::errc::resource_unavailable_try_again;
    return absl::InternalError(absl::StrCat(
        no_thread ? "no further thread can be started; raise the limits on "
                    "processes and memory: "
                  : "exception: ",
        PrintableText(error.what())));
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("exception: ", PrintableText(error.what())));
  } catch (...) {
    return absl::InternalError("exception of an unknown type");
  }
}

}  // namespace fgnn
