"""What the benchmarks share: flags, `fgnn` in a state folder of its own, and
what a run leaves."""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def new_parser(doc, **options):
    """A parser of --bin. Its description is the first line of a program's."""
    options.setdefault("description", doc.split("\n")[0])
    parser = argparse.ArgumentParser(**options)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=ROOT / ".build/release/bin")
    return parser


def add_set(parser):
    parser.add_argument("--set", action="append", default=[],
                        metavar="KEY=VALUE", help="change a field of the jobs")


def add_data(parser):
    parser.add_argument("--data", type=pathlib.Path,
                        default=ROOT.parent / "shared/data")


def try_fgnn(options, *words, within=()):
    """`within`: words of a command that runs those behind it."""
    return subprocess.run(
        [*within, options.bin / "fgnn", "--state-dir", options.state,
         *map(str, words)], check=False, capture_output=True, text=True,
        env={**os.environ, **getattr(options, "environment", {})})


def fgnn(options, *words, within=()):
    """Its output; ends this program with its error."""
    run = try_fgnn(options, *words, within=within)
    if run.returncode != 0:
        sys.exit(run.stderr or f"fgnn {words[0]} ended with {run.returncode}")
    return run.stdout


def timed_fgnn(options, *words):
    started = time.monotonic()
    fgnn(options, *words)
    print("fgnn", *words[:3], f"took {time.monotonic() - started:.1f} s",
          flush=True)


def settings_of(options):
    return dict(pair.split("=", 1) for pair in options.set)


def flags_of(fields):
    """The words that set these fields of a job."""
    return [word for key, value in fields.items()
            for word in ("--set", f"{key}={value}")]


@contextlib.contextmanager
def state_folder(options, name):
    """A temporary folder with the service's in it."""
    with tempfile.TemporaryDirectory(prefix=f"fgnn-{name}-") as temporary:
        options.state = pathlib.Path(temporary) / "state"
        yield pathlib.Path(temporary)


@contextlib.contextmanager
def running_service(options, name, within=(), flags=()):
    """The same, while a service runs. `flags`: of `fgnn up`."""
    with state_folder(options, name) as folder:
        fgnn(options, "up", *flags, within=within)
        try:
            yield folder
        finally:
            fgnn(options, "down")


def daemons(state):
    """Folder in /proc and kind of every daemon of the service."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(
                errors="replace").split("\0")
        except OSError:
            continue
        kind = pathlib.Path(words[0]).name.removeprefix("fgnn-")
        if kind in ("sampler", "trainer") and any(state in w for w in words):
            yield folder, kind


def summary_of(run_dir):
    return json.loads((run_dir / "summary.json").read_text())


def lines_of(run_dir):
    """Those of metrics.jsonl, one for each epoch."""
    return [json.loads(line) for line in
            (run_dir / "metrics.jsonl").read_text().splitlines()]


def mean_and_spread(values):
    spread = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.mean(values):.2f} +- {spread:.2f}"
