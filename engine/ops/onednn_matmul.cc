// Matrix products by oneDNN, whose C++ API's exceptions end here.
#include "engine/ops/onednn_matmul.h"

#include <omp.h>

#include <iterator>
#include <list>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>

#include "engine/ops/linear.h"

namespace traind::ops {

namespace {

// oneDNN takes its number of threads from OpenMP's setting.
class WithThreads {
 public:
  explicit WithThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~WithThreads() { omp_set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

// A product ready to run; the memory objects only get new addresses.
struct Product {
  MatmulShape shape;
  int threads = 1;
  int64_t scratch_bytes = -1;  // −1: not for oneDNN
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
};

dnnl::memory::desc Matrix(int64_t rows, int64_t columns, Transpose transpose, bool bf16) {
  const dnnl::memory::dims strides =
      transpose == Transpose::kNo ? dnnl::memory::dims{columns, 1} : dnnl::memory::dims{1, rows};
  return {{rows, columns}, bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32, strides};
}

dnnl::matmul::primitive_desc Describe(const MatmulShape& shape, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0F);
    attributes.set_post_ops(add);
  }
  const dnnl::matmul::desc description(Matrix(shape.m, shape.k, shape.transpose_a, shape.bf16),
                                       Matrix(shape.k, shape.n, shape.transpose_b, shape.bf16),
                                       Matrix(shape.m, shape.n, Transpose::kNo, shape.bf16_sums));
  return {description, attributes, engine};
}

// Its "brg" kernels ask for their scratch; the others allocate it in each call.
bool KeepsToScratch(const dnnl::matmul::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("brg");
}

Product Prepare(const MatmulShape& shape, int threads, const dnnl::engine& engine) {
  Product product;
  product.shape = shape;
  product.threads = threads;
  const dnnl::matmul::primitive_desc description = Describe(shape, engine);
  const auto scratch_bytes = static_cast<int64_t>(description.scratchpad_desc().get_size());
  if (!KeepsToScratch(description) || scratch_bytes > LinearWorkspaceBytes(threads)) return product;
  product.scratch_bytes = scratch_bytes;
  product.primitive = dnnl::matmul(description);
  product.a = dnnl::memory(description.src_desc(), engine, nullptr);
  product.b = dnnl::memory(description.weights_desc(), engine, nullptr);
  product.c = dnnl::memory(description.dst_desc(), engine, nullptr);
  product.scratch = dnnl::memory(description.scratchpad_desc(), engine, nullptr);
  return product;
}

// The C API: the C++ one allocates in each call.
dnnl_status_t Run(const Product& product, const dnnl::stream& stream, const MatmulOperands& at,
                  std::byte* scratch) {
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.get()},
                                       {DNNL_ARG_WEIGHTS, product.b.get()},
                                       {DNNL_ARG_DST, product.c.get()},
                                       {DNNL_ARG_SCRATCHPAD, product.scratch.get()}};
  void* const addresses[] = {const_cast<void*>(at.a), const_cast<void*>(at.b), at.c, scratch};
  for (size_t i = 0; i < std::size(arguments); ++i) {
    const dnnl_status_t status = dnnl_memory_set_data_handle(arguments[i].memory, addresses[i]);
    if (status != dnnl_success) return status;
  }
  return dnnl_primitive_execute(product.primitive.get(), stream.get(), std::size(arguments), arguments);
}

Status FromError(const dnnl::error& error, const MatmulShape& shape) {
  const ErrorCode code = error.status == dnnl_out_of_memory ? ErrorCode::OUT_OF_MEMORY : ErrorCode::INTERNAL;
  return Status(code, "oneDNN, matrix product " + std::to_string(shape.m) + "×" + std::to_string(shape.n) +
                          "×" + std::to_string(shape.k) + ": " + error.message);
}

}  // namespace

struct OnednnMatmul::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::list<Product> products;  // the most recently used first

  const Product& Find(const MatmulShape& shape, int threads) {
    for (auto product = products.begin(); product != products.end(); ++product) {
      if (product->shape == shape && product->threads == threads) {
        products.splice(products.begin(), products, product);
        return products.front();
      }
    }
    products.push_front(Prepare(shape, threads, engine));
    if (products.size() > kMaxPreparedProducts) products.pop_back();
    return products.front();
  }
};

OnednnMatmul::OnednnMatmul(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OnednnMatmul::~OnednnMatmul() = default;

Result<std::unique_ptr<OnednnMatmul>> OnednnMatmul::Create() {
  try {
    return std::unique_ptr<OnednnMatmul>(new OnednnMatmul(std::make_unique<Impl>()));
  } catch (const dnnl::error& error) {
    return Status(ErrorCode::INTERNAL, std::string("oneDNN: ") + error.message);
  }
}

Result<bool> OnednnMatmul::Multiply(const MatmulShape& shape, int threads, const MatmulOperands& at,
                                    Workspace workspace) {
  const WithThreads with_threads(threads);
  try {
    const Product& product = impl_->Find(shape, threads);
    if (product.scratch_bytes < 0 || product.scratch_bytes > workspace.bytes) return false;
    const dnnl_status_t status = Run(product, impl_->stream, at, workspace.data);
    if (status != dnnl_success) throw dnnl::error(status, "the product failed");
    return true;
  } catch (const dnnl::error& error) {
    return FromError(error, shape);
  }
}

Result<int64_t> OnednnMatmul::ScratchBytes(const MatmulShape& shape, int threads) {
  const WithThreads with_threads(threads);
  try {
    return impl_->Find(shape, threads).scratch_bytes;
  } catch (const dnnl::error& error) {
    return FromError(error, shape);
  }
}

}  // namespace traind::ops
