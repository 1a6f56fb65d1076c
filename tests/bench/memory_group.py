"""A memory cgroup, v2 or v1, that programs are started in."""

import contextlib
import os
import time

from cgroups import NoGroup, find_controller

GONE_SECONDS = 10


class MemoryGroup:
    """Programs started by words() share `limit` bytes, page cache included.

    The group is gone at the end of the context, when they have to be, too.
    """

    def __init__(self, limit, name="memory"):
        parent, self.version = find_controller("memory")
        self.folder = parent / f"fgnn-bench-{os.getpid()}-{name}"
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
