"""Turns the SAM template into the plain templates that CloudFormation makes of it. Ministack ignores the OpenAPI body of
an HttpApi, so the routes that it describes become resources of their own, in a second stack: in one they would be more
than a stack may have."""

import re

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


class NoManagedPolicies:
    def load(self):
        return {}


def plain(path, bucket, key):
    """The template without the API's routes, and the routes: key and function."""
    with open(path) as file:
        template = yaml_parse(file.read())
    template["Globals"]["Function"]["CodeUri"] = {"Bucket": bucket, "Key": key}
    made = transform(template, {}, NoManagedPolicies())
    resources = made["Resources"]
    # Alarms that add metrics up are beyond ministack.
    adding = [id for id, one in resources.items() if one["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in one["Properties"]]
    for id in adding:
        del resources[id]
    # It takes a number that comes from a parameter for text.
    for one in resources.values():
        if one["Type"] == "AWS::Lambda::EventSourceMapping" and "ScalingConfig" in one["Properties"]:
            one["Properties"]["ScalingConfig"] = {"MaximumConcurrency": 50}
    # It has no TLS here, so the rule against doing without may not stand.
    del resources["FilesPolicy"]
    api = resources["Api"]["Properties"]
    body = api.pop("Body")
    api.update(Name={"Ref": "AWS::StackName"}, ProtocolType="HTTP")
    routes = {}
    for path, methods in body["paths"].items():
        for method, operation in methods.items():
            integration = operation.get("x-amazon-apigateway-integration")
            if integration is not None:
                route = path if path == "$default" else f"{method.upper()} {path}"
                routes[route] = re.search(r"\$\{(\w+)\.Arn\}", integration["uri"]["Fn::Sub"]).group(1)
    return made, routes


def routing(routes, resources):
    """The template of the routes of an API that is deployed."""
    made = {}
    for number, (route, function) in enumerate(routes.items()):
        made[f"Integration{number}"] = {
            "Type": "AWS::ApiGatewayV2::Integration",
            "Properties": {
                "ApiId": resources["Api"],
                "IntegrationType": "AWS_PROXY",
                "IntegrationMethod": "POST",
                "IntegrationUri": {
                    "Fn::Sub": "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/"
                    "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:%s/invocations"
                    % resources[function]
                },
                "PayloadFormatVersion": "2.0",
            },
        }
        made[f"Route{number}"] = {
            "Type": "AWS::ApiGatewayV2::Route",
            "Properties": {
                "ApiId": resources["Api"],
                "RouteKey": route,
                "Target": {"Fn::Sub": "integrations/${Integration%d}" % number},
            },
        }
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": made}
