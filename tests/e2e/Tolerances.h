// How far a compiled model may be from what it is compared with, each with its reason. Where two
// runs of the same model are compared no tolerance exists: the bits must be equal.
#pragma once

namespace inf::test {

/// Logits against the published implementation or ir/reference, both f32 with KV in f32. They reach
/// 30, and differ by the order of f32 sums: 6 layers of sums of up to 512 products, each off by
/// some 1e-6 of its terms. What the project promises.
inline constexpr double goldenLogits = 2e-3;

/// Logits against ir/reference on the same weights, KV in f32. Only the order of sums and the last
/// bits of exp differ: below 1e-5 on all models here, with 10 times that as room for other orders.
inline constexpr double referenceLogits = 1e-4;

/// Greedy tokens are compared where the published margin is wider: below, two logits are within
/// what the bound above allows them to swap (twice 2e-3), with some room.
inline constexpr double sureMargin = 0.01;

/// Hidden states, relative to the largest magnitude of the row: the residual stream carries values
/// of very different size, and each sum into it rounds at the size of its largest. Some 2,000
/// roundings of 6e-8 in 6 layers, which partly cancel.
inline constexpr double hiddenRelative = 2e-5;

/// Perplexity of the held-out text, to two digits.
inline constexpr double goldenPerplexity = 18.42;
inline constexpr double perplexity = 0.01;

/// Logits with activations in q8, against ir/reference that rounds them too: a value within f32
/// error of the middle between two steps goes the other way and is then off by a step, 1/127 of the
/// largest of its block; one in some 10,000, but in every layer.
inline constexpr double q8Logits = 5e-2;
/// The same in mxint8, whose steps are up to twice as long. Against a reference that rounds to q8
/// the logits are 2 apart.
inline constexpr double mxint8Logits = 1e-1;

/// The same with activations in bf16: a step is at most 2^-7 of the value. Weights must be rounded
/// alike on both sides, so the rest of the difference is sums in f32.
inline constexpr double bf16Logits = 5e-2;

/// Logits with activations in bf16 against the published ones in f32: each of some 10 roundings a
/// layer is off by up to 2^-9 of a value, at random; of logits that reach 30, 6 layers leave a few
/// hundredths, and where two experts are close another one is chosen. A wrong order of columns
/// gives tens.
inline constexpr double bf16GoldenLogits = 1.0;
/// The mean over all logits of that, which the rare other expert does not move.
inline constexpr double bf16MeanGoldenLogits = 0.1;
/// Cosine of all logits of a small random model with weights and activations in bf16 and the
/// published ones: each off by up to 2^-9 of itself; a close choice of experts may turn.
inline constexpr double bf16Cosine = 0.99;
/// Perplexity with activations in bf16, against the published one, relative.
inline constexpr double bf16Perplexity = 0.005;

/// Perplexity of the default policy against the published one, relative: what the project promises.
inline constexpr double defaultPolicyPerplexity = 0.005;
/// Tokens of the held-out text whose most likely successor is the published one, likewise.
inline constexpr double defaultPolicyAgreement = 0.97;

/// Mean KL divergence of the default policy from the model as stored, on the held-out text, in nats
/// a token: 0.0011 here, and twice that as room for other orders of sums. int4 gives more.
inline constexpr double defaultPolicyDivergence = 0.002;

/// Cosine of a token's logits of a small random model under the default policy and the published
/// ones, median over a prompt, and of the whole prompt. int8 weights and activations are each off
/// by some 0.4 % of a block's largest, queries and weights of keys by as much. A close choice of
/// experts may turn, and then the token's is 0.94 to 0.98: gpt_oss has five such of 40, and 0.989
/// for all; dense models give 0.998 and more. A wrong scale, order or head gives 0.9 and less.
inline constexpr double defaultPolicyCosine = 0.99, defaultPolicyCosineOfAll = 0.985;

/// Logits with KV in bf16, against ir/reference that rounds KV to bf16 too: a key or value within
/// f32 error of a rounding boundary goes the other way, and is then off by 2^-8 of itself. That is
/// one element in some 2,000; the softmax averages it over its head and the keys.
inline constexpr double bf16KvLogits = 1e-2;

/// Logits of the same model compiled without some of the optional stages: a product in one sum or
/// in parts, a bias before or after, a norm once for all rows or in a product's prologue. All
/// orders are fixed, but not the same ones.
inline constexpr double unfusedLogits = 1e-4;

} // namespace inf::test
