"""Locks, as some user, each file below folders that the user may read.

  hold_locks.py UID,GID,GROUP... FOLDER...

Locks it in both ways that a reader can, until the input ends. Prints the names of
the files first.
"""

import fcntl
import pathlib
import struct
import sys

from hold_connections import become

become(sys.argv[1])
held = []
for root in sys.argv[2:]:
    for path in pathlib.Path(root).rglob('*'):
        try:
            if not path.is_file():
                continue
            file = open(path, 'rb')
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.fcntl(file, fcntl.F_SETLK,
                        struct.pack('hhqqi', fcntl.F_RDLCK, 0, 0, 0, 0))
        except OSError:
            continue
        held.append((path.name, file))
print(*sorted({name for name, _ in held}), flush=True)
sys.stdin.read()
