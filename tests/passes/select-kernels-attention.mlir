// RUN: inf-opt %s -inf-select-kernels=target=amx | FileCheck %s
// Tiles take heads of whole groups of 32 dimensions, four and more that share a kv head, and blocks of
// whole groups of keys.

inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 128 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @one {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 32 : i64}
  inf.kv_group @two {layers = array<i64: 1>, kv_heads = 2 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.kv_group @short {layers = array<i64: 2>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 16 : i64}
  inf.kv_group @odd {layers = array<i64: 3>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[4, 128]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>}
  inf.weight @h : !inf.weight<[4, 128]> from [#inf.part<tensor = "h", stored = f32, rows = 4>] {format = #inf.format<f32>}
  inf.block @b0(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
    // CHECK: inf.kernel = "inf_attention_bf16_d32_g4_b32_bf16dots_by32__amx"
    %y = inf.attention %x over @one {dots = "bf16", heads = 4 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.block @b1(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
    // CHECK: inf.kernel = "inf_attention_bf16_d32_g2_b64_bf16dots__avx512"
    %y = inf.attention %x over @two {dots = "bf16", heads = 4 : i64, kv_heads = 2 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.block @b2(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
    // CHECK: inf.kernel = "inf_attention_bf16_d32_g4_b16_bf16dots__avx512"
    %y = inf.attention %x over @short {dots = "bf16", heads = 4 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.block @b3(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
    // CHECK: inf.kernel = "inf_attention_bf16_d16_g8_b64_bf16dots__avx512"
    %y = inf.attention %x over @odd {dots = "bf16", heads = 8 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 128]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 128]>) -> tensor<?x128xf32>
    %x0 = inf.layer 0 @b0(%x) kv_slot 0 weights [] : tensor<?x128xf32>
    %x1 = inf.layer 1 @b1(%x0) kv_slot 0 weights [] : tensor<?x128xf32>
    %x2 = inf.layer 2 @b2(%x1) kv_slot 0 weights [] : tensor<?x128xf32>
    %x3 = inf.layer 3 @b3(%x2) kv_slot 0 weights [] : tensor<?x128xf32>
    %o = inf.output_rows %x3 : tensor<?x128xf32>
    %h = inf.use @h : <[4, 128]>
    %l = inf.lm_head %o, %h : (tensor<?x128xf32>, !inf.weight<[4, 128]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x128xf32>, tensor<?x4xf32>
  }
}
