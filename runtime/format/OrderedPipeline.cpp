#include "runtime/format/OrderedPipeline.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/base/Error.h"

namespace inf {
namespace {

using Produce = std::function<void(uint64_t, std::vector<uint8_t> &)>;
using Consume = std::function<void(uint64_t, const std::vector<uint8_t> &)>;

/// Item i lives in slot i % slots from the moment a thread claims it until it is consumed.
class Pipeline {
public:
  Pipeline(uint64_t itemCount, unsigned threads, const Produce &produceItem)
      : count(itemCount), produce(produceItem), slots(2 * threads) {
    try {
      for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back([this] { work(); });
    } catch (const std::exception &cause) { // the members' destructors would terminate
      stopAndJoin();
      fail(ErrorCode::Machine, "can't start {} threads: {}; ask for fewer", threads, cause.what());
    }
  }

  ~Pipeline() { stopAndJoin(); }

  void consumeAll(const Consume &consume) {
    for (uint64_t item = 0; item < count; ++item) {
      Slot &slot = slots[item % slots.size()];
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return slot.ready || error; });
        if (error)
          std::rethrow_exception(error);
      }
      consume(item, slot.buffer);
      const std::lock_guard lock(mutex);
      slot.ready = false;
      consumed = item + 1;
      changed.notify_all();
    }
  }

private:
  struct Slot {
    std::vector<uint8_t> buffer;
    bool ready = false;
  };

  void stopAndJoin() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      changed.notify_all();
    }
    for (std::thread &worker : workers)
      worker.join();
    workers.clear();
  }

  /// The next item, once its slot is free; `count` when there is nothing more to do.
  uint64_t claim() {
    std::unique_lock lock(mutex);
    if (next == count)
      return count;
    const uint64_t item = next++;
    changed.wait(lock, [&] { return item < consumed + slots.size() || stop; });
    return stop ? count : item;
  }

  void work() {
    try {
      for (uint64_t item = claim(); item < count; item = claim()) {
        Slot &slot = slots[item % slots.size()];
        produce(item, slot.buffer);
        const std::lock_guard lock(mutex);
        slot.ready = true;
        changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error)
        error = std::current_exception();
      stop = true;
      changed.notify_all();
    }
  }

  const uint64_t count;
  const Produce &produce;
  std::vector<Slot> slots;
  std::mutex mutex;
  std::condition_variable changed; // any of the fields below
  uint64_t next = 0, consumed = 0;
  bool stop = false;
  std::exception_ptr error;
  std::vector<std::thread> workers;
};

} // namespace

void runOrdered(uint64_t count, unsigned threads, const Produce &produce, const Consume &consume) {
  if (threads == 0)
    fail(ErrorCode::Usage, "0 threads asked for, expected at least 1");
  if (count == 0)
    return;
  Pipeline pipeline(count, unsigned(std::min<uint64_t>(threads, count)), produce);
  pipeline.consumeAll(consume);
}

} // namespace inf
