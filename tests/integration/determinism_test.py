"""Who works, and how many, changes no batch and no weight."""

import harness
from npy_array import Array, write_array

JOB = {'training.batches_per_step': 2, 'training.epochs': 2}


def outcome_of(run_dir):
    """Weights, digests of the batches, and what training and evaluation said."""
    lines = harness.lines_of(run_dir)
    said = [(line['loss'], line['valid_accuracy'], line['valid_macro_f1'])
            for line in lines]
    return (harness.last_weights(run_dir),
            (run_dir / 'batches.crc').read_text(), said)


class DrawsTest(harness.ServiceTest):
    """For jobs of ten batches an epoch."""

    def drawn_alone_and_shared(self, settings):
        """Digests of an epoch of batches that draw alone, and of those that share
        their draws with three others, whoever samples."""
        of_dependencies = []
        for dependency in (1, 4):
            digests = [
                harness.digests_of(self.service.run(
                    {**settings, 'samplers': samplers,
                     'sampling.threads': threads, 'training.epochs': 1,
                     'sampling.batch_dependency': dependency}, '--digest'))
                for samplers, threads in ((1, 1), (2, 2))]
            self.assert_exactly(digests[0] == digests[1], 'digests differ')
            self.assertEqual(len(set(digests[0])), 10)
            of_dependencies.append(digests[0])
        # The first batch of a window draws by the key of its own.
        alone, sharing = of_dependencies
        self.assertEqual(sharing[0], alone[0])
        for one, other in zip(alone[1:], sharing[1:]):
            self.assertNotEqual(one, other)
        return of_dependencies


class DeterminismTest(DrawsTest):

    def test_samplers_and_threads_change_no_batch(self):
        digests = {}
        for samplers, threads in ((1, 1), (2, 1), (1, 4), (2, 4)):
            run_dir = self.service.run(
                {**JOB, 'samplers': samplers, 'sampling.threads': threads,
                 'training.evaluate_every': 0}, '--digest')
            digests[samplers, threads] = harness.digests_of(run_dir)
        # 600 seeds in batches of 64, twice.
        self.assertEqual(len(digests[1, 1]), 20)
        self.assertEqual(len(set(digests[1, 1])), 20)
        for who, digest in digests.items():
            self.assertEqual(digest, digests[1, 1], who)

    def test_nor_with_any_other_algorithm(self):
        graph = self.service.dataset
        num_edges = Array(graph / 'csc_indptr.npy').get(-1)
        write_array(graph / 'edge_weights.npy', '<f4',
                    [1 + e % 7 for e in range(num_edges)])
        write_array(graph / 'recent.npy', '<f4',
                    [1 + v % 5 for v in range(2000)])
        everything = set()
        for algorithm in ({'kind': 'khop', 'replace': 'true'},
                          {'kind': 'khop', 'resample': 'false'},
                          {'kind': 'khop_weighted'},
                          {'kind': 'khop_weighted', 'replace': 'true'},
                          {'kind': 'khop_weighted', 'weights': 'recent.npy'},
                          {'kind': 'labor'}, {'kind': 'random_walk'}):
            sampling = {f'sampling.{key}': value
                        for key, value in algorithm.items()}
            digests = [
                harness.digests_of(self.service.run(
                    {**JOB, **sampling, 'training.epochs': 1,
                     'samplers': samplers, 'sampling.threads': threads,
                     'training.evaluate_every': 0}, '--digest'))
                for samplers, threads in ((1, 1), (2, 2))]
            self.assertEqual(*digests, algorithm)
            everything.add(digests[0])
        self.assertEqual(len(everything), 7, 'two algorithms drew the same')

    def test_samplers_change_no_batch_that_shares_its_draws(self):
        everything = set()
        for kind in ('khop', 'labor', 'random_walk'):
            everything.update(*self.drawn_alone_and_shared(
                {**JOB, 'sampling.kind': kind,
                 'training.evaluate_every': 0}))
        self.assertEqual(len(everything), 3 * (10 + 9))

    def test_another_seed_changes_the_batches(self):
        digests = [
            harness.digests_of(self.service.run(
                {**JOB, 'training.seed': seed}, '--digest'))
            for seed in (1, 2)]
        self.assertNotEqual(*digests)

    def test_samplers_and_trainers_change_no_weight(self):
        expected = harness.last_weights(self.service.run(JOB))
        for samplers, trainers in ((2, 1), (1, 2), (2, 2), (1, 3), (2, 3)):
            weights = harness.last_weights(self.service.run(
                {**JOB, 'samplers': samplers, 'trainers': trainers}))
            self.assertEqual(weights.keys(), expected.keys())
            for name, tensor in expected.items():
                self.assertTrue(
                    weights[name] == tensor,
                    f'{name} differs with {samplers} samplers and '
                    f'{trainers} trainers')

    def test_the_number_of_batches_of_a_step_does(self):
        one = harness.last_weights(self.service.run(
            {**JOB, 'training.batches_per_step': 1}))
        two = harness.last_weights(self.service.run(JOB))
        self.assertTrue(any(one[name] != two[name] for name in two),
                        'the comparison above could not fail')


class ThreadsTest(harness.ServiceTest):

    # Batches of some thousand vertices: sums of several parts.
    graph = ('--nodes', '8000', '--features', '16', '--classes', '4',
             '--train-fraction', '0.3', '--seed', '7')

    def test_five_runs_with_one_thread_and_with_four_are_one_run(self):
        job = {**JOB, 'model.hidden': 64, 'sampling.fanouts': '[10, 10]',
               'sampling.batch_size': 512}
        runs = [(threads, self.service.run(
                    {**job, 'sampling.threads': threads,
                     'training.threads': threads}, '--digest'))
                for threads in (1, 4) * 5]
        for threads in (1, 4):
            self.assertIn(f'training with {threads} threads', self.logs())
        expected = outcome_of(runs[0][1])
        for threads, run_dir in runs[1:]:
            self.assertTrue(outcome_of(run_dir) == expected,
                            f'another run with {threads} threads')

    def logs(self):
        return ''.join(
            path.read_text() for path in
            (self.service.state_dir / 'logs').glob('trainer.*'))
