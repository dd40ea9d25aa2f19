// RUN: inf-opt %s -inf-plan-memory="max-rows=4 max-output-rows=2" | FileCheck %s
// RUN: inf-opt %s -inf-plan-memory="max-rows=4 max-output-rows=2" -inf-partition -inf-verify-plan -o /dev/null
// Offsets by hand: a row of 16 features is 64 bytes, four rows 256; the residual stream is [0, 256).

// CHECK: inf.model @m attributes {{.*}}arena = 768 : i64{{.*}}max_output_rows = 2 : i64, max_rows = 4 : i64, scratch = 576 : i64
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // Weights follow each other; the 4 rows of a vector are padded to 16, the matrix to a panel.
  // CHECK: inf.weight @e {{.*}}bytes = 256 : i64{{.*}}offset = 0 : i64
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  // CHECK: inf.weight @small {{.*}}bytes = 64 : i64{{.*}}offset = 256 : i64
  inf.weight @small : !inf.weight<[4]> from [#inf.part<tensor = "s", stored = f32, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<vector>}
  // CHECK: inf.weight @h {{.*}}bytes = 1024 : i64{{.*}}offset = 320 : i64
  inf.weight @h : !inf.weight<[4, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  // 17 bytes for 32 values: 17 * 16 = 272, and the next begins at a multiple of 64.
  // CHECK: inf.weight @packed {{.*}}bytes = 272 : i64{{.*}}offset = 1344 : i64
  inf.weight @packed : !inf.weight<[16, 32]> from [#inf.part<tensor = "p", scales = "ps", stored = mxfp4, rows = 16>] {format = #inf.format<mxfp4>, layout = #inf.layout<panel16>}
  // CHECK: inf.weight @v {{.*}}offset = 1664 : i64
  inf.weight @v : !inf.weight<[16]> from [#inf.part<tensor = "v", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<vector>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}

  // CHECK: inf.block @b
  inf.block @b(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // CHECK: inf.rms_norm {{.*}}inf.offsets = array<i64: 256>
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // Both live at once.
    // CHECK: inf.linear {{.*}}inf.offsets = array<i64: 512>
    %a = inf.linear %n, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    // The norm's buffer is free again; a vector per row of 8 features takes as much, being padded.
    // CHECK: inf.slice {{.*}}inf.offsets = array<i64: 256>
    %s = inf.slice %a from 0 : (tensor<?x16xf32>) -> tensor<?x8xf32>
    // CHECK: inf.slice {{.*}}inf.offsets = array<i64: 512>
    %t = inf.slice %s from 0 : (tensor<?x8xf32>) -> tensor<?x4xf32>
    // CHECK: inf.rms_norm {{.*}}inf.offsets = array<i64: 256>
    %m = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // A residual is updated in place, whichever side of the addition it stands on.
    // CHECK: inf.linear {{.*}}inf.offsets = array<i64: 0>
    %y = inf.linear %m, %w residual %x {inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    // CHECK: inf.linear {{.*}}inf.offsets = array<i64: 256>
    %c = inf.linear %y, %w norm %v {eps = 1.0e-5 : f64, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 9>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // CHECK: inf.add {{.*}}inf.offsets = array<i64: 0>
    %z = inf.add %c, %y : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    // CHECK: inf.embedding {{.*}}inf.offsets = array<i64: 0>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // CHECK: inf.layer {{.*}}inf.offsets = array<i64: 0>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@v, @w] : tensor<?x16xf32>
    // Two output rows are 128 bytes; no layer runs any more.
    // CHECK: inf.output_rows {{.*}}inf.offsets = array<i64: 256>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %v = inf.use @v : <[16]>
    // CHECK: inf.rms_norm {{.*}}inf.offsets = array<i64: 384>
    %n = inf.rms_norm %o, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %h = inf.use @h : <[4, 16]>
    // Logits live with the caller.
    // CHECK: inf.lm_head {{.*}}inf.offsets = array<i64: -1>
    %l = inf.lm_head %n, %h : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %n, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// Partial results of attention that may be split: 4 rows, 2 kv heads, ceil(5000 / 1024) = 5 chunks
// of 2 lines and [1 head][16] floats in a line, 192 bytes, make 7680. A buffer of 4 rows of 32
// features is 512. They lie beside what lives during the op, and later buffers may lie over them.
// The counters of 4 rows' 2 kv heads end the arena.
// CHECK-LABEL: inf.model @partials
// CHECK-SAME: arena = 9280 : i64
inf.model @partials attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 5000 : i64, eos_tokens = array<i64>} {
  inf.kv_group @full {layers = array<i64: 0>, kv_heads = 2 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.kv_group @wide {layers = array<i64: 0>, kv_heads = 2 : i64, head_dim = 16 : i64, window = 1026 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[4, 32]> from [#inf.part<tensor = "e", stored = f32, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[4, 32]> from [#inf.part<tensor = "h", stored = f32, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @v : !inf.weight<[32]> from [#inf.part<tensor = "v", stored = f32, rows = 32>] {format = #inf.format<f32>, layout = #inf.layout<vector>}
  inf.block @b(%x: tensor<?x32xf32>, %v: !inf.weight<[32]> {inf.slot = "v"}) -> tensor<?x32xf32> {
    // CHECK: inf.rms_norm {{.*}}inf.offsets = array<i64: 8192>
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    // CHECK: inf.attention {{.*}}inf.offsets = array<i64: 8704>, inf.partials = 512 : i64
    %a = inf.attention %n over @full {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // Keys of a window of 1026 lie in 3 chunks at most; one row is 1152 bytes.
    // CHECK: inf.attention {{.*}}inf.partials = 512 : i64
    %c = inf.attention %a over @wide {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 1>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // What isn't split has none.
    // CHECK: inf.attention
    // CHECK-NOT: inf.partials
    // CHECK: inf.add
    %d = inf.attention %c over @full {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.add %d, %x : tensor<?x32xf32>
    inf.yield %y : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 32]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@v] : tensor<?x32xf32>
    %o = inf.output_rows %x1 : tensor<?x32xf32>
    %h = inf.use @h : <[4, 32]>
    %l = inf.lm_head %o, %h : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
