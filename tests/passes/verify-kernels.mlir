// RUN: inf-opt %s -split-input-file -verify-diagnostics -inf-verify-kernels
// What a hand changed after inf-select-kernels. The first passes.

inf.model @passes attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @no_kernel attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected inf.kernel to name a kernel, found nothing; `infc kernels` lists what there is}}
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
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Almost a name: names have one spelling.
inf.model @unknown_kernel attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected inf.kernel to name a kernel, found inf_linear_f32_f32_r02__avx2}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r02__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @kernel_of_attention attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a kernel like}}
    %y = inf.linear %x, %w {inf.kernel = "inf_attention_f32_d16_g1_b64__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// It would read a bias that is not there.
inf.model @kernel_with_bias attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a kernel like inf_linear_f32_f32_r2__avx2, found "inf_linear_f32_f32_r2_bias__avx2"}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2_bias__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @too_many_rows attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{can't be generated: rows is 4, expected a power of two of at most 2}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r4__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @beyond_target attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: kernel "inf_linear_f32_f32_r8__avx512" needs avx512f, which target avx2 lacks}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r8__avx512"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @other_format attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: kernel "inf_linear_bf16_f32_r2__avx2" reads bf16, weight w is packed to f32; change both, for every layer of this block}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_bf16_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @format_missing attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: kernel "inf_linear_f32_f32_r2__avx2" reads f32, weight w is packed to nothing yet}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @layout_changed attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected w in layout panel16}}
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @other_keys attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: kernel "inf_attention_bf16_d16_g1_b64__avx2" reads bf16 keys, kv_group g holds f32}}
    %y = inf.attention %x over @g {inf.kernel = "inf_attention_bf16_d16_g1_b64__avx2", heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @other_block_tokens attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected a kernel like inf_attention_f32_d16_g1_b64__avx2, found "inf_attention_f32_d16_g1_b32__avx2"}}
    %y = inf.attention %x over @g {inf.kernel = "inf_attention_f32_d16_g1_b32__avx2", heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @other_dots attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected a kernel like inf_attention_bf16_d16_g1_b64_bf16dots__avx2, found "inf_attention_bf16_d16_g1_b64__avx2"}}
    %y = inf.attention %x over @g {dots = "bf16", inf.kernel = "inf_attention_bf16_d16_g1_b64__avx2", heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @tiles_of_pairs attributes {architecture = "a", vocabulary = 16 : i64, hidden = 128 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "amx"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 128]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 128]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 128]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x128xf32>, %w: !inf.weight<[16, 128]> {inf.slot = "w"}) -> tensor<?x128xf32> {
    // expected-error@+1 {{block b, inf.attention: kernel "inf_attention_bf16_d32_g4_b64_bf16dots__amx" can't be generated: tiles sum bf16 dots by 32 dimensions: expected _by32 in the kernel's name}}
    %y = inf.attention %x over @g {dots = "bf16", inf.kernel = "inf_attention_bf16_d32_g4_b64_bf16dots__amx", heads = 4 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 128]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 128]>) -> tensor<?x128xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x128xf32>
    %o = inf.output_rows %x1 : tensor<?x128xf32>
    %h = inf.use @h : <[16, 128]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r8__avx512"} : (tensor<?x128xf32>, !inf.weight<[16, 128]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x128xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @groups_without_tiles attributes {architecture = "a", vocabulary = 16 : i64, hidden = 128 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "amx"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 128]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 128]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 128]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x128xf32>, %w: !inf.weight<[16, 128]> {inf.slot = "w"}) -> tensor<?x128xf32> {
    // expected-error@+1 {{block b, inf.attention: kernel "inf_attention_bf16_d32_g4_b64_bf16dots_by32__avx512" can't be generated: attention is summed by 32 dimensions on amx in bf16 dots, not on avx512}}
    %y = inf.attention %x over @g {dots = "bf16", inf.kernel = "inf_attention_bf16_d32_g4_b64_bf16dots_by32__avx512", heads = 4 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 128]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 128]>) -> tensor<?x128xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x128xf32>
    %o = inf.output_rows %x1 : tensor<?x128xf32>
    %h = inf.use @h : <[16, 128]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r8__avx512"} : (tensor<?x128xf32>, !inf.weight<[16, 128]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x128xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @no_tiles_here attributes {architecture = "a", vocabulary = 16 : i64, hidden = 128 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx512"} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 32 : i64, window = 0 : i64, element = "bf16", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 128]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 128]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 128]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x128xf32>, %w: !inf.weight<[16, 128]> {inf.slot = "w"}) -> tensor<?x128xf32> {
    // expected-error@+1 {{block b, inf.attention: kernel "inf_attention_bf16_d32_g4_b64_bf16dots_by32__amx" needs avx512_bf16, amx_tile, amx_bf16, which target avx512 lacks}}
    %y = inf.attention %x over @g {dots = "bf16", inf.kernel = "inf_attention_bf16_d32_g4_b64_bf16dots_by32__amx", heads = 4 : i64, kv_heads = 1 : i64, head_dim = 32 : i64, scale = 0.25 : f64} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    inf.yield %y : tensor<?x128xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 128]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 128]>) -> tensor<?x128xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x128xf32>
    %o = inf.output_rows %x1 : tensor<?x128xf32>
    %h = inf.use @h : <[16, 128]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r8__avx512"} : (tensor<?x128xf32>, !inf.weight<[16, 128]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x128xf32>, tensor<?x16xf32>
  }
}

// -----

// expected-error@+1 {{expected a target; run inf-select-kernels first}}
inf.model @no_target attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// expected-error@+1 {{vax}}
inf.model @unknown_target attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "vax"} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @gathered_mxfp4 attributes {architecture = "a", vocabulary = 16 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>, target = "avx2"} {
  inf.weight @e : !inf.weight<[16, 32]> from [#inf.part<tensor = "e", scales = "s", stored = mxfp4, rows = 16>] {format = #inf.format<mxfp4>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 32]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 32]>
    // expected-error@+1 {{step, inf.embedding: expected e in another format: rows of mxfp4 can't be gathered}}
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 32]>) -> tensor<?x32xf32>
    %o = inf.output_rows %x : tensor<?x32xf32>
    %h = inf.use @h : <[16, 32]>
    %l = inf.lm_head %o, %h {inf.kernel = "inf_linear_f32_f32_r2__avx2"} : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x16xf32>
  }
}
