"""The samplers of this process: libfgnn_loader.so by ctypes. Structs and
functions are those of tools/python/native/c_api.h."""

import ctypes
import json
import os
import pathlib
import shutil
import sys
import threading
import weakref
from typing import Any

import numpy
from numpy.typing import NDArray

from fgnn import errors

Array = NDArray[Any]

_INTERFACE = 2
_MOST_HOPS = 8
_NAME = 'libfgnn_loader.so'
# A wait is at most so long without a look at signals such as Ctrl-C.
_WAIT_MILLISECONDS = 50
# Numbers of absl::StatusCode, which are those of gRPC.
_DEADLINE_EXCEEDED = 4


class Hop(ctypes.Structure):
    """fgnn_hop"""
    _fields_ = [('num_destinations', ctypes.c_uint64),
                ('num_sources', ctypes.c_uint64),
                ('num_edges', ctypes.c_uint64),
                ('indptr', ctypes.c_void_p),
                ('indices', ctypes.c_void_p),
                ('weights', ctypes.c_void_p)]


class BatchView(ctypes.Structure):
    """fgnn_batch_view"""
    _fields_ = [('seq', ctypes.c_uint64),
                ('digest', ctypes.c_uint64),
                ('num_seeds', ctypes.c_uint64),
                ('num_nodes', ctypes.c_uint64),
                ('num_pairs', ctypes.c_uint64),
                ('num_positives', ctypes.c_uint64),
                ('num_edges', ctypes.c_uint64),
                ('num_hops', ctypes.c_uint64),
                ('nodes', ctypes.c_void_p),
                ('features', ctypes.c_void_p),
                ('labels', ctypes.c_void_p),
                ('targets', ctypes.c_void_p),
                ('edges', ctypes.c_void_p),
                ('edge_places', ctypes.c_void_p),
                ('pairs', ctypes.c_void_p),
                ('hops', Hop * _MOST_HOPS)]


_library: ctypes.CDLL | None = None


def _find() -> pathlib.Path:
    """The library of this environment, or of the programs on the PATH."""
    program = shutil.which('fgnn')
    homes = [pathlib.Path(sys.prefix)]
    if program is not None:
        homes.append(pathlib.Path(program).resolve().parent.parent)
    for home in homes:
        path = home / 'lib/fgnn' / _NAME
        if path.exists():
            return path
    raise errors.NotFound(
        f'no lib/fgnn/{_NAME} beside {" or ".join(map(str, homes))}; install '
        'the wheel of tools/wheel, or put the folder of fgnn on the PATH')


def library() -> ctypes.CDLL:
    """NotFound: it is not installed. WrongState: it is of another release."""
    global _library
    if _library is not None:
        return _library
    path = _find()
    try:
        opened = ctypes.CDLL(str(path))
    except OSError as error:
        raise errors.WrongState(f'{path} cannot be loaded: {error}') from None
    found = opened.fgnn_loader_interface()
    if found != _INTERFACE:
        raise errors.WrongState(
            f'{path} has interface {found}, this package {_INTERFACE}; install '
            'both from one release')
    pointer = ctypes.POINTER
    opened.fgnn_loader_error.restype = ctypes.c_char_p
    opened.fgnn_loader_open.argtypes = [
        ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64,
        pointer(ctypes.c_void_p)]
    opened.fgnn_loader_close.argtypes = [ctypes.c_void_p]
    opened.fgnn_loader_close.restype = None
    opened.fgnn_loader_facts.argtypes = [ctypes.c_void_p]
    opened.fgnn_loader_facts.restype = ctypes.c_char_p
    opened.fgnn_loader_seek.argtypes = [ctypes.c_void_p, ctypes.c_uint64,
                                        pointer(ctypes.c_uint64)]
    opened.fgnn_loader_next.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, pointer(ctypes.c_void_p),
        pointer(BatchView)]
    opened.fgnn_loader_release.argtypes = [ctypes.c_void_p]
    opened.fgnn_loader_release.restype = None
    _library = opened
    return opened


def _check(code: int) -> None:
    if code == 0:
        return
    text = library().fgnn_loader_error().decode('utf-8', 'replace')
    # The request has one line, and is no file of the user's.
    raise errors.from_code(code, text.removeprefix('fgnn.loader:1: '))


class BatchMemory:
    """The memory of a batch's arrays. It goes back to its loader, to be used
    again, once no array needs it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._release = library().fgnn_loader_release
        self._process = os.getpid()

    def __del__(self) -> None:
        if self._process == os.getpid():
            self._release(self._handle)

    def array(self, address: int | None, shape: tuple[int, ...],
              dtype: str) -> Array:
        """The array at an address of this memory."""
        if address is None or 0 in shape:
            return numpy.empty(shape, dtype)
        return numpy.asarray(_Place(self, address, shape, dtype))


class _Place:
    """What NumPy makes an array of. The array keeps it, and it the memory."""

    def __init__(self, memory: BatchMemory, address: int,
                 shape: tuple[int, ...], dtype: str) -> None:
        self._memory = memory
        self.__array_interface__ = {
            'version': 3, 'data': (address, False), 'shape': shape,
            'typestr': numpy.dtype(dtype).str}


def _open(request: bytes, seeds: Array | None) -> int:
    """Opens in a thread of its own: it may take minutes to check a dataset for
    the first time, in which this one looks at signals."""
    opened: list[int] = []
    failed: list[errors.Error] = []
    is_awaited = True

    def body() -> None:
        handle = ctypes.c_void_p()
        try:
            _check(library().fgnn_loader_open(
                request, None if seeds is None else seeds.ctypes.data,
                0 if seeds is None else len(seeds), ctypes.byref(handle)))
        except errors.Error as error:
            failed.append(error)
            return
        assert handle.value is not None
        opened.append(handle.value)
        if not is_awaited:
            _close(opened.pop(), os.getpid())

    library()  # Its errors are the caller's.
    thread = threading.Thread(target=body, name='fgnn-open', daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_WAIT_MILLISECONDS / 1000)
    finally:
        is_awaited = False
    if failed:
        raise failed[0]
    return opened[0]


def _close(handle: int, process: int) -> None:
    # A process that was forked has none of the threads.
    if process == os.getpid():
        library().fgnn_loader_close(handle)


class Samplers:
    """The threads that sample. InvalidJob and others: what is wrong."""

    def __init__(self, request: dict[str, Any], seeds: Array | None) -> None:
        self._process = os.getpid()
        self._handle = _open(json.dumps(request).encode(), seeds)
        # At the end of the process too, before the library's own end.
        weakref.finalize(self, _close, self._handle, self._process)

    def facts(self) -> dict[str, Any]:
        text = library().fgnn_loader_facts(self._handle)
        facts: dict[str, Any] = json.loads(text)
        return facts

    def check_process(self) -> None:
        if self._process != os.getpid():
            raise errors.WrongState(
                'a loader does not work in a process that was forked after it '
                'was made: its threads are not there; make the loader in this '
                'process')

    def seek(self, batch: int) -> int:
        """Goes to a batch of all ranks. How many this rank has from there on
        in its epoch."""
        count = ctypes.c_uint64()
        _check(library().fgnn_loader_seek(self._handle, batch,
                                          ctypes.byref(count)))
        return count.value

    def next(self) -> tuple[BatchMemory, BatchView]:
        """Waits for the next batch of this rank."""
        handle = ctypes.c_void_p()
        view = BatchView()
        while True:
            code = library().fgnn_loader_next(
                self._handle, _WAIT_MILLISECONDS, ctypes.byref(handle),
                ctypes.byref(view))
            if code != _DEADLINE_EXCEEDED:
                break
        _check(code)
        assert handle.value is not None
        return BatchMemory(handle.value), view
