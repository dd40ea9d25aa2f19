// RUN: inf-opt %s -inf-select-kernels=target=avx512 | FileCheck %s -check-prefixes=CHECK,AVX512
// RUN: inf-opt %s -inf-select-kernels=target=avx2 | FileCheck %s -check-prefixes=CHECK,AVX2
// RUN: inf-opt %s -inf-select-kernels=target=avx512bf16 | FileCheck %s -check-prefix=BF16
// RUN: inf-opt %s -inf-select-kernels=target=amx | FileCheck %s -check-prefix=AMX
// RUN: not inf-opt %s -inf-select-kernels=target=vax 2>&1 | FileCheck %s -check-prefix=TARGET
// Every product and attention gets its kernel by the table, every weight its readers' layout.

// TARGET: error: {{.*}}vax
// AVX512: inf.model @m attributes {{.*}}target = "avx512"
// AVX2: inf.model @m attributes {{.*}}target = "avx2"
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  // CHECK: inf.weight @e {{.*}}layout = #inf.layout<rows>
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>}
  // CHECK: inf.weight @norm {{.*}}layout = #inf.layout<vector>
  inf.weight @norm : !inf.weight<[32]> from [#inf.part<tensor = "n", stored = f32, rows = 32>] {format = #inf.format<f32>}
  // CHECK: inf.weight @qkv {{.*}}layout = #inf.layout<panel16>
  inf.weight @qkv : !inf.weight<[64, 32]> from [#inf.part<tensor = "qkv", stored = bf16, rows = 64>] {format = #inf.format<bf16>}
  // CHECK: inf.weight @sinks {{.*}}layout = #inf.layout<vector>
  inf.weight @sinks : !inf.weight<[2]> from [#inf.part<tensor = "s", stored = f32, rows = 2>] {format = #inf.format<f32>}
  // Gate and up rows that an activation pairs lie in pairs of panels, their biases likewise.
  // CHECK: inf.weight @up {{.*}}layout = #inf.layout<panel16_pairs>
  inf.weight @up : !inf.weight<[3, 64, 32]> from [#inf.part<tensor = "u", scales = "us", stored = mxfp4, rows = 64>] {format = #inf.format<mxfp4>}
  // CHECK: inf.weight @up_bias {{.*}}layout = #inf.layout<vector_pairs>
  inf.weight @up_bias : !inf.weight<[3, 64, 1]> from [#inf.part<tensor = "ub", stored = f32, rows = 64>] {format = #inf.format<f32>}
  // CHECK: inf.weight @down {{.*}}layout = #inf.layout<panel16>
  inf.weight @down : !inf.weight<[3, 32, 32]> from [#inf.part<tensor = "d", scales = "ds", stored = mxfp4, rows = 32>] {format = #inf.format<mxfp4>}
  inf.weight @router : !inf.weight<[3, 32]> from [#inf.part<tensor = "r", stored = f16, rows = 3>] {format = #inf.format<f16>}
  inf.weight @out : !inf.weight<[32, 32]> from [#inf.part<tensor = "o", stored = f32, rows = 32>] {format = #inf.format<f32>}
  inf.weight @head : !inf.weight<[4, 32]> from [#inf.part<tensor = "h", stored = f32, rows = 4>] {format = #inf.format<f32>}
  inf.block @layer(%x: tensor<?x32xf32>, %n: !inf.weight<[32]> {inf.slot = "n"}, %qkv: !inf.weight<[64, 32]> {inf.slot = "qkv"}, %s: !inf.weight<[2]> {inf.slot = "s"}, %wo: !inf.weight<[32, 32]> {inf.slot = "o"}, %wr: !inf.weight<[3, 32]> {inf.slot = "r"}, %u: !inf.weight<[3, 64, 32]> {inf.slot = "u"}, %ub: !inf.weight<[3, 64, 1]> {inf.slot = "ub"}, %d: !inf.weight<[3, 32, 32]> {inf.slot = "d"}) -> tensor<?x32xf32> {
    // AVX512: inf.qkv {{.*}}inf.kernel = "inf_linear_bf16_f32_r8__avx512"
    // AVX2: inf.qkv {{.*}}inf.kernel = "inf_linear_bf16_f32_r2__avx2"
    %q = inf.qkv %x, %qkv norm %n by @r into @g {eps = 1.0e-5 : f64, heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>, !inf.weight<[64, 32]>, !inf.weight<[32]>) -> tensor<?x32xf32>
    // Attention reads what its group stores.
    // AVX512: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_sinks__avx512"
    // AVX2: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_sinks__avx2"
    // With bf16 dots by the instruction for them where there is one and it is fast.
    // AVX512: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_bf16dots__avx512"
    // AVX2: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_bf16dots__avx2"
    // BF16: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_sinks__avx512"
    // BF16: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_bf16dots__avx512bf16"
    // AMX: inf.attention {{.*}}inf.kernel = "inf_attention_bf16_d16_g2_b64_bf16dots__avx512"
    %a = inf.attention %q sinks %s over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>, !inf.weight<[2]>) -> tensor<?x32xf32>
    %a2 = inf.attention %q over @g {dots = "bf16", heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // AVX512: inf.linear {{.*}}inf.kernel = "inf_linear_f32_f32_r8_residual__avx512"
    // AVX2: inf.linear {{.*}}inf.kernel = "inf_linear_f32_f32_r2_residual__avx2"
    %y = inf.linear %a, %wo residual %x : (tensor<?x32xf32>, !inf.weight<[32, 32]>, tensor<?x32xf32>) -> tensor<?x32xf32>
    // CHECK: inf.router {{.*}}inf.kernel = "inf_linear_f16_f32_r
    %m, %i, %p = inf.router %y, %wr norm %n top 2 {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[3, 32]>, !inf.weight<[32]>) -> (tensor<?x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    // AVX512: inf.expert_up {{.*}}inf.kernel = "inf_linear_mxfp4_f32_r8_bias_swigluclamped__avx512"
    // AVX2: inf.expert_up {{.*}}inf.kernel = "inf_linear_mxfp4_f32_r2_bias_swigluclamped__avx2"
    %h = inf.expert_up %m, %i, %u bias %ub {activation = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 1.702 : f64>} : (tensor<?x32xf32>, tensor<?x2xi32>, !inf.weight<[3, 64, 32]>, !inf.weight<[3, 64, 1]>) -> tensor<?x2x32xf32>
    // A kernel chosen by hand stays.
    // CHECK: inf.expert_down {{.*}}inf.kernel = "inf_linear_mxfp4_f32_r1__avx2"
    %z, %parts = inf.expert_down %h, %i, %p, %d residual %y {inf.kernel = "inf_linear_mxfp4_f32_r1__avx2"} : (tensor<?x2x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 32, 32]>, tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x2x32xf32>)
    inf.yield %z : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    // CHECK: inf.embedding
    // CHECK-NOT: inf.kernel
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@norm, @qkv, @sinks, @out, @router, @up, @up_bias, @down] : tensor<?x32xf32>
    %o = inf.output_rows %x1 : tensor<?x32xf32>
    %w = inf.use @head : <[4, 32]>
    // CHECK: inf.lm_head {{.*}}inf.kernel = "inf_linear_f32_f32_r
    %l = inf.lm_head %o, %w : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
