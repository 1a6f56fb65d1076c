"""Jobs whose places draw their seeds from their host's train vertices, over two
hosts on the loopback."""

import json
import unittest
from pathlib import Path

import harness
from host_services import HostsTest

OWN = {'training.batches_per_step': 2, 'training.epochs': 3,
       'training.seeds': 'own', 'training.checkpoint_steps': 2,
       'training.keep_checkpoints': 100}
TWO = {'devices': '[cpu:0, host1/cpu:0]'}


class OwnSeedsTest(HostsTest):

    def setUp(self):
        super().setUp()
        self.hosts.devices['head'] = self.hosts.devices['host1'] = 'cpu:0,cpu:1'

    def make_book(self, *words):
        self.service.fgnn('dataset', 'partition', self.service.dataset, *words)

    def run_on_two(self, **settings):
        return self.service.run({**OWN, **TWO, **settings}, '--digest')

    def test_a_job_makes_a_book_that_is_missing_or_damaged(self):
        derived = Path(self.service.dataset) / 'derived'
        first, job = self.service.submit_run('first', OWN, '--digest')
        self.service.fgnn('watch', job)
        book, = derived.glob('book-*.bin')
        made = book.read_bytes()
        self.assertIn('made the partition book ' + self.book_of(first),
                      self.service.fgnn('logs', job).stdout)
        with self.subTest('as the command makes it'):
            self.make_book()
            self.assertEqual(book.read_bytes(), made)
        with self.subTest('damaged'):
            book.write_bytes(made[:-1] + bytes([made[-1] ^ 1]))
            second, job = self.service.submit_run('second', OWN, '--digest')
            self.service.fgnn('watch', job)
            self.assert_same_run(second, first)
            self.assertEqual(book.read_bytes(), made)
            self.assertIn(f'{book} is damaged',
                          self.service.fgnn('logs', job).stdout)
        with self.subTest('sound: it is left as it is'):
            self.make_book('--method', 'random')
            kept = book.read_bytes()
            self.service.run(OWN)
            self.assertEqual(book.read_bytes(), kept)

    def test_batches_are_those_of_shares_of_the_book(self):
        self.make_book('--method', 'random')
        self.hosts.join('host1')
        run_dir = self.run_on_two()
        self.assertIn('batches depend on the partition book',
                      self.hosts.log('head'))
        with self.subTest('two samplers and trainers a host'):
            self.assert_same_run(self.run_on_two(
                devices='[cpu:0, cpu:1, host1/cpu:0, host1/cpu:1]'), run_dir)
        with self.subTest('all seeds'):
            others = self.run_on_two(**{'training.seeds': 'global'})
            self.assertNotEqual(harness.digests_of(others),
                                harness.digests_of(run_dir))
        with self.subTest('one host'):
            alone = {**OWN, 'devices': '[cpu:0]'}
            self.assert_same_run(
                self.service.run(alone, '--digest'),
                self.service.run({**alone, 'training.seeds': 'global'},
                                 '--digest'))
        with self.subTest('resumed on one host, in mid-epoch'):
            self.goes_on_with_its_shares(run_dir)
        with self.subTest('another book'):
            self.make_book('--method', 'stream')
            (run_dir / 'summary.json').unlink()
            refused = self.service.fgnn('resume', str(run_dir), check=False)
            self.assertNotEqual(refused.returncode, 0)
            for word in ('the run began with the partition book',
                         self.book_of(run_dir), 'fgnn dataset partition'):
                self.assertIn(word, refused.stderr)

    def book_of(self, run_dir):
        return json.loads((run_dir / 'run.json').read_text())[
            'seeds'].split()[0]

    def goes_on_with_its_shares(self, run_dir):
        def outcome():
            return ((run_dir / 'batches.crc').read_text(),
                    harness.metrics_of(run_dir), harness.last_weights(run_dir))

        expected = outcome()
        checkpoints = sorted((run_dir / 'checkpoints').glob('epoch-*-step-*'))
        self.assertTrue(checkpoints)
        kept = checkpoints[0]
        for path in (run_dir / 'checkpoints').iterdir():
            if path not in (kept, run_dir / 'checkpoints/best.safetensors'):
                path.unlink()
        self.service.fgnn('resume', str(run_dir), '--set', 'devices=[cpu:0]')
        self.assert_exactly(outcome() == expected, 'the run went another way')

    def test_a_host_that_is_killed_comes_back(self):
        self.make_book('--method', 'random')
        self.hosts.join('host1')
        long = {**OWN, 'training.epochs': 40}
        expected = self.run_on_two(**long)
        run_dir, job = self.service.submit_run('far', {**long, **TWO})
        self.service.wait_for_batches(run_dir, 30)
        self.hosts.kill_host('host1')
        self.hosts.start_member('host1')
        self.service.wait_for_batches(run_dir,
                                      harness.committed_of(run_dir) + 10)
        self.hosts.kill('head', 'scheduler')
        self.hosts.start_head()
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, expected)
        self.assertEqual(self.book_of(run_dir), self.book_of(expected))


if __name__ == '__main__':
    unittest.main()
