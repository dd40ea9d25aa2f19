"""Runs a peer's llama-bench and gives its result in the rows of `infrun bench --json`.

llama-bench of llama.cpp and of ik_llama.cpp both print a JSON list with one entry per test; a test has n_prompt or
n_gen tokens and `samples_ns`, the time of each repetition.
"""
import json
import os
import statistics
import subprocess


class PeerError(Exception):
    """What happened, what was expected, what to do; `code` is the exit code (README.md of the project)."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def require_file(path, what):
    if not os.path.isfile(path):
        raise PeerError(5, f"{what} '{path}' is not there. Check the path.")


def json_list(text):
    """The list in the output; some versions print other lines around it."""
    begin, end = text.find("[\n"), text.rfind("]")
    if begin < 0 or end < begin:
        raise PeerError(4, f"llama-bench printed no JSON list, but: {text[-300:]!r}. Run it by hand to see why.")
    try:
        tests = json.loads(text[begin:end + 1])
    except ValueError as error:
        raise PeerError(4, f"llama-bench printed broken JSON ({error}). Run it by hand to see why.") from error
    return tests


def run_of(test):
    """A test as a run: keys as `infrun bench` has them."""
    try:
        prompt, generated = int(test["n_prompt"]), int(test["n_gen"])
        seconds = [nanoseconds / 1e9 for nanoseconds in test["samples_ns"]]
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError(4, f"llama-bench's JSON lacks {error}. This version is not known; see peers/llama_bench.py.") from error
    if (prompt == 0) == (generated == 0) or not seconds:
        raise PeerError(4, f"a test of {prompt} prompt and {generated} generated tokens with {len(seconds)} samples was "
                           "expected to have one kind of tokens and a sample.")
    tokens = prompt or generated
    return {"kind": "prefill" if prompt else "decode", "tokens": tokens, "context": int(test.get("n_depth", 0)),
            "batch": 1, "tok_s": tokens / statistics.median(seconds), "seconds": seconds}


def measure(name, binary, model, prompt, generated, threads, repeat, extra=()):
    """One call of llama-bench: {"engine", "commit", "threads", "runs"}."""
    require_file(binary, "llama-bench")
    require_file(model, "the model")
    command = [binary, "-m", model, "-p", str(prompt), "-n", str(generated), "-t", str(threads), "-r", str(repeat),
               "-o", "json", *extra]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(4, f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    tests = json_list(done.stdout)
    return {"engine": name, "commit": tests[0].get("build_commit", "unknown") if tests else "unknown",
            "threads": threads, "runs": [run_of(test) for test in tests]}
