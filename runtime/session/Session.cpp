#include "runtime/session/Session.h"

#include <algorithm>

#include "runtime/base/Error.h"
#include "runtime/session/Rope.h"
#include "runtime/session/Traffic.h"

namespace inf {
namespace {

uint32_t checkedContext(const Model &model, const SessionOptions &options) {
  uint32_t most = model.code().max_context;
  if (options.context < 1 || options.context > most)
    fail(
        ErrorCode::Usage,
        "a context of {} tokens is not possible with this model: expected 1 to {}. Choose another.",
        options.context, most);
  return options.context;
}

/// What a position adds to the cost of a token that comes after it, over that of a token alone: by
/// the bytes read, which is the time of a generated token and near enough to that of a prompt's.
double positionCost(const Model &model) {
  constexpr uint64_t far = 1 << 24; // beyond any window
  auto added =
      static_cast<double>(kvBytesRead(model.code(), far + 1) - kvBytesRead(model.code(), far));
  return added / static_cast<double>(std::max<uint64_t>(1, model.manifest().bytesPerToken));
}

KvCacheOptions cacheOptions(const Model &loaded, const SessionOptions &options) {
  const inf_model &model = loaded.code();
  KvCacheOptions cache;
  cache.sequences = options.maxSequences;
  cache.context = options.context;
  cache.maxRows = model.plan->max_rows;
  cache.bytes = options.kvBytes;
  cache.prefixes = options.prefixes;
  cache.checkpointTokens = options.checkpointTokens;
  cache.eviction = options.eviction;
  cache.positionCost = positionCost(loaded);
  cache.modelSalt = {model.build_id[0], model.build_id[1]};
  return cache;
}

Region floats(uint64_t count, uint64_t stride, std::string_view what) {
  return {bufferBytes(count, stride * sizeof(float), what), what};
}

std::span<const int> cpusToBind(const ThreadPlan &plan) {
  return plan.pin ? std::span<const int>(plan.cpus) : std::span<const int>();
}

/// Not where fewer threads are another thing than less of the same: with more threads than CPUs the
/// times say who was waited for, and weights on the node of their reader would be read by others.
bool mayFollowMemory(const Model &model, const SessionOptions &options) {
  return options.threadsFollowMemory && options.threads.threads <= options.threads.capacity &&
         model.nodePlacement().runs.empty();
}

} // namespace

std::span<const float> StepResult::logits(uint32_t output) const {
  if (!logitsBase || output >= outputRows)
    fail(ErrorCode::Internal, "logits of output {} of {} were not computed", output, outputRows);
  return {logitsBase + uint64_t{output} * model->logits_stride, model->vocabulary};
}

std::span<const float> StepResult::hidden(uint32_t output) const {
  if (!hiddenBase || output >= outputRows)
    fail(ErrorCode::Internal, "hidden of output {} of {} was not computed", output, outputRows);
  return {hiddenBase + uint64_t{output} * model->hidden_stride, model->hidden};
}

std::span<const float> StepResult::tap(uint32_t layer, uint32_t row) const {
  if (!tapsBase || layer > model->layers || row >= rows)
    fail(ErrorCode::Internal, "tap {} of row {} of {} was not kept", layer, row, rows);
  uint64_t index = uint64_t{layer} * rows + row;
  return {tapsBase + index * model->hidden_stride, model->hidden};
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions &options)
    : loaded(std::move(model)), code(loaded->code()),
      contextTokens(checkedContext(*loaded, options)),
      cache({code.kv_group, code.kv_groups}, cacheOptions(*loaded, options)),
      parts(options.maxSequences),
      rows(bufferBytes(maxRows(), sizeof(inf_row), "rows of a step"), "rows of a step"),
      outputRows(bufferBytes(maxOutputRows(), sizeof(int32_t), "output rows"), "output rows"),
      arena(code.plan->arena_bytes, "arena"),
      scratch(bufferBytes(code.plan->scratch_bytes, options.threads.threads, "scratch memory"),
              "scratch memory"),
      logits(floats(maxOutputRows(), code.logits_stride, "logits")),
      hidden(floats(maxOutputRows(), code.hidden_stride, "hidden rows")),
      taps(options.taps ? floats(bufferBytes(maxRows(), uint64_t{code.layers} + 1, "taps"),
                                 code.hidden_stride, "taps")
                        : Region()),
      chunk(maxRows()), barrierHook(options.barrierHook),
      pool(options.threads.threads, cpusToBind(options.threads), options.threads.capacity),
      stepThreads(options.threads.threads, mayFollowMemory(*loaded, options)) {
  for (uint32_t r = 0; r < code.ropes; ++r) {
    ropeRows.push_back(floats(maxRows(), code.rope[r].head_dim, "RoPE rows"));
    ropeBases.push_back(ropeRows.back().as<const float>());
  }
}

SessionMemory Session::memory() const {
  SessionMemory memory = {cache.stats().bytes, 0};
  for (const Region *region : {&rows, &outputRows, &arena, &scratch, &logits, &hidden, &taps})
    memory.step += region->bytes();
  for (const Region &region : ropeRows)
    memory.step += region.bytes();
  return memory;
}

void Session::requireSequence(uint32_t sequence) const {
  if (sequence >= parts.size())
    fail(ErrorCode::Usage, "sequence {} is unknown: this session has sequences 0 to {}.", sequence,
         parts.size() - 1);
}

void Session::fixDecodeThreads(std::optional<unsigned> threads) {
  if (threads && (*threads == 0 || *threads > pool.size()))
    fail(ErrorCode::Usage, "{} threads to decode on are not possible: expected 1 to {}.", *threads,
         pool.size());
  stepThreads.fix(threads);
}

void Session::requireToken(int32_t token) const {
  if (token < 0 || static_cast<uint32_t>(token) >= code.vocabulary)
    fail(ErrorCode::Usage, "token id {} is unknown: the model's vocabulary is 0 to {}.", token,
         code.vocabulary - 1);
}

void Session::requireRoom(uint32_t sequence, uint64_t tokens) const {
  requireSequence(sequence);
  uint32_t held = cache.position(sequence);
  if (tokens <= contextTokens - held)
    return;
  std::string what = held == 0 ? fmt::format("the prompt has {} tokens", tokens)
                               : fmt::format("{} more tokens after {} already held", tokens, held);
  fail(ErrorCode::TooLong,
       "{}, the context holds {}. Shorten the prompt or give a larger --context (this model allows "
       "up to {}).",
       what, contextTokens, code.max_context);
}

void Session::checkRow(const RowRequest &row) const {
  requireSequence(row.sequence);
  requireToken(row.token);
  if (row.rowClass != INF_ROW_PROMPT && row.rowClass != INF_ROW_GENERATED &&
      row.rowClass != INF_ROW_DRAFT)
    fail(ErrorCode::Usage, "row class {} is unknown: expected prompt, generated or draft.",
         static_cast<unsigned>(row.rowClass));
  if (row.output & ~(INF_OUTPUT_LOGITS | INF_OUTPUT_HIDDEN))
    fail(ErrorCode::Usage, "row output {} is unknown: expected bits of logits (1) and hidden (2).",
         static_cast<unsigned>(row.output));
}

Session::Wanted Session::check(std::span<const RowRequest> requests) {
  if (requests.empty() || requests.size() > maxRows())
    fail(ErrorCode::Usage, "a step of {} rows is not possible: the model takes 1 to {} rows.",
         requests.size(), maxRows());
  Wanted wanted;
  for (const RowRequest &row : requests) {
    checkRow(row);
    wanted.outputRows += row.output != INF_OUTPUT_NONE;
    wanted.logits |= (row.output & INF_OUTPUT_LOGITS) != 0;
    wanted.hidden |= (row.output & INF_OUTPUT_HIDDEN) != 0;
  }
  if (wanted.outputRows > maxOutputRows())
    fail(ErrorCode::Usage,
         "{} rows of a step want an output, the model gives at most {}. Use smaller steps.",
         wanted.outputRows, maxOutputRows());
  for (Part &part : parts)
    part.newRows = 0;
  for (const RowRequest &row : requests)
    ++parts[row.sequence].newRows;
  reserve();
  return wanted;
}

void Session::reserve() {
  for (uint32_t s = 0; s < parts.size(); ++s)
    if (uint32_t count = parts[s].newRows) {
      requireRoom(s, count);
      if (cache.roomFor(s, count) < count) {
        std::string why = cache.whyNoRoom(s, count);
        for (uint32_t before = 0; before < s; ++before)
          if (parts[before].newRows != 0)
            cache.truncate(before, cache.position(before));
        fail(ErrorCode::Usage, "{}", why);
      }
      cache.extend(s, count);
    }
}

void Session::place(std::span<const RowRequest> requests) {
  for (uint32_t s = 0; s < parts.size(); ++s)
    parts[s].committed = cache.committed(s);
  uint32_t outputs = 0;
  for (uint32_t r = 0; r < requests.size(); ++r) {
    const RowRequest &request = requests[r];
    auto position = static_cast<int32_t>(cache.position(request.sequence));
    cache.append(request.sequence, {&request.token, 1});
    inf_row &row = rows.as<inf_row>()[r];
    row = {.token = request.token,
           .position = position,
           .sequence = static_cast<int32_t>(request.sequence),
           .adapter = -1,
           .row_class = static_cast<uint8_t>(request.rowClass),
           .output = request.output,
           .reserved = {}};
    if (request.rowClass != INF_ROW_DRAFT)
      parts[request.sequence].committed = position + 1;
    if (request.output != INF_OUTPUT_NONE)
      outputRows.as<int32_t>()[outputs++] = static_cast<int32_t>(r);
    for (uint32_t t = 0; t < code.ropes; ++t)
      fillRopeRow(code.rope[t], row.position,
                  ropeRows[t].as<float>() + uint64_t{r} * code.rope[t].head_dim);
  }
}

void Session::run(uint32_t rowCount, const Wanted &wanted) {
  inf_step step = {};
  step.struct_bytes = sizeof(inf_step);
  step.rows = rowCount;
  step.output_rows = wanted.outputRows;
  step.threads = stepThreads.begin(code, loaded->manifest().bytesPerToken,
                                   {rows.as<const inf_row>(), rowCount});
  step.row = rows.as<inf_row>();
  step.output_row = outputRows.as<int32_t>();
  step.weights = loaded->weights().data();
  step.arena = arena.data();
  step.scratch = scratch.data();
  step.kv = cache.views().data();
  step.rope = ropeBases.data();
  step.logits = wanted.logits ? logits.as<float>() : nullptr;
  step.hidden = wanted.hidden ? hidden.as<float>() : nullptr;
  step.taps = taps.as<float>();
  const bool hooked = barrierHook.arrive || barrierHook.complete;
  running = &step;
  step.barrier = hooked ? &Session::hookedBarrier : &ThreadPool::barrierEntry;
  step.barrier_state = hooked ? static_cast<void *>(this) : &pool;

  struct Call {
    const inf_model &model;
    const inf_step &step;
  } call = {code, step};
  pool.run(
      [](void *arg, unsigned thread) {
        const Call &c = *static_cast<const Call *>(arg);
        c.model.step(&c.step, thread);
      },
      &call, step.threads);
  stepThreads.end();
  if (barrierHook.complete)
    barrierHook.complete(barrierHook.state, step);
}

void Session::hookedBarrier(void *session, uint32_t thread) {
  auto &self = *static_cast<Session *>(session);
  const BarrierHook &hook = self.barrierHook;
  if (thread == 0 && hook.arrive)
    hook.arrive(hook.state);
  self.pool.barrier(thread);
  if (hook.complete) {
    if (thread == 0)
      hook.complete(hook.state, *self.running);
    self.pool.barrier(thread);
  }
  if (thread == 0 && hook.leave)
    hook.leave(hook.state);
}

void Session::finishStep() {
  for (uint32_t s = 0; s < parts.size(); ++s)
    if (parts[s].newRows != 0)
      cache.commit(s, parts[s].committed);
}

StepResult Session::step(std::span<const RowRequest> requests) {
  Wanted wanted = check(requests);
  auto rowCount = static_cast<uint32_t>(requests.size());
  place(requests);
  run(rowCount, wanted);
  finishStep();
  return {rowCount,
          wanted.outputRows,
          &code,
          wanted.logits ? logits.as<float>() : nullptr,
          wanted.hidden ? hidden.as<float>() : nullptr,
          taps.as<float>()};
}

PrefillResult Session::prefill(uint32_t sequence, std::span<const int32_t> tokens,
                               const PrefillOptions &options) {
  if (tokens.empty())
    fail(ErrorCode::Usage, "the prompt has no tokens; expected at least one.");
  requireRoom(sequence, tokens.size());
  for (int32_t token : tokens)
    requireToken(token);

  uint32_t most = options.eachLogits ? maxOutputRows() : maxRows();
  uint32_t size = options.chunk == 0 ? most : std::min(options.chunk, most);
  PrefillResult result;
  while (result.tokens < tokens.size()) {
    if (options.cancelled && options.cancelled())
      return {result.tokens, {}};
    uint64_t count = std::min<uint64_t>(size, tokens.size() - result.tokens);
    for (uint64_t i = 0; i < count; ++i) {
      bool last = result.tokens + i + 1 == tokens.size();
      chunk[i] = {tokens[result.tokens + i], sequence, INF_ROW_PROMPT,
                  options.eachLogits || last ? uint8_t{INF_OUTPUT_LOGITS}
                                             : uint8_t{INF_OUTPUT_NONE}};
    }
    StepResult done = step({chunk.data(), count});
    if (options.eachLogits)
      for (uint32_t i = 0; i < done.outputRows; ++i)
        options.eachLogits(result.tokens + i, done.logits(i));
    if (done.outputRows != 0)
      result.logits = done.logits(done.outputRows - 1);
    result.tokens += count;
  }
  cache.checkpoint(sequence);
  return result;
}

uint32_t Session::attach(uint32_t sequence, std::span<const int32_t> tokens, uint64_t tenant) {
  requireSequence(sequence);
  if (uint32_t held = cache.position(sequence))
    fail(ErrorCode::Usage,
         "sequence {} holds {} tokens and can't begin with others. Release or reset it first.",
         sequence, held);
  return cache.attach(sequence, tokens, tenant);
}

void Session::checkpoint(uint32_t sequence) {
  requireSequence(sequence);
  cache.checkpoint(sequence);
}

void Session::release(uint32_t sequence) {
  requireSequence(sequence);
  cache.release(sequence);
}

void Session::reset(uint32_t sequence) {
  requireSequence(sequence);
  cache.truncate(sequence, 0);
}

void Session::rollback(uint32_t sequence, uint32_t tokens) {
  requireSequence(sequence);
  uint32_t position = cache.position(sequence);
  if (tokens > position)
    fail(ErrorCode::Usage, "cannot roll back {} tokens: sequence {} holds {}.", tokens, sequence,
         position);
  uint32_t target = position - tokens;
  if (!cache.canTruncate(sequence, target))
    fail(ErrorCode::Usage,
         "cannot roll sequence {} back from position {} to {}: {} Roll back at most to position "
         "{}, or reset and prefill again.",
         sequence, position, target, cache.whyNoTruncate(sequence, target),
         cache.committed(sequence));
  cache.truncate(sequence, target);
}

uint32_t Session::position(uint32_t sequence) const {
  requireSequence(sequence);
  return cache.position(sequence);
}

uint32_t Session::committed(uint32_t sequence) const {
  requireSequence(sequence);
  return cache.committed(sequence);
}

} // namespace inf
