// A session runs rows of sequences through a model: it owns the memory of a step, the KV cache and
// the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/base/Region.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/kv/KvCache.h"
#include "runtime/loader/Model.h"
#include "runtime/session/StepThreads.h"
#include "runtime/threads/ThreadPool.h"

namespace inf {

/// Sees thread 0 come to each barrier of a step and go on from it: what a measurement of stages
/// needs. Called within the step: no allocation, no lock, no exception. Unused it costs nothing.
struct BarrierHook {
  void *state = nullptr;
  void (*arrive)(void *state) = nullptr; ///< null: no hook
  void (*leave)(void *state) = nullptr;  ///< set with `arrive`
  /// Called on thread 0 when a stage is complete, while all other threads wait: what the stage left
  /// in the arena can be read. After the last stage too. Null: not called.
  void (*complete)(void *state, const inf_step &step) = nullptr;
};

struct SessionOptions {
  uint32_t context = 4096; ///< tokens a sequence can hold, 1 .. the model's max_context
  uint32_t maxSequences = 1;
  uint64_t kvBytes = 0;  ///< of keys and values; 0: enough for every sequence to reach its context
  bool prefixes = false; ///< keep and share prefixes (attach, release, checkpoint)
  uint32_t checkpointTokens = 1024; ///< KvCacheOptions::checkpointTokens
  EvictionPolicy eviction = EvictionPolicy::CostAware;
  ThreadPlan threads; ///< planThreads(); the default is this thread alone, not bound
  /// Steps that wait for memory run on as many of the threads as it takes, found while they run.
  /// Results don't depend on it. All threads all the same where there are more than can run at a
  /// time, and where weights lie on the NUMA nodes of their readers.
  bool threadsFollowMemory = false;
  bool taps = false; ///< keep the residual stream of every layer (StepResult::tap)
  BarrierHook barrierHook;
};

/// Bytes that a session took when it was made; a page costs memory from its first use.
struct SessionMemory {
  uint64_t keysAndValues = 0; ///< blocks of all groups
  uint64_t step = 0;          ///< arena, scratch of all threads, rows in and out
};

/// One token to run. Its position is the next one of its sequence.
struct RowRequest {
  int32_t token = 0;
  uint32_t sequence = 0;
  inf_row_class rowClass = INF_ROW_PROMPT;
  uint8_t output = INF_OUTPUT_NONE; ///< bits of inf_row_output
};

/// Views into the session's memory, valid until its next step.
struct StepResult {
  uint32_t rows = 0, outputRows = 0;
  const inf_model *model = nullptr;
  const float *logitsBase = nullptr; ///< [outputRows][logits_stride]; null when no row wants them
  const float *hiddenBase = nullptr; ///< [outputRows][hidden_stride]; null when no row wants them
  const float *tapsBase = nullptr;   ///< [layers + 1][rows][hidden_stride]; null without taps

  /// `output` counts the rows that asked for an output, in order. [vocabulary]
  std::span<const float> logits(uint32_t output) const;
  std::span<const float> hidden(uint32_t output) const; ///< [hidden], after the final norm
  /// Residual stream of row `row` before layer `layer` (layer == layers: after the last). [hidden]
  std::span<const float> tap(uint32_t layer, uint32_t row) const;
};

struct PrefillOptions {
  uint32_t chunk = 0; ///< rows per step; 0 or more than the plan holds: as many as it holds
  /// Called with the logits of every token, in order; without it only the last token has logits.
  std::function<void(uint64_t index, std::span<const float> logits)> eachLogits;
  std::function<bool()> cancelled; ///< asked before each chunk; true ends the prefill there
};

struct PrefillResult {
  uint64_t tokens = 0;           ///< rows that ran; fewer than given only when cancelled
  std::span<const float> logits; ///< of the last token; empty when cancelled
};

/// Not thread-safe: one thread at a time, and the one that constructed it (the pool binds it).
///
/// Commitment: rows of class prompt and generated commit their sequence up to and including
/// themselves; draft rows do not. Window groups free blocks by the committed position, so drafts
/// can always be rolled back, however many ran.
///
/// With prefixes, a sequence begins with attach(), which may find its first tokens computed, and
/// ends with release(), which keeps them for others.
class Session {
public:
  /// Takes all memory and starts all threads. Fails with Usage for a context or a count of
  /// sequences that the model can't serve, Machine when the OS gives no memory.
  Session(std::shared_ptr<const Model> model, const SessionOptions &options);

  /// Runs 1 .. plan.max_rows rows of any mix of sequences. Allocates nothing and takes no lock.
  /// Nothing has happened when it fails: Usage (no rows, more rows or outputs than the plan holds,
  /// unknown token, sequence, class or output; a sequence with more uncommitted drafts than a
  /// window group has room for, no KV memory) or TooLong (a position beyond the context).
  StepResult step(std::span<const RowRequest> rows);

  /// Runs `tokens` as prompt rows of `sequence`, in chunks. The result does not depend on the
  /// chunks. Refused before any compute: no tokens or an unknown one (Usage), more than fit
  /// (TooLong).
  PrefillResult prefill(uint32_t sequence, std::span<const int32_t> tokens,
                        const PrefillOptions &options = {});

  /// Fails with TooLong, naming the numbers, unless `tokens` more fit into the sequence's context.
  void requireRoom(uint32_t sequence, uint64_t tokens) const;

  /// Begins `sequence`, which is empty, with what is cached of `tokens`, never the last of them:
  /// the position to go on from. Nothing of the bits that follow depends on it. `tenant` keeps
  /// prefixes of different owners apart. Fails with Usage when the sequence isn't empty.
  uint32_t attach(uint32_t sequence, std::span<const int32_t> tokens, uint64_t tenant = 0);
  /// The committed position is one to come back to; prefill() does so at its end.
  void checkpoint(uint32_t sequence);
  /// Ends the sequence; with prefixes its committed tokens stay cached.
  void release(uint32_t sequence);
  /// Forgets the sequence, and what it didn't share yet.
  void reset(uint32_t sequence);
  /// Takes the last `tokens` back. Always possible down to the committed position; further only as
  /// long as the window groups still hold what the next token would see. Else fails with Usage and
  /// changes nothing.
  void rollback(uint32_t sequence, uint32_t tokens);

  /// For the steps from now on; not within one.
  void setBarrierHook(BarrierHook hook) { barrierHook = hook; }

  uint32_t position(uint32_t sequence) const;  ///< of the next token = tokens held
  uint32_t committed(uint32_t sequence) const; ///< <= position; the rest are drafts
  uint32_t context() const { return contextTokens; }
  uint32_t maxRows() const { return code.plan->max_rows; }
  uint32_t maxOutputRows() const { return code.plan->max_output_rows; }
  unsigned threads() const { return pool.size(); }
  const Model &model() const { return *loaded; }
  SessionMemory memory() const;
  /// Steps without prompt rows, up to StepThreads::fewRows, run on so many threads from now on,
  /// whatever they take; nullopt: as the options say. Fails with Usage for 0 or more than
  /// threads().
  void fixDecodeThreads(std::optional<unsigned> threads);
  /// What threadsFollowMemory has come to; nullopt when it is off or nothing was generated yet.
  std::optional<StepThreadsReport> decodeThreads() const { return stepThreads.report(); }
  /// The threads of the steps, for measurements between steps.
  ThreadPool &threadPool() { return pool; }
  /// For a scheduler between steps. Its positions are the session's.
  KvCache &kv() { return cache; }
  const KvCache &kv() const { return cache; }

private:
  /// A sequence in the step that is being made.
  struct Part {
    uint32_t newRows = 0;
    uint32_t committed = 0; ///< after the step
  };
  /// What the rows of a step ask for.
  struct Wanted {
    uint32_t outputRows = 0;
    bool logits = false, hidden = false;
  };

  Wanted check(std::span<const RowRequest> rows);
  void checkRow(const RowRequest &row) const;
  void reserve();
  void place(std::span<const RowRequest> requests);
  void run(uint32_t rowCount, const Wanted &wanted);
  void finishStep();
  static void hookedBarrier(void *session, uint32_t thread);
  void requireSequence(uint32_t sequence) const;
  void requireToken(int32_t token) const;

  std::shared_ptr<const Model> loaded;
  const inf_model &code;
  uint32_t contextTokens;
  KvCache cache;
  std::vector<Part> parts;              // [maxSequences]
  Region rows;                          // inf_row [max_rows]
  Region outputRows;                    // int32 [max_output_rows]
  std::vector<Region> ropeRows;         // [ropes] of float [max_rows][2][head_dim / 2]
  std::vector<const float *> ropeBases; // [ropes]
  Region arena;                         // plan.arena_bytes
  Region scratch;                       // [threads] x plan.scratch_bytes
  Region logits;                        // float [max_output_rows][logits_stride]
  Region hidden;                        // float [max_output_rows][hidden_stride]
  Region taps;                          // float [layers + 1][max_rows][hidden_stride], or empty
  std::vector<RowRequest> chunk;        // [max_rows], prefill's
  BarrierHook barrierHook;
  const inf_step *running = nullptr; // for the hook, within run()
  ThreadPool pool;
  StepThreads stepThreads;
};

} // namespace inf
