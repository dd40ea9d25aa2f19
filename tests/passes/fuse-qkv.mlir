// RUN: inf-opt %s -split-input-file -inf-fuse-qkv | FileCheck %s
// The q, k and v products of one input become one product, for every layer of the kind.

// The new weights have the parts of the old in the order q, k, v; the old ones are gone.
// CHECK: inf.model @all
// CHECK-NOT: attention.q.
// CHECK: inf.weight @layers.0.attention.qkv.weight : !inf.weight<[64, 32]> from [#inf.part<tensor = "q0", stored = f32, rows = 32>, #inf.part<tensor = "k0", stored = f32, rows = 16>, #inf.part<tensor = "v0", stored = f32, rows = 16>]
// CHECK: inf.weight @layers.0.attention.qkv.bias : !inf.weight<[64]> from [#inf.part<tensor = "bq0", stored = f32, rows = 32>, #inf.part<tensor = "bk0", stored = f32, rows = 16>, #inf.part<tensor = "bv0", stored = f32, rows = 16>]
// CHECK: inf.weight @layers.1.attention.qkv.weight : !inf.weight<[64, 32]> from [#inf.part<tensor = "q1"
// CHECK: inf.block @layer(%[[X:.*]]: tensor<?x32xf32>, %[[W:.*]]: !inf.weight<[64, 32]> {inf.slot = "attention.qkv.weight"}, %[[B:.*]]: !inf.weight<[64]> {inf.slot = "attention.qkv.bias"})
// CHECK-NEXT: %[[T:.*]] = inf.linear %[[X]], %[[W]] bias %[[B]]
// CHECK-NEXT: %[[Q:.*]] = inf.slice %[[T]] from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
// CHECK-NEXT: %[[K:.*]] = inf.slice %[[T]] from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
// CHECK-NEXT: %[[V:.*]] = inf.slice %[[T]] from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
// CHECK-NEXT: %[[RQ:.*]] = inf.rope %[[Q]]
// CHECK-NEXT: %[[RK:.*]] = inf.rope %[[K]]
// CHECK-NEXT: inf.kv_append %[[RK]], %[[V]]
// CHECK-NEXT: inf.attention %[[RQ]]
// CHECK: inf.layer 0 @layer(%{{.*}}) kv_slot 0 weights [@layers.0.attention.qkv.weight, @layers.0.attention.qkv.bias]
// CHECK: inf.layer 1 @layer(%{{.*}}) kv_slot 1 weights [@layers.1.attention.qkv.weight, @layers.1.attention.qkv.bias]
inf.model @all attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0, 1>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.weight @layers.0.attention.q.weight : !inf.weight<[32, 32]> from [#inf.part<tensor = "q0", stored = f32, rows = 32>]
  inf.weight @layers.0.attention.q.bias : !inf.weight<[32]> from [#inf.part<tensor = "bq0", stored = f32, rows = 32>]
  inf.weight @layers.0.attention.k.weight : !inf.weight<[16, 32]> from [#inf.part<tensor = "k0", stored = f32, rows = 16>]
  inf.weight @layers.0.attention.k.bias : !inf.weight<[16]> from [#inf.part<tensor = "bk0", stored = f32, rows = 16>]
  inf.weight @layers.0.attention.v.weight : !inf.weight<[16, 32]> from [#inf.part<tensor = "v0", stored = f32, rows = 16>]
  inf.weight @layers.0.attention.v.bias : !inf.weight<[16]> from [#inf.part<tensor = "bv0", stored = f32, rows = 16>]
  inf.weight @layers.1.attention.q.weight : !inf.weight<[32, 32]> from [#inf.part<tensor = "q1", stored = f32, rows = 32>]
  inf.weight @layers.1.attention.q.bias : !inf.weight<[32]> from [#inf.part<tensor = "bq1", stored = f32, rows = 32>]
  inf.weight @layers.1.attention.k.weight : !inf.weight<[16, 32]> from [#inf.part<tensor = "k1", stored = f32, rows = 16>]
  inf.weight @layers.1.attention.k.bias : !inf.weight<[16]> from [#inf.part<tensor = "bk1", stored = f32, rows = 16>]
  inf.weight @layers.1.attention.v.weight : !inf.weight<[16, 32]> from [#inf.part<tensor = "v1", stored = f32, rows = 16>]
  inf.weight @layers.1.attention.v.bias : !inf.weight<[16]> from [#inf.part<tensor = "bv1", stored = f32, rows = 16>]
  inf.block @layer(%x: tensor<?x32xf32>, %wq: !inf.weight<[32, 32]> {inf.slot = "attention.q.weight"}, %bq: !inf.weight<[32]> {inf.slot = "attention.q.bias"}, %wk: !inf.weight<[16, 32]> {inf.slot = "attention.k.weight"}, %bk: !inf.weight<[16]> {inf.slot = "attention.k.bias"}, %wv: !inf.weight<[16, 32]> {inf.slot = "attention.v.weight"}, %bv: !inf.weight<[16]> {inf.slot = "attention.v.bias"}) -> tensor<?x32xf32> {
    %q = inf.linear %x, %wq bias %bq : (tensor<?x32xf32>, !inf.weight<[32, 32]>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %k = inf.linear %x, %wk bias %bk : (tensor<?x32xf32>, !inf.weight<[16, 32]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv bias %bv : (tensor<?x32xf32>, !inf.weight<[16, 32]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.add %x, %a : tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %y = inf.layer 0 @layer(%x) kv_slot 0 weights [@layers.0.attention.q.weight, @layers.0.attention.q.bias, @layers.0.attention.k.weight, @layers.0.attention.k.bias, @layers.0.attention.v.weight, @layers.0.attention.v.bias] : tensor<?x32xf32>
    %z = inf.layer 1 @layer(%y) kv_slot 1 weights [@layers.1.attention.q.weight, @layers.1.attention.q.bias, @layers.1.attention.k.weight, @layers.1.attention.k.bias, @layers.1.attention.v.weight, @layers.1.attention.v.bias] : tensor<?x32xf32>
    %o = inf.output_rows %z : tensor<?x32xf32>
    %l = inf.lm_head %o, %e : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}

// -----

// Layers share weights, k and v are one weight, names follow no pattern: every layer still gets a
// weight of a name of its own, and what is dropped is dropped once.
// CHECK: inf.model @shared
// CHECK-NEXT: inf.kv_group
// CHECK-NEXT: inf.weight @e :
// CHECK-NEXT: inf.weight @attention.qkv.weight :
// CHECK-NEXT: inf.weight @attention.qkv.weight.1 :
// CHECK-NEXT: inf.block
// CHECK: inf.layer 0 @layer(%{{.*}}) kv_slot 0 weights [@attention.qkv.weight]
// CHECK: inf.layer 1 @layer(%{{.*}}) kv_slot 1 weights [@attention.qkv.weight.1]
inf.model @shared attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0, 1>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.weight @queries : !inf.weight<[16, 16]> from [#inf.part<tensor = "q", stored = f32, rows = 16>]
  inf.weight @keys : !inf.weight<[16, 16]> from [#inf.part<tensor = "kv", stored = f32, rows = 16>]
  inf.block @layer(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %y = inf.add %x, %a : tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %y = inf.layer 0 @layer(%x) kv_slot 0 weights [@queries, @keys, @keys] : tensor<?x16xf32>
    %z = inf.layer 1 @layer(%y) kv_slot 1 weights [@queries, @keys, @keys] : tensor<?x16xf32>
    %o = inf.output_rows %z : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// A format set by hand stays, and weights of different formats are not joined.
// CHECK: inf.model @formats
// CHECK: inf.weight @layers.0.attention.qkv.weight :{{.*}} {format = #inf.format<f32>}
// CHECK: inf.weight @layers.1.q :{{.*}} {format = #inf.format<bf16>}
// CHECK: inf.block @same
// CHECK-NEXT: inf.linear
// CHECK-NEXT: inf.slice
// CHECK: inf.block @different
// CHECK-COUNT-3: inf.linear
inf.model @formats attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0, 1>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.weight @layers.0.q : !inf.weight<[16, 16]> from [#inf.part<tensor = "q0", stored = bf16, rows = 16>] {format = #inf.format<f32>}
  inf.weight @layers.0.k : !inf.weight<[16, 16]> from [#inf.part<tensor = "k0", stored = bf16, rows = 16>] {format = #inf.format<f32>}
  inf.weight @layers.0.v : !inf.weight<[16, 16]> from [#inf.part<tensor = "v0", stored = bf16, rows = 16>] {format = #inf.format<f32>}
  inf.weight @layers.1.q : !inf.weight<[16, 16]> from [#inf.part<tensor = "q1", stored = f32, rows = 16>] {format = #inf.format<bf16>}
  inf.weight @layers.1.k : !inf.weight<[16, 16]> from [#inf.part<tensor = "k1", stored = f32, rows = 16>]
  inf.weight @layers.1.v : !inf.weight<[16, 16]> from [#inf.part<tensor = "v1", stored = f32, rows = 16>]
  inf.block @same(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }
  inf.block @different(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %y = inf.layer 0 @same(%x) kv_slot 0 weights [@layers.0.q, @layers.0.k, @layers.0.v] : tensor<?x16xf32>
    %z = inf.layer 1 @different(%y) kv_slot 1 weights [@layers.1.q, @layers.1.k, @layers.1.v] : tensor<?x16xf32>
    %o = inf.output_rows %z : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// CHECK: inf.model @guards
inf.model @guards attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.weight @b : !inf.weight<[16]> from [#inf.part<tensor = "b", stored = f32, rows = 16>]

  // k and v come before q: the product must stand where the first of them is read.
  // CHECK: inf.block @late_q
  // CHECK-NEXT: inf.linear
  // CHECK-NEXT: inf.slice
  inf.block @late_q(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  // CHECK: inf.block @different_inputs
  // CHECK-COUNT-3: inf.linear
  inf.block @different_inputs(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %k = inf.linear %q, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  // CHECK: inf.block @bias_on_one
  // CHECK-COUNT-3: inf.linear
  inf.block @bias_on_one(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %bq: !inf.weight<[16]> {inf.slot = "b"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq bias %bq : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  // A weight named in the block is the same for all layers: there is none to join for each.
  // CHECK: inf.block @bias_by_name
  // CHECK-COUNT-3: inf.linear
  inf.block @bias_by_name(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %b = inf.use @b : <[16]>
    %q = inf.linear %x, %wq bias %b : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk bias %b : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv bias %b : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  // An addend belongs to one of the three alone.
  // CHECK: inf.block @adapter
  // CHECK-COUNT-3: inf.linear
  inf.block @adapter(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}, %wv: !inf.weight<[16, 16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq addend %x : (tensor<?x16xf32>, !inf.weight<[16, 16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %v = inf.linear %x, %wv : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  // Keys are values: one product can't be joined with itself.
  // CHECK: inf.block @one_product_twice
  // CHECK-COUNT-2: inf.linear
  // CHECK-NOT: inf.slice
  // CHECK: inf.kv_append
  inf.block @one_product_twice(%x: tensor<?x16xf32>, %wq: !inf.weight<[16, 16]> {inf.slot = "q"}, %wk: !inf.weight<[16, 16]> {inf.slot = "k"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %wq : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %k = inf.linear %x, %wk : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.kv_append %k, %k into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %q over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %a : tensor<?x16xf32>
  }

  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %o = inf.output_rows %x : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}
