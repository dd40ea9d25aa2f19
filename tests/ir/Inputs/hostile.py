"""hostile.py WHOLE_MODEL.mlir EVERY_OP.mlir: feeds inf-opt what remains of the files after accidents.

A file cut inside its model must be refused with a message. One with bytes changed may still be right;
inf-opt must end by itself either way, also when the passes run on it, and when the last of them run
on a planned model that was changed."""
import random
import re
import subprocess
import sys

SEED = 7
VARIANTS = 300


def pipeline(names, lowered):
    passes = ",".join("inf-" + name for name in names.split())
    return f"-pass-pipeline=builtin.module(inf.model({passes}){',inf-lower-to-llvm' * lowered})"


PLAN = ("fuse-qkv fuse-norm fuse-rope-append fuse-router expand-moe fuse-epilogue quantize "
        "specialize-blocks select-kernels verify-kernels partition plan-memory verify-plan")
VERIFY = "verify-kernels verify-plan"


def read(path):
    return re.sub(r"^ *//.*\n", "", open(path).read(), flags=re.MULTILINE)


def run(source, *flags):
    done = subprocess.run(["inf-opt", *flags, "-"], input=source.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode not in (0, 1):
        open("crash.mlir", "w").write(source)
        sys.exit(f"inf-opt {' '.join(flags)} ended with {done.returncode} on crash.mlir here:\n"
                 f"{done.stderr.decode()[-4000:]}")
    return done


def cut_everywhere(text):
    begin, end = text.index("{"), text.rindex("}")
    for at in range(begin, end, max(1, (end - begin) // 40)):
        done = run(text[:at])
        if done.returncode == 0 or b"error:" not in done.stderr:
            sys.exit(f"cut at {at}: expected an error, found:\n{done.stderr.decode()}")


def changed_bytes(rng, text):
    characters = list(text)
    for _ in range(rng.choice((1, 1, 2, 8))):
        characters[rng.randrange(len(characters))] = rng.choice('0123456789-@%#<>[](){}:,"xf ?')
    return "".join(characters)


def changed_number(rng, text):
    """Sizes are where code trusts what it read."""
    number = rng.choice(list(re.finditer(r"\b\d+\b", text)))
    value = rng.choice(("0", "-1", "1", "2", "3", "17", "32", "64", "65536", "2147483647",
                        "4294967296", "4611686018427387904", "9223372036854775807"))
    return text[:number.start()] + value + text[number.end():]


def swapped_lines(rng, text):
    lines = text.split("\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def spoil(text, flags):
    """Many models in one process: a crash takes all with it, the seed brings it back."""
    rng = random.Random(SEED)
    for change in (changed_bytes, changed_number, swapped_lines):
        variants = [change(rng, text) for _ in range(VARIANTS)]
        run("\n// -----\n".join(variants), "-split-input-file", *flags)


whole, every_op = read(sys.argv[1]), read(sys.argv[2])
planned = run(whole, pipeline(PLAN, False))
if planned.returncode:
    sys.exit("expected the whole model to compile:\n" + planned.stderr.decode())
print(f"seed {SEED}")
cut_everywhere(every_op)
spoil(every_op, [])
spoil(whole, [pipeline(PLAN, True)])
spoil(planned.stdout.decode(), [pipeline(VERIFY, True)])
