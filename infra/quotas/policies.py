"""Judges the policies of the roles with parliament, a linter of IAM policies: a second opinion besides that of the local AWS.

    python infra/quotas/policies.py

It knows every action of AWS with the kinds of resources and the condition keys that it takes. Prints what it finds that is not in
EXCEPTIONS, and ends with status 1 if there is anything. Needs parliament and aws-sam-translator (.ci/run installs them).
"""

import collections
import json
import re
import sys

import parliament

from check import ROOT, expanded

TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/fleet"

# Examples of what is known only after the deployment, by the end of a parameter's or attribute's name. Of each kind of resource the
# ARN is whole, because parliament compares it with the kinds that an action takes.
EXAMPLES = {
    "TableArn": TABLE,
    "TableStreamArn": f"{TABLE}/stream/label",
    "QueueArn": "arn:aws:sqs:eu-west-1:123456789012:queue",
    "Queue.Arn": "arn:aws:sqs:eu-west-1:123456789012:queue",
    "RelayDeadLettersArn": "arn:aws:sqs:eu-west-1:123456789012:queue",
    "Log.Arn": "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/function:*",
    "RoleArn": "arn:aws:iam::123456789012:role/role",
    "KeyArn": "arn:aws:kms:eu-west-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    "Files.Arn": "arn:aws:s3:::files",
    "EncryptionKeys": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:keys-AbCdEf",
    "StripeSecret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:stripe-AbCdEf",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::AccountId": "123456789012",
}

# What parliament finds and this deployment does on purpose: the name of the finding and the action or condition, with the reason.
EXCEPTIONS = {}


def example(name):
    return next((text for end, text in EXAMPLES.items() if name.endswith(end)), "example")


def resolved(value):
    """A policy in which every function of CloudFormation has an example of its value. Conditions that a parameter turns off hold."""
    if isinstance(value, list):
        return [resolved(one) for one in value]
    if not isinstance(value, dict):
        return value
    match next(iter(value.items()), None):
        case ("Ref", name):
            return example(name)
        case ("Fn::GetAtt", path):
            return example(path if isinstance(path, str) else ".".join(path))
        case ("Fn::Sub", text):
            return re.sub(r"\$\{([^}]+)\}", lambda found: example(found[1]), text)
        case ("Fn::If", [_, holds, _]):
            return resolved(holds)
    return {name: resolved(one) for name, one in value.items()}


def policies(template):
    """Every policy that a role of the template has, with the name of its resource."""
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::IAM::Role":
                for policy in properties.get("Policies", []):
                    yield name, policy["PolicyDocument"]
            case "AWS::IAM::Policy":
                yield name, properties["PolicyDocument"]


def findings(document):
    """What parliament finds in a policy: the name of each finding and its subject."""
    analyzed = parliament.analyze_policy_string(json.dumps(resolved(document)))
    for one in analyzed.findings:
        detail = one.detail
        subject = detail if isinstance(detail, str) else json.dumps(detail)
        yield one.issue, subject


def main():
    checked, found = 0, collections.defaultdict(list)
    for path in [ROOT / "template.yaml", *sorted((ROOT / "stacks").glob("*.yaml"))]:
        for name, document in policies(expanded(path, {"Canary": "AllAtOnce", "CanaryEnabled": "false"})):
            checked += 1
            for finding in findings(document):
                if finding not in EXCEPTIONS:
                    found[finding].append(f"{path.name}: {name}")
    for (issue, subject), places in found.items():
        print(f"{issue}: {subject}: {len(places)} policies, such as {places[0]}")
    print(f"{checked} policies, {len(found)} findings")
    return 1 if found or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
