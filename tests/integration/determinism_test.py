"""Who works, and how many, changes no batch and no weight."""

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 2}


class DeterminismTest(harness.ServiceTest):

    def test_samplers_and_threads_change_no_batch(self):
        digests = {}
        for samplers, threads in ((1, 1), (2, 1), (1, 4), (2, 4)):
            run_dir = self.service.run(
                {**JOB, 'samplers': samplers, 'sampling.threads': threads,
                 'training.evaluate_every': 0}, '--digest')
            digests[samplers, threads] = (
                run_dir / 'batches.crc').read_text().splitlines()
        # 600 seeds in batches of 64, twice.
        self.assertEqual(len(digests[1, 1]), 20)
        self.assertEqual(len(set(digests[1, 1])), 20)
        for who, digest in digests.items():
            self.assertEqual(digest, digests[1, 1], who)

    def test_another_seed_changes_the_batches(self):
        digests = [
            (self.service.run({**JOB, 'training.seed': seed}, '--digest') /
             'batches.crc').read_text() for seed in (1, 2)]
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


if __name__ == '__main__':
    harness.main()
