"""Runs a peer's llama-batched-bench, which decodes several sequences together, or one behind a long prompt.

It prints a table, a row for each number of sequences: PP and TG, tokens of prompt and answer of each; B, sequences; T_TG, the
seconds in which all of them were decoded. llama.cpp and ik_llama.cpp print the same columns, on stdout or on stderr.
"""
import os
import re
import subprocess
import tempfile

from llama_bench import PeerError, require_file

ROW = re.compile(r"^\|\s*(\d+) \|\s*(\d+) \|\s*(\d+) \|\s*\d+ \|\s*[\d.]+ \|\s*[\d.]+ \|\s*([\d.]+) \|", re.MULTILINE)
PHYSICAL_BATCH = 512  # the peers' own default


def runs_of(text):
    """The table's rows as runs: keys as `infrun bench` has them."""
    runs = []
    for prompt, generated, batch, seconds in ROW.findall(text):
        tokens = int(generated) * int(batch)
        if float(seconds) <= 0:
            raise PeerError(4, f"{tokens} tokens were decoded in {seconds} s; expected more. Decode more tokens.")
        runs.append({"kind": "decode", "tokens": int(generated), "context": int(prompt), "batch": int(batch),
                     "tok_s": tokens / float(seconds), "seconds": [float(seconds)]})
    return runs


def measure(binary, model, context, batches, generated, threads, extra=()):
    """The runs of one call: `context` tokens of prompt for each sequence, then `generated` of each."""
    require_file(binary, "llama-batched-bench")
    require_file(model, "the model")
    held = max(batches) * (context + generated) + PHYSICAL_BATCH
    command = [os.path.abspath(binary), "-m", os.path.abspath(model), "-c", str(held), "-b", "2048", "-ub", str(PHYSICAL_BATCH), "-npp", str(context), "-ntg",
               str(generated), "-npl", ",".join(str(batch) for batch in batches), "-t", str(threads), *extra]
    with tempfile.TemporaryDirectory() as folder:  # it leaves a log where it runs
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, check=False)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise PeerError(4, f"{' '.join(command)} ended with {done.returncode}: {text.strip()[-300:]}")
    runs = runs_of(text)
    if [run["batch"] for run in runs] != list(batches):
        raise PeerError(4, f"llama-batched-bench gave rows for {[run['batch'] for run in runs]} sequences, expected "
                           f"{list(batches)}. This version is not known; see peers/llama_batched_bench.py.")
    return runs
