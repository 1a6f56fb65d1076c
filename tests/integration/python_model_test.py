"""model.kind: python, with the real torch: modules of one's own in a process of
one's own."""

import os
import pathlib
import random
import signal
import sys
import unittest

import harness
import python_package
from python_model import SAGE

fgnn = python_package.load(python_package.PYG_HOME)

EXAMPLES = python_package.ROOT / 'tools/python/examples'

# A change of the text, settings of the job, and words of the refusal.
REFUSED = {
    'no class of that name': (
        ('class Sage', 'class Other'), {},
        ('has no class Sage', 'name one of it in model.class_name: Other')),
    'other arguments': (
        ('dropout):', 'rate):'), {},
        ('__init__(in_channels, ', "unexpected keyword argument 'dropout'")),
    'no module': (
        ('(torch.nn.Module)', ''), {}, ('is no torch.nn.Module; derive it from that',)),
    'a mistake in the file': (
        ('import torch\n', 'import torch\n1 / 0\n'), {},
        ('the file threw ZeroDivisionError', '(line 4)')),
    'a buffer': (
        ('nn.Dropout(dropout)', 'nn.BatchNorm1d(hidden_channels)'), {},
        ('has the buffer dropout.running_mean', 'make it a parameter')),
    'numbers of another type': (
        ('nn.Dropout(dropout)', 'nn.Linear(2, 2).double()'), {},
        ('dropout.weight of torch.float64 on cpu', 'make it torch.float32')),
    'another device': (
        ('return x', 'return x.to("meta")'), {},
        ('returned a tensor on meta of batch 0', 'on cpu')),
    'a wrong shape': (
        ('            x = layer(x, block)\n        return x',
         '            x = layer(x, block)\n        return x[:, 1:]'), {},
        ('returned torch.float32 [3, 3] of batch 0',
         'it must be torch.float32 [3, 4]')),
    'a layer of the wrong width': (
        ('self.dropout(x.relu())', 'torch.cat([x, x], 1)'), {},
        ('forward threw RuntimeError', 'cannot be multiplied', '(line ')),
    'no tensor': (
        ('            x = layer(x, block)\n        return x',
         '            x = layer(x, block)\n        return [x]'), {},
        ('returned no tensor but list',)),
    'an exception': (
        ('source, destination =', 'raise KeyError("why")\n        source ='),
        {}, ("forward threw KeyError: 'why' (line 16)",)),
    'numbers that are not finite': (
        ('x[source]', 'x[source] / 0 * 0'), {},
        ('not finite of batch 0', 'those of convs.0 are the first',
         'lower training.learning_rate')),
    'other layers': (
        ('for depth in range(len(self.convs))]',
         'for depth in range(len(self.convs) - 1)]'), {},
        ('layers() gives 1, but model.layers is 2',)),
    'layers that do something else': (
        ('            x = layer(x, block)\n        return x',
         '            x = layer(x, block)\n        return 2 * x'), {},
        ('its layers(), one after the other, give other numbers than '
         'forward()',)),
    'no gradient': (
        ('            x = layer(x, block)\n        return x',
         '            x = layer(x, block)\n        return x.detach()'), {},
        ('depend on no parameter',)),
    'nothing to train': (
        ('self.dropout =', 'self.convs = torch.nn.ModuleList()\n'
         '        self.dropout ='), {}, ('has no parameters to train',)),
    'no torch': (
        ('', ''), {'model.python': '/usr/bin/python3'},
        ('/usr/bin/python3', 'in model.python')),
}


@unittest.skipIf(fgnn is None, python_package.PYG_MISSING)
class PythonModelTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        # What the user's environment has: the package, torch and PyG.
        before = os.environ.get('PYTHONPATH')
        os.environ['PYTHONPATH'] = str(python_package.SITE)
        self.addCleanup(lambda: os.environ.pop('PYTHONPATH')
                        if before is None else
                        os.environ.update(PYTHONPATH=before))

    def settings(self, text=SAGE, **more):
        """A job with that text as its file."""
        file = self.service.folder / 'sage.py'
        file.write_text(text)
        return {'model.kind': 'python', 'model.file': file,
                'model.class_name': 'Sage', 'model.python': sys.executable,
                'training.epochs': 4, 'model.dropout': 0.2,
                'training.learning_rate': 0.01,
                'training.batches_per_step': 2, **more}

    def workers(self):
        """Processes of workers of this test."""
        found = []
        for entry in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                words = (entry / 'cmdline').read_bytes().split(b'\0')
            except OSError:
                continue
            if b'fgnn.worker' in words and str(
                    self.service.folder).encode() in words[3]:
                found.append(int(entry.name))
        return found

    def assert_no_worker(self):
        self.service.wait_for(lambda: not self.workers(), 'the workers\' end')

    def predict(self, run_dir):
        out = self.service.folder / 'classes.csv'
        answer = self.service.fgnn('predict', run_dir, '--dataset',
                                   self.service.dataset, '--out', out,
                                   '--force')
        self.assertEqual(len(out.read_text().splitlines()), 2001)
        return answer.stderr

    def test_it_trains_evaluates_predicts_and_goes_on(self):
        settings = self.settings()
        run_dir = self.service.run(settings)
        self.assertGreater(harness.summary_of(run_dir)['test_accuracy'], .8)
        self.assertIn('convs.1.weight', set(harness.last_weights(run_dir)))
        again = self.service.run({**settings, 'trainers': 2,
                                  'training.threads': 2})
        self.assert_same_weights(run_dir, again)
        self.assertNotIn('other code', self.predict(run_dir))
        self.settings(SAGE + '\n')
        self.assertIn(f'other code than model.file {self.service.folder}',
                      self.predict(run_dir))
        half = self.service.run({**settings, 'training.epochs': 2})
        self.service.fgnn('resume', half, '--set', 'training.epochs=4',
                          '--quiet')
        self.assert_same_weights(run_dir, half)
        self.end_service()
        self.assert_no_worker()

    def test_kills_change_no_bit(self):
        settings = self.settings(**{'training.epochs': 30,
                                    'model.dropout': 0.5})
        expected = self.service.run(settings, '--digest')
        draws = random.Random(5)
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', settings)
        goal = 0
        for program in ('worker', 'fgnn-trainer', 'worker', 'worker',
                        'fgnn-trainer'):
            self.service.wait_for_batches(run_dir, goal)
            goal = harness.committed_of(run_dir) + draws.randrange(4, 20)
            if program == 'worker':
                self.service.wait_for(self.workers, 'a living worker')
                for pid in self.workers():
                    os.kill(pid, signal.SIGKILL)
            else:
                self.service.kill_newest(program)
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, expected)
        self.assert_no_worker()

    def test_what_does_not_fit_is_refused_in_one_line(self):
        for name, (change, more, words) in REFUSED.items():
            with self.subTest(name):
                self.assertIn(change[0], SAGE)
                plan = self.service.fgnn(
                    'plan', *self.service.job_words(self.settings(
                        SAGE.replace(*change, 1), **more)), check=False)
                self.assertNotEqual(plan.returncode, 0, plan.stdout)
                self.assertEqual(plan.stderr.rstrip().count('\n'), 0,
                                 plan.stderr)
                for word in words:
                    self.assertIn(word, plan.stderr)

    def test_without_layers_it_trains_without_evaluation(self):
        text = SAGE.replace('def layers', 'def parts').replace(
            'self.layers()', 'self.parts()')
        settings = self.settings(text)
        refused = self.service.fgnn(
            'run', *self.service.job_words(settings), check=False)
        self.assert_user_error(refused, 'has no method layers()',
                               'training.evaluate_every: 0')
        run_dir = self.service.run({**settings, 'training.evaluate_every': 0})
        epochs = harness.lines_of(run_dir)
        self.assertLess(epochs[-1]['loss'], 0.8 * epochs[0]['loss'])

    def test_the_examples_train_by_the_python_of_the_path(self):
        path = os.environ['PATH']
        self.addCleanup(os.environ.update, PATH=path)
        os.environ['PATH'] = f'{pathlib.Path(sys.executable).parent}:{path}'
        for name in ('GraphSage', 'GatV2'):
            with self.subTest(name):
                settings = self.settings(**{
                    'model.file': EXAMPLES / 'modules.py',
                    'model.class_name': name})
                del settings['model.python']
                run_dir = self.service.run(settings)
                self.assertGreater(
                    harness.summary_of(run_dir)['test_accuracy'], .8)
