#include "runtime/threads/ThreadPool.h"

#include "runtime/base/Error.h"
#include "runtime/cpu/Affinity.h"

#include <chrono>
#include <cstdio>
#include <system_error>

#include <immintrin.h>
#include <pthread.h>
#include <unistd.h>

namespace inf {
namespace {

// To sleep and be woken costs a few µs on a warm CPU and, by experience, 50 µs and more when it has
// gone into a deep idle state. Spinning about as long as the sleep can cost before sleeping costs
// at most twice the best choice, whatever the wait turns out to be. Stages of a step last tens of
// microseconds, so their barriers rarely sleep.
constexpr SpinPolicy dedicatedBarrier = {.pauses = 64, .nanosecondsMore = 100'000};
// Between two runs the caller samples a token: up to some hundred µs over a large vocabulary.
constexpr SpinPolicy dedicatedIdle = {.pauses = 64, .nanosecondsMore = 300'000};
// More threads than CPUs: the thread waited for may need this very CPU. Stay only long enough for
// one that arrives at the same moment.
constexpr SpinPolicy crowded = {.pauses = 16, .nanosecondsMore = 0};
// Left out of a run: the next ones will most likely leave it out too.
constexpr SpinPolicy leftOut = {.pauses = 0, .nanosecondsMore = 0};

// A stage in which the threads share the work keeps none of them waiting for a millisecond and for
// longer than it worked, unless the one waited for has lost its CPU to another program. Then
// spinning uses up the share of the CPU that this thread is given, so that it is off the CPU in
// turn when the other is back, and a bound thread waits for a busy CPU beside a free one: two
// threads then do less than one (bench/README.md). Who sleeps at once and runs where there is room
// gets its share. So after such a wait that is what all do, for some times its length, which makes
// trying again cheap, and a single disturbance too.
constexpr int64_t longSleep = 1'000'000;
constexpr int64_t calmAfterSleep = 16;

int64_t nanosecondsNow() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void nameWorker(unsigned thread) {
  char name[16]; // the kernel's limit; "inf-worker-1023" just fits
  std::snprintf(name, sizeof(name), "inf-worker-%u", thread % 10000);
  pthread_setname_np(pthread_self(), name); // a name is a courtesy: failure is ignored
}

unsigned checkedThreads(unsigned threads) {
  if (threads == 0 || threads > maxThreads)
    fail(ErrorCode::Usage, "a pool of {} threads was requested, expected 1 to {}; ask for fewer",
         threads, maxThreads);
  return threads;
}

unsigned usableCpus(std::span<const int> cpus) {
  if (!cpus.empty())
    return static_cast<unsigned>(cpus.size());
  const std::optional<CpuList> mask = currentAffinity();
  return mask ? static_cast<unsigned>(mask->size()) : 1;
}

/// A CPU for each thread, or none when there are fewer.
std::vector<int> homesAmong(std::span<const int> cpus, unsigned threads) {
  if (cpus.size() < threads)
    return {};
  return {cpus.begin(), cpus.begin() + threads};
}

} // namespace

ThreadPool::ThreadPool(unsigned threads, std::span<const int> cpus, unsigned capacity)
    : threadCount(checkedThreads(threads)), homes(homesAmong(cpus, threads)),
      callerThread(gettid()), places(threads) {
  const bool crowd = threads > (capacity != 0 ? capacity : usableCpus(cpus));
  barrierSpin = crowd ? crowded : dedicatedBarrier;
  idleSpin = crowd ? crowded : dedicatedIdle;
  try {
    startWorkers();
    if (!cpus.empty())
      bindThreads(cpus);
    disturbedUntil = 0;
  } catch (...) {
    stopWorkers();
    restoreCaller();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stopWorkers();
  restoreCaller();
}

void ThreadPool::startWorkers() {
  workers.reserve(threadCount - 1);
  for (unsigned thread = 1; thread < threadCount; ++thread) {
    try {
      workers.emplace_back([this, thread] { workerLoop(thread); });
    } catch (const std::system_error &error) {
      fail(ErrorCode::Machine,
           "could start {} of {} threads ({}); ask for fewer threads or raise the process's limit",
           thread, threadCount, error.code().message());
    }
  }
}

void ThreadPool::bindThreads(std::span<const int> cpus) {
  // Each thread binds itself: a run reaches them all.
  struct Binding {
    std::span<const int> cpus;
    std::vector<int> errors;
  } binding = {cpus, std::vector<int>(threadCount)};
  callerCpus = currentAffinity().value_or(CpuList());
  run(
      [](void *arg, unsigned thread) {
        auto &b = *static_cast<Binding *>(arg);
        const bool enough = b.cpus.size() >= b.errors.size();
        b.errors[thread] = bindThread(0, enough ? b.cpus.subspan(thread, 1) : b.cpus);
      },
      &binding);
  for (unsigned thread = 0; thread < threadCount; ++thread)
    if (binding.errors[thread] != 0)
      fail(ErrorCode::Usage,
           "cannot bind thread {} of {} to CPUs {} ({}); choose CPUs this process "
           "may use, or do not bind",
           thread, threadCount, fmt::join(cpus, ","), errnoText(binding.errors[thread]));
}

void ThreadPool::call(const Job &work, unsigned thread) noexcept {
  places[thread].workBegan = __rdtsc();
  work.fn(work.arg, thread);
}

uint32_t ThreadPool::nextRun(unsigned thread, uint32_t last) {
  Place &place = places[thread];
  for (;;) {
    // Before `started`: who comes too late to see the run that wants it here, sees it there.
    const uint32_t rejoined = place.rejoin.load();
    const uint32_t now = started.load();
    if (activeOf(now) > thread && now != last)
      return now;
    if (activeOf(now) > thread || now == 0) // 0: there was no run yet
      started.waitWhile(now, adapt(thread, idleSpin));
    else {
      last = now; // or, after as many runs as the number can count, one would look like the last
      place.rejoin.waitWhile(rejoined, leftOut);
    }
  }
}

void ThreadPool::workerLoop(unsigned thread) {
  nameWorker(thread);
  // The value at birth is 0 and not whatever it is now: a run may already have started.
  for (uint32_t last = 0;;) {
    last = nextRun(thread, last);
    const Job work = job;
    if (work.stop)
      return;
    call(work, thread);
    if (working.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finished.advance();
  }
}

/// Those left out before wait at two words, one after the other, so both move.
void ThreadPool::begin(const Job &next) {
  const uint32_t before = started.load();
  const unsigned ranBefore = before == 0 ? threadCount : activeOf(before);
  job = next;
  started.moveTo(((before >> activeBits) + 1) << activeBits | next.active);
  for (unsigned thread = ranBefore; thread < next.active; ++thread)
    places[thread].rejoin.advance();
}

void ThreadPool::run(Function fn, void *arg, unsigned active) {
  if (active == 0 || active > threadCount)
    fail(ErrorCode::Internal, "a run on {} threads was asked for, expected 1 to the pool's {}",
         active, threadCount);
  if (running.exchange(true, std::memory_order_acquire))
    fail(ErrorCode::Internal,
         "ThreadPool::run was called during another run, expected one run at a "
         "time; use one pool per caller");
  const Job next = {fn, arg, active, false};
  const uint32_t epoch = finished.load();
  working.store(active - 1, std::memory_order_relaxed);
  begin(next);
  call(next, 0);
  if (active > 1)
    waitForOthers(0, finished, epoch);
  running.store(false, std::memory_order_release);
}

bool ThreadPool::disturbed() {
  const int64_t until = disturbedUntil.load(std::memory_order_relaxed);
  if (until <= 0)
    return false;
  if (nanosecondsNow() < until)
    return true;
  disturbedUntil.store(0, std::memory_order_relaxed);
  return false;
}

SpinPolicy ThreadPool::adapt(unsigned thread, SpinPolicy calm) {
  const bool wander = disturbed();
  Place &place = places[thread];
  if (!homes.empty() && place.wanders != wander) {
    const std::span<const int> all = homes;
    bindThread(0, wander ? all : all.subspan(thread, 1)); // at worst it stays where it is
    place.wanders = wander;
  }
  return wander ? crowded : calm;
}

void ThreadPool::waitForOthers(unsigned thread, WaitWord &word, uint32_t epoch) {
  Place &place = places[thread];
  const uint64_t waitBegan = __rdtsc(), worked = waitBegan - place.workBegan;
  const auto slept = static_cast<int64_t>(word.waitWhile(epoch, adapt(thread, barrierSpin)));
  if (slept >= longSleep && __rdtsc() - waitBegan > worked &&
      disturbedUntil.load(std::memory_order_relaxed) >= 0)
    disturbedUntil.store(nanosecondsNow() + slept * calmAfterSleep, std::memory_order_relaxed);
  place.workBegan = __rdtsc();
}

void ThreadPool::barrier(unsigned thread) {
  const unsigned active = job.active;
  if (active == 1)
    return;
  const uint32_t epoch = passed.load(); // before arriving: it cannot advance without this thread
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < active) {
    waitForOthers(thread, passed, epoch);
    return;
  }
  arrived.store(0, std::memory_order_relaxed); // published by the advance
  passed.advance();
  places[thread].workBegan = __rdtsc();
}

void ThreadPool::barrierEntry(void *pool, uint32_t thread) {
  static_cast<ThreadPool *>(pool)->barrier(thread);
}

void ThreadPool::stopWorkers() {
  begin({nullptr, nullptr, threadCount, true});
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
}

void ThreadPool::restoreCaller() {
  if (!callerCpus.empty())
    bindThread(callerThread, callerCpus); // fails harmlessly if that thread has ended
}

} // namespace inf
