"""Ctrl-C while a dataset is being made leaves nothing of it."""

import collections
import contextlib
import os
import pathlib
import random
import shutil
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


class CountsTest(unittest.TestCase):
    """Each count that `dataset info` prints is of what its words say."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix='fgnn-it-')))
        self.service = harness.Service(self.folder)

    def check(self, num_nodes, edges, labels):
        (self.folder / 'e.csv').write_text('source,destination\n' + ''.join(
            f'{u},{v}\n' for u, v in edges))
        (self.folder / 'n.csv').write_text('id,label,x\n' + ''.join(
            f'{v},{label},1\n' for v, label in enumerate(labels)))
        out = self.folder / 'g'
        shutil.rmtree(out, ignore_errors=True)
        self.service.fgnn('dataset', 'import', 'csv', self.folder / 'e.csv',
                          '--nodes', self.folder / 'n.csv',
                          '--train-fraction', '0.5', '--out', out)
        info = self.service.json('dataset', 'info', out)
        kept = set(edges)
        degree = collections.Counter(v for _, v in kept)
        ends = {end for edge in kept for end in edge}
        known = [label for label in labels if label]
        self.assertEqual(info['num_nodes'], num_nodes)
        self.assertEqual(info['num_edges'], len(kept))
        self.assertEqual(info['in_degree'], {
            'mean': len(kept) / num_nodes, 'max': max(degree.values()),
            'zero': num_nodes - len(degree)})
        self.assertEqual(info['isolated'], num_nodes - len(ends))
        self.assertEqual(info['symmetric'],
                         all((v, u) in kept for u, v in kept))
        self.assertEqual(sorted(info['label_counts']),
                         sorted(collections.Counter(known).values()))
        self.assertEqual(info['unlabelled'], num_nodes - len(known))
        self.assertEqual(sum(info['splits'].values()), len(known))
        text = self.service.fgnn('dataset', 'info', out).stdout
        self.assertIn(f"without in-edges: {info['in_degree']['zero']}\n", text)
        self.assertIn(f"isolated   {info['isolated']} without any edge\n", text)
        self.assertIn(f"without a label: {info['unlabelled']}\n", text)

    def test_random_graphs(self):
        for seed in range(20):
            draw = random.Random(seed)
            n = draw.randrange(2, 40)
            edges = [(draw.randrange(n), draw.randrange(n))
                     for _ in range(draw.randrange(1, 2 * n))]
            if seed % 3 == 0:
                edges += [(v, u) for u, v in edges]
            with self.subTest(seed):
                self.check(n, edges, ['red', 'blue'] + [
                    draw.choice(['red', 'blue', '']) for _ in range(n - 2)])


    def test_columns_that_count_apart(self):
        draw = random.Random(1)
        rows = [(draw.randint(1, 200), draw.randint(1, 500))
                for _ in range(2000)]
        users, movies = ({row[i] for row in rows} for i in (0, 1))
        (self.folder / 'ml.csv').write_text('userId,movieId\n' + ''.join(
            f'{user},{movie}\n' for user, movie in rows))
        words = ('dataset', 'import', 'csv', self.folder / 'ml.csv',
                 '--source-column', 'userId', '--destination-column',
                 'movieId', '--string-ids', '--out')
        made = self.service.fgnn(*words, self.folder / 'one')
        self.assertIn(f'share {len(users & movies)} values',
                      made.stdout + made.stderr)
        self.service.fgnn(*words, self.folder / 'two', '--bipartite')
        names = (self.folder / 'two/names.txt').read_text().splitlines()
        self.assertEqual(set(names), {f'userId:{user}' for user in users} |
                         {f'movieId:{movie}' for movie in movies})
        for folder, count, kinds in (
                ('one', len(users | movies), []),
                ('two', len(users) + len(movies), ['userId', 'movieId'])):
            info = self.service.json('dataset', 'info', self.folder / folder)
            self.assertEqual(info['num_nodes'], count)
            self.assertEqual(info['kinds'], kinds)


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
