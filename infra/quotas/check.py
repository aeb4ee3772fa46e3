"""Holds the templates to the quotas that AWS publishes.

    python infra/quotas/check.py [template]

Expands the root template and its nested stacks as CloudFormation does, the SAM transform included, with every option switched on
that adds resources (gradual deployments, traces, a key and a domain of one's own). Prints for each quota the largest number
that was found, and where. Ends with status 1 if a number is beyond its quota.

Needs aws-sam-translator, which comes with aws-sam-cli (infra/requirements.txt).
"""

import json
import logging
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

# SAM notes what AWS itself configures it with.
logging.disable(logging.WARNING)
os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

ROOT = pathlib.Path(__file__).parent.parent

# How long the name of the root stack may be: the names of functions and log groups begin with it.
STACK_NAME = "x" * 24

# Values of parameters with which the templates expand to most resources, and the longest of texts. Partitions and regions are those
# with the longest names. A parameter with a MaxLength needs no value here.
VALUES = {
    "Table": f"{STACK_NAME}-Table-0123456789ABC",
    "EncryptionKeys": "arn:aws-us-gov:secretsmanager:ap-southeast-1:123456789012:secret:EncryptionKeys-0123456789ABC-AbCdEf",
    "ScheduleGroup": f"{STACK_NAME}-Schedules-0123456789ABC",
    "SchedulerRoleArn": "arn:aws-us-gov:iam::123456789012:role/" + "x" * 64,
    "SecretsGeneration": "x" * 24,
    "Canary": "Canary10Percent5Minutes",
    "CanaryEnabled": "true",
    "DomainName": f"{'x' * 52}.example.com",
    "Tracing": "Active",
    "KeyArn": "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    "StripeSecret": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:stripe-AbCdEf",
    "AlarmTopicArn": "arn:aws:sns:eu-central-1:123456789012:alarms",
}

# How long a value that is known only after the deployment is taken to be: longer than any ARN and URL of the templates.
UNKNOWN = "x" * 160


def queue_url(key):
    """The longest URL of a queue with this logical name. CloudFormation makes its name of that of the stack, this and 13 characters."""
    return f"https://sqs.cn-northwest-1.amazonaws.com.cn/123456789012/{STACK_NAME}-{key}-0123456789ABC"


def longest(parameter):
    """The longest value of a parameter that has a MaxLength, the default of any other."""
    return "x" * parameter["MaxLength"] if "MaxLength" in parameter else parameter.get("Default", UNKNOWN)


@dataclass
class Quota:
    """A limit that AWS publishes."""

    service: str
    name: str
    limit: float
    found: list = field(default_factory=list)
    at_least: bool = False

    def note(self, where, number):
        self.found.append((number, where))

    def worst(self):
        order = min if self.at_least else max
        return order(self.found, key=lambda one: one[0])

    def holds(self):
        if not self.found:
            return True
        number, _ = self.worst()
        return number >= self.limit if self.at_least else number <= self.limit


class Quotas:
    """Every quota by its name. The comments name the page of AWS's documentation that publishes it."""

    def __init__(self):
        self.all = {}
        # This repository's own rule: room for more routes below CloudFormation's 500.
        self.add("CloudFormation", "resources of a stack, as infra/README.md plans it", 200)
        # AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
        self.add("CloudFormation", "resources of a stack", 500)
        self.add("CloudFormation", "resources of the root and all nested stacks in one operation", 2500)
        self.add("CloudFormation", "dynamic references of a template", 60)
        self.add("CloudFormation", "parameters of a template", 200)
        self.add("CloudFormation", "outputs of a template", 200)
        self.add("CloudFormation", "mappings of a template", 200)
        self.add("CloudFormation", "bytes of a template in S3", 1_000_000)
        self.add("CloudFormation", "bytes of a template's description", 1_024)
        self.add("CloudFormation", "bytes of a parameter's value", 4_096)
        self.add("CloudFormation", "characters of a resource's logical name", 255)
        # lambda/latest/dg/gettingstarted-limits.html, and the API reference of CreateFunction and PublishVersion
        self.add("Lambda", "bytes of a function's environment", 4_096)
        self.add("Lambda", "MB of memory", 10_240)
        self.add("Lambda", "MB of memory, at least", 128, at_least=True)
        self.add("Lambda", "seconds of a time-out", 900)
        self.add("Lambda", "characters of a function's name", 64)
        self.add("Lambda", "characters of a function's or version's description", 256)
        self.add("Lambda", "layers of a function", 5)
        self.add("Lambda", "MB of a zipped package in S3 that is unzipped", 250)
        self.add("Lambda", "MB of all versions of a release, of 75 GB a region", 75_000)
        self.add("Lambda", "records of a batch of SQS without a batching window", 10)
        self.add("Lambda", "parallelization factor of a stream", 10)
        self.add("Lambda", "filters of an event source", 5)
        # apigateway/latest/developerguide/http-api-quotas.html
        self.add("API Gateway", "routes of an API", 300)
        self.add("API Gateway", "integrations of an API", 300)
        self.add("API Gateway", "stages of an API", 10)
        self.add("API Gateway", "seconds of a function that answers requests", 30)
        self.add("API Gateway", "bytes of the format of the access log", 3_072)
        self.add("API Gateway", "tags of a stage, with those of CloudFormation", 50)
        # IAM/latest/UserGuide/reference_iam-quotas.html
        self.add("IAM", "characters of all inline policies of a role", 10_240)
        self.add("IAM", "characters of a managed policy", 6_144)
        self.add("IAM", "managed policies of a role", 10)
        self.add("IAM", "characters of a trust policy", 2_048)
        self.add("IAM", "roles of an AWS account", 1_000)
        # scheduler/latest/UserGuide/scheduler-quotas.html, and the API reference of CreateSchedule
        self.add("EventBridge Scheduler", "schedule groups of a region", 500)
        self.add("EventBridge Scheduler", "characters of a schedule's name", 64)
        self.add("EventBridge Scheduler", "characters of a schedule group's name", 64)
        # eventbridge/latest/userguide/eb-quota.html
        self.add("EventBridge", "rules of an event bus", 300)
        self.add("EventBridge", "targets of a rule", 5)
        # AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
        self.add("SQS", "seconds of visibility", 43_200)
        self.add("SQS", "seconds of retention", 1_209_600)
        self.add("SQS", "visibility over the worker's time-out, at least", 1, at_least=True)
        # amazondynamodb/latest/developerguide/ServiceQuotas.html
        self.add("DynamoDB", "indexes of a table", 20)
        self.add("DynamoDB", "attributes projected by all indexes", 100)
        # AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html: one index is created or deleted in an update
        self.add("DynamoDB", "indexes created and deleted since the last release", 1)
        # AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
        self.add("CloudWatch", "metrics of an alarm, expressions included", 10)
        self.add("CloudWatch", "actions of an alarm", 5)
        self.add("CloudWatch", "widgets of a dashboard", 500)
        # codedeploy/latest/userguide/limits.html
        self.add("CodeDeploy", "alarms of a deployment group", 50)
        self.add("CodeDeploy", "deployment groups of an application", 1_000)
        self.add("CodeDeploy", "deployments of an AWS account at the same time", 1_300)

    def add(self, service, name, limit, at_least=False):
        self.all[name] = Quota(service, name, limit, at_least=at_least)

    def note(self, name, where, number):
        self.all[name].note(where, number)

    def broken(self):
        return [quota for quota in self.all.values() if not quota.holds()]

    def show(self):
        for quota in self.all.values():
            if not quota.found:
                continue
            number, where = quota.worst()
            mark = "ok  " if quota.holds() else "FAIL"
            print(f"{mark} {quota.service}: {quota.name}: {number:g} of {quota.limit:g} ({where})")


class NoManagedPolicies:
    def load(self):
        return {}


def walk(value):
    """Every value within a value."""
    yield value
    if isinstance(value, dict):
        for one in value.values():
            yield from walk(one)
    elif isinstance(value, list):
        for one in value:
            yield from walk(one)


def listed(value):
    if isinstance(value, dict) and "Fn::If" in value:
        return max((listed(one) for one in value["Fn::If"][1:]), key=len)
    return value if isinstance(value, list) else [] if value is None else [value]


def text_of(value, parameters):
    """A value as text, in which what is known only after the deployment has a length that is on the safe side."""
    if isinstance(value, dict) and len(value) == 1:
        [(function, given)] = value.items()
        match function:
            case "Ref":
                if given == "AWS::NoValue":
                    return ""
                if given in ("Service", "AWS::StackName"):
                    return STACK_NAME
                return str(parameters.get(given, queue_url(given) if given.endswith("Queue") else UNKNOWN))
            case "Fn::GetAtt":
                return UNKNOWN
            case "Fn::Sub":
                template, names = (given, {}) if isinstance(given, str) else given
                known = {"Service": STACK_NAME, "AWS::StackName": STACK_NAME, "AWS::Partition": "aws-us-gov",
                         "AWS::Region": "ap-southeast-1", "AWS::AccountId": "123456789012"}
                replaced = lambda found: known.get(found[1]) or text_of(names.get(found[1], {"Ref": found[1]}), parameters)
                return re.sub(r"\$\{([^}!]+)\}", replaced, template)
            case "Fn::If":
                return max((text_of(one, parameters) for one in given[1:]), key=len)
            case "Fn::Join":
                return given[0].join(text_of(one, parameters) for one in given[1])
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def policy_size(document, parameters):
    """The characters of a policy that IAM counts: all but white space."""

    def resolved(value):
        if isinstance(value, dict):
            if "Fn::If" in value:
                return max((resolved(one) for one in value["Fn::If"][1:]), key=lambda one: len(json.dumps(one)))
            if len(value) == 1 and next(iter(value)) in ("Ref", "Fn::GetAtt", "Fn::Sub", "Fn::Join"):
                # An ARN of a table, queue or log group.
                return text_of(value, parameters)[:120]
            return {name: resolved(one) for name, one in value.items()}
        if isinstance(value, list):
            return [resolved(one) for one in value]
        return value

    return len(re.sub(r"\s", "", json.dumps(resolved(document))))


def code_size(folder=ROOT.parent / "target" / "lambda" / "core"):
    """The size in MB of the executable of most functions and that of its zip, if it has been built."""
    executable = folder / "bootstrap"
    if not executable.exists():
        return None
    import zlib

    content = executable.read_bytes()
    return len(content) / 1e6, len(zlib.compress(content, 6)) / 1e6


def expanded(path, values):
    """The template as CloudFormation makes it of the file."""
    template = yaml_parse(path.read_text())
    if "Transform" not in template:
        return template
    template.setdefault("Globals", {}).setdefault("Function", {})["CodeUri"] = {"Bucket": "artifacts", "Key": "functions"}
    return transform(template, dict(values), NoManagedPolicies())


class Check:
    def __init__(self):
        self.quotas = Quotas()
        self.totals = dict.fromkeys(("resources", "roles", "functions", "groups"), 0)
        self.routes = self.integrations = self.rules = self.schedule_groups = 0

    def template(self, path, values, name=None):
        """Notes the numbers of a template and of those nested in it."""
        where = name or path.name
        source = yaml_parse(path.read_text())
        made = expanded(path, values)
        note = self.quotas.note
        resources = made["Resources"]
        nested = any(one["Type"] == "AWS::CloudFormation::Stack" for one in resources.values())
        parameters = {key: longest(one) for key, one in made.get("Parameters", {}).items()} | values
        self.totals["resources"] += len(resources)
        note("resources of a stack, as infra/README.md plans it", where, len(resources))
        note("resources of a stack", where, len(resources))
        note("parameters of a template", where, len(made.get("Parameters", {})))
        note("outputs of a template", where, len(made.get("Outputs", {})))
        note("mappings of a template", where, len(made.get("Mappings", {})))
        note("bytes of a template in S3", where, max(len(path.read_text()), len(json.dumps(made))))
        note("bytes of a template's description", where, len(made.get("Description", "")))
        texts = [one for one in walk(made) if isinstance(one, str)]
        references = sum(len(re.findall(r"\{\{resolve:", one)) for one in texts)
        # If a nested stack's parameter were handed on unresolved, each use of it would count in that stack.
        secrets = {key for key, one in made.get("Parameters", {}).items() if one.get("NoEcho")}
        uses = sum(1 for one in walk(made["Resources"]) if isinstance(one, dict) and one.get("Ref") in secrets)
        note("dynamic references of a template", where, references)
        if secrets:
            note("dynamic references of a template", f"{where}, if they were resolved where they are used", references + uses)
        for key in resources:
            note("characters of a resource's logical name", f"{where}: {key}", len(key))
        for key, resource in resources.items():
            self.resource(f"{where}: {key}", key, resource, resources, parameters)
        if nested:
            for key, resource in resources.items():
                if resource["Type"] != "AWS::CloudFormation::Stack":
                    continue
                properties = resource["Properties"]
                handed = {}
                for parameter, value in properties.get("Parameters", {}).items():
                    text = text_of(value, parameters)
                    note("bytes of a parameter's value", f"{where}: {key}.{parameter}", len(text))
                    handed[parameter] = VALUES.get(parameter, text)
                self.template(path.parent / properties["TemplateURL"], handed)
        return source

    def resource(self, where, key, resource, resources, parameters):
        note = self.quotas.note
        properties = resource.get("Properties", {})
        count = lambda value: len(listed(value))
        match resource["Type"]:
            case "AWS::Lambda::Function":
                self.totals["functions"] += 1
                variables = properties.get("Environment", {}).get("Variables", {})
                # Lambda measures the environment as JSON.
                environment = {name: text_of(value, parameters) for name, value in variables.items()}
                size = len(json.dumps(environment, separators=(",", ":")))
                note("bytes of a function's environment", where, size)
                note("MB of memory", where, properties["MemorySize"])
                note("MB of memory, at least", where, properties["MemorySize"])
                note("seconds of a time-out", where, properties["Timeout"])
                name = properties.get("FunctionName", f"{STACK_NAME}-{key}-0123456789AB"[:64])
                note("characters of a function's name", where, len(text_of(name, parameters)))
                description = text_of(properties.get("Description", ""), parameters)
                note("characters of a function's or version's description", where, len(description))
                note("layers of a function", where, count(properties.get("Layers")))
            case "AWS::Lambda::Version":
                description = text_of(properties.get("Description", ""), parameters)
                note("characters of a function's or version's description", where, len(description))
            case "AWS::Lambda::EventSourceMapping":
                if "StartingPosition" not in properties:
                    note("records of a batch of SQS without a batching window", where, properties["BatchSize"])
                note("parallelization factor of a stream", where, properties.get("ParallelizationFactor", 1))
                filters = properties.get("FilterCriteria", {}).get("Filters", [])
                note("filters of an event source", where, count(filters))
            case "AWS::ApiGatewayV2::Route":
                self.routes += 1
            case "AWS::ApiGatewayV2::Integration":
                self.integrations += 1
                uri = text_of(properties["IntegrationUri"], {})
                source = re.search(r"\$\{(\w+)\.Arn\}", json.dumps(properties["IntegrationUri"]))
                if source and source[1] in resources:
                    note("seconds of a function that answers requests", where, resources[source[1]]["Properties"]["Timeout"])
                assert uri
            case "AWS::ApiGatewayV2::Api":
                for methods in properties.get("Body", {}).get("paths", {}).values():
                    integrated = [one for one in methods.values() if "x-amazon-apigateway-integration" in one]
                    self.routes += len(integrated)
                    self.integrations += len(integrated)
            case "AWS::ApiGatewayV2::Stage":
                note("stages of an API", where, 1)
                log = properties.get("AccessLogSettings", {}).get("Format", "")
                note("bytes of the format of the access log", where, len(log))
                note("tags of a stage, with those of CloudFormation", where, len(properties.get("Tags", {})) + 3)
            case "AWS::IAM::Role":
                self.totals["roles"] += 1
                own = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
                # Policies of their own that name the role are inline policies of it, too.
                for other in resources.values():
                    if other["Type"] == "AWS::IAM::Policy" and {"Ref": key} in other["Properties"]["Roles"]:
                        own.append(other["Properties"]["PolicyDocument"])
                size = sum(policy_size(document, parameters) for document in own)
                note("characters of all inline policies of a role", where, size)
                note("managed policies of a role", where, count(properties.get("ManagedPolicyArns")))
                trust = policy_size(properties["AssumeRolePolicyDocument"], parameters)
                note("characters of a trust policy", where, trust)
            case "AWS::IAM::ManagedPolicy":
                note("characters of a managed policy", where, policy_size(properties["PolicyDocument"], parameters))
            case "AWS::Scheduler::ScheduleGroup":
                self.schedule_groups += 1
                name = properties.get("Name", {"Fn::Sub": "${AWS::StackName}-%s-0123456789AB" % key})
                note("characters of a schedule group's name", where, len(text_of(name, parameters)))
            case "AWS::Events::Rule":
                self.rules += 1
                note("targets of a rule", where, count(properties.get("Targets")))
            case "AWS::SQS::Queue":
                note("seconds of visibility", where, properties.get("VisibilityTimeout", 30))
                note("seconds of retention", where, properties.get("MessageRetentionPeriod", 345_600))
            case "AWS::DynamoDB::Table":
                indexes = properties.get("GlobalSecondaryIndexes", [])
                note("indexes of a table", where, len(indexes))
                projected = sum(len(one["Projection"].get("NonKeyAttributes", [])) for one in indexes)
                note("attributes projected by all indexes", where, projected)
            case "AWS::CloudWatch::Alarm":
                note("metrics of an alarm, expressions included", where, len(properties.get("Metrics", [1])))
                note("actions of an alarm", where, count(properties.get("AlarmActions")))
            case "AWS::CloudWatch::Dashboard":
                body = text_of(properties["DashboardBody"], parameters)
                note("widgets of a dashboard", where, body.count('"type": "metric"'))
            case "AWS::CodeDeploy::DeploymentGroup":
                self.totals["groups"] += 1
                note("alarms of a deployment group", where, len(properties.get("AlarmConfiguration", {}).get("Alarms", [])))

    def whole(self, root):
        """Notes the numbers of the root and its nested stacks together."""
        note = self.quotas.note
        note("resources of the root and all nested stacks in one operation", "all", self.totals["resources"])
        note("routes of an API", "all", self.routes)
        note("integrations of an API", "all", self.integrations)
        note("roles of an AWS account", "this deployment", self.totals["roles"])
        note("schedule groups of a region", "this deployment", self.schedule_groups)
        note("rules of an event bus", "this deployment", self.rules)
        note("deployments of an AWS account at the same time", "this deployment", self.totals["groups"])
        note("deployment groups of an application", "all", self.totals["groups"])
        self.visibility(root)
        sizes = code_size()
        if sizes:
            unzipped, zipped = sizes
            note("MB of a zipped package in S3 that is unzipped", "target/lambda", round(unzipped, 1))
            all_versions = round(zipped * self.totals["functions"])
            note("MB of all versions of a release, of 75 GB a region", "target/lambda", all_versions)

    def visibility(self, root):
        """A message must stay invisible for as long as its worker may take."""
        queues = {
            key: one["Properties"].get("VisibilityTimeout", 30)
            for key, one in expanded(root, VALUES)["Resources"].items()
            if one["Type"] == "AWS::SQS::Queue"
        }
        for path in sorted((root.parent / "stacks").glob("*.yaml")) if (root.parent / "stacks").exists() else []:
            for key, one in yaml_parse(path.read_text())["Resources"].items():
                if f"{key}Queue" in queues and one["Type"] == "AWS::Serverless::Function":
                    ratio = queues[f"{key}Queue"] / one["Properties"]["Timeout"]
                    self.quotas.note("visibility over the worker's time-out, at least", key, ratio)


def index_changes(before, after):
    """How many indexes an update of the table creates and deletes. One whose keys or projection change is both."""

    def indexes(template):
        table = yaml_parse(template)["Resources"]["Table"]["Properties"]
        return {json.dumps(one, sort_keys=True) for one in table["GlobalSecondaryIndexes"]}

    return len(indexes(before) ^ indexes(after))


def released(path):
    """A file of the last release, which has a tag such as v0.1.0. None before the first."""
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v*").stdout.strip()
    return git("show", f"{tag}:{path}").stdout if tag else None


# A purpose of at most 50 characters and the minute: the longest name that `schedule_name` (shared/models/src/ports) makes.
SCHEDULE_NAME = 64


def check(root):
    """Every quota with what the templates have of it."""
    checked = Check()
    checked.template(root, VALUES)
    checked.quotas.note("characters of a schedule's name", "shared/models/src/ports", SCHEDULE_NAME)
    checked.whole(root)
    before = released("infra/template.yaml")
    if before:
        changes = index_changes(before, root.read_text())
        checked.quotas.note("indexes created and deleted since the last release", root.name, changes)
    return checked.quotas


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "template.yaml"
    quotas = check(root)
    quotas.show()
    broken = quotas.broken()
    if broken:
        sys.exit(f"{len(broken)} quotas are exceeded")


if __name__ == "__main__":
    main()
