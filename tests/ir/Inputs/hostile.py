"""hostile.py FILE: feeds inf-opt what remains of FILE after accidents.

A file cut inside its model must be refused with a message. One with bytes changed may still be right;
inf-opt must end by itself either way, also when passes run on it."""
import random
import re
import subprocess
import sys

SEED = 7
PASSES = "builtin.module(inf.model(%s))" % ",".join("inf-" + name for name in (
    "fuse-qkv fuse-norm fuse-rope-append fuse-router expand-moe fuse-epilogue quantize "
    "specialize-blocks select-kernels verify-kernels partition plan-memory verify-plan").split())

text = open(sys.argv[1]).read()
text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)


def run(source, *flags):
    done = subprocess.run(["inf-opt", *flags, "-", "-o", "/dev/null"], input=source.encode(),
                          stderr=subprocess.PIPE, timeout=60)
    if done.returncode not in (0, 1):
        sys.exit(f"inf-opt ended with {done.returncode} on:\n{source}\n{done.stderr.decode()}")
    return done


def cut_everywhere():
    begin, end = text.index("{"), text.rindex("}")
    for at in range(begin, end, max(1, (end - begin) // 40)):
        done = run(text[:at])
        if done.returncode == 0 or b"error:" not in done.stderr:
            sys.exit(f"cut at {at}: expected an error, found:\n{done.stderr.decode()}")


def change_bytes():
    """Many small models in one process: a crash takes all with it, the seed brings it back."""
    rng = random.Random(SEED)
    variants = []
    for _ in range(300):
        characters = list(text)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(characters))
            characters[at] = rng.choice('0123456789-@%#<>[](){}:,"xf ?')
        variants.append("".join(characters))
    # Sizes are where code trusts what it read.
    for _ in range(300):
        numbers = list(re.finditer(r"\b\d+\b", text))
        number = rng.choice(numbers)
        value = rng.choice(("0", "-1", "1", "3", "17", "65536", "2147483647", "4294967296",
                            "4611686018427387904", "9223372036854775807"))
        variants.append(text[:number.start()] + value + text[number.end():])
    print(f"seed {SEED}")
    run("\n// -----\n".join(variants), "-split-input-file")
    run("\n// -----\n".join(variants), "-split-input-file", "-pass-pipeline=" + PASSES)


cut_everywhere()
change_bytes()
