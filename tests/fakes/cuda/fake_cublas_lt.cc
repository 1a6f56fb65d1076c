#include "tests/fakes/cuda/fake_cublas_lt.h"

#include <cstring>
#include <utility>

#include "tests/fakes/cuda/tf32.h"
#include "tests/simt/launch.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn::cublas_lt {

// The library's opaque objects, as the fake has them.
struct Context {};
struct Layout {
  cudaDataType type;
  uint64_t rows;
  uint64_t columns;
  int64_t leading_dimension;
};
struct Desc {
  ComputeType compute;
  int32_t transposes[2];  // Operation, of A and B.
};
struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t values[9] = {};  // By attribute; those of uint32_t.
};

}  // namespace fgnn::cublas_lt

namespace fgnn::simt {
namespace {

using namespace cublas_lt;  // NOLINT(google-build-using-namespace)

struct State {
  FakeCublasLt fake;
  uint64_t heuristics = 0;
  int64_t objects = 0;
};
State& TheState() {
  static State* const state = new State;
  return *state;
}

bool HasMemory() { return TheState().fake.calls_before_no_memory-- != 0; }

template <typename Object>
Status Make(Object** out, const Object& object) {
  if (!HasMemory()) return kAllocFailed;
  *out = new Object(object);
  ++TheState().objects;
  return kSuccess;
}
template <typename Object>
Status Drop(Object* object) {
  if (object == nullptr) return kInvalidValue;
  delete object;
  --TheState().objects;
  return kSuccess;
}

size_t GetVersion() { return 130100; }

const char* GetStatusName(Status status) {
  switch (status) {
    case kSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown";
}

Status Create(Context** context) {
  const Status planned = TheState().fake.create;
  return planned == kSuccess ? Make(context, {}) : planned;
}

Status LayoutCreate(Layout** layout, cudaDataType type, uint64_t rows,
                    uint64_t columns, int64_t leading_dimension) {
  if (rows == 0 || columns == 0 ||
      leading_dimension < static_cast<int64_t>(rows)) {
    return kInvalidValue;
  }
  return Make(layout, {type, rows, columns, leading_dimension});
}

Status DescCreate(Desc** desc, ComputeType compute, cudaDataType scale) {
  if (scale != CUDA_R_32F) return kInvalidValue;
  return Make(desc, {compute, {kOpN, kOpN}});
}

Status DescSetAttribute(Desc* desc, DescAttribute attribute, const void* value,
                        size_t bytes) {
  if (!HasMemory()) return kAllocFailed;
  if (bytes != sizeof(int32_t)) return kInvalidValue;
  if (attribute != kDescTransA && attribute != kDescTransB)
    return kNotSupported;
  std::memcpy(&desc->transposes[attribute - kDescTransA], value, bytes);
  return kSuccess;
}

Status PreferenceCreate(Preference** preference) {
  return Make(preference, {});
}

Status PreferenceSetAttribute(Preference* preference,
                              PreferenceAttribute attribute, const void* value,
                              size_t bytes) {
  if (!HasMemory()) return kAllocFailed;
  if (attribute == kPreferenceMaxWorkspaceBytes) {
    if (bytes != sizeof(uint64_t)) return kInvalidValue;
    std::memcpy(&preference->workspace_bytes, value, bytes);
    return kSuccess;
  }
  if (bytes != sizeof(uint32_t)) return kInvalidValue;
  std::memcpy(&preference->values[attribute], value, bytes);
  return kSuccess;
}

// Sizes of D [m, n] = op(A) op(B).
struct Sizes {
  uint64_t m;
  uint64_t n;
  uint64_t k;
};

bool Fit(const Desc& desc, const Layout& a, const Layout& b, const Layout& c,
         Sizes* sizes) {
  const bool a_t = desc.transposes[0] == kOpT;
  const bool b_t = desc.transposes[1] == kOpT;
  *sizes = {a_t ? a.columns : a.rows, b_t ? b.rows : b.columns,
            a_t ? a.rows : a.columns};
  return sizes->k == (b_t ? b.columns : b.rows) && c.rows == sizes->m &&
         c.columns == sizes->n && a.type == b.type &&
         (c.type == CUDA_R_32F || c.type == a.type);
}

// What an algorithm is for.
Algo AlgoOf(const Desc& desc, const Layout& a, const Layout& b,
            const Layout& c) {
  return {{a.rows, a.columns, b.rows, b.columns, static_cast<uint64_t>(a.type),
           static_cast<uint64_t>(c.type),
           static_cast<uint64_t>(desc.compute) << 2 |
               static_cast<uint64_t>(desc.transposes[0]) << 1 |
               static_cast<uint64_t>(desc.transposes[1])}};
}

bool IsSet(const Preference& preference) {
  const uint32_t* const values = preference.values;
  // Nothing that is added in the output, or rounded before.
  return preference.workspace_bytes > 0 &&
         values[kPreferenceReductionSchemeMask] == kReductionComputeType &&
         values[kPreferenceMinAlignmentABytes] == 16 &&
         values[kPreferenceMinAlignmentBBytes] == 16 &&
         values[kPreferenceMinAlignmentCBytes] == 16 &&
         values[kPreferenceMinAlignmentDBytes] == 16;
}

Status AlgoGetHeuristic(Context* /*context*/, Desc* desc, Layout* a, Layout* b,
                        Layout* c, Layout* d, Preference* preference,
                        int wanted, HeuristicResult* results, int* found) {
  const FakeCublasLt& fake = TheState().fake;
  ++TheState().heuristics;
  if (fake.heuristic != kSuccess) return fake.heuristic;
  Sizes sizes = {};
  if (wanted < 1 || c != d || !IsSet(*preference) ||
      !Fit(*desc, *a, *b, *c, &sizes)) {
    return kInvalidValue;
  }
  *found = fake.finds_nothing ? 0 : 1;
  if (*found == 0) return kSuccess;
  *results = {AlgoOf(*desc, *a, *b, *c),
              preference->workspace_bytes,
              fake.of_result,
              1,
              {}};
  return kSuccess;
}

// A column-major matrix.
struct Matrix {
  const void* data;
  cudaDataType type;
  uint64_t leading_dimension;
  bool transposed;
  bool rounds_to_tf32;

  float At(uint64_t row, uint64_t column) const {
    if (transposed) std::swap(row, column);
    const uint64_t i = column * leading_dimension + row;
    if (type == CUDA_R_16BF)
      return Widen(static_cast<const Bfloat16*>(data)[i]);
    const float number = static_cast<const float*>(data)[i];
    return rounds_to_tf32 ? RoundToTf32(number) : number;
  }
};

struct Product {
  Sizes sizes;
  Matrix a;
  Matrix b;
  Matrix c;
  float beta;
  void* d;
};

void Multiply(const Product& product) {
  for (uint64_t j = 0; j < product.sizes.n; ++j) {
    for (uint64_t i = 0; i < product.sizes.m; ++i) {
      float sum = product.beta == 0 ? 0 : product.beta * product.c.At(i, j);
      for (uint64_t l = 0; l < product.sizes.k; ++l) {
        sum += product.a.At(i, l) * product.b.At(l, j);
      }
      const uint64_t at = j * product.c.leading_dimension + i;
      if (product.c.type == CUDA_R_16BF) {
        static_cast<Bfloat16*>(product.d)[at] = RoundToBfloat16(sum);
      } else {
        static_cast<float*>(product.d)[at] = sum;
      }
    }
  }
}

Matrix MatrixOf(const void* data, const Layout& layout, int32_t operation,
                ComputeType compute) {
  return {data, layout.type, static_cast<uint64_t>(layout.leading_dimension),
          operation == kOpT, compute == kCompute32FFastTf32};
}

Status Matmul(Context* /*context*/, Desc* desc, const void* alpha,
              const void* a, Layout* a_layout, const void* b, Layout* b_layout,
              const void* beta, const void* c, Layout* c_layout, void* d,
              Layout* d_layout, const Algo* algo, void* workspace,
              size_t workspace_bytes, cudaStream_t stream) {
  const FakeCublasLt& fake = TheState().fake;
  if (fake.matmul != kSuccess) return fake.matmul;
  Sizes sizes = {};
  const Algo fits = AlgoOf(*desc, *a_layout, *b_layout, *c_layout);
  if (!Fit(*desc, *a_layout, *b_layout, *c_layout, &sizes) || c != d ||
      c_layout != d_layout || *static_cast<const float*>(alpha) != 1 ||
      std::memcmp(algo, &fits, sizeof(fits)) != 0 || workspace == nullptr ||
      workspace_bytes < size_t{32} << 20) {
    return kInvalidValue;
  }
  const Product product = {
      sizes,
      MatrixOf(a, *a_layout, desc->transposes[0], desc->compute),
      MatrixOf(b, *b_layout, desc->transposes[1], desc->compute),
      MatrixOf(c, *c_layout, kOpN, kCompute32F),
      *static_cast<const float*>(beta),
      d};
  return Enqueue(stream, [product] { Multiply(product); }) == cudaSuccess
             ? kSuccess
             : kExecutionFailed;
}

}  // namespace

void SetFakeCublasLt(const FakeCublasLt& fake) {
  TheState().fake = fake;
  TheState().heuristics = 0;
}

cublas_lt::Api FakeCublasLtApi() {
  return {GetVersion,       GetStatusName,
          Create,           Drop<Context>,
          LayoutCreate,     Drop<Layout>,
          DescCreate,       Drop<Desc>,
          DescSetAttribute, PreferenceCreate,
          Drop<Preference>, PreferenceSetAttribute,
          AlgoGetHeuristic, Matmul};
}

uint64_t NumHeuristics() { return TheState().heuristics; }
int64_t NumCublasLtObjects() { return TheState().objects; }

}  // namespace fgnn::simt
