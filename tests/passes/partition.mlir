// RUN: inf-opt %s -inf-partition | FileCheck %s
// Each stage gets the axis and grain that keep an output element on one thread.

inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 64 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 32 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[4, 64]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @layer(%x: tensor<?x64xf32>, %n: !inf.weight<[64]> {inf.slot = "n"}, %w: !inf.weight<[128, 64]> {inf.slot = "w"}, %o: !inf.weight<[64, 64]> {inf.slot = "o"}, %r: !inf.weight<[3, 64]> {inf.slot = "r"}, %u: !inf.weight<[3, 32, 64]> {inf.slot = "u"}, %d: !inf.weight<[3, 64, 16]> {inf.slot = "d"}) -> tensor<?x64xf32> {
    // Rope pairs the halves of a head: whole heads.
    // CHECK: inf.qkv {{.*}}inf.partition = #inf.partition<axis = outputs, grain = 32, row_tile = 8>
    %q = inf.qkv %x, %w norm %n by @r into @g {eps = 1.0e-5 : f64, heads = 2 : i64, kv_heads = 1 : i64, head_dim = 32 : i64} : (tensor<?x64xf32>, !inf.weight<[128, 64]>, !inf.weight<[64]>) -> tensor<?x64xf32>
    // CHECK: inf.attention {{.*}}inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1>
    %a = inf.attention %q over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    // A panel is 16 outputs.
    // CHECK: inf.linear {{.*}}inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>
    %y = inf.linear %a, %o residual %x : (tensor<?x64xf32>, !inf.weight<[64, 64]>, tensor<?x64xf32>) -> tensor<?x64xf32>
    // CHECK: inf.router {{.*}}inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>
    %m, %i, %p = inf.router %y, %r norm %n top 2 {eps = 1.0e-5 : f64} : (tensor<?x64xf32>, !inf.weight<[3, 64]>, !inf.weight<[64]>) -> (tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    // CHECK: inf.expert_up {{.*}}inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>
    %h = inf.expert_up %m, %i, %u {activation = #inf.activation<swiglu>} : (tensor<?x64xf32>, tensor<?x2xi32>, !inf.weight<[3, 32, 64]>) -> tensor<?x2x16xf32>
    // What a hand set stays.
    // CHECK: inf.expert_down {{.*}}inf.partition = #inf.partition<axis = outputs, grain = 32, row_tile = 4>
    %z, %parts = inf.expert_down %h, %i, %p, %d residual %y {inf.partition = #inf.partition<axis = outputs, grain = 32, row_tile = 4>} : (tensor<?x2x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 64, 16]>, tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x2x64xf32>)
    inf.yield %z : tensor<?x64xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    // CHECK: inf.use @e : <[4, 64]>
    %e = inf.use @e : <[4, 64]>
    // CHECK: inf.embedding {{.*}}inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 64]>) -> tensor<?x64xf32>
    // CHECK: inf.output_rows {{.*}}inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>
    %o = inf.output_rows %x : tensor<?x64xf32>
    // CHECK: inf.lm_head {{.*}}inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>
    %l = inf.lm_head %o, %e : (tensor<?x64xf32>, !inf.weight<[4, 64]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x64xf32>, tensor<?x4xf32>
  }
}

// Keys are shared out too where a row may have more than a chunk of them: a window of 1024 or less
// never gets a place for partial results.
// CHECK-LABEL: inf.model @chunks
inf.model @chunks attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 5000 : i64, eos_tokens = array<i64>} {
  inf.kv_group @full {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.kv_group @narrow {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 1024 : i64, element = "f32", block_tokens = 64 : i64}
  inf.kv_group @wide {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 1025 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @layer(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    // CHECK: inf.attention {{.*}}@full {{.*}}inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>
    %a = inf.attention %x over @full {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // CHECK: inf.attention {{.*}}@narrow {{.*}}inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1>
    %b = inf.attention %a over @narrow {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // CHECK: inf.attention {{.*}}@wide {{.*}}inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>
    %c = inf.attention %b over @wide {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // What a hand set stays: never split.
    // CHECK: inf.attention {{.*}}@full {{.*}}inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1>
    %d = inf.attention %c over @full {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.add %d, %x : tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
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
