// RUN: inf-opt %s -inf-specialize-blocks | FileCheck %s
// Layers whose weights differ in format get a block of their own; those that agree share one.

// CHECK: inf.block @layer(
// CHECK: inf.block @layer_0(
// CHECK-NOT: inf.block
// CHECK: inf.layer 0 @layer(
// CHECK: inf.layer 1 @layer_0(
// CHECK: inf.layer 2 @layer(
// CHECK: inf.layer 3 @layer_0(
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.weight @w0 : !inf.weight<[32, 32]> from [#inf.part<tensor = "w0", stored = bf16, rows = 32>] {format = #inf.format<bf16>}
  inf.weight @w1 : !inf.weight<[32, 32]> from [#inf.part<tensor = "w1", stored = bf16, rows = 32>] {format = #inf.format<f32>}
  inf.weight @w2 : !inf.weight<[32, 32]> from [#inf.part<tensor = "w2", stored = bf16, rows = 32>] {format = #inf.format<bf16>}
  inf.weight @w3 : !inf.weight<[32, 32]> from [#inf.part<tensor = "w3", stored = bf16, rows = 32>] {format = #inf.format<f32>}
  inf.block @layer(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.linear %x, %w : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %z = inf.add %x, %y : tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@w0] : tensor<?x32xf32>
    %x2 = inf.layer 1 @layer(%x1) kv_slot 0 weights [@w1] : tensor<?x32xf32>
    %x3 = inf.layer 2 @layer(%x2) kv_slot 0 weights [@w2] : tensor<?x32xf32>
    %x4 = inf.layer 3 @layer(%x3) kv_slot 0 weights [@w3] : tensor<?x32xf32>
    %o = inf.output_rows %x4 : tensor<?x32xf32>
    %l = inf.lm_head %o, %e : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
