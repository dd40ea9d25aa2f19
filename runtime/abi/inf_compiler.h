/* The contract between infrun and the compiler that it may load at run time (libinf_compiler.so).
 * Plain C: neither side sees the other's types, and no exception crosses it.
 *
 * The library exports one symbol, `inf_compiler_query`. Functions return 0, or what went wrong as
 * an exit code (README.md) with a message in `inf_compiler_error`. One call at a time. */
#ifndef INF_COMPILER_H
#define INF_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INF_COMPILER_VERSION 1u
#define INF_COMPILER_SYMBOL "inf_compiler_query"

struct inf_model; /* runtime/abi/inf_abi.h */

typedef struct inf_compiler_error {
  char text[4096]; /* ends with 0; longer messages are cut */
} inf_compiler_error;

/* What to compile, as `infc compile` would be told. Texts end with 0; "" or null: the default. */
typedef struct inf_compile_request {
  uint32_t struct_bytes;
  uint32_t threads; /* that pack weights, >= 1 */
  const char *input;
  const char *target, *quant, *activations, *kv, *weights;
  void *state;                                                /* for the two below */
  void (*progress)(void *state, uint64_t done, uint64_t all); /* packing; null: none */
  void (*report)(void *state, const char *line); /* what was decided; null: nobody asks */
} inf_compile_request;

/* A function of code in memory. */
typedef struct inf_code_symbol {
  const char *name;
  uint64_t address, bytes;
} inf_code_symbol;

/* A model whose code is in this process and has not run yet. Everything belongs to the compiler and
 * goes with `discard`. */
typedef struct inf_compiled {
  uint32_t struct_bytes;
  uint32_t symbol_count;
  const inf_code_symbol *symbols; /* [symbol_count] ascending addresses */
  const char *manifest, *tokenizer, *chat_template;
  uint64_t manifest_bytes, tokenizer_bytes, chat_template_bytes;
  uint64_t build_id[2];
  const struct inf_model *(*query)(uint32_t runtime_version); /* as of a model.so */
} inf_compiled;

typedef struct inf_compiler {
  uint32_t struct_bytes;
  uint32_t version; /* INF_COMPILER_VERSION */
  /* Writes the model.so that `infc compile` writes; nothing half-written stays. */
  int32_t (*compile_to_file)(const inf_compile_request *request, const char *output,
                             inf_compiler_error *error);
  /* The same code, linked into this process. `request` is not used afterwards. */
  int32_t (*compile_in_memory)(const inf_compile_request *request, inf_compiled **compiled,
                               inf_compiler_error *error);
  /* Packs the weights as the manifest lays them out into [bytes] zeroed bytes. */
  int32_t (*pack_weights)(const inf_compiled *compiled, const inf_compile_request *request,
                          uint8_t *weights, uint64_t bytes, inf_compiler_error *error);
  void (*discard)(inf_compiled *compiled);
} inf_compiler;

/* `const inf_compiler *inf_compiler_query(uint32_t version)`: null for a version it can't serve. */
typedef const inf_compiler *(*inf_compiler_query_fn)(uint32_t version);

#ifdef __cplusplus
} /* extern "C" */

static_assert(sizeof(inf_compile_request) == 80, "inf_compile_request is part of the contract");
static_assert(sizeof(inf_code_symbol) == 24, "inf_code_symbol is part of the contract");
static_assert(sizeof(inf_compiled) == 88, "inf_compiled is part of the contract");
static_assert(sizeof(inf_compiler) == 40, "inf_compiler is part of the contract");
#endif

#endif /* INF_COMPILER_H */
