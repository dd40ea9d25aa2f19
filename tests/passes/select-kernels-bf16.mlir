// RUN: inf-opt %s -inf-select-kernels=target=amx | FileCheck %s -check-prefixes=CHECK,AMX
// RUN: inf-opt %s -inf-select-kernels=target=sapphirerapids | FileCheck %s -check-prefixes=CHECK,AMX
// RUN: inf-opt %s -inf-select-kernels=target=znver5 | FileCheck %s -check-prefixes=CHECK,DOT
// RUN: inf-opt %s -inf-select-kernels=target=icelake | FileCheck %s -check-prefixes=CHECK,FMA
// RUN: inf-opt %s -inf-select-kernels=target=amx | inf-opt -inf-verify-kernels
// RUN: sed 's/%q, %w/%q, %w {inf.kernel = "inf_linear_bf16_bf16_r4_by32__avx512"}/' %s | inf-opt -inf-select-kernels=target=avx512 -inf-verify-kernels | FileCheck %s -check-prefix=HAND
// RUN: sed 's/%q, %w/%q, %w {inf.kernel = "inf_linear_bf16_bf16_r16_by32__amx"}/' %s | not inf-opt -inf-select-kernels=target=znver5 -inf-verify-kernels 2>&1 | FileCheck %s -check-prefix=LACKS
// Rows in bf16: tiles where there is tdpbf16ps, in an order of sums that the kernel's name says.

// LACKS: needs amx_tile, amx_bf16, which target znver5 lacks
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>}
  // CHECK: inf.weight @w {{.*}}layout = #inf.layout<panel16_by2>
  inf.weight @w : !inf.weight<[32, 32]> from [#inf.part<tensor = "w", stored = bf16, rows = 32>] {format = #inf.format<bf16>}
  inf.weight @h : !inf.weight<[4, 32]> from [#inf.part<tensor = "h", stored = f32, rows = 4>] {format = #inf.format<f32>}
  inf.block @layer(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %q = inf.quantize_activation %x : (tensor<?x32xf32>) -> tensor<?x32xbf16>
    // AMX: inf.linear {{.*}}inf.kernel = "inf_linear_bf16_bf16_r16_by32__amx"
    // DOT: inf.linear {{.*}}inf.kernel = "inf_linear_bf16_bf16_r6__avx512bf16"
    // FMA: inf.linear {{.*}}inf.kernel = "inf_linear_bf16_bf16_r6__avx512"
    // HAND: inf.linear {{.*}}inf.kernel = "inf_linear_bf16_bf16_r4_by32__avx512"
    %y = inf.linear %q, %w : (tensor<?x32xbf16>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@w] : tensor<?x32xf32>
    %o = inf.output_rows %x1 : tensor<?x32xf32>
    %h = inf.use @h : <[4, 32]>
    %l = inf.lm_head %o, %h : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
