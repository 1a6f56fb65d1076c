"""A memory cgroup, v2 or v1, that programs are started in."""

import contextlib
import os
import pathlib
import time

GONE_SECONDS = 10


class NoGroup(Exception):
    """Why no group can be made here."""


def memory_controller():
    """The folder of the kernel's memory controller, and its version."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, flags, *_ = line.split()
        folder = pathlib.Path(folder)
        if kind == "cgroup" and "memory" in flags.split(","):
            return folder, 1
        if kind == "cgroup2" and "memory" in (
                folder / "cgroup.controllers").read_text().split():
            return folder, 2
    raise NoGroup("the kernel offers no memory controller, cgroup v2 or v1")


class MemoryGroup:
    """Programs started by words() share `limit` bytes, page cache included.

    The group is gone at the end of the context, when they have to be, too.
    """

    def __init__(self, limit):
        parent, self.version = memory_controller()
        self.folder = parent / f"fgnn-bench-{os.getpid()}-memory"
        self.parent, self.limit = parent, limit

    def __enter__(self):
        try:
            if self.version == 2:
                (self.parent / "cgroup.subtree_control").write_text("+memory")
            self.folder.mkdir()
            file = ("memory.max" if self.version == 2 else
                    "memory.limit_in_bytes")
            (self.folder / file).write_text(str(self.limit))
        except OSError as error:
            self.__exit__()
            raise NoGroup(f"a memory cgroup cannot be made: {error}; run it "
                          "as root, where cgroups can be written") from error
        return self

    def __exit__(self, *_):
        deadline = time.monotonic() + GONE_SECONDS
        while self.folder.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            time.sleep(0.05)

    def words(self, *words):
        """Words of a command that runs these in the group."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"',
                self.folder / "cgroup.procs", *words]

    def peak(self):
        """The most bytes that the group had; None: the kernel does not say."""
        file = ("memory.peak" if self.version == 2 else
                "memory.max_usage_in_bytes")
        with contextlib.suppress(OSError):
            return int((self.folder / file).read_text())
        return None
