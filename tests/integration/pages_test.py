"""The commands of the pages for users run as they stand there.

Lines of their blocks of `sh` that begin with `fgnn` are run in order, in a folder
that has what the pages speak of: a dataset in .data/packages, the job of the quick
start, and a user's own graph. Blocks of `bash` are for a machine, a service or a
moment of their own.
"""

import os
import pathlib
import re
import shutil
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def commands_of(page):
    text = (ROOT / page).read_text(encoding='utf-8')
    blocks = re.findall(r'^```sh\n(.*?)^```', text, re.S | re.M)
    return [line for block in blocks for line in block.splitlines()
            if line.startswith('fgnn ')]


class PagesTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        folder = self.service.folder
        (folder / '.data').mkdir()
        self.service.dataset.rename(folder / '.data/packages')
        (folder / 'tools').mkdir()
        shutil.copy(ROOT / 'tools/quickstart.yaml', folder / 'tools')
        vertices = range(40)
        (folder / 'edges.csv').write_text('source,destination\n' + ''.join(
            f'v{i},v{(i + step) % 40}\n' for i in vertices for step in (1, 2)))
        (folder / 'nodes.csv').write_text('id,label,x,y\n' + ''.join(
            f'v{i},{"odd" if i % 2 else "even"},{i % 2},{i}\n'
            for i in vertices))
        (folder / 'roads.csv').write_text('source,destination\n' + ''.join(
            f'{i},{(i + step) % 40}\n' for i in vertices for step in (1, 2)))
        (folder / 'houses.csv').write_text('id,rooms,age,rent,heating\n' + (
            ''.join(f'{i},{i % 5},{i / 40},{i % 5 / 2},{i % 3}.5\n'
                    for i in vertices)))
        (folder / 'shops.csv').write_text('id,size,food,books,tools\n' + (
            ''.join(f'{i},{i % 7},{i % 2},{i % 3 // 2},{i % 5 // 4}\n'
                    for i in vertices)))

    def run_page(self, page):
        commands = commands_of(page)
        self.assertGreater(len(commands), 4, f'{page} has no commands to run')
        environment = {
            **os.environ, 'FGNN_STATE_DIR': str(self.service.state_dir),
            'PATH': f"{harness.BIN_DIR.resolve()}:{os.environ['PATH']}"}
        for command in commands:
            result = subprocess.run(
                ['bash', '-c', command], cwd=self.service.folder,
                env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, check=False, timeout=harness.COMMAND_SECONDS)
            self.assertEqual(result.returncode, 0,
                             f'{page}: {command}: {result.stderr}')

    def test_the_readme(self):
        self.run_page('README.md')
        self.assertTrue((self.service.folder / 'plot.svg').exists())
        predictions = (self.service.folder / 'predictions.csv').read_text()
        self.assertRegex(predictions, r'(?m)^0,v0,.*(odd|even)')

    def test_the_page_of_fgnn(self):
        self.run_page('tools/fgnn/README.md')
        for name, heading in (
                ('rents', 'id,name,rent,heating,split,target_rent,'),
                ('trades', 'id,name,classes,probability_food,')):
            table = (self.service.folder / f'{name}.csv').read_text()
            self.assertTrue(table.startswith(heading), table[:200])

    def test_the_readme_fits_its_length(self):
        text = (ROOT / 'README.md').read_text(encoding='utf-8')
        self.assertLessEqual(len(text.splitlines()), 150)
