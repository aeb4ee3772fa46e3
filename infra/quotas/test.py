"""Tests of the quota check: python infra/quotas/test.py

fixtures/one-stack.yaml.gz is the template of an earlier state of this repository, when one stack had every function: it could
not have been deployed.
"""

import gzip
import pathlib
import re
import tempfile
import unittest

import check

HERE = pathlib.Path(__file__).parent
TEMPLATES = HERE.parent


class QuotaTest(unittest.TestCase):
    def test_the_templates_are_within_every_quota(self):
        quotas = check.check(TEMPLATES / "template.yaml")
        self.assertEqual([], [quota.name for quota in quotas.broken()])

    def test_every_quota_is_measured_at_something(self):
        quotas = check.check(TEMPLATES / "template.yaml")
        only_after_a_build = {"MB of a zipped package in S3 that is unzipped", "MB of all versions of a release, of 75 GB a region"}
        only_elsewhere = {"characters of a managed policy", "indexes created and deleted since the last release"}
        unmeasured = {quota.name for quota in quotas.all.values() if not quota.found}
        self.assertLessEqual(unmeasured, only_after_a_build | only_elsewhere)

    def test_a_stack_with_all_functions_and_a_secret_for_each_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder) / "one-stack.yaml"
            template.write_bytes(gzip.decompress((HERE / "fixtures" / "one-stack.yaml.gz").read_bytes()))
            broken = {quota.name: quota.worst()[0] for quota in check.check(template).broken()}
        # 93 functions with the secret of page tokens and 9 with that of the payment provider.
        self.assertEqual(102, broken["dynamic references of a template"])
        # Permissions for API Gateway alone are a fifth of them.
        self.assertGreater(broken["resources of a stack, as infra/README.md plans it"], 450)

    def test_an_index_that_changes_is_deleted_and_created(self):
        before = (TEMPLATES / "template.yaml").read_text()
        self.assertEqual(0, check.index_changes(before, before))
        one_more = before.replace(
            "        - IndexName: list\n",
            "        - IndexName: new\n          KeySchema: []\n          Projection: {}\n        - IndexName: list\n",
        )
        self.assertEqual(1, check.index_changes(before, one_more))
        self.assertEqual(2, check.index_changes(before, before.replace("NonKeyAttributes: [outline, ", "NonKeyAttributes: [")))

    def test_a_parameter_counts_with_its_greatest_length(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            (copy / "stacks").symlink_to(TEMPLATES / "stacks")
            template = (TEMPLATES / "template.yaml").read_text()
            for name in ("ReviewTolerances", "AssumedPrices"):
                longer = re.sub(rf"(  {name}:\n(?:    .*\n)*?    MaxLength: )128\b", r"\g<1>1024", template)
                self.assertNotEqual(template, longer)
                (copy / "template.yaml").write_text(longer)
                broken = {quota.name for quota in check.check(copy / "template.yaml").broken()}
                self.assertEqual({"bytes of a function's environment"}, broken)

    def test_numbers_that_functions_read_are_whole(self):
        stack = check.yaml_parse((TEMPLATES / "stacks" / "fleets.yaml").read_text())
        variables = stack["Globals"]["Function"]["Environment"]["Variables"].values()
        named = {value["Ref"] for value in variables if isinstance(value, dict) and "Ref" in value}
        parameters = check.yaml_parse((TEMPLATES / "template.yaml").read_text())["Parameters"]
        # CloudFormation accepts 2.5 as a Number, but a function that reads it fails at its start.
        self.assertEqual([], [name for name in named & parameters.keys() if parameters[name]["Type"] == "Number"])
        numbers = {name: one for name, one in parameters.items() if name in named and str(one["Default"]).isdigit()}
        self.assertEqual(8, len(numbers))
        for name, one in numbers.items():
            admits = re.compile(one["AllowedPattern"]).fullmatch
            most = "9" * one["MaxLength"]
            self.assertTrue(admits(one["Default"]) and admits("1") and admits(most) and int(most) < 2**31, name)
            for refused in ("", "-1", "+1", "01", "2.50", "1e3", most + "0"):
                self.assertFalse(admits(refused), f"{name}: {refused}")

    def test_alarms_name_functions_that_exist(self):
        stacks = "".join(path.read_text() for path in (TEMPLATES / "stacks").glob("*.yaml"))
        handlers = set(re.findall(r"(?m)^      Handler: (.+)$", stacks))
        named = re.findall(r"FunctionName, Value: !Sub '\$\{AWS::StackName\}-(.+?)'", (TEMPLATES / "template.yaml").read_text())
        self.assertLessEqual({"relay-stream", "sweep"}, set(named))
        self.assertLessEqual(set(named), handlers)

    def test_an_environment_is_measured_as_json(self):
        measured = check.Check()
        variables = {"MODE": "test", "STAGE": "dev"}
        function = {"Type": "AWS::Lambda::Function"}
        function["Properties"] = {"MemorySize": 256, "Timeout": 10, "Environment": {"Variables": variables}}
        measured.resource("here", "Function", function, {}, {})
        number, _ = measured.quotas.all["bytes of a function's environment"].worst()
        self.assertEqual(len('{"MODE":"test","STAGE":"dev"}'), number)

    def test_a_quota_that_is_exceeded_in_a_nested_stack_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            (copy / "stacks").mkdir()
            for path in [TEMPLATES / "template.yaml", *(TEMPLATES / "stacks").glob("*.yaml")]:
                (copy / path.relative_to(TEMPLATES)).write_text(path.read_text())
            for name, change in {
                "service": lambda text: text.replace("Timeout: 900", "Timeout: 901"),
                "fleets": lambda text: text.replace("Timeout: 10\n", "Timeout: 31\n"),
                "drivers": lambda text: re.sub(r"(RouteKey: POST /v1/drivers\n)", r"\1", text)
                + "".join(f"  Queue{n}:\n    Type: AWS::SQS::Queue\n" for n in range(200)),
            }.items():
                path = copy / "stacks" / f"{name}.yaml"
                path.write_text(change(path.read_text()))
            broken = {quota.name for quota in check.check(copy / "template.yaml").broken()}
        self.assertEqual(
            {
                "seconds of a time-out",
                "seconds of a function that answers requests",
                "resources of a stack, as infra/README.md plans it",
            },
            broken,
        )


if __name__ == "__main__":
    unittest.main()
