// RUN: inf-opt %s -split-input-file -verify-diagnostics
// inf.layer: what binds weights and KV slots to a block.

inf.model @no_block attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C1) expected @b to be an inf.block of this model}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @too_few_weights attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C1) expected 1 weights and a residual of 'tensor<?x16xf32>', found 0}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @not_a_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C1) expected @r to be an inf.weight of this model}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@r] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @weight_of_other_type attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C1) expected @e to have type '!inf.weight<[16]>', found '!inf.weight<[4, 16]>'}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@e] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// Both layers would write their keys to the same place.
inf.model @slot_of_other_layer attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.kv_group @g {layers = array<i64: 0, 1>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    inf.kv_append %x, %x into @g : tensor<?x16xf32>, tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] : tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C2) expected slot 0 of @g to be that of layer 1}}
    %x2 = inf.layer 1 @b(%x1) kv_slot 0 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %x2 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @slot_outside attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    inf.kv_append %x, %x into @g : tensor<?x16xf32>, tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C2) expected slot 1 of @g to be that of layer 0}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 1 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

inf.model @slot_of_attention attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{'inf.layer' op (C2) expected slot -1 of @g to be that of layer 0}}
    %x1 = inf.layer 0 @b(%x0) kv_slot -1 weights [] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}
