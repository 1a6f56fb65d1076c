"""Devices of half a core each, by the kernel's quota (tests/bench/executors
--half-cores)."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from cgroups import NoGroup, find_controller
from executor_runs import WAY_HEADER, epochs_of, print_table, way_row
from programs import fgnn

MOST_DEVICES = 4
PERIOD_US = 10_000
QUOTA_US = PERIOD_US // 2
START_SECONDS = 30


def refuse(message):
    print(f"--half-cores: {message}", file=sys.stderr)
    sys.exit(2)


class HalfCoreGroup:
    """A cgroup that has half a core; gone at the end of the context, when those
    in it have to be."""

    def __init__(self, name):
        try:
            self.parent, self.version = find_controller("cpu")
        except NoGroup as error:
            refuse(f"{error}; mount one, and try again as root")
        self.folder = self.parent / f"fgnn-bench-{os.getpid()}-{name}"

    def __enter__(self):
        try:
            if self.version == 2:
                (self.parent / "cgroup.subtree_control").write_text("+cpu")
            self.folder.mkdir()
            if self.version == 2:
                self._write("cpu.max", f"{QUOTA_US} {PERIOD_US}")
            else:
                self._write("cpu.cfs_period_us", PERIOD_US)
                self._write("cpu.cfs_quota_us", QUOTA_US)
        except OSError as error:
            self.__exit__()
            refuse(f"a cgroup cannot be made: {error}; run it as root, where "
                   "cgroups can be written")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(FileNotFoundError):
            self.folder.rmdir()

    def _write(self, file, value):
        (self.folder / file).write_text(str(value))

    def take(self, pids):
        for pid in pids:
            self._write("cgroup.procs", pid)

    def pids(self):
        text = (self.folder / "cgroup.procs").read_text()
        return set(map(int, text.split()))

    def throttled(self):
        """The share of the periods that used the quota up."""
        stat = dict(line.split() for line in
                    (self.folder / "cpu.stat").read_text().splitlines())
        return int(stat["nr_throttled"]) / max(int(stat["nr_periods"]), 1)


def check_half_cores():
    with HalfCoreGroup("try"):
        pass


def pids_of_devices(options, devices):
    """{device: pids of its sampler and its trainer}, once they run."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        pids = {device: set() for device in devices}
        for executor in json.loads(fgnn(options, "status",
                                        "--json"))["executors"]:
            if executor.get("pid", 0) > 0:
                pids[executor["device"]].add(executor["pid"])
        if all(len(pair) == 2 for pair in pids.values()):
            return pids
        time.sleep(0.1)
    sys.exit(f"after {START_SECONDS} s not every device has its daemons")


@contextlib.contextmanager
def half_core_service(options, devices):
    """A service whose devices have half a core each; yields their groups."""
    with contextlib.ExitStack() as stack:
        groups = {device: stack.enter_context(HalfCoreGroup(number))
                  for number, device in enumerate(devices)}
        stack.callback(fgnn, options, "down")
        fgnn(options, "up", "--devices", *devices)
        pids = pids_of_devices(options, devices)
        for device, group in groups.items():
            group.take(pids[device])
        yield groups
        if any(groups[device].pids() != pids[device] for device in devices):
            sys.exit("a daemon was restarted outside of its cgroup; the run "
                     "means nothing")


def name_more_cores(options, folder):
    """Where the machine has fewer cores than devices are asked for, a preloaded
    library has the programs see more: names of the same ones, in turn."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= MOST_DEVICES:
        options.devices = [f"cpu:{core}" for core in cores[:MOST_DEVICES]]
        return
    library = folder / "named_cores.so"
    source = pathlib.Path(__file__).with_name("named_cores.cc")
    subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-o", library, source],
                   check=True)
    named = [str(cores[i % len(cores)]) for i in range(MOST_DEVICES)]
    options.environment = {"LD_PRELOAD": str(library),
                           "FGNN_BENCH_CORES": ",".join(named)}
    options.devices = [f"cpu:{i}" for i in range(MOST_DEVICES)]
    print(f"{len(cores)} cores: by a preloaded library cpu:0 to cpu:"
          f"{MOST_DEVICES - 1} are names of core {', '.join(named)}")


def run_on(options, count, folder):
    """Epochs of all rounds of a job on so many devices, and the largest share
    of throttled periods."""
    way = (count, {"executors": "factored", "samplers": 1,
                   "training.batches_per_step": MOST_DEVICES},
           ("--samplers", 1))
    epochs, throttled = [], 0.0
    for turn in range(options.rounds):
        with half_core_service(options, options.devices[:count]) as groups:
            epochs += epochs_of(options, way, folder / f"run-{turn}-{count}")
            throttled = max(throttled, *(group.throttled()
                                         for group in groups.values()), 0.0)
    return way, epochs, throttled


def print_half_cores(options, folder):
    name_more_cores(options, folder)
    rows = []
    for count in range(1, MOST_DEVICES + 1):
        way, epochs, throttled = run_on(options, count, folder)
        rows.append((str(count), *way_row(options, way, epochs),
                     f"{100 * throttled:.0f}%"))
    print_table(("devices of half a core", *WAY_HEADER, "throttled"), rows)
