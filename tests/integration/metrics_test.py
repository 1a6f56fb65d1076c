"""Metrics: what each daemon says, beside metrics.jsonl of the run; dashboard and
alerts ask for metrics that there are; logs as JSON."""

import json
import os
import pathlib
import re
import urllib.error
import urllib.request

import harness

ROOT = pathlib.Path(os.environ.get('FGNN_SOURCE_DIR', '.'))
GRAFANA = ROOT / 'deploy' / 'grafana'
NAME = re.compile(r'\b(?:fgnn|process)_[a-z_]+\b')
# Families that need a fault, a GPU, another host, or a job of another kind.
RARE = {'fgnn_device_busy_ratio', 'fgnn_device_plan', 'fgnn_exchange_breaks_total',
        'fgnn_exchange_chunk_bytes_total', 'fgnn_exchange_chunks_total',
        'fgnn_exchange_entries_total', 'fgnn_exchange_row_bytes_total',
        'fgnn_exchange_rows_total', 'fgnn_gpu_memory_bytes',
        'fgnn_host_reached', 'fgnn_host_up', 'fgnn_port_certificate_expiry_seconds',
        'fgnn_remote_bytes_total', 'fgnn_remote_rows_total',
        'fgnn_remote_seconds_total'}


def get(url):
    with urllib.request.urlopen(url, timeout=harness.COMMAND_SECONDS) as page:
        return page.read().decode()


def samples_of(text):
    """{'name{labels}': value} of a page."""
    return {line.rpartition(' ')[0]: float(line.rpartition(' ')[2])
            for line in text.splitlines() if not line.startswith('#')}


class MetricsTest(harness.ServiceTest):

    def pages(self):
        """Samples of every target that the service names, by its role."""
        pages = {}
        for target in json.loads(get(f'{self.url}/metrics/targets')):
            labels = target['labels']
            url = (f'http://{target["targets"][0]}{labels["__metrics_path__"]}'
                   f'?name={labels.get("__param_name", "")}')
            self.assertEqual(labels['service'], str(self.service.state_dir))
            pages.setdefault(labels['role'], []).append(samples_of(get(url)))
        return pages

    def setUp(self):
        super().setUp()
        up = self.service.json('up', '--devices', 'cpu:0', '--http', '0',
                               '--log-json')
        self.url = f'http://{up["http"]}'

    def sum_of(self, pages, role, name):
        return sum(page[name] for page in pages[role])

    def test_totals_are_those_of_the_run(self):
        run = self.service.run({'training.epochs': 3,
                                'features.store': 'disk',
                                'cache.policy': 'degree',
                                'cache.capacity': 0.2})
        lines = harness.lines_of(run)
        pages = self.pages()
        scheduler = pages['scheduler'][0]
        batches = sum(line['batches'] for line in lines)
        edges = sum(line['edges'] for line in lines)
        self.assertEqual(scheduler['fgnn_committed_epochs_total'], 3)
        self.assertEqual(scheduler['fgnn_committed_batches_total'], batches)
        self.assertEqual(scheduler['fgnn_committed_edges_total'], edges)
        self.assertEqual(scheduler['fgnn_committed_input_nodes_total'],
                         sum(line['input_nodes'] for line in lines))
        # Behind a cache, a store on the disk, and the batch before.
        missed = scheduler['fgnn_committed_cache_misses_total']
        matched = scheduler['fgnn_committed_matched_rows_total']
        self.assertGreater(matched, 0)
        self.assertEqual(missed - matched,
                         sum(line['rows_loaded'] for line in lines))
        self.assertEqual(
            self.sum_of(pages, 'trainer', 'fgnn_trainer_matched_rows_total'),
            matched)
        self.assertEqual(
            scheduler['fgnn_jobs_ended_total{state="completed"}'], 1)
        for stage in lines[0]['stages']:
            seconds = sum(line['stages'][stage] for line in lines)
            label = f'stage_seconds_total{{stage="{stage}"}}'
            self.assertAlmostEqual(
                scheduler[f'fgnn_committed_{label}'], seconds, places=9)
            role = ('sampler' if stage in ('order', 'sample', 'id_map', 'mark',
                                           'copy', 'split') else 'trainer')
            own = self.sum_of(pages, role, f'fgnn_{role}_{label}')
            # A batch cannot hold the time of its own checksum.
            if stage == 'copy':
                self.assertGreaterEqual(own, seconds)
            else:
                self.assertAlmostEqual(own, seconds, places=9)
        for role in ('sampler', 'trainer'):
            self.assertEqual(
                self.sum_of(pages, role, f'fgnn_{role}_batches_total'), batches)
            self.assertEqual(
                self.sum_of(pages, role, f'fgnn_{role}_edges_total'), edges)
        self.assert_metrics_exist({name.partition('{')[0]
                                   for role in pages.values()
                                   for page in role for name in page})
        self.assert_logs_are_json(
            harness.summary_of(run)['job_id'])

    def assert_metrics_exist(self, seen):
        board = json.loads((GRAFANA / 'fgnn.json').read_text('utf-8'))
        asked = [target['expr'] for panel in board['panels']
                 for target in panel.get('targets', [])]
        self.assertGreater(len(asked), 15)
        rules = re.findall(r'expr: (?:>-\n)?(.*?)\n        (?:for|labels):',
                           (GRAFANA / 'alerts.yaml').read_text('utf-8'), re.S)
        self.assertGreater(len(rules), 10)
        for query in asked + rules:
            names = set(NAME.findall(query))
            self.assertTrue(names or 'up{' in query, query)
            self.assertLessEqual(names, seen | RARE, query)
        documented = set(NAME.findall((GRAFANA / 'README.md').read_text('utf-8')))
        self.assertLessEqual(documented, seen | RARE)

    def assert_logs_are_json(self, job):
        logs = self.service.state_dir / 'logs'
        jobs = set()
        for log in logs.iterdir():
            if log.name == 'audit.log':  # It has other fields.
                continue
            for line in log.read_text('utf-8').splitlines():
                fields = json.loads(line)
                self.assertEqual(f'{fields["process"]}.log'.replace('fgnn-', ''),
                                 log.name)
                jobs.add((log.name.partition('.')[0], fields.get('job')))
        self.assertLessEqual(
            {(role, job) for role in ('scheduler', 'sampler', 'trainer')}, jobs)
        lines = [json.loads(line) for line in
                 self.service.fgnn('logs', job).stdout.splitlines()]
        self.assertLessEqual({'fgnn-scheduler', 'sampler.0', 'trainer.0'},
                             {line['process'] for line in lines})
        self.assertEqual({line['job'] for line in lines}, {job})

    def test_a_daemon_that_is_not_there_has_no_page(self):
        for name in ('', 'sampler.99', '../scheduler'):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                get(f'{self.url}/metrics/daemon?name={name}')
            self.assertEqual(caught.exception.code, 404)

    def test_other_addresses_are_refused(self):
        taken = self.service.fgnn('up', '--http', '1', check=False)
        self.assertIn('but --http asks for 1', taken.stderr)
        self.service.fgnn('down')
        for address in ('0.0.0.0:0', '[::]:0'):
            refused = self.service.fgnn('up', '--http', address, check=False)
            self.assert_user_error(refused, '--http-public')
        self.assert_nothing_left()
