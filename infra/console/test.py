"""Tests of infra/console/build and of the console in the template: python3 infra/console/test.py"""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
CONSOLE = HERE.parent.parent / "clients/console"
API = "https://api.fleet.example"
FILES = "https://files.s3.eu-west-1.amazonaws.com"


def build(*arguments):
    return subprocess.run([HERE / "build", *arguments], capture_output=True, text=True)


class ConsoleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "console"

    def test_the_folder_has_what_the_page_loads_and_nothing_else(self):
        self.assertEqual(0, build(API, self.folder).returncode)
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        served = {str(path.relative_to(CONSOLE)) for name in ("src", "vendor") for path in (CONSOLE / name).rglob("*") if path.is_file()}
        served = {path for path in served if not path.endswith(".d.ts")}
        self.assertEqual(served | {"index.html", "style.css", "icon.svg", "config.json"}, found)
        page = (self.folder / "index.html").read_text()
        for name in re.findall(r'(?:href|src)="([^"#]+)"', page):
            if name != "docs":
                self.assertTrue((self.folder / name).is_file(), name)

    def rules(self):
        """The parts of the page's Content-Security-Policy, by their names."""
        page = (self.folder / "index.html").read_text()
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        return policy, dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def test_the_page_reads_files_of_the_bucket_that_is_named(self):
        self.assertEqual(0, build(API, self.folder, FILES).returncode)
        self.assertEqual(f"'self' {API} {FILES}", self.rules()[1]["connect-src"])
        self.assertNotEqual(0, build(API, self.folder, "https://x'; script-src *").returncode)

    def test_the_page_calls_that_api_and_no_other(self):
        self.assertEqual(0, build(API + "/", self.folder).returncode)
        self.assertEqual({"api": API, "tiles": None}, json.loads((self.folder / "config.json").read_text()))
        policy, rules = self.rules()
        self.assertEqual(f"'self' {API}", rules["connect-src"])
        self.assertEqual(("'none'", "'self'", "'self'"), tuple(rules[name] for name in ("default-src", "script-src", "style-src")))
        self.assertNotIn("unsafe", policy)

    def test_a_wrong_address_is_refused_and_a_folder_with_other_files_is_left_alone(self):
        for wrong in ("api.fleet.example", "https://api.fleet.example/v1", "https://x'; script-src *", "ftp://x", ""):
            self.assertNotEqual(0, build(wrong, self.folder).returncode, wrong)
        self.folder.mkdir()
        (self.folder / "mine.txt").write_text("mine")
        self.assertNotEqual(0, build(API, self.folder).returncode)
        self.assertEqual("mine", (self.folder / "mine.txt").read_text())

    def test_a_console_that_was_built_before_is_replaced(self):
        build(API, self.folder)
        (self.folder / "src/old.js").write_text("")
        self.assertEqual(0, build("https://other.example", self.folder).returncode)
        self.assertFalse((self.folder / "src/old.js").exists())

    def test_the_parameter_takes_an_origin_and_nothing_more(self):
        template = (HERE.parent / "template.yaml").read_text()
        (pattern,) = re.findall(r"  Console:\n    Type: String\n    Default: none\n    AllowedPattern: '([^']+)'", template)
        for good in ("none", "cloudfront", "https://console.example.com", "https://console.example.com:8443", "http://127.0.0.1:8000"):
            self.assertTrue(re.fullmatch(pattern, good), good)
        for bad in ("", "*", "https://*.example.com", "http://console.example.com", "https://console.example.com/", "https://a,https://b", "null"):
            self.assertFalse(re.fullmatch(pattern, bad), bad)


if __name__ == "__main__":
    unittest.main()
