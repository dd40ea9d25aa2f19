// RUN: inf-opt %s -inf-fuse-quantize | FileCheck %s
// What makes rows that are only read in int8 or bf16 stores them so.

inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.kv_group @narrow {layers = array<i64>, kv_heads = 2 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @norm
  // CHECK-NEXT: %[[N:.*]] = inf.rms_norm {{.*}} -> tensor<?x32x!inf.q8>
  // CHECK-NEXT: inf.linear %[[N]]
  inf.block @norm(%x: tensor<?x32xf32>, %n: !inf.weight<[32]> {inf.slot = "n"}, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.rms_norm %x, %n {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %z = inf.linear %q, %w : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  // CHECK: inf.block @attention
  // CHECK-NEXT: inf.attention {{.*}} -> tensor<?x32x!inf.q8>
  // CHECK-NOT: inf.quantize_activation
  inf.block @attention(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %z = inf.linear %q, %w : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  // The heads of one unit of work are half a block.
  // CHECK: inf.block @half_a_block
  // CHECK-NEXT: inf.attention {{.*}} -> tensor<?x32xf32>
  // CHECK-NEXT: inf.quantize_activation
  inf.block @half_a_block(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.attention %x over @narrow {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %z = inf.linear %q, %w : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  // In bf16 there are no blocks.
  // CHECK: inf.block @half_a_block_bf16
  // CHECK-NEXT: inf.attention {{.*}} -> tensor<?x32xbf16>
  // CHECK-NOT: inf.quantize_activation
  inf.block @half_a_block_bf16(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.attention %x over @narrow {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32xbf16>
    %z = inf.linear %q, %w : (tensor<?x32xbf16>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  // Router and experts: the normed rows, and what lies between the experts' products.
  // CHECK: inf.block @experts
  // CHECK-NEXT: %[[R:.*]], %{{.*}}, %{{.*}} = inf.router {{.*}} -> (tensor<?x32x!inf.q8>,
  // CHECK-NEXT: %[[U:.*]] = inf.expert_up %[[R]], {{.*}} -> tensor<?x2x64x!inf.q8>
  // CHECK-NEXT: inf.expert_down %[[U]]
  inf.block @experts(%x: tensor<?x32xf32>, %e: !inf.weight<[3, 32]> {inf.slot = "e"}, %n: !inf.weight<[32]> {inf.slot = "n"}, %u: !inf.weight<[3, 128, 32]> {inf.slot = "u"}, %d: !inf.weight<[3, 32, 64]> {inf.slot = "d"}) -> tensor<?x32xf32> {
    %r, %i, %p = inf.router %x, %e norm %n top 2 {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[3, 32]>, !inf.weight<[32]>) -> (tensor<?x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    %q = inf.quantize_activation %r : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %up = inf.expert_up %q, %i, %u {activation = #inf.activation<swiglu>} : (tensor<?x32x!inf.q8>, tensor<?x2xi32>, !inf.weight<[3, 128, 32]>) -> tensor<?x2x64xf32>
    %uq = inf.quantize_activation %up : (tensor<?x2x64xf32>) -> tensor<?x2x64x!inf.q8>
    %y, %partials = inf.expert_down %uq, %i, %p, %d : (tensor<?x2x64x!inf.q8>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 32, 64]>) -> (tensor<?x32xf32>, tensor<?x2x32xf32>)
    inf.yield %y : tensor<?x32xf32>
  }

  // Somebody reads the floats.
  // CHECK: inf.block @two_readers
  // CHECK-NEXT: inf.rms_norm {{.*}} -> tensor<?x32xf32>
  // CHECK-NEXT: inf.quantize_activation
  inf.block @two_readers(%x: tensor<?x32xf32>, %n: !inf.weight<[32]> {inf.slot = "n"}, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.rms_norm %x, %n {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %z = inf.linear %q, %w residual %y : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>, tensor<?x32xf32>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  // A residual is updated in place, as floats.
  // CHECK: inf.block @residual
  // CHECK-NEXT: inf.linear {{.*}} residual {{.*}} -> tensor<?x32xf32>
  // CHECK-NEXT: inf.quantize_activation
  inf.block @residual(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    %y = inf.linear %x, %w residual %x : (tensor<?x32xf32>, !inf.weight<[32, 32]>, tensor<?x32xf32>) -> tensor<?x32xf32>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %z = inf.linear %q, %w : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }

  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %o = inf.output_rows %x : tensor<?x32xf32>
    %l = inf.lm_head %o, %e : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
