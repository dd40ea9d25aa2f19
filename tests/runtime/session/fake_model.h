/* The dimensions of the fake model, shared by its code and by the tests that check it. */
#ifndef INF_TESTS_FAKE_MODEL_H
#define INF_TESTS_FAKE_MODEL_H

#include <stdint.h>

enum {
  FAKE_VOCABULARY = 272, /* 256 bytes, merges, special tokens, padding rows */
  FAKE_HIDDEN = 24,
  FAKE_HIDDEN_STRIDE = 32,
  FAKE_LAYERS = 3,
  FAKE_CONTEXT = 4096,
  FAKE_MAX_ROWS = 64,
  FAKE_MAX_OUTPUT_ROWS = 16,
  FAKE_HEADS = 2,
  FAKE_HEAD_DIM = 4,
  FAKE_GROUPS = 2,
  FAKE_FULL_BLOCK = 32,
  FAKE_WINDOW_BLOCK = 16,
  FAKE_WINDOW = 20,
  FAKE_WEIGHTS = 64, /* one f32 vector */
  FAKE_ROPES = 2
};

#define FAKE_BUILD_ID_LOW 0x1122334455667788ull
#define FAKE_BUILD_ID_HIGH 0x99aabbccddeeff00ull

/* splitmix64's finalizer, cut to 32 bits: every input bit changes about half of the output. */
static inline uint32_t fakeMix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return (uint32_t)(x ^ (x >> 31));
}

/* Element d of head h of layer `layer` for a token at a position, 0..15; `rope` is the hash of the
 * RoPE row the step was given; `part` is 0 for keys, 1 for values. */
static inline uint32_t fakeElement(int32_t token, int32_t position, uint32_t rope, uint32_t layer,
                                   uint32_t head, uint32_t d, uint32_t part) {
  uint64_t who = ((uint64_t)(uint32_t)token << 32) | (uint32_t)position;
  uint64_t where = (((uint64_t)layer * 8 + head) * 8 + d) * 2 + part;
  return fakeMix(fakeMix(who, where), rope) & 15;
}

/* What a key adds to the sum of a query: it depends on both positions. */
static inline uint32_t fakeTerm(uint32_t key, uint32_t value, int32_t query, int32_t position) {
  return key * (uint32_t)((query - position) % 7 + 1) + value * (uint32_t)(position % 5 + 1);
}

/* Exactly representable: 20 bits over 2^16. */
static inline float fakeLogit(uint32_t state, uint32_t v) {
  return (float)(fakeMix(state, v) & 0xfffff) / 65536.0f;
}

static inline float fakeHidden(uint32_t state, uint32_t i) {
  return (float)(fakeMix(state, 100000 + i) & 0xfff);
}

static inline float fakeTap(int32_t token, int32_t position, uint32_t layer, uint32_t i) {
  return (float)(fakeMix(fakeMix((uint32_t)token, (uint32_t)position), layer * 64 + i) & 0xfff);
}

#endif
