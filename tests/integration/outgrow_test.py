"""The section "Outgrow one machine" of deploy/README.md, typed as it stands: a head
and a member on this machine. Its addresses alone are others, as a user writes their
own: tests beside this one may listen on the same ports."""

import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOB = """dataset: graph
model: {layers: 2, hidden: 16}
sampling: {fanouts: [5, 5], batch_size: 64}
training: {epochs: 2, seed: 3}
devices: [cpu:0]
"""


def blocks():
    text = (ROOT / 'deploy/README.md').read_text(encoding='utf-8')
    section = text.partition('\n## Outgrow one machine\n')[2].partition('\n## ')[0]
    return re.findall(r'^```bash\n(.*?)^```', section, re.S | re.M)


def free_address():
    """An address of this machine's that nothing else has."""
    return '127.' + '.'.join(str(random.randint(1, 254)) for _ in range(3))


class OutgrowTest(harness.ServiceTest):

    def type_all(self, script):
        """Runs the script in one shell; what it printed."""
        folder = self.service.folder
        shell = subprocess.Popen(
            ['bash', '-e', '-c', script], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, 'FGNN_STATE_DIR': str(self.service.state_dir),
                 'PATH': os.pathsep.join((str(harness.BIN_DIR.resolve()),
                                          str(ROOT / 'tools'),
                                          os.environ['PATH']))})
        member = harness.Service(folder)
        member.state_dir = folder / 'host1'
        self.addCleanup(member.kill_all)
        self.addCleanup(self.service.kill_all)
        self.addCleanup(self.kill_group, shell)
        said, _ = shell.communicate(timeout=2 * harness.COMMAND_SECONDS)
        self.assertEqual(shell.returncode, 0, said)
        self.assertEqual(member.wait_until_gone(), {})
        return said

    @staticmethod
    def kill_group(shell):
        """Kills a shell and what it started that has no group of its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()

    def test_the_section_as_it_stands(self):
        job = self.service.folder / 'job.yaml'
        job.write_text(JOB, encoding='utf-8')
        expected = self.service.folder / 'one'
        self.service.fgnn('run', job, '--run-dir', expected, '--set',
                          'training.batches_per_step=2')
        first, *others = blocks()
        self.assertRegex(first, r'^head=[\d.]+ member=[\d.]+\n$')
        self.assertGreater(len(others), 4)
        said = self.type_all(
            f'head={free_address()} member={free_address()}\n'
            + ''.join(others) + 'wait\n')
        self.assertIn('host1/cpu:0', said)
        summary, = (self.service.state_dir / 'runs').rglob('summary.json')
        self.assert_same_weights(summary.parent, expected)


if __name__ == '__main__':
    unittest.main()
