// Descriptions of small models that differ where passes branch. Weights are declared by their own
// names, so that random weights can stand behind them.
#pragma once

#include "compiler/frontends/ModelDesc.h"

namespace inf::test {

/// Llama's shape: one kind of layer, dense MLP, plain swiglu, no biases, default rope, tied
/// embeddings. hidden 64, 4 heads on 2, 2 layers, f32.
ModelDesc denseModel();

/// gpt-oss's shape: layers in turn with a window of 8 and without, biases and sinks everywhere,
/// yarn, mxfp4 experts (4, top 2), the rest bf16. hidden 64, 4 heads on 2, 4 layers.
ModelDesc gptOssLikeModel();

/// Sizes that are no multiple of any vector or panel where the dialect allows it: hidden 48,
/// head_dim 16, 3 experts top 2, intermediate 40, vocabulary 101, f32; dense and expert layers mix.
ModelDesc unevenModel();

/// Qwen's shape: norms of heads, biases of q, k and v, heads of 24 features (3 on 1: with an odd
/// number of them no two make whole units), a dense layer and one of experts that share of the
/// softmax over all; llama3 rope. hidden 64, f32.
ModelDesc qwenLikeModel();

/// "attention.q.weight" of all layers (or "embedding.weight", ...) is stored as `format`.
void storeAs(ModelDesc &desc, const std::string &weight, WeightFormat format);

} // namespace inf::test
