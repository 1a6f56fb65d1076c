"""The process that has the module of a job with `model.kind: python`. A trainer
starts it, and nobody else:

    python -m fgnn.worker FILE:CLASS DESCRIPTOR TRAINER

Requests come, and answers go, through the memory of the file DESCRIPTOR, which
trainer_service/nn/python/worker_memory.h draws. TRAINER is the trainer's process,
with which this one ends.
"""

import ctypes
import json
import mmap
import os
import platform
import signal
import sys
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]

# Places in the memory, in bytes: counters, a length, and the text itself.
_REQUESTS, _ANSWERS, _TEXT_BYTES, _TEXT = 0, 4, 8, 4096
_MOST_TEXT = 1 << 20
LAYOUT = 1

_FUTEX_WAIT, _FUTEX_WAKE_OP = 0, 5
_ADD_ONE = 1 << 28 | 1 << 12  # FUTEX_OP_ADD, and the 1.
_EVERYBODY = 2**31 - 1
_PR_SET_PDEATHSIG = 1
_SYS_FUTEX = {'x86_64': 202, 'aarch64': 98}


class _Time(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanoseconds', ctypes.c_long)]


class Memory:
    """The memory that this process shares with its trainer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._head = mmap.mmap(descriptor, _TEXT + _MOST_TEXT)
        self._arrays = self._head
        word = ctypes.c_uint32
        self._requests = word.from_buffer(self._head, _REQUESTS)
        self._answers = word.from_buffer(self._head, _ANSWERS)
        self._text_bytes = word.from_buffer(self._head, _TEXT_BYTES)
        self._seen = 0
        self._futex = ctypes.CDLL(None, use_errno=True).syscall
        self._number = ctypes.c_long(_SYS_FUTEX[platform.machine()])

    def wait(self, is_orphan: Callable[[], bool]) -> Request:
        """The next request. A wait is at most a second without a look at the
        trainer."""
        second = _Time(1, 0)
        while self._requests.value == self._seen:
            self._futex(self._number, ctypes.byref(self._requests),
                        _FUTEX_WAIT, ctypes.c_uint32(self._seen),
                        ctypes.byref(second), None, 0)
            if is_orphan():
                sys.exit(0)
        self._seen = self._requests.value
        text = self._head[_TEXT:_TEXT + self._text_bytes.value]
        request: Request = json.loads(text)
        return request

    def answer(self, answer: Answer) -> None:
        text = json.dumps(answer).encode()
        if len(text) > _MOST_TEXT:
            text = json.dumps({'error': 'the model has so many parameters that '
                               'their names take over 1 MiB; use fewer, larger '
                               'ones'}).encode()
        self._head[_TEXT:_TEXT + len(text)] = text
        self._text_bytes.value = len(text)
        # The kernel adds: Python has no store that others see behind the text.
        self._futex(self._number, ctypes.byref(self._answers),
                    _FUTEX_WAKE_OP, _EVERYBODY, ctypes.c_void_p(0),
                    ctypes.byref(self._answers), _ADD_ONE)

    def arrays(self) -> mmap.mmap:
        """All of the memory. It may have grown; who has arrays of it before
        keeps these."""
        size = os.fstat(self._descriptor).st_size
        if size > len(self._arrays):
            self._arrays = mmap.mmap(self._descriptor, size)
        return self._arrays


def _peak_bytes() -> int:
    """The most memory that this process had, with what it shares."""
    with open('/proc/self/status', encoding='ascii') as status:
        for line in status:
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    target, descriptor, trainer = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def is_orphan() -> bool:
        return os.getppid() != int(trainer)

    if is_orphan():  # Since before the call.
        sys.exit(0)
    memory = Memory(int(descriptor))
    try:
        from fgnn import worker_model
    except ImportError as error:
        # torch, or what it needs, is not there.
        memory.wait(is_orphan)
        memory.answer({'error': f'{sys.executable} cannot import torch: '
                                f'{error}; install it there (pip install '
                                'torch), or name another interpreter in '
                                'model.python'})
        return
    worker = worker_model.Worker(target, memory.arrays)
    while True:
        answer = worker.answer(memory.wait(is_orphan))
        memory.answer({**answer, 'peak_bytes': _peak_bytes()})


if __name__ == '__main__':
    main()
