"""The bill of materials of the built programs: deploy/sbom."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness

ROOT = pathlib.Path(os.environ['FGNN_SOURCE_DIR'])
LOADER = harness.BIN_DIR.parent / 'lib/fgnn/libfgnn_loader.so'
FILES = [*(harness.BIN_DIR / name for name in harness.PROGRAMS), LOADER]


def holes_left(linked, known):
    """Known holes of linked packages, neither mended there nor answered."""
    def is_mended(version, at):
        return subprocess.run(['dpkg', '--compare-versions', version, 'ge', at],
                              check=False).returncode == 0
    left = []
    for name, version in sorted(linked.items()):
        of_package = known.get(name, {'mended': {}, 'open': {}})
        left += [f'{name} {version}: {hole}, mended by {at}'
                 for hole, at in of_package['mended'].items()
                 if not is_mended(version, at)]
        left += [f'{name} {version}: {hole}'
                 for hole, what in of_package['open'].items()
                 if not what.get('answer')]
    return left


class BillTest(unittest.TestCase):
    """Written for the programs of this build."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / 'fgnn.spdx.json'
            subprocess.run(
                [ROOT / 'deploy/sbom', '--version', '1.2.3', '--out', out,
                 '--headers', 'nlohmann-json3-dev', '--torch',
                 ROOT / 'tools/requirements-torch.txt', *FILES], check=True,
                env={**os.environ, 'SOURCE_DATE_EPOCH': '0'})
            cls.bill = json.loads(out.read_text())

    def test_has_what_spdx_asks_for(self):
        self.assertEqual(self.bill['spdxVersion'], 'SPDX-2.3')
        self.assertEqual(self.bill['dataLicense'], 'CC0-1.0')
        self.assertEqual(self.bill['SPDXID'], 'SPDXRef-DOCUMENT')
        self.assertEqual(self.bill['creationInfo']['created'],
                         '1970-01-01T00:00:00Z')
        self.assertTrue(self.bill['creationInfo']['creators'])
        self.assertRegex(self.bill['documentNamespace'], '^https://')
        ids = [each['SPDXID'] for each in self.bill['packages']]
        self.assertEqual(len(ids), len(set(ids)))
        for each in self.bill['packages']:
            self.assertRegex(each['SPDXID'], r'^SPDXRef-[A-Za-z0-9.-]+$')
            self.assertTrue(each['name'] and each['versionInfo'] and
                            each['downloadLocation'])
        for each in self.bill['relationships']:
            self.assertIn(each['spdxElementId'], ids)
            self.assertIn(each['relatedSpdxElement'], ids)
        self.assertEqual(self.bill['documentDescribes'], [ids[0]])

    def test_names_each_library_that_is_loaded(self):
        named = ' '.join(each.get('comment', '')
                         for each in self.bill['packages']).split()
        for program in FILES:
            text = subprocess.run(['ldd', program], check=True,
                                  capture_output=True, text=True).stdout
            libraries = set(re.findall(r'^\s*(?:/\S*/)?(lib\S+) (?:=>|\()',
                                       text, re.MULTILINE))
            self.assertGreater(len(libraries), 10)
            self.assertLessEqual(
                {name for name in libraries if not name.startswith('libfgnn')},
                set(named), program)

    def test_names_the_programs_and_the_library_of_python(self):
        self.assertEqual(
            self.bill['packages'][0]['comment'].split(),
            ['files:', *sorted([*harness.PROGRAMS, 'libfgnn_loader.so'])])

    def test_each_known_hole_is_mended_or_answered(self):
        known = json.loads(
            (ROOT / 'deploy/security/known_holes.json').read_text())
        self.assertRegex(known['date'], r'^\d{4}-\d\d-\d\d$')
        linked = {each['name']: each['versionInfo']
                  for each in self.bill['packages'][1:]
                  if each['versionInfo'] != 'NOASSERTION'}
        self.assertIn('libnghttp2-14', linked)
        self.assertLessEqual(set(linked), set(known['packages']),
                             'look up what is known of these, and add them')
        self.assertEqual([], holes_left(linked, known['packages']),
                         'update these packages, or answer the hole')

    def test_a_hole_without_mend_or_answer_is_found(self):
        def left(version, mended='0', answer='not reached'):
            return holes_left({'lib': version}, {
                'lib': {'mended': {'CVE-1': mended},
                        'open': {'CVE-2': {'answer': answer}}}})
        self.assertEqual(left('1.0'), [])
        self.assertEqual(left('1.0', answer=''), ['lib 1.0: CVE-2'])
        self.assertEqual(left('1.0-1', mended='1.0-1+deb12u1'),
                         ['lib 1.0-1: CVE-1, mended by 1.0-1+deb12u1'])
        self.assertEqual(left('1.0-1+deb12u2', mended='1.0-1+deb12u1'), [])

    def test_names_headers_and_wheels(self):
        packages = {each['name']: each for each in self.bill['packages']}
        self.assertEqual(packages['fgnn']['versionInfo'], '1.2.3')
        self.assertIn('nlohmann-json3-dev', packages)
        torch = packages['torch']
        self.assertRegex(torch['versionInfo'], r'^\d+\.\d+\.\d+$')
        for each in torch['checksums']:
            self.assertEqual(each['algorithm'], 'SHA256')
            self.assertRegex(each['checksumValue'], '^[0-9a-f]{64}$')
