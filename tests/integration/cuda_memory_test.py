"""What the daemons of one GPU do in its memory: they share it, those who come
back get what the dead had, and a batch costs few waits and copies."""

import os
import re
import shutil
import signal
import urllib.request

import emulated
import harness

# Small batches, which an emulated GPU makes quickly.
ALONE = {'devices': '[cuda:0]', 'training.batches_per_step': 2,
         'training.evaluate_every': 0, 'training.checkpoint_every': 0,
         'sampling.batch_size': 20, 'sampling.fanouts': '[3, 3]',
         'cache.policy': 'degree', 'limits.restarts': 100}
BATCHES_PER_EPOCH = 30
# All features.
CACHED = {**ALONE, 'cache.capacity': 1.0, 'training.epochs': 20}
CACHE_BYTES = 2000 * 64 * 4
TOTAL = 256 << 20


class MemoryTest(emulated.EmulatedTest):

    graph = ('--nodes', '2000', '--features', '64', '--classes', '4',
             '--train-fraction', '0.3', '--seed', '7')

    def setUp(self):
        super().setUp()
        name = self.service.folder / 'gpu'
        self.set_gpus(GPUS=2, GPU_BYTES=TOTAL, GPU_ACCOUNTS=name)
        self.accounts = emulated.Accounts(name)

    def start(self, name, settings):
        self.service.fgnn('up')
        run_dir, job = self.submit(name, settings)
        self.service.wait_for_batches(run_dir, 20)
        return run_dir, job

    def bytes_of(self, job, role):
        return self.accounts.read()[self.pid_of(job, role)]

    def kill(self, run_dir, job, role):
        """Kills a daemon, and waits until the job has gone on."""
        batches = harness.committed_of(run_dir)
        os.kill(self.pid_of(job, role), signal.SIGKILL)
        # Batches that were ready are trained without a sampler.
        self.service.wait_for_batches(run_dir, batches + 40)

    def test_the_memory_of_the_dead_comes_back(self):
        settings = {**ALONE, 'training.epochs': 30}
        run_dir, job = self.start('killed', settings)
        sizes = [self.bytes_of(job, role) for role in ('sampler', 'trainer')]
        # What is left is too little for another sampler or trainer.
        self.accounts.take(TOTAL - sum(sizes) - min(sizes) // 2)
        for role in ('sampler', 'trainer', 'sampler', 'trainer'):
            self.kill(run_dir, job, role)
        self.service.fgnn('watch', job)
        self.accounts.take(0)
        self.service.fgnn('down')
        self.assert_same_run(run_dir, self.service.run(settings, '--digest'))

    def restart_in(self, size, job, role='trainer'):
        """Lets a daemon come back that has `size` bytes of the GPU."""
        other = {'trainer': 'sampler', 'sampler': 'trainer'}[role]
        self.accounts.take(TOTAL - self.bytes_of(job, other) - size)
        os.kill(self.pid_of(job, role), signal.SIGKILL)

    def test_a_cache_shrinks_for_a_batch(self):
        expected = self.service.run(CACHED, '--digest')
        run_dir, job = self.start('shrunk', CACHED)
        log = (self.service.state_dir / 'logs' /
               f'{self.daemon_of(job, "trainer")["name"]}.log')
        self.assertNotIn('is freed', log.read_text())
        # Enough for the cache, and not for a batch beside it.
        self.restart_in(CACHE_BYTES * 5 // 4, job)
        self.service.fgnn('watch', job)
        self.assertRegex(log.read_text(),
                         '(?s)of 2000 rows is freed.* of 1000 vertices')
        self.assertEqual(log.read_text().count('is freed'), 1)
        self.assert_same_run(run_dir, expected)

    def test_a_batch_without_memory_fails_the_job_with_sizes(self):
        _, job = self.start('failed', {
            **CACHED, **harness.ENDLESS, 'sampling.batch_size': 200,
            'sampling.fanouts': '[9, 9]'})
        # Too little for two batches, also without the cache.
        self.restart_in(CACHE_BYTES * 5 // 4, job)
        watched = self.service.fgnn('watch', job, check=False)
        self.assertEqual(watched.returncode, 1)
        self.assertRegex(watched.stderr, r'cuda:0 has .* of 256.0 MiB left')
        self.assertIn('lower cache.capacity', watched.stderr)

    def test_a_sampler_without_memory_fails_the_job_with_sizes(self):
        _, job = self.start('failed', {**ALONE, **harness.ENDLESS})
        self.restart_in(1024, job, 'sampler')
        watched = self.service.fgnn('watch', job, check=False)
        self.assertEqual(watched.returncode, 1)
        self.assertRegex(watched.stderr, r'has .* of 256.0 MiB left')
        self.assertRegex(watched.stderr, 'sample on a cpu device|lower ')

    def test_daemons_say_what_they_have(self):
        pages = f'http://{self.service.json("up", "--http", "0")["http"]}'
        _, job = self.submit('shown', {**ALONE, **harness.ENDLESS})
        self.service.follow(job, lambda p: p.get('batches_committed', 0) > 50)

        def said_by(name):
            with urllib.request.urlopen(
                    f'{pages}/metrics/daemon?name={name}',
                    timeout=harness.COMMAND_SECONDS) as page:
                found = re.search(r'^fgnn_gpu_memory_bytes (\S+)$',
                                  page.read().decode(), re.MULTILINE)
                return found and float(found[1])
        for role in ('sampler', 'trainer'):
            name = self.daemon_of(job, role)['name']
            # A larger batch may come between two looks.
            self.service.wait_for(
                lambda: said_by(name) == self.bytes_of(job, role),
                f'the memory of the {role}')
            # The service also has daemons for its cores.
            self.assertIsNone(said_by(f'{role}.0'))

    def test_a_gpu_has_nothing_of_another_ones_daemons(self):
        self.service.run({**ALONE, 'devices': '[cuda:1]'})
        self.assertFalse(os.path.exists(self.accounts.path))

    def counts_of(self, epochs):
        """What the daemons of a job did, {program: {what: number}}."""
        folder = self.service.folder / 'counts'
        folder.mkdir()
        self.set_gpus(GPU_COUNTS=folder)
        self.service.fgnn('up')
        self.service.run({**ALONE, 'training.epochs': epochs})
        self.end_service()
        counts = emulated.counts_in(folder)
        shutil.rmtree(folder)
        return counts

    def test_waits_and_copies_of_a_batch_are_few(self):
        # What a job's start and end cost is in both.
        few, many = (self.counts_of(epochs) for epochs in (1, 4))
        batches = 3 * BATCHES_PER_EPOCH
        per_batch = {
            program: {what: (number - few[program][what]) / batches
                      for what, number in counts.items()}
            for program, counts in many.items()}
        sampler = per_batch['fgnn-sampler']
        trainer = per_batch['fgnn-trainer']
        print(*(f'{name}: {of["waits"]:.2f} waits, {of["copies"]:.2f} copies, '
                f'{of["launches"]:.2f} launches a batch'
                for name, of in sorted(per_batch.items())), sep='\n')
        # For the sizes, and for the copies.
        self.assertLessEqual(sampler['waits'], 2.05)
        self.assertGreater(sampler['waits'], 1)
        # Of two hops: sizes, seeds and back; arrays, vertices and marks.
        self.assertLessEqual(sampler['copies'], 9.5)
        # For the features, and for the gradient.
        self.assertLessEqual(trainer['waits'], 2.05)
        self.assertGreater(trainer['waits'], 1)
        # Task, hits, labels, gradient with its loss; weights of each step.
        self.assertLessEqual(trainer['copies'], 5.5)
