"""A device that slows down in mid-epoch (tests/bench/executors --slowed)."""

import json
import os
import statistics
import subprocess
import sys
import time

from executor_runs import (median_of, print_table, simulated_apart,
                           words_of_run)
from programs import lines_of, try_fgnn

FACTORED = {"executors": "factored"}
WAYS = {
    "fixed": (2, {**FACTORED, "samplers": 1, "switching": "false"},
              ("--no-switching",)),
    "switching": (2, {**FACTORED, "samplers": 1}, ()),
    "planned": (2, FACTORED, ()),
}
# Busy for half of the time, in a class that goes first: a loop of the trainer's
# own class was seen to get a hundredth of the core. Where that is not allowed,
# always. Ends with who started it.
BUSY_LOOP = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
try:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    pause = 0.002
except PermissionError:
    pause = 0
while os.getppid() == int(sys.argv[2]):
    until = time.monotonic() + 0.002
    while time.monotonic() < until:
        pass
    time.sleep(pause)
"""


class BusyLoops:
    """Another program, which takes half of some cores from start() to the end
    of the context."""

    def __init__(self):
        self.processes = []
        self.share = 0.0  # Of a core that each of them had, in the end.

    def __enter__(self):
        return self

    def start(self, cores):
        self.began = time.monotonic()
        self.processes = [
            subprocess.Popen([sys.executable, "-c", BUSY_LOOP, str(core),
                              str(os.getpid())]) for core in cores]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            seconds = usage.ru_utime + usage.ru_stime
            self.share += seconds / (time.monotonic() - self.began) / len(
                self.processes)


def progress_of(options, way, folder):
    """Runs a job; its lines of progress as they come."""
    run = subprocess.Popen(
        [options.bin / "fgnn", "--state-dir", options.state, "--json",
         *map(str, words_of_run(options, way, folder))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for line in run.stdout:
            yield json.loads(line)
        if run.wait() != 0:
            sys.exit(run.stderr.read())
    finally:
        run.kill()
        run.communicate()


def epochs_done(line):
    """With fractions; 0 before training, and of other lines."""
    batches = int(line.get("batches_per_epoch", 0))
    return int(line.get("batches_committed", 0)) / batches if batches else 0


def epochs_written(folder):
    file = folder / "metrics.jsonl"
    return file.read_text().count("\n") if file.exists() else 0


def slow_down(options, name, loops):
    """Has another program use the cores of the device that trains as well, or
    of the last one where all are planned to sample; False: the job has
    ended."""
    answer = try_fgnn(options, "devices", "--json")
    devices = [device for device in
               json.loads(answer.stdout or "{}").get("devices", ())
               if device.get("plan")]
    if not devices:
        return False
    slowed = max(devices, key=lambda d: (d["plan"] == "trainer", d["name"]))
    if name == "fixed":  # Nor is it planned anew between epochs.
        for device in devices:
            held = try_fgnn(options, "switch", device["name"], device["plan"])
            if held.returncode != 0:
                print(held.stderr, end="", file=sys.stderr)
                return False
    loops.start(slowed["cores"])
    return True


def run_slowed(options, name, folder):
    """The run's epochs, the first one left out, as before the one that slowed
    down, that one, and behind it, and the other program's share of the core;
    None: the job ended before."""
    slow_epoch = max(options.epochs // 3, 1)
    slowed_in = None
    with BusyLoops() as loops:
        for line in progress_of(options, WAYS[name], folder):
            if (slowed_in is None and epochs_done(line) >= slow_epoch + 0.5 and
                    slow_down(options, name, loops)):
                slowed_in = epochs_written(folder)
    epochs = lines_of(folder)
    if slowed_in is None or slowed_in + 1 >= len(epochs):
        return None
    return (epochs[1:slowed_in], epochs[slowed_in], epochs[slowed_in + 1:],
            loops.share)


def row_of(options, name, runs, of_fixed):
    quiet = [epoch for run in runs for epoch in run[0]]
    behind = [epoch for run in runs for epoch in run[2]]
    seconds = median_of(behind)
    model = statistics.median(
        simulated_apart(options, WAYS[name], run[2]) for run in runs)
    return (name, f"{median_of(quiet):.3f}" if quiet else "-",
            f"{median_of([run[1] for run in runs]):.3f}", f"{seconds:.3f}",
            f"{seconds / of_fixed:.2f}", f"{model:.3f}",
            f"{seconds / model:.2f}",
            f"{median_of(behind, 'switches'):.0f}",
            f"{100 * statistics.median(run[3] for run in runs):.0f}%")


def print_slowed(options, folder):
    runs = {name: [] for name in WAYS}
    for turn in range(options.rounds):
        for name in WAYS:
            run = run_slowed(options, name, folder / f"run-{turn}-{name}")
            if run is None:
                print(f"{name}: the job ended before, or in the epoch in which "
                      "the device slowed down; give a larger --scale, or more "
                      "--epochs")
                return
            runs[name].append(run)
    of_fixed = median_of([epoch for run in runs["fixed"] for epoch in run[2]])
    print_table(("executors", "before s", "slows down s", "behind s",
                 "of fixed", "simulated", "ratio", "wakes", "other's"),
                [row_of(options, name, runs[name], of_fixed) for name in WAYS])
