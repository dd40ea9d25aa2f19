// RUN: inf-opt %s -pass-pipeline="builtin.module(inf.model(inf-quantize,inf-select-kernels{target=avx2},inf-partition,inf-plan-memory,inf-verify-plan),inf-lower-to-llvm)" | FileCheck %s
// RUN: not inf-opt %s -inf-lower-to-llvm 2>&1 | FileCheck %s -check-prefix=UNPLANNED
// The planned model becomes LLVM code: one function per kind of layer, the step, and the data of
// inf_abi.h.

// UNPLANNED: error: expected a memory plan; run inf-plan-memory

// Nothing of ours is left.
// CHECK-NOT: inf.model
// Kernels are outside, and each is declared once.
// CHECK-DAG: llvm.func hidden @inf_linear_f32_f32_r2__avx2(!llvm.ptr) attributes {dso_local}
// CHECK-DAG: llvm.func hidden @inf_linear_f32_f32_r2_residual__avx2(!llvm.ptr) attributes {dso_local}
// The layers' weights, by their offsets in the payload: code is shared, the table is not.
// CHECK-DAG: llvm.mlir.global {{.*}}constant @inf_layer_weights({{.*}}[1024, 2048]

// Two layers, one function. There is no libc that a loop could be turned into.
// CHECK: llvm.func internal @inf_block_layer({{.*}}no-builtins
// CHECK: llvm.call @inf_linear_f32_f32_r2_residual__avx2
// CHECK: llvm.func internal @inf_model_step({{.*}}no-builtins
// What a number means does not depend on the caller's rounding mode.
// CHECK: llvm.call_intrinsic "llvm.x86.sse.stmxcsr"
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK: llvm.call @inf_block_layer
// CHECK: llvm.call @inf_block_layer
// CHECK-NOT: llvm.call @inf_block_layer
// CHECK: llvm.call @inf_linear_f32_f32_r2__avx2
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK: llvm.func @inf_model_query(
// CHECK-NOT: inf.model
inf.model @m attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>]
  inf.weight @w0 : !inf.weight<[16, 16]> from [#inf.part<tensor = "w0", stored = f32, rows = 16>]
  inf.weight @w1 : !inf.weight<[16, 16]> from [#inf.part<tensor = "w1", stored = f32, rows = 16>]
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>]
  inf.block @layer(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %s = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %y = inf.linear %s, %w residual %x : (tensor<?x16xf32>, !inf.weight<[16, 16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@w0] : tensor<?x16xf32>
    %x2 = inf.layer 1 @layer(%x1) kv_slot 0 weights [@w1] : tensor<?x16xf32>
    %o = inf.output_rows %x2 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}
