"""Models of one's own: a plugin built outside the tree, a TorchScript file."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import harness

SOURCE_DIR = pathlib.Path(os.environ['FGNN_SOURCE_DIR'])
TORCH = pathlib.Path(os.environ['FGNN_TORCH_ROOT'])
EXAMPLE = SOURCE_DIR / 'trainer_service/plugin/example/sage.cc'
BUILD_DIR = harness.BIN_DIR.parent
# Files: the flaw of each, and words of its refusal.
REFUSED = {
    'no_layers': ('16 16 4 no_layers', 'has no `layers`'),
    'one_argument': ('16 16 4 one_argument', 'layers.0 has forward('),
    'too_wide': ('20 16 4', '16 feature columns'),
    'too_many_classes': ('16 16 7', 'Float [3, 7]'),
    'too_deep': ('16 16 16 4', 'has 3 layers'),
}


class ModelPluginTest(harness.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What a model's author has: the installed headers and libtorch's.
        cls.prefix = tempfile.TemporaryDirectory(prefix='fgnn-it-')
        cls.addClassCleanup(cls.prefix.cleanup)
        prefix = pathlib.Path(cls.prefix.name)
        subprocess.run(
            ['cmake', '--install', BUILD_DIR, '--component', 'plugin_headers',
             '--prefix', prefix], check=True, capture_output=True)
        cls.sage = prefix / 'libsage.so'
        shutil.copy(EXAMPLE, prefix)
        built = subprocess.run(
            harness.compile_line(EXAMPLE, PREFIX=prefix, TORCH=TORCH),
            cwd=prefix, check=False, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr

    def install(self, content=None):
        plugins = self.service.state_dir / 'plugins'
        plugins.mkdir(parents=True, exist_ok=True)
        library = plugins / 'libsage.so'
        library.unlink(missing_ok=True)
        library.write_bytes(content or self.sage.read_bytes())
        return {'model.kind': 'plugin', 'model.plugin': 'sage'}

    def write_script(self, name, words='16 16 4'):
        """Beside the job file, which names it."""
        subprocess.run(
            [BUILD_DIR / 'tests/write_torchscript',
             self.service.folder / name, *words.split()], check=True)
        return {'model.kind': 'torchscript',
                'model.file': self.service.folder / name}

    def assert_fails(self, code, settings, *words):
        run = self.service.fgnn(
            'run', *self.service.job_words(settings), check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(self.service.wait_until_gone(), {})

    def assert_trains(self, settings):
        """The loss falls, and whoever trains ends in the same weights."""
        settings = {**settings, 'training.epochs': 4, 'model.dropout': 0.2,
                    'training.learning_rate': 0.01,
                    'training.batches_per_step': 2}
        runs = [self.service.run({**settings, **more}) for more in (
            {}, {'trainers': 2, 'training.threads': 2})]
        epochs = harness.lines_of(runs[0])
        self.assertLess(epochs[-1]['loss'],
                        0.8 * epochs[0]['loss'])
        self.assert_same_weights(*runs)
        return runs[0]

    def predict(self, run_dir):
        out = self.service.folder / 'classes.csv'
        answer = self.service.fgnn('predict', run_dir, '--dataset',
                                   self.service.dataset, '--out', out,
                                   '--force')
        rows = out.read_text().splitlines()
        self.assertEqual(len(rows), 2001)
        return answer.stderr

    def test_the_example_is_short(self):
        code = [line for line in EXAMPLE.read_text(encoding='utf-8').splitlines()
                if line.strip() and not line.startswith('//')]
        self.assertLess(len(code), 40)

    def test_the_example_trains_and_predicts(self):
        run_dir = self.assert_trains(self.install())
        names = set(harness.last_weights(run_dir))
        self.assertIn('layers.1.neighbors.weight', names)
        self.assertNotIn('other code', self.predict(run_dir))
        # The same code in other bytes.
        self.install(self.sage.read_bytes() + b'\0')
        self.assertIn("other code than model.plugin 'sage'",
                      self.predict(run_dir))
        resumed = self.service.fgnn('resume', run_dir, '--set',
                                    'training.epochs=5', '--quiet')
        self.assertEqual(resumed.stdout.count(
            "warning: the weights were trained with other code than "
            "model.plugin 'sage' is now"), 1, resumed.stdout)

    def test_a_torchscript_trains_and_predicts(self):
        run_dir = self.assert_trains(self.write_script('sage.pt'))
        self.assertIn('layers.0.neighbors', set(harness.last_weights(run_dir)))
        self.assertNotIn('other code', self.predict(run_dir))
        self.write_script('sage.pt', '16 16 16 4')
        refused = self.service.fgnn(
            'predict', run_dir, '--dataset', self.service.dataset, '--out',
            self.service.folder / 'classes.npy', check=False)
        self.assert_user_error(refused, 'has 3 layers')

    def test_a_plan_measures_it(self):
        for settings in (self.install(), self.write_script('sage.pt')):
            plan = self.service.json('plan', *self.service.job_words(settings))
            self.assertEqual(plan['parameters'],
                             2 * 16 * 16 + 16 + 2 * 4 * 16 + 4)
            self.assertGreater(plan['seconds_per_trained_batch'], 0)

    def test_what_does_not_fit_is_refused(self):
        self.assert_fails(2, {'model.kind': 'plugin', 'model.plugin': 'absent'},
                          "model.plugin is 'absent'", 'libabsent.so')
        for name, (words, *refusal) in REFUSED.items():
            with self.subTest(name):
                self.assert_fails(2, self.write_script(f'{name}.pt', words),
                                  f'{name}.pt', *refusal)

    def test_settings_that_miss_each_other(self):
        for settings, word in (
                ({'model.kind': 'plugin'}, 'model.plugin is missing'),
                ({'model.kind': 'torchscript'}, 'model.file is missing'),
                ({'model.plugin': 'sage'}, 'make it plugin'),
                ({'model.file': 'sage.pt'}, 'make it torchscript'),
                ({**self.install(), 'model.residual': 'true'},
                 'model.residual is for')):
            run = self.service.fgnn(
                'run', *self.service.job_words(settings), check=False)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(word, run.stderr)
