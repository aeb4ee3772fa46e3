"""Makes the plain templates that CloudFormation makes of the root's and of the nested stacks' templates.

The local AWS has no nested stacks that are templates of SAM, so each is created by itself, unchanged, with the parameters that
the root sets. The root hands them out as outputs: so the local AWS evaluates the same expressions as CloudFormation would.
"""

import hashlib
import json
import logging

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

# It warns of features of its own that are switched off.
logging.getLogger("samtranslator").setLevel(logging.ERROR)

# What the SAM transform of a nested stack decides on.
ALL_AT_ONCE = {"Canary": "AllAtOnce", "CanaryEnabled": "false"}


class NoManagedPolicies:
    def load(self):
        return {}


def output_of(expression):
    """The name of the output that has the value of an expression."""
    return "Handed" + hashlib.sha256(json.dumps(expression, sort_keys=True).encode()).hexdigest()[:16]


def root(path):
    """The root's template without its nested stacks, and each of these with its file and the expressions of its parameters."""
    template = yaml_parse(path.read_text())
    resources = template["Resources"]
    nested = {}
    for key in [key for key, one in resources.items() if one["Type"] == "AWS::CloudFormation::Stack"]:
        properties = resources.pop(key)["Properties"]
        nested[key] = (path.parent / properties["TemplateURL"], properties["Parameters"])
        for expression in properties["Parameters"].values():
            template["Outputs"][output_of(expression)] = {"Value": expression}
    # The local AWS has no TLS, so the rule against requests without it cannot be there. It has no alarms of alarms and no budgets either.
    del resources["FilesPolicy"]
    for key in [key for key, one in resources.items() if one["Type"] in ("AWS::CloudWatch::CompositeAlarm", "AWS::Budgets::Budget")]:
        del resources[key]
    return template, nested


def handed(outputs, expressions):
    """The values of a nested stack's parameters."""
    return {name: outputs[output_of(expression)] for name, expression in expressions.items()}


def child(path, bucket, release=""):
    """The template of a nested stack as the SAM transform makes it, with the packages of a release: those of its executables."""
    template = yaml_parse(path.read_text())
    for function in template["Resources"].values():
        if function["Type"] == "AWS::Serverless::Function":
            executable = function["Metadata"]["BuildProperties"]["Binary"]
            function["Properties"]["CodeUri"] = {"Bucket": bucket, "Key": f"{executable}{release}.zip"}
    # On AWS whoever may send a message may send a batch of them. The local AWS asks for an action that AWS does not have.
    for role in template["Resources"].values():
        for policy in role.get("Properties", {}).get("Policies", []) if role["Type"] == "AWS::IAM::Role" else []:
            for statement in policy["PolicyDocument"]["Statement"]:
                if "sqs:SendMessage" in statement.get("Action", []):
                    statement["Action"] = ["sqs:SendMessage", "sqs:SendMessageBatch"]
    return transform(template, dict(ALL_AT_ONCE), NoManagedPolicies())
