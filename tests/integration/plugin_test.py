"""Plugins of one's own: built outside the tree, loaded by name."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import harness
from determinism_test import DrawsTest

SOURCE_DIR = pathlib.Path(os.environ['FGNN_SOURCE_DIR'])
EXAMPLE = SOURCE_DIR / 'sampler_service/plugin/example/skip_hop.cc'
BUILD_DIR = harness.BIN_DIR.parent

# A plugin whose Sample() does one thing.
SNIPPET = '''
#include <stdexcept>
#include "sampler_service/plugin/sampler_plugin.h"
class Snippet : public fgnn::SamplerPlugin {
 public:
  void Sample(const fgnn::PluginGraph& graph, uint32_t v, int32_t fanout,
              fgnn::PluginRandom* random, fgnn::PluginEdges* edges) override {
    (void)graph, (void)v, (void)fanout, (void)random, (void)edges;
    %s
  }
};
FGNN_SAMPLER_PLUGIN(Snippet);
'''
# A cache policy that does one thing.
POLICY = '''
#include <cmath>
#include <stdexcept>
#include "sampler_service/plugin/cache_plugin.h"
class Policy : public fgnn::CachePlugin {
 public:
  void Rank(const fgnn::CachePluginJob& job,
            std::vector<float>* hotness) override {
    %s
  }
};
FGNN_CACHE_PLUGIN(Policy);
'''
BY_IN_DEGREE = '''
    for (uint32_t v = 0; v < job.graph->num_nodes(); ++v) {
      (*hotness)[v] = job.graph->degree(v);
    }
'''
OTHER_VERSION = '''
#include "sampler_service/plugin/sampler_plugin.h"
extern "C" const fgnn::SamplerPluginEntry fgnn_sampler_plugin;
const fgnn::SamplerPluginEntry fgnn_sampler_plugin = {77, nullptr, nullptr};
'''


class PluginTest(DrawsTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What a plugin's author has: the installed headers, and no tree.
        cls.prefix = tempfile.TemporaryDirectory(prefix='fgnn-it-')
        cls.addClassCleanup(cls.prefix.cleanup)
        subprocess.run(
            ['cmake', '--install', BUILD_DIR, '--component', 'plugin_headers',
             '--prefix', cls.prefix.name], check=True, capture_output=True)

    def test_the_examples_compile_line(self):
        folder = self.service.folder
        shutil.copy(EXAMPLE, folder)
        built = subprocess.run(
            harness.compile_line(EXAMPLE, PREFIX=self.prefix.name), cwd=folder,
            check=False, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertTrue((folder / 'libskip_hop.so').exists())

    def build(self, name, source):
        folder = self.service.state_dir / 'plugins'
        folder.mkdir(parents=True, exist_ok=True)
        file = self.service.folder / f'{name}.cc'
        file.write_text(source, encoding='utf-8')
        built = subprocess.run(
            ['c++', '-std=c++20', '-Wall', '-Wextra', '-Werror', '-shared',
             '-fPIC', '-I', f'{self.prefix.name}/include/fgnn',
             file,
             '-o', folder / f'lib{name}.so'],
            check=False, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)

    def settings(self, name, **more):
        return {'sampling.kind': 'plugin', 'sampling.plugin': name, **more}

    def assert_fails(self, code, name, *words):
        run = self.service.fgnn(
            'run', *self.service.job_words(self.settings(name)), check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(self.service.wait_until_gone(), {})

    def test_the_example_trains_with_any_number_of_samplers(self):
        self.build('skip_hop', EXAMPLE.read_text(encoding='utf-8'))
        self.drawn_alone_and_shared(self.settings('skip_hop'))

    def test_the_example_is_short(self):
        code = [line for line in EXAMPLE.read_text(encoding='utf-8').splitlines()
                if line.strip() and not line.startswith('//')]
        self.assertLess(len(code), 60)

    def test_a_plugin_that_is_missing(self):
        self.build('there', SNIPPET % 'edges->Add(v);')
        self.assert_fails(2, 'absent', "'absent'", 'libabsent.so',
                          'there is there')

    def test_a_plugin_of_another_version(self):
        self.build('old', OTHER_VERSION)
        self.assert_fails(2, 'old', 'libold.so', 'version 77')

    def test_a_library_that_is_no_plugin(self):
        self.build('none', 'int x;')
        self.assert_fails(2, 'none', 'libnone.so', 'fgnn_sampler_plugin')
        (self.service.state_dir / 'plugins' / 'libtext.so').write_text('text')
        self.assert_fails(2, 'text', 'libtext.so', 'cannot be loaded')

    def test_a_plugin_that_misbehaves(self):
        cases = {
            'throws': ('throw std::runtime_error("out of luck");',
                       "'throws'", 'out of luck'),
            'greedy': ('for (int i = 0; i < 6; ++i) edges->Add(v);',
                       "'greedy'", '6 edges', 'at most 5'),
            'lost': ('edges->Add(2000);', "'lost'", 'vertex 2000'),
        }
        for name, (body, *words) in cases.items():
            with self.subTest(name):
                self.build(name, SNIPPET % body)
                self.assert_fails(1, name, *words)

    def test_a_cache_policy(self):
        caching = {'cache.policy': 'plugin', 'cache.plugin': 'ranks',
                   'cache.capacity': 0.5, 'training.epochs': 1}
        orders = []
        for sign in '+-':
            self.build('ranks', POLICY % BY_IN_DEGREE.replace(
                'job.graph->degree', f'{sign}1.f * job.graph->degree'))
            run_dir = self.service.run(caching)
            line, = harness.lines_of(run_dir)
            self.assertGreater(line['cache_hit_rate'], 0)
            orders.append(len(list(
                (self.service.dataset / 'derived').glob('ranks-*'))))
        # Another library of the same name is another policy.
        self.assertEqual(orders, [1, 2])

    def test_a_cache_policy_that_misbehaves(self):
        cases = {
            'throws': (1, '(void)job, (void)hotness; '
                       'throw std::runtime_error("out of luck");',
                       'out of luck'),
            'nan': (2, '(void)job; (*hotness)[7] = NAN;', 'vertex 7'),
            'short': (2, 'hotness->resize(job.batch_size);', 'of 2000'),
        }
        for name, (code, body, *words) in cases.items():
            with self.subTest(name):
                self.build(name, POLICY % body)
                run = self.service.fgnn(
                    'run', *self.service.job_words(
                        {'cache.policy': 'plugin', 'cache.plugin': name,
                         'cache.capacity': 0.5}), check=False)
                self.assertEqual(run.returncode, code, run.stderr)
                for word in ('cache.policy', f"'{name}'", *words):
                    self.assertIn(word, run.stderr)
                self.assertEqual(self.service.wait_until_gone(), {})

    def test_settings_that_miss_each_other(self):
        for settings in ({'sampling.kind': 'plugin'},
                         {'sampling.plugin': 'skip_hop'},
                         {'cache.policy': 'plugin'},
                         {'cache.plugin': 'ranks'}):
            run = self.service.fgnn(
                'run', *self.service.job_words(settings), check=False)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(next(iter(settings)).split('.')[0] + '.plugin',
                          run.stderr)
