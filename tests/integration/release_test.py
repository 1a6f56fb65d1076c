"""What each release wrote is still read: its dataset, its run folder with a
checkpoint, and its store (tests/data)."""

import csv
import pathlib
import shutil

import harness

DATA = pathlib.Path(__file__).resolve().parents[1] / 'data'
MORE_EPOCHS = 4


class Release010Test(harness.ServiceTest):
    """A later release derives a class from this one."""

    release = 'release-0.1.0'

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.service.dataset)
        for part in ('dataset', 'run', 'state'):
            place = self.service.folder / part
            shutil.copytree(DATA / self.release / part, place)
        self.service.dataset = self.service.folder / 'dataset'
        self.run_dir = self.service.folder / 'run'

    def test_its_dataset_is_whole(self):
        self.assertIn(f'{self.service.dataset}: valid, ', self.service.fgnn(
            'dataset', 'validate', self.service.dataset).stdout)

    def test_its_checkpoint_predicts_as_it_did(self):
        out = self.service.folder / 'predictions.csv'
        said = self.service.fgnn('predict', self.run_dir, '--dataset',
                                 self.service.dataset, '--out', out).stdout
        self.assertIn('checkpoints/best.safetensors (epoch 8)', said)
        with open(out, encoding='utf-8') as file:
            tested = [row for row in csv.DictReader(file)
                      if row['split'] == 'test']
        right = sum(row['class'] == row['label'] for row in tested)
        # Another processor may round one vertex of 36 to another class.
        self.assertAlmostEqual(
            right / len(tested),
            harness.summary_of(self.run_dir)['test_accuracy'],
            delta=1.5 / len(tested))

    def test_its_run_goes_on(self):
        before = harness.lines_of(self.run_dir)
        epochs = len(before) + MORE_EPOCHS
        self.service.fgnn(
            'resume', self.run_dir, '--set', f'dataset={self.service.dataset}',
            '--set', f'training.epochs={epochs}')
        after = harness.lines_of(self.run_dir)
        self.assertEqual(after[:len(before)], before)
        self.assertEqual([line['epoch'] for line in after],
                         list(range(1, epochs + 1)))
        summary = harness.summary_of(self.run_dir)
        self.assertEqual((summary['state'], summary['epochs']),
                         ('completed', epochs))
        # A model that began anew would guess one of three classes.
        self.assertGreater(after[len(before)]['valid_accuracy'], 0.6)

    def test_its_store_lists_its_jobs(self):
        states = {'whole': 'completed', 'endless': 'cancelled'}
        without = self.jobs()
        self.assertEqual({job['name']: job['state'] for job in without},
                         states)
        self.service.fgnn('up')
        self.assertEqual(self.jobs(), without)
        whole = self.service.json('show', 'whole')
        self.assertEqual(whole['progress']['batches_committed'], 24)
        self.assertEqual(whole['progress']['test']['accuracy'],
                         harness.summary_of(self.run_dir)['test_accuracy'])
        # It takes new jobs beside them.
        self.service.fgnn('run', *self.service.job_words())
        self.assertEqual(len(self.jobs()), len(without) + 1)
        self.service.fgnn('down')

    def jobs(self):
        return self.service.json('jobs')['jobs']
