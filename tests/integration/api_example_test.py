"""The C++ example, built as somebody does who has the installed API alone."""

import pathlib
import shutil
import subprocess
import tempfile

import harness

BUILD_DIR = harness.BIN_DIR.resolve().parent
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'tools/examples'


class ApiExampleTest(harness.ServiceTest):

    def command(self, *words):
        run = subprocess.run(
            list(map(str, words)), stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=harness.COMMAND_SECONDS, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_it_submits_a_job_and_waits_for_its_end(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix='fgnn-it-'))
        self.addCleanup(shutil.rmtree, folder)
        self.command('cmake', '--install', BUILD_DIR, '--component', 'api',
                     '--prefix', folder / 'prefix')
        self.assertEqual(
            sorted(file.name for file in folder.rglob('*.proto')),
            ['job.proto', 'job_service.proto', 'options.proto'])
        shutil.copytree(EXAMPLES, folder / 'examples')
        self.command('cmake', '-S', folder / 'examples', '-B', folder / 'build',
                     f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")
        self.command('cmake', '--build', folder / 'build')

        self.service.fgnn('up')
        said = self.command(folder / 'build/submit', self.service.state_dir,
                            self.service.dataset)
        state, run_dir = said.splitlines()[-1].split()
        self.assertEqual(state, 'JOB_STATE_COMPLETED')
        self.assertTrue((pathlib.Path(run_dir) / 'summary.json').exists())
        wrong = subprocess.run(
            [folder / 'build/submit', self.service.state_dir, '/nowhere'],
            capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn('/nowhere', wrong.stderr)
