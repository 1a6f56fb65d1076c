"""What deploy/systemd/fgnn-generator makes of /etc/default/fgnn."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ['FGNN_SOURCE_DIR'])


class UnitsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, settings, drop_in='http'):
        """Returns the devices of the samplers, and a drop-in of the scheduler."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        path = out / 'settings'
        path.write_text(settings)
        subprocess.run(
            [ROOT / 'deploy/systemd/fgnn-generator', out], check=True,
            env={**os.environ, 'FGNN_SETTINGS': str(path),
                 'FGNN_KMSG': str(out / 'kmsg')})
        links = (out / 'fgnn.target.wants').iterdir()
        devices = sorted(
            link.name.removeprefix('fgnn-sampler@').removesuffix('.service')
            for link in links if 'sampler' in link.name)
        lines = out / f'fgnn-scheduler.service.d/{drop_in}.conf'
        return devices, lines.read_text() if lines.exists() else ''

    def test_reads_settings_as_systemd_does_and_runs_none(self):
        ran = self.folder / 'ran'
        devices, network = self.make(
            'FGNN_DEVICES=cpu:7\n'
            f'FGNN_OPTIONS=--dataset-root /bin/false\nOTHER=$(touch {ran})\n'
            f'FGNN_HTTP=`touch {ran}`\n FGNN_HTTP=\n#FGNN_HTTP=1.2.3.4:5\n'
            'FGNN_DEVICES="cpu:0-1,cpu:2"  \n')
        self.assertEqual(devices, ['cpu:0-1', 'cpu:2'])
        self.assertEqual(network, '')
        self.assertFalse(ran.exists())
        self.assertEqual(self.make("FGNN_DEVICES='cpu:3'\n")[0], ['cpu:3'])
        self.assertEqual(len(self.make('')[0]), 1)

    def test_daemons_of_a_gpu_may_use_it(self):
        devices, _ = self.make('FGNN_DEVICES=cuda:0,cpu:0-3,cuda:1+cpu:4\n')
        self.assertEqual(devices, ['cpu:0-3', 'cuda:0', r'cuda:1\x2bcpu:4'])
        out, = (path for path in self.folder.iterdir() if path.is_dir())
        for role in ('sampler', 'trainer'):
            for device in devices[1:]:
                drop_in = out / f'fgnn-{role}@{device}.service.d/cuda.conf'
                self.assertIn('PrivateDevices=no\n', drop_in.read_text())
            self.assertFalse(
                (out / f'fgnn-{role}@cpu:0-3.service.d').exists())

    def test_names_that_no_unit_can_have_are_escaped(self):
        devices, _ = self.make('FGNN_DEVICES=cpu:0,2-3,cuda:1+cpu:4,5\n')
        self.assertEqual(devices, [r'cpu:0\x2c2-3', r'cuda:1\x2bcpu:4\x2c5'])
        out, = (path for path in self.folder.iterdir() if path.is_dir())
        for role in ('sampler', 'trainer'):
            for device, name in zip(('cpu:0,2-3', 'cuda:1+cpu:4,5'), devices):
                unit = out / f'fgnn-{role}@{name}.service.d'
                self.assertIn(f'ExecStart=\nExecStart=fgnn-{role} --device '
                              f'{device} --state-dir /var/lib/fgnn\n',
                              (unit / 'device.conf').read_text())
                self.assertEqual((unit / 'cuda.conf').exists(),
                                 device.startswith('cuda'))

    def test_what_is_no_name_of_a_device_makes_no_unit(self):
        devices, _ = self.make('FGNN_DEVICES=cpu:0,gpu:../x,cuda:%i\n')
        self.assertEqual(devices, ['cpu:0'])
        out, = (path for path in self.folder.iterdir() if path.is_dir())
        self.assertIn('cuda:%i', (out / 'kmsg').read_text())

    def test_a_host_of_several_has_its_daemons_in_the_schedulers_unit(self):
        for settings, has, lacks in (
                ('FGNN_EXCHANGE=h:7071\n', '--listen ${FGNN_LISTEN}', '--join'),
                ('FGNN_EXCHANGE=h:7072\nFGNN_JOIN=h:7070\n',
                 '--join ${FGNN_JOIN}', '--listen')):
            devices, lines = self.make(f'FGNN_DEVICES=cuda:0\n{settings}',
                                       'several-hosts')
            self.assertEqual(devices, [])
            command, = re.findall('^ExecStart=(fgnn.*)$', lines, re.M)
            for words in (has, '--spawn-daemons', '--exchange ${FGNN_EXCHANGE}',
                          '--state-dir /var/lib/fgnn', '$FGNN_OPTIONS'):
                self.assertIn(words, command)
            self.assertNotIn(lacks, command)
            self.assertIn('PrivateDevices=no\n', lines)
        self.assertEqual(self.make('FGNN_JOIN=\n', 'several-hosts')[1], '')
        # Drop-ins count in the order of their names.
        self.assertLess('port.conf', 'several-hosts.conf')

    def test_pages_beyond_the_machine_get_through_where_they_are_allowed(self):
        public = 'FGNN_OPTIONS="--max-jobs 5 --http-public"\n'
        for settings, allowed in (
                ('FGNN_HTTP=127.0.0.1:9470\n', 'localhost'),
                ('FGNN_HTTP=127.0.0.1:9470\n' + public, 'localhost'),
                ('FGNN_HTTP=9470\n' + public, 'localhost'),
                ('FGNN_HTTP=0.0.0.0:9470\n', 'localhost'),
                ('FGNN_HTTP=0.0.0.0:9470\n' + public, 'any')):
            self.assertIn(f'IPAddressAllow={allowed}\n',
                          self.make(settings)[1], settings)
