"""Goes back to the version before, and deletes old versions of the functions of a deployment.

    python infra/operate/versions.py back fleet-charging              # every function's alias `live` to the version before
    python infra/operate/versions.py back fleet-charging --since 2026-12-01T09:00:00Z   # to the last version from before a release
    python infra/operate/versions.py prune fleet-charging --keep 5    # the package of every other version is deleted

Takes the functions from the stack and the stacks nested in it. Needs boto3, which comes with infra/requirements.txt.
"""

import argparse
from datetime import datetime

import boto3
from botocore.config import Config

# Lambda takes 15 such calls a second of an AWS account: those that it refuses are repeated more slowly.
SLOWLY = Config(retries={"mode": "adaptive", "max_attempts": 20})


def functions_of(cloudformation, stack):
    """The names of the functions of a stack and of those nested in it."""
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
        for one in page["StackResourceSummaries"]:
            if one["ResourceType"] == "AWS::CloudFormation::Stack":
                yield from functions_of(cloudformation, one["PhysicalResourceId"])
            elif one["ResourceType"] == "AWS::Lambda::Function":
                yield one["PhysicalResourceId"]


def versions_of(functions, name):
    """The numbers of a function's versions with the bytes of their packages and the times of publication, the oldest first."""
    pages = functions.get_paginator("list_versions_by_function").paginate(FunctionName=name)
    all = [one for page in pages for one in page["Versions"] if one["Version"] != "$LATEST"]
    return sorted((int(one["Version"]), one["CodeSize"], datetime.fromisoformat(one["LastModified"])) for one in all)


def in_use(functions, name):
    """The versions that an alias of the function has, those of a gradual deployment included."""
    found = set()
    for page in functions.get_paginator("list_aliases").paginate(FunctionName=name):
        for alias in page["Aliases"]:
            found.add(int(alias["FunctionVersion"]))
            found |= {int(version) for version in alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})}
    return found


def prune(functions, name, keep):
    """Deletes all versions but the newest, those in use, and the one to go back to. Returns how many and their bytes."""
    versions, used = versions_of(functions, name), in_use(functions, name)
    before = [number for number, *_ in versions if used and number < min(used)]
    kept = used | set(before[-1:]) | {number for number, *_ in versions[-keep:]}
    gone = [(number, size) for number, size, _ in versions if number not in kept]
    for number, _ in gone:
        functions.delete_function(FunctionName=name, Qualifier=str(number))
    return len(gone), sum(size for _, size in gone)


def back(functions, name, since=None):
    """Moves the alias `live` to the version before: to the last one from before a release, if its time is given, which a function
    without a version of that release has already. During a gradual deployment, all requests go to the version that still has most of
    them. Returns the version; none if there is nothing to change."""
    alias = functions.get_alias(FunctionName=name, Name="live")
    live, others = int(alias["FunctionVersion"]), alias.get("RoutingConfig", {}).get("AdditionalVersionWeights")
    older = [number for number, _, at in versions_of(functions, name) if number <= live and (since is None or at < since)]
    target = live if others or since and live in older else next((one for one in reversed(older) if one < live), None)
    if target is None or target == live and not others:
        return None
    functions.update_alias(
        FunctionName=name, Name="live", FunctionVersion=str(target), RoutingConfig={"AdditionalVersionWeights": {}}
    )
    return target


def moment(text):
    """A time; one without a zone is local."""
    return datetime.fromisoformat(text).astimezone()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", choices=["back", "prune"])
    options.add_argument("stack")
    options.add_argument("--keep", type=int, default=5, help="how many of the newest versions stay")
    options.add_argument("--since", type=moment, help="when the release began that is left (RFC 3339)")
    asked = options.parse_args()
    if asked.keep < 1:
        options.error("at least one version stays")
    functions = boto3.client("lambda", config=SLOWLY)
    names = sorted(functions_of(boto3.client("cloudformation", config=SLOWLY), asked.stack))
    if asked.command == "back":
        moved = [back(functions, name, asked.since) for name in names]
        print(f"{len([one for one in moved if one])} of {len(names)} functions went back to the version before")
    else:
        pruned = [prune(functions, name, asked.keep) for name in names]
        number, size = (sum(column) for column in zip(*pruned, strict=True)) if pruned else (0, 0)
        print(f"{number} versions of {len(names)} functions were deleted, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
