// RUN: inf-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect
// Types and attributes are refused where they are written; the decisions that passes attach, where
// they are attached.

// expected-error@+1 {{expected [rows], [rows, columns] or [experts, rows, columns], found 4 dimensions}}
"t.op"() : () -> !inf.weight<[1, 2, 3, 4]>

// -----

// expected-error@+1 {{expected positive dimensions of at most 2^48 elements, found [4, 0]}}
"t.op"() : () -> !inf.weight<[4, 0]>

// -----

// expected-error@+1 {{expected positive dimensions of at most 2^48 elements, found [-4]}}
"t.op"() : () -> !inf.weight<[-4]>

// -----

// Sizes in bytes must fit 64 bits with room to spare; this product wraps to 0.
// expected-error@+1 {{expected positive dimensions of at most 2^48 elements, found [4294967296, 4294967296]}}
"t.op"() : () -> !inf.weight<[4294967296, 4294967296]>

// -----

// expected-error@+1 {{expected limit and alpha with swiglu_clamped, and only there}}
"t.op"() {a = #inf.activation<swiglu_clamped>} : () -> ()

// -----

// expected-error@+1 {{expected limit and alpha with swiglu_clamped, and only there}}
"t.op"() {a = #inf.activation<swiglu, limit = 7.0 : f64, alpha = 1.702 : f64>} : () -> ()

// -----

// expected-error@+1 {{expected limit > 0, found -7.000000e+00}}
"t.op"() {a = #inf.activation<swiglu_clamped, limit = -7.0 : f64, alpha = 1.702 : f64>} : () -> ()

// -----

// expected-error@+1 {{expected a finite alpha, found}}
"t.op"() {a = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 0x7FF0000000000000 : f64>} : () -> ()

// -----

// expected-error@+1 {{expected the name of a checkpoint tensor}}
"t.op"() {a = #inf.part<tensor = "", stored = f32, rows = 4>} : () -> ()

// -----

// expected-error@+1 {{expected scales with mxfp4 only}}
"t.op"() {a = #inf.part<tensor = "w", scales = "s", stored = bf16, rows = 4>} : () -> ()

// -----

// expected-error@+1 {{expected int8 not to be transposed: its blocks lie along the columns}}
"t.op"() {a = #inf.part<tensor = "w", stored = int8, rows = 4, transposed = true>} : () -> ()

// -----

// expected-error@+1 {{expected mxfp4 not to be transposed: its blocks lie along the columns}}
"t.op"() {a = #inf.part<tensor = "w", scales = "s", stored = mxfp4, rows = 4, transposed = true>} : () -> ()

// -----

// expected-error@+1 {{expected rows > 0, found 0}}
"t.op"() {a = #inf.part<tensor = "w", stored = f32, rows = 0>} : () -> ()

// -----

// expected-error@+1 {{expected grain and row_tile > 0, found 0 and 8}}
"t.op"() {a = #inf.partition<axis = outputs, grain = 0, row_tile = 8>} : () -> ()

// -----

// expected-error@+1 {{expected grain and row_tile > 0, found 16 and -1}}
"t.op"() {a = #inf.partition<axis = outputs, grain = 16, row_tile = -1>} : () -> ()

// -----

// expected-error@+1 {{expected chunk_keys > 0 and split_rows in 1..16, or neither, found 1024 and 0}}
"t.op"() {a = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024>} : () -> ()

// -----

// expected-error@+1 {{expected chunk_keys > 0 and split_rows in 1..16, or neither, found 1024 and 17}}
"t.op"() {a = #inf.partition<axis = row_heads, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 17>} : () -> ()

// -----

// expected-error@+1 {{expected chunk_keys with axis = row_heads only, found rows}}
"t.op"() {a = #inf.partition<axis = rows, grain = 1, row_tile = 1, chunk_keys = 1024, split_rows = 8>} : () -> ()

// -----

// expected-error@+1 {{expected inf.partials to be an offset in the arena}}
"t.op"() {inf.partials = 64 : i32} : () -> ()

// -----

// expected-error@+1 {{expected inf.kernel to be a kernel's symbol name}}
"t.op"() {inf.kernel = 3 : i64} : () -> ()

// -----

// expected-error@+1 {{expected inf.partition to be an #inf.partition}}
"t.op"() {inf.partition = "rows"} : () -> ()

// -----

// expected-error@+1 {{expected inf.offsets to have one offset per result}}
"t.op"() {inf.offsets = array<i64: 0, 64>} : () -> tensor<?x16xf32>

// -----

// expected-error@+1 {{expected inf.offsets to have one offset per result}}
"t.op"() {inf.offsets = 0 : i64} : () -> tensor<?x16xf32>

// -----

// What an activation may be: rows unknown, features known, two dimensions, f32.
%x = "t.x"() : () -> tensor<16x16xf32>
// expected-error@+1 {{'inf.add' op operand #0 must be tensor<?xFxf32> with F in 1..2^31-1, but got 'tensor<16x16xf32>'}}
%y = inf.add %x, %x : tensor<16x16xf32>

// -----

%x = "t.x"() : () -> tensor<?x?xf32>
// expected-error@+1 {{'inf.add' op operand #0 must be tensor<?xFxf32> with F in 1..2^31-1, but got 'tensor<?x?xf32>'}}
%y = inf.add %x, %x : tensor<?x?xf32>

// -----

%x = "t.x"() : () -> tensor<f32>
// expected-error@+1 {{'inf.add' op operand #0 must be tensor<?xFxf32> with F in 1..2^31-1, but got 'tensor<f32>'}}
%y = inf.add %x, %x : tensor<f32>

// -----

%x = "t.x"() : () -> tensor<?x4294967296xf32>
// expected-error@+1 {{'inf.add' op operand #0 must be tensor<?xFxf32> with F in 1..2^31-1, but got 'tensor<?x4294967296xf32>'}}
%y = inf.add %x, %x : tensor<?x4294967296xf32>

// -----

%x = "t.x"() : () -> tensor<?x16xf16>
// expected-error@+1 {{'inf.add' op operand #0 must be tensor<?xFxf32> with F in 1..2^31-1, but got 'tensor<?x16xf16>'}}
%y = inf.add %x, %x : tensor<?x16xf16>
