/* The contract between a compiled model (model.so) and the runtime. Plain C.
 *
 * A model.so exports one symbol, `inf_model_query`. It has no mutable globals, needs no library,
 * and does no allocation, I/O or locking: everything a step touches is passed in `inf_step`.
 * Several models and several sessions live in one process.
 *
 * A step is one SPMD program: the runtime calls `model->step(&step, thread)` on `step.threads`
 * threads at once; the threads meet at `step.barrier`. It runs any mix of rows: chunks of prompts,
 * generated tokens of many sequences, drafts. What a row computes never depends on its companions,
 * on the number of threads or on how a prompt was cut into steps.
 *
 * Every struct starts with its size, so that a reader can tell an older from a newer one. */
#ifndef INF_ABI_H
#define INF_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INF_ABI_MAGIC 0x4c444d464e49ull /* "INFMDL" */
#define INF_ABI_VERSION 2u
#define INF_ABI_SYMBOL "inf_model_query"

/* Positions per tile of keys: the grid on which attention accumulates. */
#define INF_KEY_TILE 16u

enum inf_row_class { INF_ROW_PROMPT = 0, INF_ROW_GENERATED = 1, INF_ROW_DRAFT = 2 };
enum inf_row_output { INF_OUTPUT_NONE = 0, INF_OUTPUT_LOGITS = 1, INF_OUTPUT_HIDDEN = 2 };
enum inf_element { INF_ELEMENT_F32 = 0, INF_ELEMENT_BF16 = 2 };

/* One token of one sequence. Rows of a sequence are in ascending, gapless position order. */
typedef struct inf_row {
  int32_t token;     /* 0 <= token < vocabulary */
  int32_t position;  /* 0-based, < the session's context */
  int32_t sequence;  /* index into the block tables */
  int32_t adapter;   /* -1: none (the only value so far) */
  uint8_t row_class; /* inf_row_class: may select a numeric format, nothing else */
  uint8_t output;    /* bits of inf_row_output */
  uint8_t reserved[2];
} inf_row;

/* A group of layers whose keys and values share blocks: one block holds `block_tokens` positions of
 * every layer of the group, a slot for each. The slots of one layer lie together in memory
 * (inf_kv_view), those of one block far apart: a layer's attention so reads a few huge pages and
 * not one or two for each block. For kv head h, from the slot's start:
 *
 *   keys    h * head_bytes
 *   values  value_offset + h * head_bytes
 *
 * In f32 keys are [block_tokens/16][head_dim][16], values [block_tokens][head_dim]. In bf16 pairs
 * of dimensions and of positions lie together: keys [block_tokens/16][head_dim/2][16][2], values
 * [block_tokens/2][head_dim][2].
 * So the runtime can copy, hash, move and evict blocks without knowing the model. */
typedef struct inf_kv_group {
  uint32_t struct_bytes;
  uint32_t element;      /* inf_element */
  uint32_t block_tokens; /* multiple of INF_KEY_TILE */
  uint32_t slots;        /* layers in the group */
  uint32_t kv_heads, head_dim;
  uint32_t window; /* keys a query sees including itself; 0: all */
  uint32_t reserved;
  uint64_t head_bytes, value_offset;
  uint64_t slot_bytes;    /* multiple of 64 */
  uint64_t block_bytes;   /* slots * slot_bytes */
  const uint32_t *layers; /* [slots] model layer of each slot */
} inf_kv_group;

/* cos and sin are the runtime's to fill, in double, rounded once:
 * cos(position * inverse_frequency[j]) * attention_factor. */
typedef struct inf_rope {
  uint32_t struct_bytes;
  uint32_t head_dim;
  double attention_factor;
  const double *inverse_frequencies; /* [head_dim / 2] */
} inf_rope;

/* The static memory plan. */
typedef struct inf_plan {
  uint32_t struct_bytes;
  uint32_t max_rows, max_output_rows;
  uint32_t reserved;
  uint64_t arena_bytes; /* shared by all threads, 64-byte aligned; contents need no initialising */
  uint64_t scratch_bytes; /* per thread, multiple of 64 */
} inf_plan;

/* One session's view of a KV group during a step. */
typedef struct inf_kv_view {
  uint8_t *base; /* slot s of block b: base + s * slot_stride + b * slot_bytes; 64-byte aligned */
  const int32_t *table; /* [sequence][table_stride]: position / block_tokens -> block */
  int64_t table_stride;
  int64_t slot_stride; /* bytes, multiple of 64 */
} inf_kv_view;

/* Per-output scale and per-row addend of one linear for one adapter. Reserved: null so far. */
typedef struct inf_adapter inf_adapter;

typedef struct inf_step {
  uint32_t struct_bytes;
  uint32_t rows;             /* 1 .. max_rows */
  uint32_t output_rows;      /* rows whose `output` is not NONE, <= max_output_rows */
  uint32_t threads;          /* >= 1 */
  const inf_row *row;        /* [rows] */
  const int32_t *output_row; /* [output_rows] ascending indices into row[] */
  const uint8_t *weights;    /* the weights region, 64-byte aligned */
  uint8_t *arena;            /* plan->arena_bytes */
  uint8_t *scratch;          /* [threads] x plan->scratch_bytes */
  const inf_kv_view *kv;     /* [kv_groups] */
  const float *const *rope;  /* [ropes] -> [rows][2][head_dim / 2]: cos, then sin */
  float *logits;             /* [output_rows][logits_stride]; null: no row wants logits */
  float *hidden;             /* [output_rows][hidden_stride] after the final norm; null: none */
  float *taps;               /* [layers + 1][rows][hidden_stride]: the residual stream before
                                layer 0 and after each layer; null: none */
  void (*barrier)(void *state, uint32_t thread);
  void *barrier_state;
  const inf_adapter *adapters; /* null so far */
} inf_step;

typedef struct inf_model {
  uint64_t magic;   /* INF_ABI_MAGIC */
  uint32_t version; /* INF_ABI_VERSION */
  uint32_t struct_bytes;
  uint64_t build_id[2];  /* equals the payload header's */
  uint64_t feature_bits; /* what the code needs; the values of inf::Feature */
  uint32_t vocabulary, hidden, layers, max_context;
  uint32_t logits_stride, hidden_stride; /* floats per row, multiples of 16 */
  uint32_t kv_groups, ropes;
  const inf_kv_group *kv_group; /* [kv_groups] */
  const inf_rope *rope;         /* [ropes] */
  const inf_plan *plan;
  void (*step)(const inf_step *step, uint32_t thread);
} inf_model;

/* `const inf_model *inf_model_query(uint32_t runtime_version)`: null for a version it can't serve.
 */
typedef const inf_model *(*inf_model_query_fn)(uint32_t runtime_version);

#ifdef __cplusplus
} /* extern "C" */

static_assert(sizeof(inf_row) == 20, "inf_row is part of the ABI");
static_assert(sizeof(inf_kv_group) == 72, "inf_kv_group is part of the ABI");
static_assert(sizeof(inf_rope) == 24, "inf_rope is part of the ABI");
static_assert(sizeof(inf_plan) == 32, "inf_plan is part of the ABI");
static_assert(sizeof(inf_kv_view) == 32, "inf_kv_view is part of the ABI");
static_assert(sizeof(inf_step) == 120, "inf_step is part of the ABI");
static_assert(sizeof(inf_model) == 104, "inf_model is part of the ABI");
#endif

#endif /* INF_ABI_H */
