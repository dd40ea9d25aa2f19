#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/check/Parts.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// Values decoded at a time: 1 MiB, which stays in a core's cache.
constexpr uint64_t valuesAtATime = uint64_t{1} << 18;

struct Found {
  std::string problem; ///< "" when all values are finite
};

uint64_t valuesOf(const WeightDecl &decl) { return decl.experts * decl.rows * decl.columns; }

/// Decoding a weight names what is not finite; the values themselves are of no interest.
void decodeWhole(const WeightDecl &decl, const WeightSource &source, std::vector<float> &buffer,
                 std::atomic<uint64_t> &done) {
  uint64_t most = std::max<uint64_t>(1, valuesAtATime / decl.columns);
  for (uint64_t expert = 0; expert < decl.experts; ++expert)
    for (uint64_t row = 0; row < decl.rows; row += most) {
      uint64_t count = std::min(most, decl.rows - row);
      buffer.resize(std::max<uint64_t>(buffer.size(), count * decl.columns));
      readRowsF32(decl, source, expert, row, count, buffer.data());
      done += count * decl.columns;
    }
}

/// Takes weights one after the other, as all its siblings do.
void work(const std::vector<WeightDecl> &decls, const WeightSource &source,
          std::atomic<size_t> &next, std::atomic<uint64_t> &done, std::vector<Found> &found) {
  std::vector<float> buffer;
  for (size_t i = next++; i < decls.size(); i = next++)
    try {
      decodeWhole(decls[i], source, buffer, done);
    } catch (const std::exception &error) { // nothing may leave a thread
      found[i].problem = error.what();
    }
}

void waitFor(std::vector<std::thread> &threads, const std::atomic<unsigned> &running,
             const std::atomic<uint64_t> &done, uint64_t total, const CheckOptions &options) {
  using namespace std::chrono_literals;
  while (options.progress && running.load() > 0) {
    options.progress(done.load(), total);
    std::this_thread::sleep_for(50ms);
  }
  for (std::thread &thread : threads)
    thread.join();
  if (options.progress)
    options.progress(total, total);
}

} // namespace

void checkValues(ModelReport &report, const std::vector<WeightDecl> &decls,
                 const WeightSource &source, const CheckOptions &options) {
  if (!options.values)
    return report.notes.push_back("values were not looked at, as asked");
  uint64_t total = 0;
  for (const WeightDecl &decl : decls)
    total += valuesOf(decl); // validate() keeps a model below 2^62 bytes
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::atomic<unsigned> running{std::max(1u, options.threads)};
  std::vector<Found> found(decls.size()); // by weight, so the order is that of the model
  std::vector<std::thread> threads;
  unsigned count = running.load();
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([&] {
      work(decls, source, next, done, found);
      --running;
    });
  waitFor(threads, running, done, total, options);
  report.valuesChecked = done.load();
  for (const Found &one : found)
    if (!one.problem.empty())
      addProblem(report, "values", one.problem);
}

} // namespace inf
