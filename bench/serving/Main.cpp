// Tokens per second of many sequences through the engine, beside the same steps run by hand on a
// session and beside what the weights' bytes predict. Sequences are interleaved round by round, so
// that the machine's moods hit all alike; the medians are compared.
//
//   bench_serving MODEL.so [TOKENS] [THREADS] [ROUNDS]
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "runtime/engine/Engine.h"
#include "runtime/session/Session.h"
#include "runtime/tools/bench/ModelWork.h"

namespace {

using namespace inf;

constexpr uint32_t promptTokens = 32;

/// Waits for many requests.
class Gate {
public:
  explicit Gate(uint32_t many) : left(many) {}
  void pass() {
    std::lock_guard lock(mutex);
    if (--left == 0)
      empty.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    empty.wait(lock, [&] { return left == 0; });
  }

private:
  std::mutex mutex;
  std::condition_variable empty;
  uint32_t left;
};

class CountingSink : public CompletionSink {
public:
  explicit CountingSink(Gate &end) : gate(end) {}
  TokenVerdict token(const TokenEvent &) override { return {}; }
  void finished(const CompletionResult &) override { gate.pass(); }

private:
  Gate &gate;
};

std::vector<int32_t> prompt(const Model &model, uint32_t sequence) {
  std::vector<int32_t> ids;
  for (uint32_t i = 0; i < promptTokens; ++i)
    ids.push_back(int32_t((sequence * 977 + i * 37) % model.code().vocabulary));
  return ids;
}

/// Seconds of this process's threads together: what else runs on the machine plays a smaller part.
/// With one thread it is the time that the work takes.
double secondsOf(const std::function<void()> &work) {
  std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

double engineSeconds(Engine &engine, const Model &model, uint32_t sequences, uint32_t tokens) {
  Gate gate(sequences);
  return secondsOf([&] {
    for (uint32_t s = 0; s < sequences; ++s) {
      CompletionRequest request;
      request.prompt = prompt(model, s);
      request.maxTokens = tokens;
      request.ignoreEos = true;
      engine.submit(std::move(request), std::make_shared<CountingSink>(gate));
    }
    gate.wait();
  });
}

double sessionSeconds(Session &session, uint32_t sequences, uint32_t tokens) {
  std::vector<RowRequest> rows(sequences);
  for (uint32_t s = 0; s < sequences; ++s)
    session.reset(s);
  auto highest = [](std::span<const float> logits) {
    return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
  };
  return secondsOf([&] {
    for (uint32_t s = 0; s < sequences; ++s)
      rows[s] = {highest(session.prefill(s, prompt(session.model(), s)).logits), s,
                 INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    for (uint32_t i = 1; i < tokens; ++i) {
      StepResult step = session.step(rows);
      for (uint32_t s = 0; s < sequences; ++s)
        rows[s].token = highest(step.logits(s));
    }
  });
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const std::shared_ptr<const Model> &model, uint32_t tokens, unsigned threads,
             unsigned rounds) {
  const std::vector<uint32_t> counts = {1, 4, 8, 16};
  EngineOptions options;
  options.sequences = 16;
  options.context = promptTokens + tokens;
  options.prefixes = false;
  options.threads.threads = threads;
  SessionOptions sessionOptions;
  sessionOptions.maxSequences = 16;
  sessionOptions.context = options.context;
  sessionOptions.threads.threads = threads;
  Engine engine(model, options);
  Session session(model, sessionOptions);
  std::map<uint32_t, std::vector<double>> byEngine, byHand;
  for (unsigned round = 0; round < rounds; ++round)
    for (uint32_t count : counts) {
      byEngine[count].push_back(engineSeconds(engine, *model, count, tokens));
      byHand[count].push_back(sessionSeconds(session, count, tokens));
    }
  const ModelWork work = modelWork(model->manifest());
  const double alone = tokens / median(byEngine[1]);
  const double aloneBytes = double(weightTraffic(work, {1, 1}).bytes);
  fmt::print("sequences  tok/s  x alone  byte model  session  engine/session  us/step\n");
  for (uint32_t count : counts) {
    double engineTime = median(byEngine[count]), handTime = median(byHand[count]);
    double rate = count * tokens / engineTime;
    double predicted = count * aloneBytes / double(weightTraffic(work, {count, count}).bytes);
    fmt::print("{:9} {:6.0f} {:8.2f} {:11.2f} {:8.0f} {:15.3f} {:8.1f}\n", count, rate,
               rate / alone, predicted, count * tokens / handTime, handTime / engineTime,
               (engineTime - handTime) / tokens * 1e6);
  }
}

unsigned number(int argc, char **argv, int index, unsigned otherwise) {
  return index < argc ? unsigned(std::max(1, std::atoi(argv[index]))) : otherwise;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_serving MODEL.so [TOKENS] [THREADS] [ROUNDS]\n");
    return 2;
  }
  try {
    measure(Model::load(argv[1]), number(argc, argv, 2, 128), number(argc, argv, 3, 1),
            number(argc, argv, 4, 5));
  } catch (const Error &error) {
    fmt::print(stderr, "bench_serving: {}\n", error.what());
    return int(error.code);
  }
}
