"""Both ends of every range of numbers that a page or a help text names are taken,
and one beyond each is refused with the range: fields of jobs, and flags."""

import pathlib
import re
import tempfile
import unittest

import bad_input_test
import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIELDS = ROOT / 'shared/config/job_fields.md'
# What else a job has to say so that the field may have another value.
BESIDE = {
    'devices.min': ['executors=together', 'devices.max=1024'],
    'devices.max': ['executors=together'],
    'hosts.min': ['hosts.max=64', 'training.batches_per_step=64'],
    'samplers': ['executors=together'],
    'trainers': ['executors=together'],
    'model.layers': ['sampling.fanouts=[2]'],
    'model.hidden': ['model.heads=1'],
    'model.attention_dropout': ['model.kind=gat'],
    'model.heads': ['model.hidden=256'],
    'sampling.window': ['sampling.order=matched'],
    'sampling.walks.num': ['sampling.walks.length=1'],
    'sampling.walks.length': ['sampling.walks.num=1'],
    'training.negatives': ['training.task=link_prediction'],
    'training.parts': ['executors=together', 'trainers=16'],
    'training.momentum': ['training.optimizer=sgd'],
    'training.staleness': ['training.sync=bounded_staleness'],
}


def numeric_fields():
    """(field, least, most) as they stand in the page; most may be None."""
    text = FIELDS.read_text(encoding='utf-8')
    number = r'(-?[\d.]+(?:e-?\d+)?)'
    for name, least, most in re.findall(
            rf'^\| `([\w.]+)` \|[^|]*\| {number} to {number}\b', text, re.M):
        yield name, least, most
    for name, least in re.findall(
            rf'^\| `([\w.]+)` \|[^|]*\| at least {number}\b', text, re.M):
        yield name, least, None


def beyond(text, step):
    """The next number, of those that one would type."""
    if re.fullmatch(r'-?\d+', text):
        return str(int(text) + step)
    return repr(float(text) * (1 + step * 1e-3))


class RangesTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(
            prefix='fgnn-it-', dir='/tmp')
        self.addCleanup(self.folder.cleanup)
        self.service = harness.Service(self.folder.name)

    def plan(self, field, value):
        """What a plan says of a job on a dataset that is not there, which is
        read once all fields are right."""
        if field == 'sampling.fanouts':
            value = f'[{value}, 5]'
        if field == 'hosts.shares':
            value = f'[{value}]'
        job = self.service.folder / 'job.yaml'
        job.write_text('dataset: none\n', encoding='utf-8')
        words = ['--set', f'{field}={value}']
        for setting in BESIDE.get(field, []):
            words += ['--set', setting]
        # A model has as many layers as there are hops.
        if field == 'model.layers' and value.isdigit():
            words += ['--set',
                      f'sampling.fanouts=[{", ".join(["2"] * int(value))}]']
        return self.service.fgnn('plan', job, *words, check=False).stderr

    def test_fields(self):
        fields = list(numeric_fields())
        self.assertGreater(len(fields), 35)
        for field, least, most in fields:
            most_of_type = most or str(2**64 - 1)
            with self.subTest(field):
                for value in (least, most_of_type):
                    self.assertRegex(self.plan(field, value),
                                     'does not exist|ask for fewer|sums to')
                for value in (beyond(least, -1), beyond(most_of_type, 1)):
                    if float(value) == 0 == float(least):
                        continue
                    told = self.plan(field, value)
                    self.assertIn('is out of range; give '
                                  f'{least} to {most_of_type}', told)

    def test_flags(self):
        program = bad_input_test.CommandsTest()
        program.service = self.service
        count = 0
        for words, text in program.commands():
            for flag, least, most in re.findall(
                    r'^  (--[-\w]+) \S*? in \[(\S+) - (\S+)\]', text, re.M):
                count += 1
                for value, is_in in ((least, True), (most, True),
                                     (beyond(least, -1), False),
                                     (beyond(most, 1), False)):
                    with self.subTest(f'{" ".join(words)} {flag} {value}'):
                        # All end before they work: without a service, or
                        # what they require.
                        made_up = ['--dataset=none'] * ('extract' in words)
                        told = self.service.fgnn(
                            *words, f'{flag}={value}', *made_up,
                            check=False)
                        self.assertNotEqual(told.returncode, 0)
                        refused = re.search(
                            rf'not in range {re.escape(least)}[.0]* to '
                            rf'{re.escape(most)}[.0]*;', told.stderr)
                        self.assertEqual(refused is None, is_in, told.stderr)
        self.assertGreater(count, 5)
