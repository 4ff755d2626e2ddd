// Matrix products by oneDNN's C++ API, whose exceptions end here.
#include "engine/ops/matmul.h"

#include <list>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "engine/ops/linear.h"

namespace traind::ops {

namespace {

// A product ready to run; the memory objects only get new addresses.
struct Prepared {
  MatmulShape shape;
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  int64_t scratch_bytes = 0;
  std::unordered_map<int, dnnl::memory> arguments;
};

dnnl::memory::desc Matrix(int64_t rows, int64_t columns, Transpose transpose) {
  const dnnl::memory::dims strides =
      transpose == Transpose::kNo ? dnnl::memory::dims{columns, 1} : dnnl::memory::dims{1, rows};
  return {{rows, columns}, dnnl::memory::data_type::f32, strides};
}

dnnl::matmul::primitive_desc Describe(const MatmulShape& shape, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0F);
    attributes.set_post_ops(add);
  }
  const dnnl::matmul::desc description(Matrix(shape.m, shape.k, shape.transpose_a),
                                       Matrix(shape.k, shape.n, shape.transpose_b),
                                       Matrix(shape.m, shape.n, Transpose::kNo));
  return {description, attributes, engine};
}

Prepared Prepare(const MatmulShape& shape, const dnnl::engine& engine) {
  const dnnl::matmul::primitive_desc description = Describe(shape, engine);
  Prepared made;
  made.shape = shape;
  made.primitive = dnnl::matmul(description);
  made.a = dnnl::memory(description.src_desc(), engine, nullptr);
  made.b = dnnl::memory(description.weights_desc(), engine, nullptr);
  made.c = dnnl::memory(description.dst_desc(), engine, nullptr);
  made.scratch = dnnl::memory(description.scratchpad_desc(), engine, nullptr);
  made.scratch_bytes = static_cast<int64_t>(description.scratchpad_desc().get_size());
  made.arguments = {{DNNL_ARG_SRC, made.a},
                    {DNNL_ARG_WEIGHTS, made.b},
                    {DNNL_ARG_DST, made.c},
                    {DNNL_ARG_SCRATCHPAD, made.scratch}};
  return made;
}

Status FromError(const dnnl::error& error, const MatmulShape& shape) {
  const ErrorCode code = error.status == dnnl_out_of_memory ? ErrorCode::OUT_OF_MEMORY : ErrorCode::INTERNAL;
  return Status(code, "oneDNN, matrix product " + std::to_string(shape.m) + "×" + std::to_string(shape.n) +
                          "×" + std::to_string(shape.k) + ": " + error.message);
}

}  // namespace

struct MatmulCache::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::list<Prepared> products;  // the most recently used first

  Prepared& Find(const MatmulShape& shape) {
    for (auto product = products.begin(); product != products.end(); ++product) {
      if (product->shape == shape) {
        products.splice(products.begin(), products, product);
        return products.front();
      }
    }
    products.push_front(Prepare(shape, engine));
    if (products.size() > kMaxPreparedProducts) products.pop_back();
    return products.front();
  }
};

MatmulCache::MatmulCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MatmulCache::~MatmulCache() = default;

Result<std::unique_ptr<MatmulCache>> MatmulCache::Create(const Capability&) {
  try {
    return std::unique_ptr<MatmulCache>(new MatmulCache(std::make_unique<Impl>()));
  } catch (const dnnl::error& error) {
    return Status(ErrorCode::INTERNAL, std::string("oneDNN: ") + error.message);
  }
}

Status MatmulCache::Multiply(const MatmulShape& shape, const float* a, const float* b, float* c,
                             Workspace workspace) {
  try {
    Prepared& product = impl_->Find(shape);
    if (product.scratch_bytes > workspace.bytes) {
      return Status(ErrorCode::INTERNAL, "matrix product: oneDNN asks for " +
                                             std::to_string(product.scratch_bytes) + " bytes of workspace, " +
                                             std::to_string(workspace.bytes) + " are given");
    }
    product.a.set_data_handle(const_cast<float*>(a));
    product.b.set_data_handle(const_cast<float*>(b));
    product.c.set_data_handle(c);
    product.scratch.set_data_handle(workspace.data);
    product.primitive.execute(impl_->stream, product.arguments);
    return Ok();
  } catch (const dnnl::error& error) {
    return FromError(error, shape);
  }
}

Result<int64_t> MatmulCache::ScratchBytes(const MatmulShape& shape) {
  try {
    return static_cast<int64_t>(Describe(shape, impl_->engine).scratchpad_desc().get_size());
  } catch (const dnnl::error& error) {
    return FromError(error, shape);
  }
}

std::string MatmulCache::LibraryVersion() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace traind::ops
