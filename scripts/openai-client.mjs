// What scripts/test-openai-client runs. Answers of a small model mean nothing, so what is checked is
// their shape, and that streams join to the same as whole answers at temperature 0.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, wanted] = process.argv.slice(2);
const client = new OpenAI({ baseURL, maxRetries: 0 });
let model = wanted;
let passed = 0;

async function check(name, body) {
  await body();
  passed += 1;
  console.log(`ok ${name}`);
}

const messages = [{ role: "user", content: "Tell me about a small house." }];
const fixed = { temperature: 0, max_tokens: 40 };
const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a city.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

await check("models", async () => {
  const list = await client.models.list();
  assert.ok(list.data.length >= 1);
  model ??= list.data[0].id;
  assert.equal((await client.models.retrieve(model)).id, model);
});

let whole;
await check("chat", async () => {
  whole = await client.chat.completions.create({ model, messages, ...fixed });
  assert.equal(whole.object, "chat.completion");
  assert.equal(whole.choices[0].message.role, "assistant");
  assert.ok(["stop", "length", "tool_calls"].includes(whole.choices[0].finish_reason));
  assert.ok(whole.usage.total_tokens === whole.usage.prompt_tokens + whole.usage.completion_tokens);
});

await check("chat as a stream joins to the same", async () => {
  const stream = await client.chat.completions.create({
    model,
    messages,
    ...fixed,
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = "";
  let reasoning = "";
  let finish;
  let usage;
  for await (const chunk of stream) {
    content += chunk.choices[0]?.delta?.content ?? "";
    reasoning += chunk.choices[0]?.delta?.reasoning_content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.equal(content, whole.choices[0].message.content ?? "");
  assert.equal(reasoning, whole.choices[0].message.reasoning_content ?? "");
  assert.equal(finish, whole.choices[0].finish_reason);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

await check("the stream helper sees the same events", async () => {
  const stream = client.chat.completions.stream({ model, messages, ...fixed });
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content ?? "", whole.choices[0].message.content ?? "");
});

await check("several choices, logprobs, stop", async () => {
  const answer = await client.chat.completions.create({
    model, messages, n: 2, seed: 3, max_tokens: 20, logprobs: true, top_logprobs: 3, stop: ["zzz"],
  });
  assert.equal(answer.choices.length, 2);
  assert.match(answer.system_fingerprint, /_s3$/);
  for (const token of answer.choices[0].logprobs.content) assert.equal(token.top_logprobs.length, 3);
});

await check("a required tool", async () => {
  const answer = await client.chat.completions.create({
    model, messages, ...fixed, tools, tool_choice: "required",
  });
  for (const call of answer.choices[0].message.tool_calls ?? []) {
    assert.equal(call.type, "function");
    assert.equal(typeof call.function.arguments, "string");
  }
});

await check("a tool's answer goes back", async () => {
  const answer = await client.chat.completions.create({
    model, tools, ...fixed,
    messages: [
      ...messages,
      { role: "assistant", content: null, tool_calls: [
        { id: "call_1", type: "function", function: { name: "get_weather", arguments: "{\"city\":\"Oslo\"}" } }] },
      { role: "tool", tool_call_id: "call_1", content: "rain" },
    ],
  });
  assert.equal(answer.choices.length, 1);
});

await check("completions", async () => {
  const answer = await client.completions.create({ model, prompt: "Once upon a time", ...fixed });
  const stream = await client.completions.create({ model, prompt: "Once upon a time", ...fixed, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.text ?? "";
  assert.equal(text, answer.choices[0].text);
  assert.notEqual(text, "");
});

await check("responses", async () => {
  const answer = await client.responses.create({
    model, input: "Tell me about a small house.", instructions: "Be brief.", temperature: 0, max_output_tokens: 40,
  });
  assert.equal(answer.object, "response");
  assert.ok(["completed", "incomplete"].includes(answer.status));
  const stream = await client.responses.create({
    model, input: "Tell me about a small house.", instructions: "Be brief.", temperature: 0, max_output_tokens: 40, stream: true,
  });
  let text = "";
  let next = 0;
  let last;
  for await (const event of stream) {
    assert.equal(event.sequence_number, next++);
    if (event.type === "response.output_text.delta") text += event.delta;
    last = event;
  }
  assert.equal(last.type, `response.${answer.status}`);
  assert.equal(text, answer.output_text);
});

async function refused(promise, type, status, code) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof type, `${error}`);
    assert.equal(error.status, status);
    assert.equal(error.code, code);
    return true;
  });
}

await check("errors are the client's own classes", async () => {
  const chat = (more) => client.chat.completions.create({ model, messages, ...fixed, ...more });
  await refused(chat({ model: "gpt-4" }), OpenAI.NotFoundError, 404, "model_not_found");
  await refused(chat({ temperature: -1 }), OpenAI.BadRequestError, 400, "invalid_value");
  await refused(chat({ response_format: { type: "json_object" } }), OpenAI.BadRequestError, 400, "unsupported_parameter");
  await refused(client.embeddings.create({ model, input: "a" }), OpenAI.NotFoundError, 404, "unknown_url");
  const long = [{ role: "user", content: "word ".repeat(200000) }];
  await refused(chat({ messages: long }), OpenAI.BadRequestError, 400, "context_length_exceeded");
});

await check("a client that leaves", async () => {
  const stream = await client.chat.completions.create({ model, messages, stream: true, temperature: 0 });
  for await (const chunk of stream) {
    stream.controller.abort();
    break;
  }
});

console.log(`${passed} checks passed with openai ${(await import("openai/version")).VERSION ?? ""}`);
