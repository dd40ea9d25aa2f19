// RUN: inf-opt %s -split-input-file -verify-diagnostics -inf-verify-plan
// What a hand changed after inf-plan-memory: each model but the first differs from it in one thing.

// This plan passes.
inf.model @passes attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// expected-error@+1 {{expected a memory plan; run inf-plan-memory}}
inf.model @no_plan attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @weight_unplaced attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  // expected-error@+1 {{weight w: expected format, layout, offset and bytes; run inf-plan-memory}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @weight_without_format attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  // expected-error@+1 {{weight w: expected format, layout, offset and bytes; run inf-plan-memory}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @weight_bytes attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  // expected-error@+1 {{weight w: expected 1024 bytes at or after 2048, found 512 at 2048; drop offsets and bytes to have them planned again}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 512 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @weights_overlap attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  // expected-error@+1 {{weight w: expected 1024 bytes at or after 2048, found 1024 at 1984}}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1984 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @no_offsets attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected inf.offsets; run inf-plan-memory}}
    %y = inf.linear %x, %w {inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @unaligned attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a 64-byte aligned buffer inside 1024 bytes of arena, found [288, 544)}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 288>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @outside attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a 64-byte aligned buffer inside 1024 bytes of arena, found [832, 1088)}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 832>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Its end would wrap around.
inf.model @far_outside attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a buffer inside 1024 bytes of arena, found one at 9223372036854775744}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 9223372036854775744>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @negative attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a 64-byte aligned buffer inside 1024 bytes of arena, found [-64, 192)}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: -64>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The residual stream is added later.
inf.model @over_residual attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: its result at [0, 256) overlaps a buffer that is still read, at [0, 256)}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Other threads still multiply what this one overwrites.
inf.model @over_own_input attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %v = inf.slice %x from 0 {inf.offsets = array<i64: 512>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    // expected-error@+1 {{block b, inf.linear: its result at [512, 768) overlaps a buffer that is still read, at [512, 768)}}
    %y = inf.linear %v, %w {inf.offsets = array<i64: 512>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The next layer would find the old residual stream.
inf.model @result_elsewhere attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 512>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    // expected-error@+1 {{block b, inf.yield: expected its result at 0, where the residual stream is, found 512}}
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @layer_elsewhere attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    // expected-error@+1 {{step, inf.layer: expected its result at 0, where the residual stream is, found 512}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 512>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// A buffer that outlives a layer where its block does not work.
inf.model @kept_over_a_layer attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %c = inf.slice %x0 from 0 {inf.offsets = array<i64: 512>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %x2 = inf.add %x1, %c {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %o = inf.output_rows %x2 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The same where it does.
inf.model @under_a_layer attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %c = inf.slice %x0 from 0 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    // expected-error@+1 {{step, inf.layer: a buffer that is still read, at [256, 512), lies where block b works, at 256}}
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %x2 = inf.add %x1, %c {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %o = inf.output_rows %x2 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Eight normed rows of 64 bytes.
inf.model @little_scratch attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 64 : i64} {
  inf.weight @n : !inf.weight<[16]> from [#inf.part<tensor = "n", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<vector>, offset = 0 : i64, bytes = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 64 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1088 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2112 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %n = inf.use @n : <[16]>
    // expected-error@+1 {{block b, inf.linear: needs more than the 64 bytes of scratch a thread has}}
    %y = inf.linear %x, %w norm %n {eps = 1.0e-5 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @no_partition attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected inf.partition; run inf-partition}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @other_axis attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a partition like #inf.partition<axis = outputs, grain = 16, row_tile = 8> with a row_tile of at most 128, found #inf.partition<axis = rows, grain = 1, row_tile = 1>}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

inf.model @half_a_panel attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a partition like}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 8, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Whole panels may be gathered, rows too.
inf.model @two_panels attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 32, row_tile = 64>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The generated code has row pointers for 128.
inf.model @tile_of_too_many_rows attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 1024 : i64, scratch = 256 : i64} {
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.weight @w : !inf.weight<[16, 16]> from [#inf.part<tensor = "w", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 2048 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.linear: expected a partition like}}
    %y = inf.linear %x, %w {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 129>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.add %x, %y {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [@w] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Partial results, 4 rows of 2 chunks of 192 bytes, lie between result and counters: this passes.
inf.model @partials_pass attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = 512 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Attention that may be split has no place for partial results.
inf.model @no_partials attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected inf.partials, 64-byte aligned, with 1536 bytes inside 2048 bytes of arena; run inf-plan-memory}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The counters of chunks take the last 64 bytes.
inf.model @partials_on_counters attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected inf.partials, 64-byte aligned, with 1536 bytes inside 2048}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = 576 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// A negative offset.
inf.model @partials_before_arena attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected inf.partials, 64-byte aligned}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = -64 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Lines of sixteen floats are aligned.
inf.model @partials_unaligned attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 4096 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected inf.partials, 64-byte aligned}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = 544 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Partial results over the rows of q, which all threads still read.
inf.model @partials_on_q attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: its partial results at [192, 1728) overlap a buffer that is in use, at [0, 256)}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = 192 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// Partial results over the result, which a thread that is done writes.
inf.model @partials_on_result attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 2112 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: its partial results at [448, 1984) overlap a buffer that is in use, at [256, 512)}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>, inf.partials = 448 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// By hand fewer rows may be split, here 1 of 384 bytes.
inf.model @fewer_rows attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 960 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 1>, inf.partials = 512 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The kernels know one length of chunks.
inf.model @other_chunks attributes {architecture = "a", vocabulary = 16 : i64, hidden = 16 : i64, max_context = 2048 : i64, eos_tokens = array<i64>, max_rows = 4 : i64, max_output_rows = 2 : i64, arena = 8192 : i64, scratch = 256 : i64} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 64 : i64}
  inf.weight @e : !inf.weight<[16, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 0 : i64, bytes = 1024 : i64}
  inf.weight @h : !inf.weight<[16, 16]> from [#inf.part<tensor = "h", stored = f32, rows = 16>] {format = #inf.format<f32>, layout = #inf.layout<panel16>, offset = 1024 : i64, bytes = 1024 : i64}
  inf.block @b(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
    // expected-error@+1 {{block b, inf.attention: expected a partition like #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>}}
    %a = inf.attention %x over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64, inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 512, split_rows = 8>, inf.partials = 512 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = inf.add %x, %a {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[16, 16]>
    %x0 = inf.embedding %t, %e {inf.offsets = array<i64: 0>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : (tensor<?xi32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %x1 = inf.layer 0 @b(%x0) kv_slot 0 weights [] {inf.offsets = array<i64: 0>} : tensor<?x16xf32>
    %o = inf.output_rows %x1 {inf.offsets = array<i64: 256>, inf.partition = #inf.partition<axis = rows, grain = 1, row_tile = 1>} : tensor<?x16xf32>
    %h = inf.use @h : <[16, 16]>
    %l = inf.lm_head %o, %h {inf.offsets = array<i64: -1>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x16xf32>
  }
}
