"""Ctrl-C while a dataset is being made leaves nothing of it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest

import harness


def write_edges_without_end(path):
    """Until nobody reads them any more."""
    lines = b''.join(b'%d %d\n' % (i, i + 1) for i in range(10000))
    with contextlib.suppress(BrokenPipeError):
        with open(path, 'wb') as pipe:
            while True:
                pipe.write(lines)


class InterruptTest(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix='fgnn-it-')))

    def assert_nothing_left(self, number, *words):
        """Interrupts `fgnn dataset WORDS` once it writes its folder."""
        parent = self.folder / 'new'
        with subprocess.Popen(
                [harness.BIN_DIR / 'fgnn', 'dataset', *words, '--out',
                 parent / 'graph'], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            try:
                # Progress: the first line of a stage that has begun.
                next(harness.lines_within(command.stderr,
                                          harness.COMMAND_SECONDS))
                made = [path.name for path in parent.iterdir()]
                self.assertEqual(len(made), 1, made)
                self.assertTrue(made[0].startswith('.graph.partial-'), made)
                command.send_signal(number)
                out, err = command.communicate(timeout=harness.END_SECONDS)
            finally:
                command.kill()
        self.assertEqual(command.returncode, 128 + number, err)
        self.assertEqual(out, b'')
        self.assertIn(f'fgnn: interrupted; {parent}/graph was not made',
                      err.decode())
        self.assertFalse(parent.exists())

    def test_import(self):
        edges = self.folder / 'edges.txt'
        os.mkfifo(edges)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                writer = threading.Thread(target=write_edges_without_end,
                                          args=(edges,), daemon=True)
                writer.start()
                self.assert_nothing_left(number, 'import', 'edgelist',
                                         str(edges))
                writer.join(harness.END_SECONDS)
                self.assertFalse(writer.is_alive())

    def test_generate(self):
        # Takes much longer than the test waits.
        self.assert_nothing_left(signal.SIGINT, 'generate', 'rmat', '--scale',
                                 '24', '--features', '128')


if __name__ == '__main__':
    harness.main()
