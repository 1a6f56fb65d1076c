"""Where a service lives, as shared/config/state_dir.h says."""

import os
import pathlib
import socket
import time

from fgnn import errors

_PAUSE_SECONDS = 0.02


def default_state_dir() -> pathlib.Path:
    """$FGNN_STATE_DIR, else /var/lib/fgnn for root, else that of the user."""
    if named := os.environ.get('FGNN_STATE_DIR'):
        return pathlib.Path(named)
    if os.geteuid() == 0:
        return pathlib.Path('/var/lib/fgnn')
    if state := os.environ.get('XDG_STATE_HOME'):
        return pathlib.Path(state) / 'fgnn'
    if home := os.environ.get('HOME'):
        return pathlib.Path(home) / '.local/state/fgnn'
    # A folder in the shared temporary folder could be another user's.
    raise errors.WrongState(
        'neither HOME nor XDG_STATE_HOME is set, so that the state folder is '
        'not known; name it with state_dir or FGNN_STATE_DIR')


def cache_folder() -> pathlib.Path:
    """Where this user's programs keep what can be made again. WrongState: it is
    not known where."""
    if cache := os.environ.get('XDG_CACHE_HOME'):
        return pathlib.Path(cache) / 'fgnn'
    if home := os.environ.get('HOME'):
        return pathlib.Path(home) / '.cache/fgnn'
    raise errors.WrongState(
        'neither HOME nor XDG_CACHE_HOME is set, so that the folder of what can '
        'be made again is not known; set one')


def socket_path(state_dir: pathlib.Path) -> pathlib.Path:
    return state_dir / 'scheduler.sock'


def listens(path: pathlib.Path) -> bool:
    """Whether somebody serves there. PermissionDenied, InvalidJob: never."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except BlockingIOError:  # Its queue is full: somebody is there.
            return True
        except PermissionError as error:
            raise errors.PermissionDenied(
                f'connect to {path}: {error.strerror}') from None
        except OSError as error:  # Its name is too long, or no socket's.
            raise errors.InvalidJob(f'connect to {path}: {error}') from None
    return True


def wait_for_server(path: pathlib.Path, seconds: float) -> bool:
    """Whether somebody serves there within the time."""
    deadline = time.monotonic() + seconds
    while not listens(path):
        if time.monotonic() > deadline:
            return False
        # Nothing tells of a socket that is not there yet.
        time.sleep(_PAUSE_SECONDS)
    return True
