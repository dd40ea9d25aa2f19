// RUN: inf-opt %s -split-input-file -verify-diagnostics -inf-select-kernels=target=avx2
// What no kernel can serve is an error that names the op.

// A kernel streams one format.
inf.model @two_formats attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @w2 : !inf.weight<[16, 16]> from [#inf.part<tensor = "w2", stored = bf16, rows = 16>] {format = #inf.format<bf16>}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected weights of one format in all layers of this block; run inf-quantize and inf-specialize-blocks first}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %x2 = inf.layer 1 @b(%x1) kv_slot 0 weights [@w2] : tensor<?x16xf32>
    %o = inf.output_rows %x2 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @no_format attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>]
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected weights of one format in all layers of this block}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// A weight read as a table and multiplied has two layouts: it must be declared twice.
inf.model @layout_of_other_reader attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected w in layout panel16, found rows}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// 32 query heads share a kv head: more than the registers hold.
inf.model @no_kernel attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.weight @w : !inf.weight<[512, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 512>] {format = #inf.format<f32>}
  inf.weight @o : !inf.weight<[16, 512]> from [#inf.part<tensor = "o", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[512, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 512]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %q = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[512, 16]>) -> tensor<?x512xf32>
    // expected-error@+1 {{block b, inf.attention: no kernel for format f32 with f32 dots on target avx2; `infc kernels` lists what there is}}
    %a = inf.attention %q over @g {heads = 32 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x512xf32>) -> tensor<?x512xf32>
    %y = inf.linear %a, %o : (tensor<?x512xf32>, !inf.weight<[16, 512]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w, @o] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}
