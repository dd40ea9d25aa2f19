#include "runtime/engine/SessionRunner.h"

#include <algorithm>

#include "runtime/cpu/Memory.h"
#include "runtime/engine/KvMemory.h"
#include "runtime/session/Session.h"

namespace inf {
namespace {

SessionOptions sessionOptions(const Model &model, const EngineOptions &options) {
  const inf_model &code = model.code();
  SessionOptions session;
  session.context = options.context != 0 ? options.context : code.max_context;
  session.maxSequences = options.sequences;
  session.prefixes = options.prefixes;
  session.threads = options.threads;
  session.threadsFollowMemory = options.threadsFollowMemory;
  session.kvBytes = options.kvBytes;
  if (options.kvBytes == 0) {
    KvCacheOptions kv;
    kv.sequences = options.sequences;
    kv.context = session.context;
    kv.maxRows = code.plan->max_rows;
    kv.prefixes = options.prefixes;
    session.kvBytes = defaultKvBytes({code.kv_group, code.kv_groups}, kv, availableMemoryBytes());
  }
  return session;
}

class SessionRunner : public StepRunner {
public:
  SessionRunner(std::shared_ptr<const Model> model, const EngineOptions &options)
      : session(model, sessionOptions(*model, options)) {
    requests.reserve(session.maxRows());
  }

  RunnerFacts facts() const override {
    RunnerFacts facts;
    facts.vocabulary = session.model().code().vocabulary;
    facts.context = session.context();
    facts.stepTokens = session.maxRows();
    facts.stepOutputs = session.maxOutputRows();
    for (int64_t id : session.model().manifest().eosTokens)
      facts.stopTokens.push_back(static_cast<int32_t>(id)); // the loader has checked the range
    return facts;
  }
  KvCache &kv() override { return session.kv(); }

  void run(std::span<const PlannedRow> rows) override {
    requests.clear();
    for (const PlannedRow &row : rows)
      requests.push_back({row.token, row.slot, row.generated ? INF_ROW_GENERATED : INF_ROW_PROMPT,
                          row.output ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
    result = session.step(requests);
  }
  std::span<const float> logits(uint32_t output) const override { return result.logits(output); }
  std::optional<StepThreadsReport> decodeThreads() const override {
    return session.decodeThreads();
  }

private:
  Session session;
  std::vector<RowRequest> requests; // [max_rows]
  StepResult result;
};

} // namespace

std::unique_ptr<StepRunner> makeSessionRunner(std::shared_ptr<const Model> model,
                                              const EngineOptions &options) {
  return std::make_unique<SessionRunner>(std::move(model), options);
}

} // namespace inf
