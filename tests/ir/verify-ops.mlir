// RUN: inf-opt %s -split-input-file -verify-diagnostics
// The ops of an imported model, alone in a block: no layer calls it.

inf.model @embedding_of_vector attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @v : !inf.weight<[16]> from [#inf.part<tensor = "v", stored = f32, rows = 16>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @v : <[16]>
    // expected-error@+1 {{'inf.embedding' op (C1) expected a matrix, found [16]}}
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x, %x : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @embedding_width attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    // expected-error@+1 {{'inf.embedding' op (C1) expected a result with 16 features, found 32}}
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x32xf32>
    inf.yield %x, %x : tensor<?x32xf32>, tensor<?x32xf32>
  }
}

// -----

// Token 3 would read behind the table.
inf.model @embedding_rows attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[3, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 3>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[3, 16]>
    // expected-error@+1 {{'inf.embedding' op (C2) expected a row for each of 4 tokens, found 3}}
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[3, 16]>) -> tensor<?x16xf32>
    inf.yield %x, %x : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @norm_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C1) expected weight of shape [16], found [8]}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C2) expected a result of type 'tensor<?x16xf32>', found 'tensor<?x8xf32>'}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_of_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C1) expected weight of shape [8], found [16]}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64, heads = 2 : i64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_of_unequal_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[5]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C1) expected x to be 3 equal parts, found 16 features}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64, heads = 3 : i64} : (tensor<?x16xf32>, !inf.weight<[5]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_of_heads_in_q8 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x64xf32>, %w: !inf.weight<[32]> {inf.slot = "w"}) -> tensor<?x64xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C2) expected a result of parts of type 'tensor<?x64xf32>', found 'tensor<?x64x!inf.q8>'}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64, heads = 2 : i64} : (tensor<?x64xf32>, !inf.weight<[32]>) -> tensor<?x64x!inf.q8>
    inf.yield %x : tensor<?x64xf32>
  }
}

// -----

inf.model @norm_of_no_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C4) expected heads >= 1, found 0}}
    %y = inf.rms_norm %x, %w {eps = 1.0e-5 : f64, heads = 0 : i64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C3) expected eps > 0, found 0.000000e+00}}
    %y = inf.rms_norm %x, %w {eps = 0.0 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_eps_nan attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rms_norm' op (C3) expected eps > 0}}
    %y = inf.rms_norm %x, %w {eps = 0x7FF8000000000000 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_columns attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 32]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C1) expected a weight with 16 columns, found [8, 32]}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[8, 32]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_vector attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C1) expected a weight with 16 columns, found [16]}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C2) expected a result with 8 features, found 16}}
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[8, 16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_gated_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C2) expected a result with 4 features, found 8}}
    %y = inf.linear %x, %w {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[8, 16]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_gated_odd attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[9, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C2) expected an even number of rows with an activation}}
    %y = inf.linear %x, %w {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[9, 16]>) -> tensor<?x4xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}, %b: !inf.weight<[4]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C3) expected bias of shape [8], found [4]}}
    %y = inf.linear %x, %w bias %b : (tensor<?x16xf32>, !inf.weight<[8, 16]>, !inf.weight<[4]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_scale attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}, %s: !inf.weight<[16]> {inf.slot = "s"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C3) expected scale of shape [8], found [16]}}
    %y = inf.linear %x, %w scale %s : (tensor<?x16xf32>, !inf.weight<[8, 16]>, !inf.weight<[16]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

// An addend acts before the activation: it has all rows, not half of them.
inf.model @linear_addend attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %a = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x4xf32>
    // expected-error@+1 {{'inf.linear' op (C3) expected addend with 8 features, found 4}}
    %y = inf.linear %x, %w addend %a {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[8, 16]>, tensor<?x4xf32>) -> tensor<?x4xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_residual attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C4) expected residual of type 'tensor<?x8xf32>', found 'tensor<?x16xf32>'}}
    %y = inf.linear %x, %w residual %x : (tensor<?x16xf32>, !inf.weight<[8, 16]>, tensor<?x16xf32>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}, %n: !inf.weight<[8]> {inf.slot = "n"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C5) expected norm of shape [16], found [8]}}
    %y = inf.linear %x, %w norm %n {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[8, 16]>, !inf.weight<[8]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_norm_without_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}, %n: !inf.weight<[16]> {inf.slot = "n"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C5) expected norm and eps together}}
    %y = inf.linear %x, %w norm %n : (tensor<?x16xf32>, !inf.weight<[8, 16]>, !inf.weight<[16]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @linear_eps_without_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[8, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.linear' op (C5) expected norm and eps together}}
    %y = inf.linear %x, %w {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[8, 16]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @slice_end attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.slice' op (C1) expected a range inside 16 features, found 8 from 9}}
    %y = inf.slice %x from 9 : (tensor<?x16xf32>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @slice_wraps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.slice' op (C1) expected a range inside 16 features, found 8 from 9223372036854775807}}
    %y = inf.slice %x from 9223372036854775807 : (tensor<?x16xf32>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @rope_features attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rope' op (C1) expected x with 2 heads of 16 features, found 16}}
    %y = inf.rope %x by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

// (2^60 + 1) * 16 is 16 in 64 bits.
inf.model @rope_wraps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rope' op (C1) expected x with 1152921504606846977 heads of 16 features, found 16}}
    %y = inf.rope %x by @r {heads = 1152921504606846977 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @rope_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rope' op (C1) expected the result to have x's type}}
    %y = inf.rope %x by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @rope_table_missing attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rope' op (C2) expected @r to be an inf.rope_table of this model}}
    %y = inf.rope %x by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @rope_table_head_dim attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.rope' op (C2) expected a rope_table with head_dim 8, found 16}}
    %y = inf.rope %x by @r {heads = 2 : i64, head_dim = 8 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @append_features attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    %v = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x8xf32>
    // expected-error@+1 {{'inf.kv_append' op (C1) expected v with 16 features, found 8}}
    inf.kv_append %x, %v into @g : tensor<?x16xf32>, tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @append_no_group attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.kv_append' op (C1) expected @g to be an inf.kv_group of this model}}
    inf.kv_append %x, %x into @g : tensor<?x16xf32>, tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_features attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C1) expected q with 2 heads of 16 features, found 16}}
    %a = inf.attention %x over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C1) expected a result with 1 heads of 16 features, found 32}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x32xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_grouping attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C2) expected heads to be a multiple of kv_heads, found 1 and 2}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_no_kv_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C2) expected heads to be a multiple of kv_heads, found 1 and 0}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 0 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_sinks attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %s: !inf.weight<[4]> {inf.slot = "s"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C3) expected sinks of shape [1], found [4]}}
    %a = inf.attention %x sinks %s over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>, !inf.weight<[4]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_group_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C4) expected a kv_group with kv_heads 2 and head_dim 8, found 1 and 16}}
    %a = inf.attention %x over @g {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 8 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @attention_no_group attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C4) expected @g to be an inf.kv_group of this model}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @top_none attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router_topk' op (C1) expected 1 <= k <= 16, found 0}}
    %i, %p = inf.router_topk %x top 0 : (tensor<?x16xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @top_too_many attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router_topk' op (C1) expected 1 <= k <= 16, found 17}}
    %i, %p = inf.router_topk %x top 17 : (tensor<?x16xf32>) -> (tensor<?x17xi32>, tensor<?x17xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @top_experts attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router_topk' op (C2) expected experts of type 'tensor<?x2xi32>', found 'tensor<?x3xi32>'}}
    %i, %p = inf.router_topk %x top 2 : (tensor<?x16xf32>) -> (tensor<?x3xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @top_weights attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router_topk' op (C2) expected weights of type 'tensor<?x2xf32>', found 'tensor<?x3xf32>'}}
    %i, %p = inf.router_topk %x top 2 : (tensor<?x16xf32>) -> (tensor<?x2xi32>, tensor<?x3xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_down attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 8, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C1) expected down of shape [3, 16, 8], found [3, 8, 8]}}
    %y = inf.moe %x, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 8, 8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_gate_up attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 8, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C1) expected gate_up of shape [3, 16, 16], found [3, 8, 16]}}
    %y = inf.moe %x, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 8, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %b: !inf.weight<[3, 16]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C2) expected gate_up bias of shape [3, 16, 1], found [3, 16]}}
    %y = inf.moe %x, %i, %p gate_up %u bias %b down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_down_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %b: !inf.weight<[3, 8, 1]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C2) expected down bias of shape [3, 16, 1], found [3, 8, 1]}}
    %y = inf.moe %x, %i, %p gate_up %u down %d bias %b {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>, !inf.weight<[3, 8, 1]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C3) expected a result of type 'tensor<?x16xf32>', found 'tensor<?x8xf32>'}}
    %y = inf.moe %x, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @moe_weights attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C4) expected weights with 2 features, found 3}}
    %y = inf.moe %x, %i, %l gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x3xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

// Expert 2 would read behind the weights.
inf.model @moe_of_fewer_experts attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %u: !inf.weight<[2, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[2, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.moe' op (C4) expected experts of a router over 2, found 3}}
    %y = inf.moe %x, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[2, 16, 16]>, !inf.weight<[2, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @swiglu_halves attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.swiglu' op (C1) expected x with 32 features, found 16}}
    %y = inf.swiglu %x {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @quantize_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    // expected-error@+1 {{'inf.quantize_activation' op (C1) expected a result of type 'tensor<?x32x!inf.q8>', found 'tensor<?x64x!inf.q8>'}}
    %y = inf.quantize_activation %x : (tensor<?x32xf32>) -> tensor<?x64x!inf.q8>
    inf.yield %x : tensor<?x32xf32>
  }
}

// -----

inf.model @quantize_result_bf16 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    // expected-error@+1 {{'inf.quantize_activation' op (C1) expected a result of type 'tensor<?x32xbf16>', found 'tensor<?x64xbf16>'}}
    %y = inf.quantize_activation %x : (tensor<?x32xf32>) -> tensor<?x64xbf16>
    inf.yield %x : tensor<?x32xf32>
  }
}

// -----

inf.model @quantize_part_of_a_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.quantize_activation' op result #0 must be}}
    %y = inf.quantize_activation %x : (tensor<?x16xf32>) -> tensor<?x16x!inf.q8>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @norm_of_q8 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}, %n: !inf.weight<[32]> {inf.slot = "n"}) -> tensor<?x32xf32> {
    %q = inf.quantize_activation %x : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    // expected-error@+1 {{'inf.linear' op (C5) expected x in f32 with a norm, found 'tensor<?x32x!inf.q8>'}}
    %y = inf.linear %q, %w norm %n {eps = 1.0e-5 : f64} : (tensor<?x32x!inf.q8>, !inf.weight<[32, 32]>, !inf.weight<[32]>) -> tensor<?x32xf32>
    inf.yield %x : tensor<?x32xf32>
  }
}

// -----

inf.model @residual_of_q8 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x32xf32>, %w: !inf.weight<[32, 32]> {inf.slot = "w"}) -> tensor<?x32xf32> {
    // expected-error@+1 {{'inf.linear' op (C4) expected residual of type 'tensor<?x32x!inf.q8>', found 'tensor<?x32xf32>'}}
    %y = inf.linear %x, %w residual %x : (tensor<?x32xf32>, !inf.weight<[32, 32]>, tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    inf.yield %x : tensor<?x32xf32>
  }
}

// -----

inf.model @attention_q8 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 96 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64>, kv_heads = 2 : i64, head_dim = 48 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
    // expected-error@+1 {{'inf.attention' op (C5) expected a multiple of 32 features that share a kv head for a q8 result, found 48}}
    %y = inf.attention %x over @g {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 48 : i64, scale = 1.0 : f64} : (tensor<?x96xf32>) -> tensor<?x96x!inf.q8>
    inf.yield %x : tensor<?x96xf32>
  }
}

// -----

inf.model @dots_of_q8 attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "bf16", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C6) expected dots f32 or bf16, found q8}}
    %y = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 1.0 : f64, dots = "q8"} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @bf16_dots_of_floats attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.attention' op (C6) expected dots f32 over a kv_group of f32, found bf16}}
    %y = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 1.0 : f64, dots = "bf16"} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @lm_head_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[4, 8]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.lm_head' op (C1) expected weight of shape [4, 16], found [4, 8]}}
    %y = inf.lm_head %x, %w : (tensor<?x16xf32>, !inf.weight<[4, 8]>) -> tensor<?x4xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @output_rows_in_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.output_rows' op expects parent op 'inf.step'}}
    %y = inf.output_rows %x : tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}
