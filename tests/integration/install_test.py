"""What `cmake --install` puts into a prefix works from there, and a machine
without libtorch trains."""

import gzip
import os
import pathlib
import re
import subprocess
import tempfile

import harness

BUILD_DIR = harness.BIN_DIR.resolve().parent
SOURCE_DIR = pathlib.Path(os.environ['FGNN_SOURCE_DIR']).resolve()
TORCH = pathlib.Path(os.environ['FGNN_TORCH_ROOT'])
SCRIPTS = ('fgnn-certificates', 'fgnn-setup-torch')


class InstallTest(harness.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix='fgnn-it-')
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / 'any prefix'
        subprocess.run(['cmake', '--install', BUILD_DIR, '--strip', '--prefix',
                        cls.prefix], check=True, capture_output=True)
        cls.addClassCleanup(setattr, harness, 'BIN_DIR', harness.BIN_DIR)
        harness.BIN_DIR = cls.prefix / 'bin'

    def write_script(self):
        file = self.service.folder / 'sage.pt'
        subprocess.run([BUILD_DIR / 'tests/write_torchscript', file,
                        '16', '16', '4'], check=True)
        return {'model.kind': 'torchscript', 'model.file': file}

    def torch_of_doctor(self):
        checks = self.service.json('doctor')['checks']
        self.assertTrue(all(check['ok'] for check in checks), checks)
        return next(check['detail'] for check in checks
                    if check['name'] == 'libtorch')

    def test_nothing_names_the_build(self):
        files = [file for file in self.prefix.rglob('*') if file.is_file()]
        self.assertGreater(len(files), len(harness.PROGRAMS))
        for file in files:
            content = file.read_bytes()
            for folder in (BUILD_DIR, SOURCE_DIR, TORCH.parent):
                self.assertNotIn(os.fsencode(folder), content, file)
            if not content.startswith(b'\x7fELF'):
                continue
            dynamic = subprocess.run(['readelf', '-d', file], check=True,
                                     capture_output=True, text=True).stdout
            paths = re.findall(r'(?:RPATH|RUNPATH).*\[(.*)\]', dynamic)
            of_ours = file.name == 'libfgnn_torch.so'
            self.assertEqual(
                paths, ['$ORIGIN/libtorch/torch/lib'] if of_ours else [], file)
            self.assertEqual('[libtorch_cpu.so]' in dynamic, of_ours, file)
            # A second copy of the messages would end a trainer. The gate reads
            # strangers' bytes with as little code as it can.
            has_messages = not of_ours and file.name != 'fgnn-gate'
            # The loader reads jobs, but calls nobody.
            has_calls = has_messages and file.name != 'libfgnn_loader.so'
            for library, has in (('[libprotobuf.so', has_messages),
                                 ('[libgrpc++.so', has_calls)):
                self.assertEqual(library in dynamic, has, file)

    def test_libtorch_is_put_into_no_folder_that_has_something_else(self):
        home = self.service.folder / 'home'
        precious = home / 'precious'
        precious.mkdir(parents=True)
        (precious / 'kept').write_text('kept')
        (home / 'precious.partial').mkdir()
        (home / 'empty').mkdir()
        # A pip that fails, as one without a network does.
        python = home / 'bin/python3'
        python.parent.mkdir()
        python.write_text('#!/bin/sh\n[ "$3" = --version ]\n')
        python.chmod(0o755)
        before = sorted(map(str, home.rglob('*')))
        path = f'{python.parent}:/usr/bin:/bin'

        def setup(folder):
            return subprocess.run(
                [self.prefix / 'bin/fgnn-setup-torch', folder], cwd=home,
                env={'PATH': path}, check=False, capture_output=True,
                text=True, timeout=60)
        for folder in (precious, f'{precious}/', 'precious', precious / 'kept',
                       home):
            answer = setup(folder)
            self.assertEqual(answer.returncode, 2, answer.stderr)
            self.assertRegex(answer.stderr, "is there already, .* name a folder")
        for folder in ('empty', 'new'):
            answer = setup(folder)
            self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertEqual(sorted(map(str, home.rglob('*'))), before)

    def test_programs_completion_and_pages_are_there(self):
        for name in (*harness.PROGRAMS, *SCRIPTS):
            subprocess.run([self.prefix / 'bin' / name, '--help'], check=True,
                           capture_output=True, timeout=60)
        self.assertEqual(
            (self.prefix / 'share/bash-completion/completions/fgnn').read_text(),
            self.service.fgnn('completion', 'bash').stdout)
        self.assertEqual(
            sorted(page.name for page in
                   (self.prefix / 'share/man/man1').iterdir()),
            sorted(f'{name}.1.gz' for name in (*harness.PROGRAMS, *SCRIPTS)))
        page = gzip.decompress(
            (self.prefix / 'share/man/man1/fgnn.1.gz').read_bytes()).decode()
        self.assertIn('\n.SH fgnn dataset import csv\n', page)
        self.assertIn('torch==', (
            self.prefix / 'share/fgnn/requirements-torch.txt').read_text())

    def test_it_trains_without_libtorch_and_a_users_model_with_it(self):
        run_dir = self.service.run()
        self.assertIn('test_accuracy',
                      harness.summary_of(run_dir))
        self.assertRegex(self.torch_of_doctor(), '^none; .*fgnn-setup-torch')
        words = self.service.job_words(self.write_script())
        refused = self.service.fgnn('run', *words, check=False)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertRegex(
            refused.stderr,
            r"need libtorch \d+\.\d+\.\d+: libtorch_cpu\.so: .*"
            "'fgnn-setup-torch' fetches it")
        self.assertEqual(self.service.wait_until_gone(), {})

        # As fgnn-setup-torch leaves it.
        folder = self.prefix / 'lib/fgnn/libtorch'
        folder.symlink_to(TORCH.parent)
        self.addCleanup(folder.unlink)
        self.assertRegex(self.torch_of_doctor(), r'^\d+\.\d+\.\d+$')
        self.service.fgnn('run', *words)

    def test_a_library_of_another_version_is_refused(self):
        library = self.prefix / 'lib/fgnn/libfgnn_torch.so'
        content = library.read_bytes()
        self.addCleanup(library.write_bytes, content)
        folder = self.prefix / 'lib/fgnn/libtorch'
        folder.symlink_to(TORCH.parent)
        self.addCleanup(folder.unlink)
        version = self.service.fgnn('--version').stdout.split()[1].encode()
        other = b'9' + version[1:]
        self.assertEqual(content.count(b'\0' + version + b'\0'), 1)
        library.write_bytes(
            content.replace(b'\0' + version + b'\0', b'\0' + other + b'\0'))
        self.assertRegex(self.torch_of_doctor(), 'is of another version')
