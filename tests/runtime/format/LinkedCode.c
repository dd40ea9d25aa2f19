/* A library as the linker hands it to the payload writer: the placeholder section, one note, and
   something to call after dlopen. */
__asm__(".section .inf.payload,\"\",@progbits\n"
        ".byte 0\n"
        ".section .note.inf,\"a\",@note\n"
        ".balign 4\n"
        ".long 4, 4, 1\n"
        ".asciz \"INF\"\n"
        ".long 0\n"
        ".text\n");

int answer(void) { return 42; }
