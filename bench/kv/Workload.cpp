#include "bench/kv/Workload.h"

namespace inf::bench {
namespace {

constexpr uint32_t longestChat = 12000; // tokens: then it ends

} // namespace

Workload::Workload(const WorkloadOptions &workloadOptions)
    : options(workloadOptions), random(options.seed) {
  std::vector<double> weights;
  for (uint32_t i = 0; i < options.systemPrompts; ++i) {
    systemPrompts.push_back(tokens(100, 2000));
    weights.push_back(1.0 / (i + 1));
  }
  popularity = {weights.begin(), weights.end()};
  for (uint32_t i = 0; i < options.chats; ++i)
    chats.push_back(newChat());
}

std::vector<int32_t> Workload::tokens(uint32_t least, uint32_t most) {
  std::vector<int32_t> made(least + random() % (most - least + 1));
  for (int32_t &token : made)
    token = static_cast<int32_t>(random() % 200000);
  return made;
}

Workload::Chat Workload::newChat() { return {systemPrompts[popularity(random)]}; }

Request Workload::next() {
  if (std::uniform_real_distribution<>()(random) < options.oneOff)
    return {tokens(200, 4000), tokens(50, 300)};
  Chat &chat = chats[random() % chats.size()];
  if (random() % 6 == 0 || chat.text.size() > longestChat)
    chat = newChat(); // six turns on average
  Request request;
  std::vector<int32_t> asked = tokens(20, 200);
  chat.text.insert(chat.text.end(), asked.begin(), asked.end());
  request.prompt = chat.text;
  request.answer = tokens(50, 400);
  // Half of the clients send the answer back as it was; the others rewrite it (a thought left out).
  std::vector<int32_t> sentBack = random() % 2 ? request.answer : tokens(20, 200);
  chat.text.insert(chat.text.end(), sentBack.begin(), sentBack.end());
  return request;
}

} // namespace inf::bench
