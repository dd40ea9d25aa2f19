// RUN: inf-opt %s -inf-quantize | FileCheck %s
// RUN: not inf-opt %s -inf-quantize=policy=int4 2>&1 | FileCheck %s -check-prefix=POLICY
// `none` keeps what the checkpoint holds.

// POLICY: error: expected quantization policy none, found int4
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // CHECK: @matrix {{.*}} {format = #inf.format<bf16>}
  inf.weight @matrix : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>]
  // CHECK: @half {{.*}} {format = #inf.format<f16>}
  inf.weight @half : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = f16, rows = 4>]
  // CHECK: @experts {{.*}} {format = #inf.format<mxfp4>}
  inf.weight @experts : !inf.weight<[2, 4, 32]> from [#inf.part<tensor = "a", scales = "s", stored = mxfp4, rows = 4>]
  // Vectors are f32: their kernels read nothing else.
  // CHECK: @vector {{.*}} {format = #inf.format<f32>}
  inf.weight @vector : !inf.weight<[4]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>]
  // CHECK: @expert_vector {{.*}} {format = #inf.format<f32>}
  inf.weight @expert_vector : !inf.weight<[2, 4, 1]> from [#inf.part<tensor = "a", stored = f16, rows = 4>]
  // f16 and bf16 both lose in the other; f32 holds all of them exactly, mxfp4 too.
  // CHECK: @mixed {{.*}} {format = #inf.format<f32>}
  inf.weight @mixed : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 2>, #inf.part<tensor = "b", scales = "s", stored = mxfp4, rows = 2>]
  // CHECK: @by_hand {{.*}} {format = #inf.format<f32>}
  inf.weight @by_hand : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>] {format = #inf.format<f32>}
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @matrix : <[4, 32]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %o = inf.output_rows %x : tensor<?x32xf32>
    %l = inf.lm_head %o, %e : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
