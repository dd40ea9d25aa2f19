// A fixed set of threads that run one function together, with a barrier between its stages.
#pragma once

#include "runtime/cpu/ThreadPlan.h"
#include "runtime/threads/WaitWord.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace inf {

/// The caller of run() is thread 0; size() - 1 workers named "inf-worker-1", … wait in between.
/// run() and barrier() take no lock and allocate nothing: waiting threads spin for a bounded time,
/// then sleep in the kernel, so an idle pool costs no CPU and a descheduled thread only delays.
/// While other programs take CPUs from them, bound threads may run on any of the pool's CPUs.
/// A run may leave the last threads out; those sleep until a run wants them again.
class ThreadPool {
public:
  using Function = void (*)(void *arg, unsigned thread);

  /// \param threads 1 to 1024, the caller included.
  /// \param cpus where to bind: thread i to cpus[i]; with fewer CPUs than threads, every thread to
  ///   all of them. Empty: no binding. The constructing thread is thread 0 and is bound as well,
  ///   until the destructor gives it its old mask back; threads that it starts meanwhile inherit
  ///   the binding.
  /// \param capacity how many threads can make progress at the same time (ThreadPlan::capacity);
  ///   0: as many as this process has CPUs in its affinity mask. With more threads than that,
  ///   waiting threads spin only briefly, so that they do not take the CPU from the one they wait
  ///   for.
  /// \throws Error Usage for a bad number or a CPU that may not be used, Machine when the OS gives
  ///   no more threads.
  explicit ThreadPool(unsigned threads, std::span<const int> cpus = {}, unsigned capacity = 0);

  /// Joins the workers. Must not be called during run().
  ~ThreadPool();

  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const { return threadCount; }

  /// Calls fn(arg, 0) … fn(arg, size() - 1), each on its own thread, and returns when all are done.
  /// What the caller wrote before is visible to them, what they wrote is visible after.
  /// An exception that leaves fn ends the program (std::terminate): the other threads would wait at
  /// a barrier for ever.
  /// \throws Error Internal when a run is already going on (called from fn or from a second
  /// thread).
  void run(Function fn, void *arg) { run(fn, arg, threadCount); }

  /// The same on threads 0 … active - 1 alone. Those left out are woken by none of the runs that
  /// leave them out but the first, and cost no CPU; the run that wants them again wakes them, which
  /// takes some microseconds each.
  /// \throws Error Internal, besides, for an `active` of 0 or more than size().
  void run(Function fn, void *arg, unsigned active);

  /// Waits until every thread of the running fn has called it as often as this one. Every thread
  /// that runs fn must call it equally often. Only from within fn.
  void barrier(unsigned thread);

  /// barrier() as a C function pointer, `void (*)(void *, uint32_t)`; `pool` is a ThreadPool *.
  static void barrierEntry(void *pool, uint32_t thread);

private:
  // Two cache lines: Intel's adjacent-line prefetcher fetches them in pairs, so neighbours at 64
  // bytes would still disturb each other.
  static constexpr size_t apart = 128;

  struct Job {
    Function fn = nullptr;
    void *arg = nullptr;
    unsigned active = 0; ///< threads 0 … active - 1 run it
    bool stop = false;
  };

  /// A value of `started`: the number of the run (low 21 bits of it), and how many threads run it.
  /// In one word, so that a thread which is left out learns this without looking at `job`, which
  /// the next run may be writing already.
  static constexpr unsigned activeBits = 11;
  static_assert(maxThreads < 1u << activeBits);
  static unsigned activeOf(uint32_t startedValue) { return startedValue % (1u << activeBits); }

  void startWorkers();
  void bindThreads(std::span<const int> cpus);
  void workerLoop(unsigned thread);
  /// The value of `started` for the next run that includes `thread`. \param last the one before.
  uint32_t nextRun(unsigned thread, uint32_t last);
  void begin(const Job &next);
  void call(const Job &work, unsigned thread) noexcept;
  /// Waits for other threads' work; a long wait says that another program has their CPU.
  void waitForOthers(unsigned thread, WaitWord &word, uint32_t epoch);
  /// How to wait now, in the calm so long; where this thread may run follows.
  SpinPolicy adapt(unsigned thread, SpinPolicy calm);
  bool disturbed();
  void stopWorkers();
  void restoreCaller();

  const unsigned threadCount;
  SpinPolicy barrierSpin, idleSpin;
  std::vector<int> homes;      ///< where each thread is bound; empty: not each to a CPU of its own
  int callerThread = 0;        ///< kernel id of the constructing thread
  std::vector<int> callerCpus; ///< its mask before binding; empty when not bound
  std::vector<std::thread> workers;

  // Written by the caller before `started` moves, read after it by the workers that it names.
  alignas(apart) Job job;
  std::atomic<bool> running = false;
  alignas(apart) WaitWord started;                  ///< moves once a run, see activeOf()
  alignas(apart) std::atomic<uint32_t> working = 0; ///< workers not yet done with the run
  alignas(apart) WaitWord finished;                 ///< advances when `working` reaches 0
  alignas(apart) std::atomic<uint32_t> arrived = 0; ///< threads at the current barrier
  alignas(apart) WaitWord passed;                   ///< advances when all have arrived
  /// steady_clock's nanoseconds until which nobody spins for long; 0: nothing disturbs us; -1: not
  /// looked at while the pool is made. Written rarely, so that reading it costs nothing.
  alignas(apart) std::atomic<int64_t> disturbedUntil = -1;
  /// Only its own thread reads and writes it, but for `rejoin`.
  struct alignas(apart) Place {
    WaitWord rejoin;        ///< advances when a run wants the thread after one that left it out
    bool wanders = false;   ///< among all homes
    uint64_t workBegan = 0; ///< ticks of the CPU's clock when its last wait ended
  };
  std::vector<Place> places; // [threads]
};

} // namespace inf
