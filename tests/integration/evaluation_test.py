"""A job's trainers evaluate together: the same scores for any number of them,
whoever dies."""

import contextlib
import os
import pathlib
import signal
import time

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 2}
# Evaluations that take long enough to be met.
LONG = {'model.layers': 3, 'model.hidden': 256, 'sampling.fanouts': '[3, 3, 3]',
        'sampling.batch_size': 1024, 'training.epochs': 4,
        'training.batches_per_step': 2, 'trainers': 2, 'limits.restarts': 20}
KILLS = 3


def scores_of(run_dir):
    """All scores of a run; floats of JSON are exact."""
    summary = harness.summary_of(run_dir)
    lines = harness.lines_of(run_dir) + [summary]
    scores = [(key, value) for line in lines for key, value in line.items()
              if key.startswith(('valid_', 'test_', 'best_'))]
    names = {key for key, value in scores if value is not None}
    if not {'valid_roc_auc', 'test_roc_auc', 'test_macro_f1'} <= names:
        raise AssertionError(f'scores are missing: {scores}')
    return scores


class EvaluationTest(harness.ServiceTest):

    graph = ('--nodes', '2000', '--features', '16', '--classes', '2',
             '--train-fraction', '0.3', '--seed', '7')

    def test_any_number_of_trainers_gives_the_same_scores(self):
        for model in ('graphsage', 'gat'):
            scores = {}
            for trainers in (1, 2, 3):
                run_dir = self.service.run(
                    {**JOB, 'model.kind': model, 'trainers': trainers})
                scores[trainers] = scores_of(run_dir)
                for line in harness.lines_of(run_dir):
                    self.assertGreater(line['evaluate_seconds'], 0)
            self.assertEqual(scores[2], scores[1], model)
            self.assertEqual(scores[3], scores[1], model)


class KilledEvaluationTest(harness.ServiceTest):

    graph = ('--nodes', '40000', '--features', '64', '--classes', '2',
             '--train-fraction', '0.05', '--seed', '7')

    def evaluating(self):
        """Trainers that have the memory of an evaluation mapped."""
        found = []
        for pid, program in self.service.processes().items():
            with contextlib.suppress(OSError):
                maps = pathlib.Path(f'/proc/{pid}/maps').read_text()
                if program == 'fgnn-trainer' and 'memfd:fgnn-scratch' in maps:
                    found.append(pid)
        return found

    def kill_one_that_evaluates(self):
        # What is waited for is in another process: there is nothing to block on.
        deadline = time.monotonic() + harness.COMMAND_SECONDS
        while not (pids := self.evaluating()):
            self.assertLess(time.monotonic(), deadline, 'nobody evaluates')
            time.sleep(0.005)
        os.kill(pids[0], signal.SIGKILL)
        return pids[0]

    def test_those_who_are_left_evaluate_again(self):
        expected = self.service.run({**LONG, 'trainers': 1})
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', LONG)
        for _ in range(KILLS):
            self.service.wait_until_gone([self.kill_one_that_evaluates()])
        self.service.fgnn('watch', job)
        self.end_service()
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['state'], 'completed')
        self.assertEqual(summary['restarts'], KILLS)
        self.assertEqual(scores_of(run_dir), scores_of(expected))
        self.assert_same_weights(run_dir, expected)
        log = (self.service.state_dir / 'logs/scheduler.log').read_text()
        self.assertIn('was lost on the way', log)
