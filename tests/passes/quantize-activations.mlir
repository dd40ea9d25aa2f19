// RUN: inf-opt %s -inf-quantize-activations | FileCheck %s
// RUN: sed 's/activations = "q8"/activations = "f32"/' %s | inf-opt -inf-quantize-activations | FileCheck %s -check-prefix=F32
// RUN: sed 's/activations = "q8", //' %s | not inf-opt -inf-quantize-activations 2>&1 | FileCheck %s -check-prefix=NONE
// RUN: sed 's/activations = "q8"/activations = "bf16"/' %s | inf-opt -inf-quantize-activations | FileCheck %s -check-prefix=BF16
// Products of weights in block formats read their rows in int8, those of bf16 in bf16 where asked.

// F32-NOT: q8
// F32-NOT: dots = "bf16"
// NONE: error: expected activations (f32, q8, mxint8 or bf16) on the model; run inf-quantize
inf.model @m attributes {activations = "q8", architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @narrow {layers = array<i64: 3>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 16 : i64}
  inf.kv_group @wide {layers = array<i64: 4>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>}
  inf.weight @n : !inf.weight<[32]> from [#inf.part<tensor = "n", stored = f32, rows = 32>] {format = #inf.format<f32>}
  inf.weight @b : !inf.weight<[32, 32]> from [#inf.part<tensor = "b", stored = bf16, rows = 32>] {format = #inf.format<int8>}
  inf.weight @d : !inf.weight<[32, 32]> from [#inf.part<tensor = "d", stored = bf16, rows = 32>] {format = #inf.format<bf16>}
  inf.weight @h : !inf.weight<[4, 32]> from [#inf.part<tensor = "h", stored = bf16, rows = 4>] {format = #inf.format<int4>}

  // One for both products; what reads floats goes on reading floats.
  // CHECK: inf.block @shares(%[[X:.*]]: tensor<?x32xf32>
  // CHECK-NEXT: %[[Q:.*]] = inf.quantize_activation %[[X]] : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
  // CHECK-NEXT: inf.linear %[[Q]], %b
  // CHECK-NEXT: inf.linear %[[Q]], %b
  // CHECK-NEXT: inf.linear %[[X]], %d
  // BF16: inf.block @shares(%[[X:.*]]: tensor<?x32xf32>
  // BF16-DAG: %[[D:.*]] = inf.quantize_activation %[[X]] : (tensor<?x32xf32>) -> tensor<?x32xbf16>
  // BF16-DAG: %[[Q:.*]] = inf.quantize_activation %[[X]] : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
  // BF16: inf.linear %[[Q]], %b
  // BF16-NEXT: inf.linear %[[Q]], %b
  // BF16-NEXT: inf.linear %[[D]], %d
  inf.block @shares(%x: tensor<?x32xf32>, %b: !inf.weight<[32, 32]> {inf.slot = "b"}, %d: !inf.weight<[32, 32]> {inf.slot = "d"}) -> tensor<?x32xf32> {
    %y = inf.linear %x, %b : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %z = inf.linear %x, %b : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %w = inf.linear %x, %d : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
  }

  // The norm comes between x and the product.
  // CHECK: inf.block @norm_between(%[[X:.*]]: tensor<?x32xf32>
  // CHECK-NEXT: inf.linear %[[X]]
  inf.block @norm_between(%x: tensor<?x32xf32>, %n: !inf.weight<[32]> {inf.slot = "n"}, %b: !inf.weight<[32, 32]> {inf.slot = "b"}) -> tensor<?x32xf32> {
    %y = inf.linear %x, %b norm %n {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32, 32]>, !inf.weight<[32]>) -> tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
  }

  // A router's logits are compared: its rows stay floats.
  // BF16: inf.block @router(%[[X:.*]]: tensor<?x32xf32>
  // BF16-NEXT: inf.linear %[[X]], %d
  inf.block @router(%x: tensor<?x32xf32>, %d: !inf.weight<[32, 32]> {inf.slot = "d"}) -> tensor<?x32xf32> {
    %y = inf.linear %x, %d : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %i, %p = inf.router_topk %y top 2 : (tensor<?x32xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x32xf32>
  }

  // Keys in bf16 are multiplied in bf16, unless the op says in what.
  // CHECK: inf.block @attention
  // CHECK-NEXT: inf.attention {{.*}} over @narrow {dots = "bf16",
  // CHECK-NEXT: inf.attention {{.*}} over @narrow {dots = "f32",
  // BF16: inf.block @attention
  // BF16-NEXT: inf.attention {{.*}} over @narrow {dots = "bf16",
  inf.block @attention(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %y = inf.attention %x over @narrow {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %z = inf.attention %x over @narrow {dots = "f32", heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    inf.yield %x : tensor<?x32xf32>
  }

  // CHECK: inf.block @attention_to_floats
  // CHECK-NEXT: inf.attention {{.*}} over @wide {head_dim
  inf.block @attention_to_floats(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %w = inf.attention %x over @wide {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 1.0 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    inf.yield %x : tensor<?x32xf32>
  }

  // CHECK: inf.step
  // CHECK: %[[O:.*]] = inf.output_rows
  // CHECK-NEXT: %[[Q:.*]] = inf.quantize_activation %[[O]]
  // CHECK: inf.lm_head %[[Q]]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %y = inf.layer 0 @shares(%x) kv_slot 0 weights [@b, @d] : tensor<?x32xf32>
    %z = inf.layer 1 @norm_between(%y) kv_slot 0 weights [@n, @b] : tensor<?x32xf32>
    %r = inf.layer 2 @router(%z) kv_slot 0 weights [@d] : tensor<?x32xf32>
    %a = inf.layer 3 @attention(%r) kv_slot 0 weights [] : tensor<?x32xf32>
    %f = inf.layer 4 @attention_to_floats(%a) kv_slot 0 weights [] : tensor<?x32xf32>
    %o = inf.output_rows %f : tensor<?x32xf32>
    %h = inf.use @h : <[4, 32]>
    %l = inf.lm_head %o, %h : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
