"""A service with a port, and the commands of a user who calls it."""

import os
import pathlib
import pwd
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def memory_and_descriptors(pid):
    """(KiB, number) of a process."""
    status = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
    rss = next(line for line in status.splitlines() if line.startswith('VmRSS'))
    return int(rss.split()[1]), len(os.listdir(f'/proc/{pid}/fd'))


class Port:

    def __init__(self, harness, folder):
        self.harness = harness
        self.service = harness.Service(folder)
        self.bin = harness.BIN_DIR
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.tls = folder / 'tls'
        for words in (['ca'], ['server', '127.0.0.1'],
                      ['user', self.user, '--role', 'operate'],
                      ['user', 'nobody', '--role', 'submit']):
            subprocess.run([ROOT / 'tools/fgnn-certificates', '--dir', self.tls,
                            *words], check=True, capture_output=True)
        self.service.fgnn(
            'dataset', 'generate', 'sbm', '--nodes', '2000', '--features',
            '16', '--classes', '4', '--out', self.service.dataset)
        self.log_path = folder / 'scheduler.log'
        # The program itself ends this file.
        self.log = open(self.log_path, 'wb')
        self.process = subprocess.Popen(
            [self.bin / 'fgnn-scheduler', '--state-dir', self.service.state_dir,
             '--spawn-daemons', '--devices', 'cpu:0', '--listen', '127.0.0.1:0',
             '--tls-dir', self.tls], stderr=self.log)
        self.service.wait_for(self.find_address, 'the port')
        self.epochs = '40'

    def find_address(self):
        for line in self.logged().splitlines():
            if 'listening on 127.0.0.1:' in line:
                self.address = line.split('listening on ')[1].split(',')[0]
                return True
        return self.process.poll() is not None

    def logged(self):
        return self.log_path.read_text(encoding='utf-8', errors='replace')

    def fgnn(self, *words):
        return subprocess.run(
            [self.bin / 'fgnn', '--server', self.address, '--tls-dir',
             self.tls / 'users' / self.user, *words], capture_output=True,
            text=True, timeout=600, check=False)

    def train(self):
        """Weights of a job, which is the same each time."""
        run_dir = tempfile.mkdtemp(prefix='run-', dir=self.service.folder)
        ended = self.fgnn(
            'run', *self.service.job_words({'training.epochs': self.epochs}),
            '--run-dir', run_dir, '--quiet')
        if ended.returncode != 0:
            raise AssertionError(f'a job failed: {ended.stderr}')
        return self.harness.last_weights(pathlib.Path(run_dir))

    def end(self):
        self.process.kill()
        self.process.wait()
        self.service.kill_all()
        self.log.close()
