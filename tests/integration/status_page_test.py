"""The status page of a service: its numbers are those of the run's files, and
what users name their jobs is text."""

import html.parser
import json
import re
import urllib.error
import urllib.parse
import urllib.request

import harness

EVIL = '<script>alert(1)</script>'


class Elements(html.parser.HTMLParser):
    """What stands in a page, outside of its head."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == 'td':
            self.cells.append('')

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


class StatusPageTest(harness.ServiceTest):

    def get(self, path, **query):
        """The answer's body; an answer that is no success raises."""
        words = '?' + urllib.parse.urlencode(query) if query else ''
        with urllib.request.urlopen(f'http://{self.address}{path}{words}',
                                    timeout=harness.COMMAND_SECONDS) as answer:
            return answer.read().decode()

    def setUp(self):
        super().setUp()
        self.service.fgnn('up', '--devices', 'cpu:0', '--http', '127.0.0.1:0')
        self.address = self.service.json('status')['http']

    def assert_numbers_are_those_of_the_files(self, job):
        page = json.loads(self.get('/api/job', id=job['job_id']))
        for key in ('job_id', 'name', 'run_dir', 'user'):
            self.assertEqual(page['job'][key], job[key])
        shown = page['job']['progress']
        self.assertEqual(shown['loss'], job['progress']['loss'])
        self.assertEqual(shown['test']['accuracy'],
                         job['progress']['test']['accuracy'])
        with open(f'{job["run_dir"]}/metrics.jsonl', encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        epochs = page['epochs']
        self.assertEqual(epochs['count'], len(lines))
        for name in ('epoch', 'loss', 'valid_accuracy', 'seconds'):
            at = epochs['columns'].index(name)
            self.assertEqual([row[at] for row in epochs['rows']],
                             [line[name] for line in lines])
        self.assertAlmostEqual(epochs['stages']['train'], sum(
            line['stages']['train'] for line in lines))
        with open(f'{job["run_dir"]}/job.yaml', encoding='utf-8') as file:
            self.assertEqual(page['spec'], file.read())

    def assert_files_load_nothing_from_elsewhere(self):
        names = {'status.css', 'icon.svg', 'status.js'}
        seen = set()
        while names - seen:
            name = (names - seen).pop()
            seen.add(name)
            text = self.get(f'/{name}')
            self.assertNotRegex(text, r'innerHTML|document\.write|eval\(')
            self.assertNotRegex(text.replace('http://www.w3.org/2000/svg', ''),
                                r'https?://|url\(')
            names.update(re.findall(r"from '\./(\w+\.js)'", text))
        self.assertGreater(len(seen), 6)

    def test_a_run_that_ended(self):
        self.service.fgnn('run', *self.service.job_words(), '--name', EVIL)
        job = self.service.json('show', 'last')
        status = json.loads(self.get('/api/status'))
        self.assertEqual([one['name'] for one in status['ended']], [EVIL])
        self.assert_numbers_are_those_of_the_files(job)
        page = Elements(self.get('/'))
        self.assertIn(EVIL, page.cells)
        self.assertEqual(
            [attrs for tag, attrs in page.tags if tag == 'script'],
            [{'type': 'module', 'src': 'status.js'}])
        self.assert_files_load_nothing_from_elsewhere()
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.get('/api/job', id='nothing')
        self.assertEqual(raised.exception.code, 404)
        self.assertIn('nothing', json.load(raised.exception)['error'])

    def test_a_job_that_runs_and_one_that_waits(self):
        job = self.service.submit(harness.ENDLESS)
        waits = self.service.submit(harness.ENDLESS)
        self.service.follow(job, lambda line: line.get('batches_committed', 0))

        def status():
            return json.loads(self.get('/api/status'))

        def batches(one):
            return sum(sum(device['trained'])
                       for device in one['history']['devices'])

        self.service.wait_for(lambda: batches(status()) > 0, 'a trained batch')
        now = status()
        self.assertEqual([one['job_id'] for one in now['running']], [job])
        self.assertEqual([one['job_id'] for one in now['queued']], [waits])
        self.assertTrue(now['queued'][0]['waiting_for'])
        self.assertEqual([one['job_id'] for one in now['queues']], [job])
        self.assertEqual(now['devices'][0]['job_id'], job)
        self.assertEqual({one['role'] for one in now['executors']},
                         {'sampler', 'trainer'})
        self.assertIn(f'http://{self.address}/',
                      self.service.fgnn('status').stdout)
