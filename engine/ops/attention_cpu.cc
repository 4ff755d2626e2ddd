// Attention on the CPU: blocks of 64 queries against blocks of 64 keys, all tiles of a pair in the caches.
//
// Scores are computed transposed, a key per row and the queries along the vectors (scores_KQ): the softmax
// then runs along rows without sums across lanes, and every product of the two passes has one form
// (tile_product.h). Tiles are padded with zeros to whole blocks, so head sizes and lengths need no special
// cases. On the diagonal only the part that causality leaves is computed, rounded up to blocks.
#include "engine/ops/attention.h"

#include <omp.h>

#include "engine/ops/cpu_kernel.h"
#include "engine/ops/tile_product.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kPad = 16;  // rows of a tile are whole cache lines
constexpr int64_t kTileElements = kBlock * kMaxHeadSize;

int64_t Min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Strides and scales, and where heads begin in a row.
struct Geometry {
  explicit Geometry(const AttentionShape& shape)
      : s(shape),
        row_stride((shape.heads + 2 * shape.kv_heads) * shape.head_size),
        out_stride(shape.heads * shape.head_size),
        padded(RoundUp(shape.head_size, kPad)),
        blocks((shape.sequence + kBlock - 1) / kBlock),
        scale(1.0F / __builtin_sqrtf((float)shape.head_size)) {}

  int64_t Query(int64_t b, int64_t h) const { return b * s.sequence * row_stride + h * s.head_size; }
  int64_t Key(int64_t b, int64_t g) const {
    return b * s.sequence * row_stride + (s.heads + g) * s.head_size;
  }
  int64_t Value(int64_t b, int64_t g) const { return Key(b, g) + s.kv_heads * s.head_size; }
  int64_t Out(int64_t b, int64_t h) const { return b * s.sequence * out_stride + h * s.head_size; }
  int64_t Lse(int64_t b, int64_t h) const { return (b * s.heads + h) * s.sequence; }
  int64_t RowsOf(int64_t block) const { return Min(kBlock, s.sequence - block * kBlock); }

  AttentionShape s;
  int64_t row_stride, out_stride, padded, blocks;
  float scale;
};

void Zero(int64_t elements, float* x) {
#pragma omp simd
  for (int64_t i = 0; i < elements; ++i) x[i] = 0;
}

// rows × head_size elements, `factor` times, as a tile of kBlock rows of `padded` elements.
// Rows lie far apart, further than the hardware's prefetching sees.
template <typename T>
void PackRows(const Geometry& g, int64_t rows, const T* from, int64_t stride, float factor, float* tile) {
  constexpr int64_t kAhead = 12, kLine = 64 / sizeof(T);
  for (int64_t row = 0; row < rows; ++row) {
    const T* source = from + row * stride;
    const T* later = from + Min(row + kAhead, rows - 1) * stride;
    for (int64_t i = 0; i < g.s.head_size; i += kLine) __builtin_prefetch(later + i);
    float* to = tile + row * g.padded;
    ForLanes(g.s.head_size, [=](int64_t i, int64_t lanes) {
      StoreUpTo(to + i, LoadUpTo(source + i, lanes) * factor, lanes);
    });
    if (g.s.head_size < g.padded) Zero(g.padded - g.s.head_size, to + g.s.head_size);
  }
  if (rows < kBlock) Zero((kBlock - rows) * g.padded, tile + rows * g.padded);
}

// The same tile the other way round: head_size rows of kBlock elements (rounded up to four rows).
void Transpose(const Geometry& g, const float* tile, float* transposed) {
  for (int64_t row = 0; row < kBlock; row += 4) {
    for (int64_t i = 0; i < g.s.head_size; i += 4) {
      TransposeQuads(tile + row * g.padded + i, g.padded, transposed + i * kBlock + row, kBlock);
    }
  }
}

// Where rows of scores_KQ are needed for the kBlockColumns queries from `column`: keys after the last of them
// are not.
int64_t KeysFor(int64_t keys, int64_t column, bool diagonal) {
  return diagonal ? Min(keys, column + kBlockColumns) : keys;
}

// scores_KQ = rows_KD · columns_DQ, for as many queries as there are.
void Scores(int64_t keys, int64_t queries, int64_t depth, bool diagonal, Left rows, const float* columns_DQ,
            float* scores_KQ) {
  for (int64_t column = 0; column < queries; column += kBlockColumns) {
    Product<false>(KeysFor(keys, column, diagonal), kBlockColumns, depth, rows, {columns_DQ + column, kBlock},
                   {scores_KQ + column, kBlock});
  }
}

// sums_QD += scores_KQᵀ · rows_KD.
void AddWeighted(int64_t keys, int64_t queries, const Geometry& g, bool diagonal, const float* scores_KQ,
                 const float* rows_KD, float* sums_QD) {
  for (int64_t column = 0; column < queries; column += kBlockColumns) {
    Product<true>(Min(kBlockColumns, queries - column), g.padded, KeysFor(keys, column, diagonal),
                  {scores_KQ + column, 1, kBlock}, {rows_KD, g.padded},
                  {sums_QD + column * g.padded, g.padded});
  }
}

// All ones where the query of a lane may see the key.
VectorInt Sees(int64_t column, int64_t key) {
  VectorInt query;
  for (int lane = 0; lane < kLanes; ++lane) query[lane] = (int32_t)column + lane;
  return query >= (int32_t)key;
}

struct ForwardTiles {
  float query_QD[kTileElements], query_DQ[kTileElements], key_KD[kTileElements], value_KD[kTileElements];
  float sum_QD[kTileElements];
  float score_KQ[kBlock * kBlock];
  float largest_Q[kBlock], total_Q[kBlock], shrink_Q[kBlock];
};
static_assert(sizeof(ForwardTiles) <= AttentionWorkspaceBytes(1));

// One vector of queries: turns their scores into exp(score − largest) and updates largest and total.
void SoftmaxColumn(int64_t keys, int64_t column, bool diagonal, ForwardTiles& t) {
  float* score = t.score_KQ + column;
  const Vector before = Load(t.largest_Q + column);
  Vector largest = before;
  for (int64_t key = 0; key < keys; ++key) {
    Vector x = Load(score + key * kBlock);
    if (diagonal && key > column) x = Sees(column, key) ? x : before;
    largest = x > largest ? x : largest;
  }
  Vector total = {};
  for (int64_t key = 0; key < keys; ++key) {
    Vector p = Exp(Load(score + key * kBlock) - largest);
    if (diagonal && key > column) p = Sees(column, key) ? p : Vector{};
    Store(score + key * kBlock, p);
    total += p;
  }
  const Vector shrink = Exp(before - largest);
  Store(t.shrink_Q + column, shrink);
  Store(t.largest_Q + column, largest);
  Store(t.total_Q + column, Load(t.total_Q + column) * shrink + total);
}

void ForwardPair(const Geometry& g, int64_t queries, int64_t key_rows, bool diagonal, ForwardTiles& t) {
  const int64_t keys = RoundUp(key_rows, kBlockRows);
  Scores(keys, queries, g.s.head_size, diagonal, {t.key_KD, g.padded, 1}, t.query_DQ, t.score_KQ);
  // Keys beyond the sequence are later than all its queries, so that the diagonal's mask hides them too.
  for (int64_t column = 0; column < RoundUp(queries, kBlockColumns); column += kLanes) {
    SoftmaxColumn(KeysFor(keys, column / kBlockColumns * kBlockColumns, diagonal), column, diagonal, t);
  }
  for (int64_t row = 0; row < queries; ++row) {
    float* sum = t.sum_QD + row * g.padded;
#pragma omp simd
    for (int64_t i = 0; i < g.padded; ++i) sum[i] *= t.shrink_Q[row];
  }
  AddWeighted(keys, queries, g, diagonal, t.score_KQ, t.value_KD, t.sum_QD);
}

// One row of a tile, `factor` times, to where it belongs.
template <typename T>
void StoreRow(const Geometry& g, const float* row, float factor, T* to) {
  ForLanes(g.s.head_size,
           [=](int64_t i, int64_t lanes) { StoreUpTo(to + i, LoadUpTo(row + i, lanes) * factor, lanes); });
}

template <typename T>
void ForwardBlock(const Geometry& g, int64_t b, int64_t h, int64_t block, const T* qkv, T* out, float* lse,
                  ForwardTiles& t) {
  const int64_t first = block * kBlock, queries = g.RowsOf(block), group = h / (g.s.heads / g.s.kv_heads);
  PackRows(g, queries, qkv + g.Query(b, h) + first * g.row_stride, g.row_stride, g.scale, t.query_QD);
  Transpose(g, t.query_QD, t.query_DQ);
  Zero(kBlock * g.padded, t.sum_QD);
  for (int64_t i = 0; i < kBlock; ++i) {
    t.largest_Q[i] = -__builtin_inff();
    t.total_Q[i] = 0;
  }
  for (int64_t other = 0; other <= block; ++other) {
    const int64_t at = other * kBlock * g.row_stride;
    PackRows(g, g.RowsOf(other), qkv + g.Key(b, group) + at, g.row_stride, 1, t.key_KD);
    PackRows(g, g.RowsOf(other), qkv + g.Value(b, group) + at, g.row_stride, 1, t.value_KD);
    ForwardPair(g, queries, g.RowsOf(other), other == block, t);
  }
  for (int64_t row = 0; row < queries; ++row) {
    const float share = 1.0F / t.total_Q[row];
    StoreRow(g, t.sum_QD + row * g.padded, share, out + g.Out(b, h) + (first + row) * g.out_stride);
    lse[g.Lse(b, h) + first + row] = t.largest_Q[row] + __builtin_logf(t.total_Q[row]);
  }
}

// A task is a block of queries of a head; it writes what no other task touches.
template <typename T>
void Forward(int threads, const AttentionShape& shape, const T* qkv, T* out, float* lse, char* workspace) {
  const Geometry g(shape);
  const int64_t tasks = shape.batch * shape.heads * g.blocks;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    auto& tiles = *(ForwardTiles*)(workspace + omp_get_thread_num() * AttentionWorkspaceBytes(1));
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < tasks; ++task) {
      const int64_t head = task / g.blocks;
      ForwardBlock(g, head / shape.heads, head % shape.heads, g.blocks - 1 - task % g.blocks, qkv, out, lse,
                   tiles);
    }
  }
}

struct BackwardTiles {
  float query_QD[kTileElements], query_DQ[kTileElements], key_KD[kTileElements], value_KD[kTileElements];
  float dout_QD[kTileElements], dout_DQ[kTileElements], dquery_QD[kTileElements], product_KD[kTileElements];
  float p_KQ[kBlock * kBlock], ds_KQ[kBlock * kBlock];
  float lse_Q[kBlock], delta_Q[kBlock];
};
static_assert(sizeof(BackwardTiles) <= AttentionWorkspaceBytes(1));

// p = exp(score − lse), ds = p · (dp − delta); both stand in for score and dp.
void BackwardColumn(int64_t keys, int64_t column, bool diagonal, BackwardTiles& t) {
  const Vector lse = Load(t.lse_Q + column), delta = Load(t.delta_Q + column);
  for (int64_t key = 0; key < keys; ++key) {
    const int64_t at = key * kBlock + column;
    Vector p = Exp(Load(t.p_KQ + at) - lse);
    if (diagonal && key > column) p = Sees(column, key) ? p : Vector{};
    Store(t.p_KQ + at, p);
    Store(t.ds_KQ + at, p * (Load(t.ds_KQ + at) - delta));
  }
}

// sums_KD += scores_KQ · rows_QD, for the keys that there are; queries before a block of keys are left out on
// the diagonal.
void AddToKeys(const Geometry& g, int64_t key_rows, int64_t queries, bool diagonal, const float* scores_KQ,
               const float* rows_QD, float* product_KD, float* sums_KD) {
  for (int64_t key = 0; key < key_rows; key += kBlockRows) {
    const int64_t skipped = diagonal ? key : 0;
    Product<false>(kBlockRows, g.padded, queries - skipped, {scores_KQ + key * kBlock + skipped, kBlock, 1},
                   {rows_QD + skipped * g.padded, g.padded}, {product_KD + key * g.padded, g.padded});
  }
  for (int64_t i = 0; i < key_rows * g.padded; i += kLanes) {
    Store(sums_KD + i, Load(sums_KD + i) + Load(product_KD + i));
  }
}

void BackwardPair(const Geometry& g, int64_t queries, int64_t key_rows, bool diagonal, float* dkey,
                  float* dvalue, BackwardTiles& t) {
  const int64_t keys = RoundUp(key_rows, kBlockRows);
  Scores(keys, queries, g.s.head_size, diagonal, {t.key_KD, g.padded, 1}, t.query_DQ, t.p_KQ);
  Scores(keys, queries, g.s.head_size, diagonal, {t.value_KD, g.padded, 1}, t.dout_DQ, t.ds_KQ);
  for (int64_t column = 0; column < RoundUp(queries, kBlockColumns); column += kLanes) {
    BackwardColumn(KeysFor(keys, column / kBlockColumns * kBlockColumns, diagonal), column, diagonal, t);
  }
  AddToKeys(g, key_rows, queries, diagonal, t.p_KQ, t.dout_QD, t.product_KD, dvalue);
  AddToKeys(g, key_rows, queries, diagonal, t.ds_KQ, t.query_QD, t.product_KD, dkey);
  AddWeighted(keys, queries, g, diagonal, t.ds_KQ, t.key_KD, t.dquery_QD);
}

// Packs a block of queries with what belongs to it; delta = Σ dout·out.
template <typename T>
void PackQueries(const Geometry& g, int64_t b, int64_t h, int64_t block, const T* qkv, const T* out,
                 const float* lse, const T* dout, BackwardTiles& t) {
  const int64_t first = block * kBlock, queries = g.RowsOf(block);
  const int64_t at = g.Out(b, h) + first * g.out_stride;
  PackRows(g, queries, qkv + g.Query(b, h) + first * g.row_stride, g.row_stride, g.scale, t.query_QD);
  PackRows(g, queries, dout + at, g.out_stride, 1, t.dout_QD);
  Transpose(g, t.query_QD, t.query_DQ);
  Transpose(g, t.dout_QD, t.dout_DQ);
  PackRows(g, queries, out + at, g.out_stride, 1, t.dquery_QD);
  for (int64_t row = 0; row < kBlock; ++row) {
    Vector sum = {};
    for (int64_t i = 0; i < g.padded; i += kLanes) {
      sum += Load(t.dout_QD + row * g.padded + i) * Load(t.dquery_QD + row * g.padded + i);
    }
    t.delta_Q[row] = Sum(sum);
    t.lse_Q[row] = row < queries ? lse[g.Lse(b, h) + first + row] : 0;
  }
  Zero(kBlock * g.padded, t.dquery_QD);
}

// The gradients of a head's keys and values, in fp32 until all queries have added to them.
struct KeyValueSums {
  float *key_TD, *value_TD;
};

template <typename T>
void BackwardBlock(const Geometry& g, int64_t b, int64_t h, int64_t block, const T* qkv, KeyValueSums sums,
                   T* dqkv, BackwardTiles& t) {
  const int64_t queries = g.RowsOf(block), group = h / (g.s.heads / g.s.kv_heads);
  for (int64_t other = 0; other <= block; ++other) {
    const int64_t at = other * kBlock * g.row_stride, sums_at = other * kBlock * g.padded;
    PackRows(g, g.RowsOf(other), qkv + g.Key(b, group) + at, g.row_stride, 1, t.key_KD);
    PackRows(g, g.RowsOf(other), qkv + g.Value(b, group) + at, g.row_stride, 1, t.value_KD);
    BackwardPair(g, queries, g.RowsOf(other), other == block, sums.key_TD + sums_at, sums.value_TD + sums_at,
                 t);
  }
  T* dquery = dqkv + g.Query(b, h) + block * kBlock * g.row_stride;
  for (int64_t row = 0; row < queries; ++row) {
    StoreRow(g, t.dquery_QD + row * g.padded, g.scale, dquery + row * g.row_stride);
  }
}

// A task is a key-value head with the query heads that read it: only it adds to their gradients, in a fixed
// order.
template <typename T>
void BackwardGroup(const Geometry& g, int64_t b, int64_t group, const T* qkv, const T* out, const float* lse,
                   const T* dout, T* dqkv, KeyValueSums sums, BackwardTiles& t) {
  const int64_t heads_per_group = g.s.heads / g.s.kv_heads;
  Zero(g.s.sequence * g.padded, sums.key_TD);
  Zero(g.s.sequence * g.padded, sums.value_TD);
  for (int64_t h = group * heads_per_group; h < (group + 1) * heads_per_group; ++h) {
    for (int64_t block = 0; block < g.blocks; ++block) {
      PackQueries(g, b, h, block, qkv, out, lse, dout, t);
      BackwardBlock(g, b, h, block, qkv, sums, dqkv, t);
    }
  }
  for (int64_t row = 0; row < g.s.sequence; ++row) {
    StoreRow(g, sums.key_TD + row * g.padded, 1, dqkv + g.Key(b, group) + row * g.row_stride);
    StoreRow(g, sums.value_TD + row * g.padded, 1, dqkv + g.Value(b, group) + row * g.row_stride);
  }
}

template <typename T>
void BackwardInput(int threads, const AttentionShape& shape, const T* qkv, const T* out, const float* lse,
                   const T* dout, T* dqkv, char* workspace) {
  const Geometry g(shape);
  const int64_t bytes = AttentionBackwardWorkspaceBytes(1, shape.sequence, shape.head_size);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    char* const own = workspace + omp_get_thread_num() * bytes;
    auto& tiles = *(BackwardTiles*)own;
    auto* const keys = (float*)(own + AttentionWorkspaceBytes(1));
    const KeyValueSums sums = {keys, keys + shape.sequence * g.padded};
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < shape.batch * shape.kv_heads; ++task) {
      BackwardGroup(g, task / shape.kv_heads, task % shape.kv_heads, qkv, out, lse, dout, dqkv, sums, tiles);
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.attention_forward = Forward<T>;
  table.attention_backward_input = BackwardInput<T>;
}

}  // namespace

void InstallAttention(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
