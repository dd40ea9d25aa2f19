// RUN: inf-opt %s -split-input-file -verify-diagnostics -inf-plan-memory
// RUN: not inf-opt %s -split-input-file -inf-plan-memory=max-rows=0 2>&1 | FileCheck %s -check-prefix=ROWS
// ROWS: error: expected max-rows and max-output-rows in 1..65536, found 0 and 64

inf.model @no_layout attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  // expected-error@+1 {{weight w: expected format and layout; run inf-quantize and inf-select-kernels, or drop the weight if nothing uses it}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
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

// The next layer would find the old residual stream.
inf.model @not_in_place attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{block b, inf.yield: expected the result to be the residual stream updated in place (residual operands or inf.add), found a value of another buffer}}
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

// The layer updates its input in place, so no one may read that later.
inf.model @stream_read_again attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{step, inf.layer: expected the residual stream, from inf.embedding through every layer and read by nothing else}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %x2 = inf.add %x0, %x1 : tensor<?x16xf32>
    %o = inf.output_rows %x2 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The block looks for its input at the front of the arena.
inf.model @layer_of_a_copy attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %c = inf.slice %x0 from 0 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    // expected-error@+1 {{step, inf.layer: expected the residual stream, from inf.embedding through every layer and read by nothing else}}
    %x1 = inf.layer 0 @b(%c) kv_slot 0 weights [@w] : tensor<?x16xf32>
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}
