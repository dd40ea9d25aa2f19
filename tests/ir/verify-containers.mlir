// RUN: inf-opt %s -split-input-file -verify-diagnostics
// The containers of a model: model, weight, rope_table, kv_group, block, step, yield, use, layer.

// expected-error@+1 {{'inf.model' op (C1) expected exactly one inf.step}}
inf.model @no_step attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
}

// -----

inf.model @layer_out_of_order attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.model' op (C2) expected layer 0, found 1}}
    %y = inf.layer 1 @b(%x) kv_slot 0 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %y : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// expected-error@+1 {{'inf.model' op (C3) expected vocabulary, hidden and max_context in 1..2147483647, found 0}}
inf.model @zero_context attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 0 : i64, eos_tokens = array<i64>} {
}

// -----

// Memory plans multiply these: 2^62 would wrap around.
// expected-error@+1 {{'inf.model' op (C3) expected vocabulary, hidden and max_context in 1..2147483647, found 4611686018427387904}}
inf.model @huge_hidden attributes {architecture = "a", vocabulary = 4 : i64, hidden = 4611686018427387904 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
}

// -----

// expected-error@+1 {{'inf.model' op (C4) expected max_rows and max_output_rows in 1..65536, found 0}}
inf.model @no_rows attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 0 : i64} {
}

// -----

// expected-error@+1 {{'inf.model' op (C4) expected arena and scratch >= 0}}
inf.model @negative_arena attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, arena = -64 : i64} {
}

// -----

// expected-error@+1 {{'inf.model' op (C5) expected activations f32, q8, mxint8 or bf16, found q9}}
inf.model @unknown_activations attributes {activations = "q9", architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
}

// -----

// Everything below stands in a model of this frame.
inf.model @weight_rows_missing attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C1) expected parts of 8 rows in all, found 6}}
  inf.weight @w : !inf.weight<[8, 16]> from [#inf.part<tensor = "a", stored = f32, rows = 4>, #inf.part<tensor = "b", stored = f32, rows = 2>]
}

// -----

inf.model @weight_rows_wrap attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C1) expected parts of 8 rows in all}}
  inf.weight @w : !inf.weight<[8, 16]> from [#inf.part<tensor = "a", stored = f32, rows = 9223372036854775807>, #inf.part<tensor = "b", stored = f32, rows = 9223372036854775807>, #inf.part<tensor = "c", stored = f32, rows = 10>]
}

// -----

inf.model @vector_in_panels attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C2) expected a vector in a vector layout and a matrix in another, found layout panel16}}
  inf.weight @w : !inf.weight<[16]> from [#inf.part<tensor = "a", stored = f32, rows = 16>] {layout = #inf.layout<panel16>}
}

// -----

inf.model @matrix_as_vector attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C2) expected a vector in a vector layout and a matrix in another, found layout vector}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "a", stored = f32, rows = 16>] {layout = #inf.layout<vector>}
}

// -----

inf.model @vector_in_bf16 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C2) expected a vector to be packed as f32, found bf16}}
  inf.weight @w : !inf.weight<[16]> from [#inf.part<tensor = "a", stored = bf16, rows = 16>] {format = #inf.format<bf16>}
}

// -----

inf.model @half_a_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C3) expected columns to be a multiple of 32 for mxfp4, found 48}}
  inf.weight @w : !inf.weight<[16, 48]> from [#inf.part<tensor = "a", scales = "s", stored = mxfp4, rows = 16>] {format = #inf.format<mxfp4>}
}

// -----

inf.model @stored_part_of_a_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C3) expected columns to be a multiple of 32 for int4, found 48}}
  inf.weight @w : !inf.weight<[16, 48]> from [#inf.part<tensor = "a", stored = int4, rows = 16>] {format = #inf.format<f32>}
}

// -----

inf.model @mxfp4_from_bf16 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C3) expected every part to be stored as mxfp4}}
  inf.weight @w : !inf.weight<[16, 64]> from [#inf.part<tensor = "a", scales = "s", stored = mxfp4, rows = 8>, #inf.part<tensor = "b", stored = bf16, rows = 8>] {format = #inf.format<mxfp4>}
}

// -----

inf.model @weight_unaligned attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C4) expected an offset in 0..2^56 that is a multiple of 64, found 32}}
  inf.weight @w : !inf.weight<[16]> from [#inf.part<tensor = "a", stored = f32, rows = 16>] {offset = 32 : i64}
}

// -----

inf.model @weight_far_away attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.weight' op (C4) expected an offset in 0..2^56 that is a multiple of 64, found -64}}
  inf.weight @w : !inf.weight<[16]> from [#inf.part<tensor = "a", stored = f32, rows = 16>] {offset = -64 : i64}
}

// -----

inf.model @rope_type attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C1) expected type default, linear, divided, llama3 or yarn, found longrope}}
  inf.rope_table @r {type = "longrope", head_dim = 16 : i64, theta = 1.0e4 : f64}
}

// -----

inf.model @rope_odd attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C1) expected an even head_dim > 0, found 15}}
  inf.rope_table @r {type = "default", head_dim = 15 : i64, theta = 1.0e4 : f64}
}

// -----

inf.model @rope_linear attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected factor with linear}}
  inf.rope_table @r {type = "linear", head_dim = 16 : i64, theta = 1.0e4 : f64}
}

// -----

inf.model @rope_divisors attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected head_dim / 2 divisors above 0 with divided}}
  inf.rope_table @r {type = "divided", head_dim = 16 : i64, theta = 1.0e4 : f64, divisors = array<f64: 1.0>}
}

// -----

inf.model @rope_zero_divisor attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected head_dim / 2 divisors above 0 with divided}}
  inf.rope_table @r {type = "divided", head_dim = 4 : i64, theta = 1.0e4 : f64, divisors = array<f64: 1.0, 0.0>}
}

// -----

inf.model @rope_llama3 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected factor, low_frequency_factor, high_frequency_factor and original_context with llama3}}
  inf.rope_table @r {type = "llama3", head_dim = 16 : i64, theta = 1.0e4 : f64, factor = 8.0 : f64, low_frequency_factor = 1.0 : f64, high_frequency_factor = 4.0 : f64}
}

// -----

inf.model @rope_llama3_bounds attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected low_frequency_factor below high_frequency_factor with llama3}}
  inf.rope_table @r {type = "llama3", head_dim = 16 : i64, theta = 1.0e4 : f64, factor = 8.0 : f64, low_frequency_factor = 4.0 : f64, high_frequency_factor = 4.0 : f64, original_context = 8192.0 : f64}
}

// -----

inf.model @yarn_without_factor attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.rope_table' op (C2) expected factor, beta_fast, beta_slow and original_context with yarn}}
  inf.rope_table @r {type = "yarn", head_dim = 16 : i64, theta = 1.0e4 : f64, beta_fast = 32.0 : f64, beta_slow = 1.0 : f64, original_context = 4096.0 : f64}
}

// -----

inf.model @kv_element attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C1) expected element f32 or bf16, found f16}}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f16", block_tokens = 16 : i64}
}

// -----

inf.model @kv_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C2) expected block_tokens to be a multiple of 16 in 16..4096, found 24}}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 24 : i64}
}

// -----

inf.model @kv_window attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C3) expected window in 0..2147483647, found -1}}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = -1 : i64, element = "f32", block_tokens = 16 : i64}
}

// -----

inf.model @kv_head_dim attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C4) expected head_dim to be a positive multiple of 8, found 12}}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 12 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
}

// -----

inf.model @kv_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C4) expected kv_heads > 0 and kv_heads * head_dim <= 2147483647, found 0 heads}}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 0 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
}

// -----

inf.model @kv_layer_twice attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.kv_group' op (C5) expected ascending layers, found 0 after 0}}
  inf.kv_group @g {layers = array<i64: 0, 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
}

// -----

inf.model @block_changes_width attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.block' op (C1) expected (residual stream, weights...) -> residual stream}}
  inf.block @b(%x: tensor<?x32xf32>) -> tensor<?x16xf32> {
    %y = inf.slice %x from 0 : (tensor<?x32xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
}

// -----

inf.model @block_of_integers attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.block' op (C1) expected (residual stream, weights...) -> residual stream}}
  inf.block @b(%x: tensor<f32>) -> tensor<f32> {
    inf.yield %x : tensor<f32>
  }
}

// -----

inf.model @argument_without_slot attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.block' op (C1) expected argument 1 to be a weight with an inf.slot}}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]>) -> tensor<?x16xf32> {
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @block_yields_two attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.block' op (C2) expected to end in inf.yield of 'tensor<?x16xf32>'}}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    inf.yield %x, %x : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @step_without_tokens attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.step' op (C1) expected one argument of type 'tensor<?xi32>'}}
  inf.step {
  ^bb0(%x: tensor<?x16xf32>, %l: tensor<?x4xf32>):
    inf.yield %x, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @step_without_logits attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  // expected-error@+1 {{'inf.step' op (C2) expected to yield hidden [?, 16] and logits [?, 4]}}
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %o = inf.output_rows %x : tensor<?x16xf32>
    inf.yield %o : tensor<?x16xf32>
  }
}

// -----

inf.model @logits_of_all_rows attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.step' op (C3) expected inf.lm_head to take output rows}}
    %l = inf.lm_head %x, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %x, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// 64 output rows added to 256 rows would read past the end.
inf.model @mixed_rows attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %o = inf.output_rows %x : tensor<?x16xf32>
    // expected-error@+1 {{'inf.step' op (C3) expected inf.add to take all rows, or output rows alone where it may}}
    %y = inf.add %o, %x : tensor<?x16xf32>
    %l = inf.lm_head %y, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %y, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @use_of_table attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    // expected-error@+1 {{'inf.use' op (C1) expected @r to be an inf.weight of this model}}
    %e = inf.use @r : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %o = inf.output_rows %x : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @use_of_other_type attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.use' op (C1) expected type '!inf.weight<[4, 16]>', found '!inf.weight<[16]>'}}
    %w = inf.use @e : <[16]>
    inf.yield %x : tensor<?x16xf32>
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

// -----

inf.model @yield_nowhere attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // expected-error@+1 {{'inf.yield' op expects parent op to be one of 'inf.block, inf.step'}}
  "inf.yield"() : () -> ()
}
