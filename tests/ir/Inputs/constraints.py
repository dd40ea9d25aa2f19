"""constraints.py InfOps.td TESTS: names constraints "inf.op (Cn)" that no expected-error mentions,
and those mentioned that the op does not state."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
stated = set()
for definition in re.split(r"^def ", text, flags=re.MULTILINE)[1:]:
    op = re.match(r'\w+ : Inf_Op<"(\w+)"', definition)
    if op:
        # One constraint may lean on another: "(C1) as inf.moe's gate_up" states C1 of its own op.
        stated |= {(op[1], number) for number in re.findall(r"\(C(\d+)\)", definition)}
if len(stated) < 50:
    sys.exit(f"expected more than 50 constraints in {sys.argv[1]}, found {len(stated)}: "
             "has its form changed?")

tested = set()
for path in pathlib.Path(sys.argv[2]).glob("verify-*.mlir"):
    tested |= set(re.findall(r"expected-error.*\{\{'inf\.(\w+)' op \(C(\d+)\)", path.read_text()))

for title, missing in (("stated but not tested", stated - tested),
                       ("tested but not stated", tested - stated)):
    for op, number in sorted(missing):
        print(f"inf.{op} (C{number}): {title}")
sys.exit(stated != tested)
