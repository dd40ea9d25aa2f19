/* A model.so that keeps the contract of runtime/abi/inf_abi.h without being a language model.
 *
 * Keys and values are small integers that depend on token, position, layer, head and the RoPE row;
 * they live in the blocks the runtime gives. The logits are a hash of sums over all visible keys
 * and values. So a wrong table entry, a block freed too early, a wrong position, a lost row, a
 * wrong RoPE row or a missing barrier changes every logit, and the right answer is known exactly.
 *
 * FAKE_VARIANT makes the broken ones that the loader must refuse. */
#include "tests/runtime/session/fake_model.h"

#include "runtime/abi/inf_abi.h"

#ifndef FAKE_VARIANT
#define FAKE_VARIANT 0
#endif
#define FAKE_NO_SYMBOL 1
#define FAKE_NULL_TABLE 2
#define FAKE_OTHER_VERSION 3
#define FAKE_SHORT_STRUCT 4
#define FAKE_ODD_STRIDE 5
#define FAKE_WIDE_SLOTS 6

/* What the linker of a real model leaves for the payload: see runtime/format/Payload.h. */
__asm__(".section .inf.payload,\"\",@progbits\n"
        ".byte 0\n"
        ".section .note.inf,\"a\",@note\n"
        ".balign 4\n"
        ".long 4, 4, 1\n"
        ".asciz \"INF\"\n"
        ".long 0\n"
        ".text\n");

enum {
  HEAD_BYTES_FULL = FAKE_FULL_BLOCK * FAKE_HEAD_DIM * 4,
  HEAD_BYTES_WINDOW = FAKE_WINDOW_BLOCK * FAKE_HEAD_DIM * 4
};

static const uint32_t fullLayers[] = {1}, windowLayers[] = {0, 2};
static const inf_kv_group groups[FAKE_GROUPS] = {
    {sizeof(inf_kv_group), INF_ELEMENT_F32, FAKE_FULL_BLOCK, 1, FAKE_HEADS, FAKE_HEAD_DIM, 0, 0,
     HEAD_BYTES_FULL, FAKE_HEADS *HEAD_BYTES_FULL, 2 * FAKE_HEADS *HEAD_BYTES_FULL,
     2 * FAKE_HEADS *HEAD_BYTES_FULL, fullLayers},
    {sizeof(inf_kv_group), INF_ELEMENT_F32, FAKE_WINDOW_BLOCK, 2, FAKE_HEADS, FAKE_HEAD_DIM,
     FAKE_WINDOW, 0, HEAD_BYTES_WINDOW, FAKE_HEADS *HEAD_BYTES_WINDOW,
     2 * FAKE_HEADS *HEAD_BYTES_WINDOW + (FAKE_VARIANT == FAKE_WIDE_SLOTS ? 64 : 0),
     4 * FAKE_HEADS *HEAD_BYTES_WINDOW, windowLayers}};

static const double fullFrequencies[] = {1.0, 0.25, 0.0625, 0.015625},
                    windowFrequencies[] = {1, 0.01};
static const inf_rope ropes[FAKE_ROPES] = {{sizeof(inf_rope), 8, 1.25, fullFrequencies},
                                           {sizeof(inf_rope), 4, 1.0, windowFrequencies}};
static const inf_plan plan = {sizeof(inf_plan), FAKE_MAX_ROWS, FAKE_MAX_OUTPUT_ROWS, 0, 64 * 4, 64};

static uint32_t ropeHash(const inf_step *step, uint32_t group, uint32_t row) {
  const uint32_t *bits =
      (const uint32_t *)step->rope[group] + (uint64_t)row * ropes[group].head_dim;
  uint32_t hash = 0;
  for (uint32_t i = 0; i < ropes[group].head_dim; ++i)
    hash = fakeMix(hash, bits[i]);
  return hash;
}

static float *headStart(const inf_step *step, uint32_t g, int32_t sequence, int32_t position,
                        uint32_t slot, uint32_t head) {
  const inf_kv_group *group = &groups[g];
  const inf_kv_view *view = &step->kv[g];
  int32_t block =
      view->table[sequence * view->table_stride + position / (int32_t)group->block_tokens];
  return (float *)(view->base + slot * view->slot_stride + block * (int64_t)group->slot_bytes +
                   head * group->head_bytes);
}

static float *keyAt(const inf_step *step, uint32_t g, int32_t sequence, int32_t position,
                    uint32_t slot, uint32_t head, uint32_t d) {
  uint32_t inside = (uint32_t)position % groups[g].block_tokens;
  return headStart(step, g, sequence, position, slot, head) +
         (inside / 16 * FAKE_HEAD_DIM + d) * 16 + inside % 16;
}

static float *valueAt(const inf_step *step, uint32_t g, int32_t sequence, int32_t position,
                      uint32_t slot, uint32_t head, uint32_t d) {
  uint32_t inside = (uint32_t)position % groups[g].block_tokens;
  return headStart(step, g, sequence, position, slot, head) + groups[g].value_offset / 4 +
         inside * FAKE_HEAD_DIM + d;
}

static void storeRow(const inf_step *step, uint32_t r) {
  const inf_row *row = &step->row[r];
  for (uint32_t g = 0; g < FAKE_GROUPS; ++g) {
    uint32_t rope = ropeHash(step, g, r);
    for (uint32_t s = 0; s < groups[g].slots; ++s)
      for (uint32_t h = 0; h < FAKE_HEADS; ++h)
        for (uint32_t d = 0; d < FAKE_HEAD_DIM; ++d) {
          uint32_t layer = groups[g].layers[s];
          *keyAt(step, g, row->sequence, row->position, s, h, d) =
              (float)fakeElement(row->token, row->position, rope, layer, h, d, 0);
          *valueAt(step, g, row->sequence, row->position, s, h, d) =
              (float)fakeElement(row->token, row->position, rope, layer, h, d, 1);
        }
  }
  for (uint32_t layer = 0; step->taps && layer <= FAKE_LAYERS; ++layer)
    for (uint32_t i = 0; i < FAKE_HIDDEN; ++i)
      step->taps[((uint64_t)layer * step->rows + r) * FAKE_HIDDEN_STRIDE + i] =
          fakeTap(row->token, row->position, layer, i);
}

static uint32_t attend(const inf_step *step, const inf_row *row, uint32_t g, uint32_t s, uint32_t h,
                       uint32_t d) {
  int32_t window = (int32_t)groups[g].window;
  int32_t first = window && row->position + 1 > window ? row->position + 1 - window : 0;
  uint32_t sum = 0;
  for (int32_t k = first; k <= row->position; ++k)
    sum += fakeTerm((uint32_t)*keyAt(step, g, row->sequence, k, s, h, d),
                    (uint32_t)*valueAt(step, g, row->sequence, k, s, h, d), row->position, k);
  return sum;
}

static uint32_t stateOf(const inf_step *step, const inf_row *row) {
  const uint32_t *weights = (const uint32_t *)step->weights;
  uint32_t state = weights[row->token % FAKE_WEIGHTS];
  for (uint32_t g = 0; g < FAKE_GROUPS; ++g)
    for (uint32_t s = 0; s < groups[g].slots; ++s)
      for (uint32_t h = 0; h < FAKE_HEADS; ++h)
        for (uint32_t d = 0; d < FAKE_HEAD_DIM; ++d)
          state = fakeMix(state, attend(step, row, g, s, h, d));
  return state;
}

static void emitColumns(const inf_step *step, uint32_t thread, uint32_t wrong) {
  const uint32_t *states = (const uint32_t *)step->arena;
  for (uint32_t o = 0; o < step->output_rows; ++o) {
    uint8_t output = step->row[step->output_row[o]].output;
    for (uint32_t v = thread; (output & INF_OUTPUT_LOGITS) && v < FAKE_VOCABULARY;
         v += step->threads)
      step->logits[(uint64_t)o * FAKE_VOCABULARY + v] = fakeLogit(states[o] ^ wrong, v);
    for (uint32_t i = thread; (output & INF_OUTPUT_HIDDEN) && i < FAKE_HIDDEN; i += step->threads)
      step->hidden[(uint64_t)o * FAKE_HIDDEN_STRIDE + i] = fakeHidden(states[o] ^ wrong, i);
  }
}

static void run(const inf_step *step, uint32_t thread) {
  uint32_t *mine = (uint32_t *)(step->scratch + thread * plan.scratch_bytes);
  *mine = thread + 1;
  for (uint32_t r = thread; r < step->rows; r += step->threads)
    storeRow(step, r);
  step->barrier(step->barrier_state, thread);
  for (uint32_t o = thread; o < step->output_rows; o += step->threads)
    ((uint32_t *)step->arena)[o] = stateOf(step, &step->row[step->output_row[o]]);
  step->barrier(step->barrier_state, thread);
  emitColumns(step, thread, *mine ^ (thread + 1)); /* 0 unless threads share scratch */
}

static const inf_model model = {
    .magic = INF_ABI_MAGIC,
    .version = FAKE_VARIANT == FAKE_OTHER_VERSION ? INF_ABI_VERSION + 1 : INF_ABI_VERSION,
    .struct_bytes = sizeof(inf_model) - (FAKE_VARIANT == FAKE_SHORT_STRUCT ? 8 : 0),
    .build_id = {FAKE_BUILD_ID_LOW, FAKE_BUILD_ID_HIGH},
    .feature_bits = 0,
    .vocabulary = FAKE_VOCABULARY,
    .hidden = FAKE_HIDDEN,
    .layers = FAKE_LAYERS,
    .max_context = FAKE_CONTEXT,
    .logits_stride = FAKE_VOCABULARY + (FAKE_VARIANT == FAKE_ODD_STRIDE ? 1 : 0),
    .hidden_stride = FAKE_HIDDEN_STRIDE,
    .kv_groups = FAKE_GROUPS,
    .ropes = FAKE_ROPES,
    .kv_group = groups,
    .rope = ropes,
    .plan = &plan,
    .step = run,
};

#if FAKE_VARIANT == FAKE_NO_SYMBOL
#define inf_model_query some_other_symbol
#endif

__attribute__((visibility("default"))) const inf_model *inf_model_query(uint32_t runtime_version);

const inf_model *inf_model_query(uint32_t runtime_version) {
  if (FAKE_VARIANT == FAKE_NULL_TABLE || runtime_version != INF_ABI_VERSION)
    return 0;
  return &model;
}
