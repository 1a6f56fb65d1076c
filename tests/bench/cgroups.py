"""Where the kernel lets groups of programs be made, for the benchmarks."""

import pathlib


class NoGroup(Exception):
    """Why no group can be made here."""


def find_controller(name):
    """The folder of a controller, "cpu" or "memory", and cgroup's version."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, flags, *_ = line.split()
        folder = pathlib.Path(folder)
        if kind == "cgroup" and name in flags.split(","):
            return folder, 1
        if kind == "cgroup2" and name in (
                folder / "cgroup.controllers").read_text().split():
            return folder, 2
    raise NoGroup(f"the kernel offers no {name} controller, cgroup v2 or v1")
