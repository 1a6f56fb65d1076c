"""What the integration tests of GPUs share: daemons whose GPUs are emulated
(tests/emulated), and the memory and the counts of those GPUs."""

import fcntl
import json
import os
import shutil
import struct
import unittest.mock

import harness


class EmulatedTest(harness.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = harness.emulated_programs()
        cls.addClassCleanup(shutil.rmtree, cls.programs)

    def setUp(self):
        super().setUp()
        self.service.programs = self.programs

    def set_gpus(self, **variables):
        """Sets what the machine has, for services that start from now on."""
        patch = unittest.mock.patch.dict(os.environ, {
            f'FGNN_FAKE_{name}': str(value)
            for name, value in variables.items()})
        patch.start()
        self.addCleanup(patch.stop)

    def submit(self, name, settings):
        """The run folder and the id of a job that writes digests."""
        return self.service.submit_run(name, settings)

    def daemon_of(self, job_id, role):
        """What `fgnn show` says of the one sampler or trainer of a job."""
        progress = self.service.json('show', job_id)['progress']
        daemon, = (executor for executor in progress['executors']
                   if executor['role'] == role)
        return daemon

    def pid_of(self, job_id, role):
        return self.daemon_of(job_id, role)['pid']


class Accounts:
    """Who has how much of a GPU's memory: a file of FGNN_FAKE_GPU_ACCOUNTS.
    See tests/fakes/cuda/memory_accounts.h."""

    def __init__(self, name, device=0):
        self.path = f'{name}.{device}'

    def read(self):
        """{pid: bytes}; the dead are in it until somebody allocates."""
        with open(self.path, 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return _accounts_in(file.read())

    def take(self, size):
        """Lets this process have as many bytes of the GPU, and not more."""
        with open(self.path, 'r+b') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            accounts = {**_accounts_in(file.read()), os.getpid(): size}
            os.pwrite(file.fileno(), b''.join([
                struct.pack('<Q', len(accounts)),
                *(struct.pack('<qQ', *account)
                  for account in accounts.items())]), 0)


def _accounts_in(content):
    count, = struct.unpack_from('<Q', content)
    return dict(struct.iter_unpack('<qQ', content[8:8 + 16 * count]))


def counts_in(folder):
    """{program: {what: number}} of the daemons that ended and left their
    counts in a folder of FGNN_FAKE_GPU_COUNTS."""
    sums = {}
    for path in folder.iterdir():
        program = sums.setdefault(path.stem, {})
        for what, number in json.loads(path.read_text()).items():
            program[what] = program.get(what, 0) + number
    return sums
