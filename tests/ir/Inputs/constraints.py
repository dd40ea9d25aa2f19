"""constraints.py InfOps.td TESTS: names constraints "inf.op (Cn)" that no expected-error mentions,
those mentioned that the op does not state, and ops missing in roundtrip.mlir."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
stated, ops = set(), set()
for definition in re.split(r"^def ", text, flags=re.MULTILINE)[1:]:
    op = re.match(r'\w+ : Inf_Op<"(\w+)"', definition)
    if op:
        ops.add(op[1])
        stated |= {(op[1], number) for number in re.findall(r"\(C(\d+)\)", definition)}
if len(stated) < 50:
    sys.exit(f"expected more than 50 constraints in {sys.argv[1]}, found {len(stated)}: "
             "has its form changed?")

tested = set()
for path in pathlib.Path(sys.argv[2]).glob("verify-*.mlir"):
    tested |= set(re.findall(r"expected-error.*\{\{'inf\.(\w+)' op \(C(\d+)\)", path.read_text()))

roundtrip = (pathlib.Path(sys.argv[2]) / "roundtrip.mlir").read_text()
unprinted = {op for op in ops if not re.search(rf"^[^/]*\binf\.{op}\b", roundtrip, re.MULTILINE)}
for op in sorted(unprinted):
    print(f"inf.{op}: not in roundtrip.mlir")

for title, missing in (("stated but not tested", stated - tested),
                       ("tested but not stated", tested - stated)):
    for op, number in sorted(missing):
        print(f"inf.{op} (C{number}): {title}")
sys.exit(stated != tested or bool(unprinted))
